"""What happened in a task: steps, the trajectory they form, and the sealed episode."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from agentkit.records.scope import Scope

StepKind = Literal["user", "model", "tool_call", "tool_return", "briefing"]
StepOutcome = Literal["ok", "failed", "retried", "interrupted"]
Outcome = Literal["success", "failure", "unknown"]
OutcomeSource = Literal["caller", "reward", "user", "rules"]
EndReason = Literal["done", "quiet", "topic", "idle", "closed", "recovered", "imported"]

# The tools of the memory and of the workbench: how they went says nothing about a task.
MEMORY_TOOLS = frozenset(
    {
        "memory_search",
        "memory_write",
        "memory_forget",
        "workbench_open",
        "workbench_pin",
        "workbench_unpin",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing that happened in a task.

    Attributes:
        step_id: Stable id within the trajectory, such as `s0003`.
        kind: Who spoke. `briefing` is recalled memory put in front of the model; it is kept
            for the record and never reflected on.
        text: The text; for a tool call its arguments as JSON text.
        tool: Tool name for `tool_call` and `tool_return`, else None.
        call_id: Pairs a tool return with its call, else None.
        outcome: How a tool return ended, else None.
        at: When it happened, UTC, or None if the recording does not say.
    """

    step_id: str
    kind: StepKind
    text: str
    tool: str | None = None
    call_id: str | None = None
    outcome: StepOutcome | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """The ordered steps of one task, with what the agent was told.

    Attributes:
        steps: In the order in which they happened; step ids are unique.
        instructions: The rendered system text of the last request, or "".
        model: Model string of the run, or None.
    """

    steps: tuple[Step, ...]
    instructions: str = ""
    model: str | None = None

    def step(self, step_id: str) -> Step | None:
        """Return the step of that id, or None."""
        return next((step for step in self.steps if step.step_id == step_id), None)

    @property
    def goal(self) -> str:
        """The first thing the user said, or ""."""
        return next((step.text for step in self.steps if step.kind == "user"), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A task as an importer found it, before it is sealed as an episode.

    Attributes:
        source_id: Stable id within the file, such as `task 3 trial 1`: importing it again adds
            nothing.
        trajectory: The steps.
        session_id: Session it belongs to in the recording.
        outcome: Outcome if the recording says one, else `unknown`.
        reward: Reward in [0, 1] as recorded, or None.
        started_at: UTC, or None if the recording does not say.
        ended_at: UTC, or None if the recording does not say.
    """

    source_id: str
    trajectory: Trajectory
    session_id: str
    outcome: Outcome = "unknown"
    reward: float | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """A sealed trajectory with its outcome and the recalls that served it.

    Attributes:
        episode_id: uuid7 as text.
        scope: Whose it is.
        session_id: The session it was a task of.
        goal: What the user wanted, at most 500 characters.
        outcome: `success`, `failure` or `unknown`.
        outcome_source: Who said so, or None while unknown.
        end_reason: Which boundary ended it.
        trajectory_uri: Where the blob is.
        trajectory_sha256: Hex digest of the blob's uncompressed content.
        instructions: Rendered system text of the agent.
        model: Model string of the run, or None.
        step_count: Number of steps.
        tokens_in: Input tokens the run reported, or 0.
        tokens_out: Output tokens the run reported, or 0.
        started_at: First step, UTC.
        ended_at: Last step, UTC.
        source_id: Id in the recording it was imported from, or None for a live run.
        reflected_at: When its reflection was committed, UTC, or None.
    """

    episode_id: str
    scope: Scope
    session_id: str
    goal: str
    outcome: Outcome
    outcome_source: OutcomeSource | None
    end_reason: EndReason
    trajectory_uri: str
    trajectory_sha256: str
    instructions: str
    model: str | None
    step_count: int
    tokens_in: int
    tokens_out: int
    started_at: datetime
    ended_at: datetime
    source_id: str | None = None
    reflected_at: datetime | None = None


def number_steps(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Return the steps with ids `s0001`, `s0002` ... in order.

    Args:
        steps: Steps in order; their ids are replaced.
    """
    return tuple(
        Step(
            step_id=f"s{ordinal:04d}",
            kind=step.kind,
            text=step.text,
            tool=step.tool,
            call_id=step.call_id,
            outcome=step.outcome,
            at=step.at,
        )
        for ordinal, step in enumerate(steps, start=1)
    )
