"""What goes into the store and comes out of it besides the records."""

from dataclasses import dataclass, field
from datetime import datetime

from agentkit.records import (
    EndReason,
    Episode,
    Float32Array,
    Lesson,
    Memory,
    MemoryStatus,
    Outcome,
    OutcomeSource,
    Reflection,
    Scope,
    ScopeChanges,
    Step,
    Trajectory,
)
from agentkit.store.processes import ProcessMark

# What a list shows by default: recall may return each of them in some mode.
VISIBLE: tuple[MemoryStatus, ...] = ("pending", "active", "disputed", "archived")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NewMemory:
    """An admitted lesson on its way into the store.

    Attributes:
        lesson: The lesson, redacted already.
        trust: Trust in its source, in (0, 1].
        status: `pending`, `active` or `quarantined`.
        episode_id: Episode it came out of, or None.
        created_at: When it was learnt or happened, UTC, or None for now.
        position: Order among the memories of one episode, or -1.
        vectors: shape (1 + number of cues, dim), float32, L2-normalised rows: content, then cues;
            None to embed them later.
    """

    lesson: Lesson
    trust: float
    status: MemoryStatus = "pending"
    episode_id: str | None = None
    created_at: datetime | None = None
    position: int = -1
    vectors: Float32Array | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteResult:
    """What became of one write.

    Attributes:
        memory: The memory as it stands now.
        duplicate: True when it was there already; then `memory` is the old one.
    """

    memory: Memory
    duplicate: bool


@dataclass(frozen=True, slots=True)
class PastScope:
    """The memories of a user as they stood at an instant.

    Attributes:
        memories: What recall could have returned then, by id.
        changes: The same for an index of its own, all of it.
    """

    memories: tuple[Memory, ...]
    changes: ScopeChanges


@dataclass(frozen=True, slots=True, kw_only=True)
class NearMemories:
    """What the vector index names for a query.

    Attributes:
        memory_ids: Memories of the keys that it named; SQL has not looked at them yet.
        keys: How many keys it named: fewer than asked for means all of them.
        problem: Why it cannot be asked, or "".
    """

    memory_ids: frozenset[str] = frozenset()
    keys: int = 0
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptOverlap:
    """How much of the exact scan the approximate plan found, when it was last measured.

    Attributes:
        overlap: Mean share of the exact ten best, in [0, 1].
        queries: Queries that it is a mean over, at least 1.
        at: When, UTC.
    """

    overlap: float
    queries: int
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetResult:
    """What `forget` did.

    Attributes:
        forgotten: Ids that are forgotten now and were not before, in the order given.
        not_found: Ids with nothing to forget: unknown, foreign or forgotten already.
    """

    forgotten: tuple[str, ...]
    not_found: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEpisode:
    """A finished task on its way into the store.

    Attributes:
        trajectory: Its steps.
        session_id: Session it was a task of.
        end_reason: Which boundary ended it.
        started_at: First step, UTC.
        ended_at: Last step, UTC.
        goal: What the user wanted, cut at 500 characters, or "" for the first thing the user said.
        outcome: `success`, `failure` or `unknown`.
        outcome_source: Who said so, or None while unknown.
        tokens_in: Input tokens the run reported, or 0.
        tokens_out: Output tokens the run reported, or 0.
        source_id: Id in the recording it was imported from, or None for a live run.
        episode_id: Its id, if the caller gave it one: sealing it again is harmless then.
    """

    trajectory: Trajectory
    session_id: str
    end_reason: EndReason
    started_at: datetime
    ended_at: datetime
    goal: str = ""
    outcome: Outcome = "unknown"
    outcome_source: OutcomeSource | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    source_id: str | None = None
    episode_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SealResult:
    """What became of sealing a task.

    Attributes:
        episode: The episode as it stands now.
        duplicate: True when it was sealed already and nothing was written.
        memory: The episodic memory written with it, or None.
    """

    episode: Episode
    duplicate: bool
    memory: Memory | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """A memory that was learnt again.

    Attributes:
        memory_id: The memory.
        reason: Why it counts as the same, in words.
    """

    memory_id: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReflection:
    """The critique of an episode as it was committed.

    Attributes:
        reflection: The critique.
        refused: JSON text of what admission refused, as it was given.
        reflected_at: When it was committed, UTC.
    """

    reflection: Reflection
    refused: str
    reflected_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTask:
    """A task that was not sealed, as its steps were written while it ran.

    Attributes:
        scope: Whose it is.
        session_id: Its session.
        steps: In the order in which they happened.
        opened_at: First step, UTC.
        last_step_at: Last step, UTC.
        instructions: Rendered system text of the last request, or "".
        model: Model string of the run, or None.
        owner: Process that wrote the last step, or None where it is not known.
    """

    scope: Scope
    session_id: str
    steps: tuple[Step, ...]
    opened_at: datetime
    last_step_at: datetime
    instructions: str = ""
    model: str | None = None
    owner: ProcessMark | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary:
    """A session, as a list shows it.

    Attributes:
        scope: Whose it is.
        session_id: Its name.
        open: Whether it has a task that is not sealed.
        goal: What the user wanted in the open task, else in the last sealed one.
        last_boundary: What ended the last sealed task, or None while there is none.
        started_at: Begin of its first task, UTC.
        last_at: Last step, UTC.
        tasks: Sealed tasks.
        steps: Steps of all its tasks, the open one included.
    """

    scope: Scope
    session_id: str
    open: bool
    goal: str
    last_boundary: EndReason | None
    started_at: datetime
    last_at: datetime
    tasks: int
    steps: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SettleReport:
    """What `settle` did.

    Attributes:
        embedded: Keys that got their vector.
        indexed: Keys brought level in the vector index.
        waiting: Keys still to do, by this process later or by the owner of the index.
        problem: Why something is left, or "".
    """

    embedded: int = 0
    indexed: int = 0
    waiting: int = 0
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptVectors:
    """The vectors that one embedder made.

    Attributes:
        fingerprint: The embedder, `name@dim`.
        vectors: How many there are.
        nbytes: What the numbers alone take in the database, in bytes.
        in_use: Whether recall goes by them.
    """

    fingerprint: str
    vectors: int
    nbytes: int
    in_use: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FillReport:
    """What filling in the vectors of another embedder did.

    Attributes:
        embedder: Fingerprint of that embedder.
        embedded: Keys that got their vector now.
        keys: Keys that recall may use, of all users, at the beginning.
    """

    embedder: str
    embedded: int
    keys: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchReport:
    """What changing over to another embedder did.

    Attributes:
        old: Fingerprint of the embedder in use before, or None for none.
        new: Fingerprint of the one in use now.
        embedded: Keys that got their vector now.
        index: What became of the vector index.
    """

    old: str | None
    new: str
    embedded: int
    index: SettleReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that `doctor` looked at.

    Attributes:
        name: What was looked at.
        ok: Whether it is as it should be.
        detail: What was found.
        fix: What to do about it, or "" when nothing is to be done.
    """

    name: str
    ok: bool
    detail: str
    fix: str = field(default="")
