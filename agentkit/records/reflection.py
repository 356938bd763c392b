"""What a critique yields, what admission decides, what a judge says, and the job that does it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from agentkit.records.memory import Lesson, Memory
from agentkit.records.recall import Verdict
from agentkit.records.scope import Scope
from agentkit.records.trajectory import Episode, Outcome, Trajectory

Relationship = Literal["duplicate", "consistent", "refines", "contradicts", "unrelated"]
AdmissionAction = Literal["add", "verify", "judge", "quarantine", "refuse"]
JobKind = Literal["reflect", "conflict", "overlap"]
JobState = Literal["pending", "running", "done", "partial", "dead", "waiting"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectionCase:
    """What a critic gets to see of one episode.

    Attributes:
        episode: The sealed episode.
        trajectory: Its steps; briefing steps are still in it and must not be learnt from.
        recalled: Memories that were in the briefing of this episode.
        lesson_limit: Most lessons wanted, at least 0.
        language: Language the lessons are to be written in, `en` or `zh`.
    """

    episode: Episode
    trajectory: Trajectory
    recalled: tuple[Memory, ...] = ()
    lesson_limit: int = 5
    language: Literal["en", "zh"] = "en"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflection:
    """The critique of an episode.

    Attributes:
        summary: What was done, one or two sentences.
        outcome: The critic's own view of the outcome.
        went_well: What to keep doing, or "".
        to_change: What to do differently, or "".
        lessons: Candidate memories; empty means nothing to learn.
        verdicts: One for each recalled memory that the critic could judge.
        critic: `rules`, or the model string that was asked.
        tokens_in: Input tokens spent.
        tokens_out: Output tokens spent.
    """

    summary: str
    outcome: Outcome
    critic: str
    went_well: str = ""
    to_change: str = ""
    lessons: tuple[Lesson, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    tokens_in: int = 0
    tokens_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A stored memory near to a lesson.

    Attributes:
        memory: The stored memory.
        cosine: Cosine between the two contents, in [-1, 1].
    """

    memory: Memory
    cosine: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """What admission decides about one lesson.

    Attributes:
        lesson: The lesson, redacted and trimmed: what may be stored.
        action: `add` a memory, `verify` the memory `target_id`, `add` but let the `judge` see it
            beside `target_id`, `quarantine` it, or `refuse` it.
        reason: Why, in words; kept with refusals and quarantines.
        target_id: The memory that is verified or judged against, or None.
        trust: Trust that the memory starts with, in (0, 1].
        redactions: Number of secrets that were masked.
    """

    lesson: Lesson
    action: AdmissionAction
    reason: str
    trust: float
    target_id: str | None = None
    redactions: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a judge says of a new memory beside an old one.

    Attributes:
        relationship: How the new one stands to the old one.
        confidence: In [0, 1].
        rationale: Why, in words.
    """

    relationship: Relationship
    confidence: float
    rationale: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A piece of background work, as claimed by a worker.

    Attributes:
        job_id: uuid7 as text.
        scope: Whose it is.
        kind: `reflect` an episode, or check a memory for a `conflict`.
        subject_id: Episode id or memory id.
        state: Where it is.
        attempts: Tries so far, this one included.
        run_after: Not before, UTC.
        lease_until: Held by a worker until then, UTC, or None.
        last_error: What went wrong last, or "".
        payload: JSON text with what the kind needs besides the subject.
    """

    job_id: str
    scope: Scope
    kind: JobKind
    subject_id: str
    state: JobState
    attempts: int
    run_after: datetime
    lease_until: datetime | None = None
    last_error: str = ""
    payload: str = "{}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectionReport:
    """What became of one reflection job.

    Attributes:
        episode_id: The episode.
        reflection: The critique, or None when it failed.
        admitted: Ids of memories that were added, in lesson order.
        verified: Ids of memories that were verified.
        refused: Admissions that were refused or quarantined, with reasons.
        error: Why it failed, or "".
        counts: Numbers by action.
    """

    episode_id: str
    reflection: Reflection | None
    admitted: tuple[str, ...] = ()
    verified: tuple[str, ...] = ()
    refused: tuple[Admission, ...] = ()
    error: str = ""
    counts: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteReport:
    """What became of one memory that somebody wanted to write.

    Attributes:
        admission: What admission decided, with the reason.
        memory: The memory as it now stands (new, or the one that was there), or None if refused.
        duplicate: True when nothing new was added because it was known already.
    """

    admission: Admission
    memory: Memory | None
    duplicate: bool = False
