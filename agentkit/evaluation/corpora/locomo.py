"""LoCoMo: long dialogs between two people, and questions with the turns that answer them."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from agentkit.errors import InputError
from agentkit.evaluation.corpora.corpus import Corpus, CorpusQuery, Document, Group
from agentkit.evaluation.corpora.files import CorpusRow, find_files, read_file

WANTED = (
    "LoCoMo JSON: a list of {sample_id, conversation: {session_1_date_time, session_1: "
    "[{speaker, dia_id, text}]}, qa: [{question, evidence, category}]}"
)
LABELS = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
DEFAULT_CATEGORIES = (1, 2, 3, 4)
_SESSION = re.compile(r"session_(\d+)")
# Some evidence ids are written `D:11:26`, several in one string, or with leading zeros.
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")
_DATE_FORMAT = "%I:%M %p on %d %B, %Y"


class _Turn(CorpusRow):
    speaker: str
    dia_id: str
    text: str


class _Question(CorpusRow):
    question: str
    evidence: tuple[str, ...]
    category: int


class _Sample(CorpusRow):
    sample_id: str
    conversation: dict[str, Any]
    qa: tuple[_Question, ...]


_TURNS = TypeAdapter(tuple[_Turn, ...])


def read_locomo(
    data: Path, *, parts: Sequence[str] = (), categories: Sequence[int] = DEFAULT_CATEGORIES
) -> Corpus:
    """Return LoCoMo with one memory per turn: speaker, date of the session, text.

    Args:
        data: A LoCoMo file, its folder, or the folder above.
        parts: File names without ending, such as `locomo_a`; empty for all there are.
        categories: Question categories kept, 1 to 5; 5 (adversarial) has no answer.

    Returns:
        One group a conversation; a session is an episode.

    Raises:
        InputError: If a file is missing or of another format.
    """
    files = find_files(data, folder="locomo", pattern="locomo*.json", wanted=WANTED, parts=parts)
    samples = [
        (file, sample)
        for file in files
        for sample in read_file(file, form=tuple[_Sample, ...], wanted=WANTED)
    ]
    groups = tuple(_group(sample, file=file, categories=categories) for file, sample in samples)
    return Corpus(name="locomo", groups=groups)


def _group(sample: _Sample, *, file: Path, categories: Sequence[int]) -> Group:
    documents = tuple(_documents(sample, file=file))
    known = frozenset(document.doc_id for document in documents)
    return Group(
        user_id=sample.sample_id,
        documents=documents,
        queries=tuple(
            CorpusQuery(
                query_id=f"{sample.sample_id}/q{number:04d}",
                text=question.question,
                gold=_gold(question.evidence) & known,
                label=LABELS.get(question.category, str(question.category)),
            )
            for number, question in enumerate(sample.qa)
            if question.category in categories
        ),
    )


def _documents(sample: _Sample, *, file: Path) -> Iterator[Document]:
    numbers = sorted(
        int(match[1]) for key in sample.conversation if (match := _SESSION.fullmatch(key))
    )
    for number in numbers:
        place = f"{sample.sample_id}.session_{number}"
        said = str(sample.conversation.get(f"session_{number}_date_time", ""))
        try:
            turns = _TURNS.validate_python(sample.conversation[f"session_{number}"])
            at = datetime.strptime(said, _DATE_FORMAT).replace(tzinfo=UTC) if said else None
        except (ValidationError, ValueError) as error:
            raise InputError(f"{file}: {place}: {error}; wanted {WANTED}") from error
        for position, turn in enumerate(turns):
            yield Document(
                doc_id=turn.dia_id,
                text=f"{turn.speaker} ({said}): {turn.text}",
                episode_id=f"{sample.sample_id}/session_{number}",
                position=position,
                at=at,
            )


def _gold(evidence: Sequence[str]) -> frozenset[str]:
    found = (_EVIDENCE.findall(text) for text in evidence)
    return frozenset(f"D{int(dialog)}:{int(turn)}" for pairs in found for dialog, turn in pairs)
