"""A query ready to be ranked, and the ranking that answers it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from agentkit.records import (
    Candidate,
    Float32Array,
    IntentTag,
    MemoryType,
    Normalisers,
    Query,
    Tag,
    TimeRange,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RankQuery:
    """A query, ready to be ranked.

    Attributes:
        text: The words to search with; give `focus(text)` for what a person or model wrote.
        vector: shape (dim,), float32, L2-normalised embedding of `text`, or None: words alone.
        agent_id: Whose view; None sees only what belongs to no agent.
        memory_types: Types wanted, or empty for all.
        top_k: Number of hits wanted, at least 1.
        min_confidence: Memories below are left out, in [0, 1].
        least_similarity: What the caller wants of a cosine at least, in [-1, 1], or None.
        floor: What the policy wants of it for the embedder in use, or None.
        tags: Tags the caller asks for; they filter.
        match: Whether `all` or `any` of `tags` must be carried.
        include_archived: Whether archived memories may come back.
        intent: Tags inferred from the text; they weigh, and never filter.
        within: Only memories created in this time, or None for all.
    """

    text: str
    vector: Float32Array | None = None
    agent_id: str | None = None
    memory_types: tuple[MemoryType, ...] = ()
    top_k: int = 5
    min_confidence: float = 0.0
    least_similarity: float | None = None
    floor: float | None = None
    tags: tuple[Tag, ...] = ()
    match: Literal["all", "any"] = "all"
    include_archived: bool = False
    intent: tuple[IntentTag, ...] = ()
    within: TimeRange | None = None

    @classmethod
    def of(
        cls,
        query: Query,
        *,
        text: str,
        vector: Float32Array | None,
        agent_id: str | None,
        intent: Sequence[IntentTag] = (),
        floor: float | None = None,
    ) -> "RankQuery":
        """Return a query as a caller asked it, with what was derived from it.

        Args:
            query: What was asked.
            text: The part of its text to search with.
            vector: Embedding of that part, or None.
            agent_id: Agent of the scope, or None.
            intent: Tags inferred from the text.
            floor: Least cosine by policy, for the embedder that made `vector`, or None.
        """
        return cls(
            text=text,
            vector=vector,
            agent_id=agent_id,
            memory_types=query.memory_types,
            top_k=query.top_k,
            min_confidence=query.min_confidence,
            least_similarity=query.least_similarity,
            floor=floor,
            tags=query.tags,
            match=query.match,
            include_archived=query.include_archived,
            intent=tuple(intent),
            within=query.within,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The answer of the exact scan.

    Attributes:
        memory_ids: What to return, best first; ties by newest, then id. At most `top_k`.
        pool: The logged candidates, best first: the best by final score, the best of each arm
            and all that are returned. Those below the floor keep their rank among them.
        intent: Tags the query was taken to be about and that counted: the caller's, or those
            inferred ones that some memory here carries.
        relaxations: Tag filters that were dropped, in order, in words.
        normalisers: Ranges and weights of this query.
        considered: Number of memories that passed the filter.
        degraded: Which arm said nothing and why, or "".
    """

    memory_ids: tuple[str, ...] = ()
    pool: Sequence[Candidate] = ()
    intent: tuple[IntentTag, ...] = ()
    relaxations: tuple[str, ...] = ()
    normalisers: Normalisers = field(default_factory=Normalisers)
    considered: int = 0
    degraded: str = ""
