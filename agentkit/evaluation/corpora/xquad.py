"""XQuAD: the same questions over the same paragraphs in several languages."""

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from agentkit.evaluation.corpora.corpus import Corpus, CorpusQuery, Document, Group
from agentkit.evaluation.corpora.files import CorpusRow, find_files, read_file

WANTED = (
    "XQuAD JSON (xquad.<language>.json): {data: [{paragraphs: [{context, qas: [{id, question, "
    "answers: [{text, answer_start}]}]}]}]}"
)
MIXED = "mixed"
# A full stop ends a sentence when white space follows; the Chinese marks always do.
_SENTENCE_END = re.compile(r"[。！？]+[”’」』）]*|[.!?]+[\"')\]]*(?=\s)")


class _Answer(CorpusRow):
    text: str
    answer_start: int


class _Question(CorpusRow):
    id: str
    question: str
    answers: tuple[_Answer, ...]


class _Paragraph(CorpusRow):
    context: str
    qas: tuple[_Question, ...]


class _Article(CorpusRow):
    paragraphs: tuple[_Paragraph, ...]


class _File(CorpusRow):
    data: tuple[_Article, ...]


def read_xquad(data: Path, *, direction: str = "zh-zh") -> Corpus:
    """Return XQuAD with one memory per sentence of all paragraphs of one language.

    Args:
        data: The XQuAD folder, a file in it, or the folder above.
        direction: `<question language>-<document language>`, such as `zh-en`; with `mixed` as
            document language every other paragraph is in Chinese and the others in English.

    Returns:
        One group; gold is the sentence in which the answer begins. A question has the same id
        in each direction.

    Raises:
        InputError: If a file is missing or of another format.
    """
    asked, _, told = direction.partition("-")
    questions = _read(data, language=asked)
    contexts = questions if asked == told else _told(data, told)
    documents: list[Document] = []
    gold: dict[str, frozenset[str]] = {}
    for number, paragraph in enumerate(contexts):
        spans = sentence_spans(paragraph.context)
        documents.extend(
            Document(doc_id=f"{number:03d}/{ordinal:02d}", text=paragraph.context[start:end])
            for ordinal, (start, end) in enumerate(spans)
        )
        for qa in paragraph.qas:
            found = (_sentence_at(spans, answer.answer_start) for answer in qa.answers)
            gold[qa.id] = frozenset(f"{number:03d}/{ordinal:02d}" for ordinal in found)
    queries = tuple(
        CorpusQuery(query_id=qa.id, text=qa.question, gold=gold.get(qa.id, frozenset()))
        for paragraph in questions
        for qa in paragraph.qas
    )
    group = Group(user_id=f"xquad-{told}", documents=tuple(documents), queries=queries)
    return Corpus(name=f"xquad {direction}", groups=(group,))


def _told(data: Path, language: str) -> Sequence[_Paragraph]:
    """The paragraphs that become memories; the files of all languages are parallel."""
    if language != MIXED:
        return _read(data, language=language)
    both = zip(_read(data, language="zh"), _read(data, language="en"), strict=True)
    return [pair[number % 2] for number, pair in enumerate(both)]


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return start and end of each sentence, in order, white space around it left out.

    Args:
        text: A paragraph in English, Chinese or both.
    """
    cuts = [0, *(match.end() for match in _SENTENCE_END.finditer(text)), len(text)]
    spans = (
        (start + len(text[start:end]) - len(text[start:end].lstrip()), end)
        for start, end in pairwise(cuts)
    )
    return [(start, end) for start, end in spans if start < end and text[start:end].strip()]


def _sentence_at(spans: Sequence[tuple[int, int]], offset: int) -> int:
    return max((i for i, (start, _) in enumerate(spans) if start <= offset), default=0)


def _read(data: Path, *, language: str) -> tuple[_Paragraph, ...]:
    folder = data.parent if data.is_file() else data
    files = find_files(folder, folder="xquad", pattern=f"xquad.{language}.json", wanted=WANTED)
    content = read_file(files[0], form=_File, wanted=WANTED)
    return tuple(paragraph for article in content.data for paragraph in article.paragraphs)
