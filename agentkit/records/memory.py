"""Memories and what they are made of: tags, evidence, lessons, events, links."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from agentkit.records.scope import Scope

MemoryType = Literal["episodic", "semantic", "procedural"]
MemoryStatus = Literal[
    "pending", "active", "disputed", "superseded", "forgotten", "archived", "quarantined"
]
Source = Literal["user", "model_critic", "rule_critic", "agent", "tool", "web", "import"]
Language = Literal["en", "zh"]
Relation = Literal["related", "contradicts", "supersedes", "derived"]
EventKind = Literal[
    "created",
    "activated",
    "verified",
    "disputed",
    "superseded",
    "forgotten",
    "restored",
    "edited",
    "archived",
    "quarantined",
    "demoted",
    "judged",
    "resolved",
]

MEMORY_TYPES: tuple[MemoryType, ...] = ("episodic", "semantic", "procedural")


@dataclass(frozen=True, slots=True, order=True)
class Tag:
    """A value on a facet of the taxonomy, written `facet:value`.

    Attributes:
        facet: Axis, such as `tool`.
        value: Value on it, such as `csv`.
    """

    facet: str
    value: str

    def __str__(self) -> str:
        """Return `facet:value`."""
        return f"{self.facet}:{self.value}"


@dataclass(frozen=True, slots=True)
class Evidence:
    """A quote out of a step that a lesson rests on.

    Attributes:
        step_id: Step of the episode's trajectory.
        quote: Words that stand in that step.
    """

    step_id: str
    quote: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """A candidate memory, not yet admitted. Every door writes through one of these.

    Attributes:
        content: What is to be remembered, one topic.
        memory_type: `episodic`, `semantic` or `procedural`.
        cues: Short phrases saying when it is useful.
        tags: Tags from the taxonomy.
        evidence: Steps it rests on; empty where there is no episode.
        confidence: Initial confidence in [0.05, 0.95].
        source: Who says so; decides the trust.
        permanent: True for what the user asked to remember: it never decays.
        intent: What the user wanted when it was learnt, or "".
        language: Language of the content.
        valid_from: Not true before, UTC, or None.
        valid_to: Not true after (invisible at once), UTC, or None.
        operation_id: Writing the same operation twice is one write; None for no such check.
    """

    content: str
    memory_type: MemoryType
    confidence: float
    source: Source
    cues: tuple[str, ...] = ()
    tags: tuple[Tag, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    permanent: bool = False
    intent: str = ""
    language: Language = "en"
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    operation_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """An admitted record.

    Attributes:
        memory_id: uuid7 as text.
        scope: Whose it is; `scope.agent_id` None means every agent of the user sees it.
        memory_type: `episodic`, `semantic` or `procedural`.
        content: What is remembered.
        intent: What the user wanted when it was learnt, or "".
        cues: Short phrases by which it is found too.
        tags: In sorted order.
        evidence: The steps it rests on.
        status: Where it is in its life.
        confidence: Mean of the Beta posterior, alpha / (alpha + beta), in (0, 1).
        alpha: Pseudo-count for, above 0.
        beta: Pseudo-count against, above 0.
        permanent: True: no decay, disputed only by the user.
        trust: Trust in the source, in (0, 1].
        source: Who said so.
        language: Language of the content.
        created_at: When it was learnt or happened, UTC; content age runs from here.
        recorded_at: When the row was written, UTC.
        edited_at: Last change of the content, UTC, or None.
        valid_from: Not true before, UTC, or None.
        valid_to: Not true (and not visible) after, UTC, or None.
        last_recalled_at: Last recall that returned it, UTC, or None.
        last_used_at: Last confirmed use, UTC, or None.
        last_verified_at: Last time it was learnt again or confirmed, UTC, or None.
        recalled_count: Recalls that returned it.
        used_count: Confirmed uses.
        demoted: True for an episodic memory whose lessons were extracted.
        episode_id: Episode it came out of, or None.
        superseded_by: Memory that took its place, or None.
        revision: Revision of the scope at its last change.
    """

    memory_id: str
    scope: Scope
    memory_type: MemoryType
    content: str
    status: MemoryStatus
    confidence: float
    alpha: float
    beta: float
    trust: float
    source: Source
    created_at: datetime
    recorded_at: datetime
    intent: str = ""
    cues: tuple[str, ...] = ()
    tags: tuple[Tag, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    permanent: bool = False
    language: Language = "en"
    edited_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    last_recalled_at: datetime | None = None
    last_used_at: datetime | None = None
    last_verified_at: datetime | None = None
    recalled_count: int = 0
    used_count: int = 0
    demoted: bool = False
    episode_id: str | None = None
    superseded_by: str | None = None
    revision: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEvent:
    """One change of a memory's content, status, tags or confidence.

    Attributes:
        memory_id: The memory that changed.
        kind: What happened.
        at: When, UTC.
        actor: Who did it: `reflection`, `rules`, `person`, `agent`, `policy` ...
        reason: Why, in words, or "".
        old: JSON text of the changed fields before, or None.
        new: JSON text of the changed fields after, or None.
    """

    memory_id: str
    kind: EventKind
    at: datetime
    actor: str
    reason: str = ""
    old: str | None = None
    new: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLink:
    """How two memories of one user stand to each other.

    Attributes:
        from_id: The newer memory.
        to_id: The older memory.
        relation: `related`, `contradicts`, `supersedes` or `derived`.
        status: `open` until a person or policy resolves it, then `resolved`.
        rationale: Why the judge said so.
        confidence: The judge's confidence in [0, 1].
    """

    from_id: str
    to_id: str
    relation: Relation
    status: Literal["open", "resolved"] = "open"
    rationale: str = ""
    confidence: float = 1.0
