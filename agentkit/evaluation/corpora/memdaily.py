"""MemDaily: Chinese messages about daily life, and questions about them."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from agentkit.evaluation.corpora.corpus import Corpus, CorpusQuery, Document, Group
from agentkit.evaluation.corpora.files import CorpusRow, find_files, read_file

WANTED = (
    "MemDaily JSON: a list of {tid, message_list: [{mid, message, time, place}], "
    "question_list: [{qid, question, target_step_id}]}"
)
_TIME = re.compile(r"(\d{4})年(\d{2})月(\d{2})日 \S+ (\d{2}):(\d{2})")


class _Message(CorpusRow):
    mid: int
    message: str
    time: str
    place: str


class _Question(CorpusRow):
    qid: int
    question: str
    target_step_id: tuple[int, ...]


class _Person(CorpusRow):
    tid: int
    message_list: tuple[_Message, ...]
    question_list: tuple[_Question, ...]


def read_memdaily(data: Path, *, parts: Sequence[str] = ()) -> Corpus:
    """Return MemDaily with one memory per message.

    Args:
        data: A MemDaily file, its folder, or the folder above.
        parts: File names without ending, such as `01_simple_events`; empty for all.

    Returns:
        One group per message list.

    Raises:
        InputError: If a file is missing or of another format.
    """
    files = find_files(data, folder="memdaily", pattern="*.json", wanted=WANTED, parts=parts)
    return Corpus(
        name="memdaily",
        groups=tuple(
            _group(person, part=file.stem)
            for file in files
            for person in read_file(file, form=tuple[_Person, ...], wanted=WANTED)
        ),
    )


def _group(person: _Person, *, part: str) -> Group:
    user_id = f"{part}/{person.tid}"
    known = frozenset(str(message.mid) for message in person.message_list)
    return Group(
        user_id=user_id,
        documents=tuple(
            Document(doc_id=str(message.mid), text=message.message, at=_at(message.time))
            for message in person.message_list
        ),
        queries=tuple(
            CorpusQuery(
                query_id=f"{user_id}/{question.qid}",
                text=question.question,
                gold=frozenset(map(str, question.target_step_id)) & known,
                label=part,
            )
            for question in person.question_list
        ),
    )


def _at(said: str) -> datetime | None:
    match = _TIME.match(said)
    if match is None:
        return None
    year, month, day, hour, minute = map(int, match.groups())
    return datetime(year, month, day, hour, minute, tzinfo=UTC)
