"""What a labelled corpus looks like to the evaluation, whatever file it came from."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from agentkit.records import MemoryType, Tag

Half = Literal["fit", "report", "all"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One thing to be remembered.

    Attributes:
        doc_id: Id, unique within its group.
        text: What the memory says.
        tags: Tags the memory carries.
        episode_id: Episode it is part of, or None for a fact of its own.
        position: Order within the episode from 0, or -1.
        at: When it happened, UTC, or None if the corpus does not say.
    """

    doc_id: str
    text: str
    tags: tuple[Tag, ...] = ()
    episode_id: str | None = None
    position: int = -1
    at: datetime | None = None

    @property
    def memory_type(self) -> MemoryType:
        """`episodic` for a part of an episode, else `semantic`."""
        return "semantic" if self.episode_id is None else "episodic"


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusQuery:
    """One question with its labels.

    Attributes:
        query_id: Id, unique within the corpus and stable between readings.
        text: The question.
        gold: Ids of the documents that answer it; empty when nothing does.
        tags: True tags of the question, for measuring tag inference; recall never sees them.
        label: Kind of the question in the corpus, such as `single-hop`, or "".
        half: The half that the corpus puts it in, or None: a hash of the id decides.
    """

    query_id: str
    text: str
    gold: frozenset[str]
    tags: tuple[Tag, ...] = ()
    label: str = ""
    half: Literal["fit", "report"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The memories of one user and the questions asked of them.

    Attributes:
        user_id: The user; groups never see each other's documents.
        documents: In the order in which they were said.
        queries: In file order.
    """

    user_id: str
    documents: tuple[Document, ...]
    queries: tuple[CorpusQuery, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """A labelled corpus.

    Attributes:
        name: Name of the corpus, with the direction where it has one (`xquad zh-en`).
        groups: One per user, in file order.
    """

    name: str
    groups: tuple[Group, ...]


def half_of(query_id: str) -> Literal["fit", "report"]:
    """Return the half that a question belongs to, the same on every machine.

    Parameters are fitted on one half and figures are reported on the other. The half hangs on
    the id alone, so one question asked in two languages is in one half.

    Args:
        query_id: Id of the question.
    """
    return "report" if hashlib.sha256(query_id.encode("utf-8")).digest()[0] & 1 else "fit"


def take(corpus: Corpus, *, half: Half, limit: int | None = None) -> Corpus:
    """Return the corpus with the questions of one half; the documents all stay.

    Args:
        corpus: The whole corpus.
        half: `fit`, `report` or `all`.
        limit: Keep at most this many questions, spread evenly over the corpus; None for all.

    Returns:
        The same documents with fewer questions; groups left without a question are dropped.
    """
    chosen = [
        query.query_id
        for group in corpus.groups
        for query in group.queries
        if half in ("all", query.half or half_of(query.query_id))
    ]
    if limit is not None and limit < len(chosen):
        chosen = [chosen[i * len(chosen) // limit] for i in range(limit)]
    return replace(corpus, groups=tuple(_with_queries(corpus.groups, keep=frozenset(chosen))))


def _with_queries(groups: Iterable[Group], *, keep: frozenset[str]) -> Iterable[Group]:
    for group in groups:
        queries = tuple(query for query in group.queries if query.query_id in keep)
        if queries:
            yield replace(group, queries=queries)
