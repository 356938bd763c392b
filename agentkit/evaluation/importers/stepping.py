"""Steps of one recorded task, put together call by call."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from agentkit.evaluation.importers.source import JsonValue, compact, parse_object
from agentkit.records import (
    Step,
    StepKind,
    StepOutcome,
    Trajectory,
    epoch_instant,
    number_steps,
)
from agentkit.text import normalise

_EPOCH = re.compile(r"\d{9,13}(?:\.\d+)?")
_FAILED = re.compile(
    r"\s*(?:\[?(?:tool )?error\]?\s*[:：]|error(?: executing| calling| in|,)|"
    r"[A-Za-z_.]*(?:Error|Exception)\s*[:(]|traceback \(most recent call last\)|fatal\s*[:：]|"
    r"(?:tool |function )?(?:call |execution )?failed\s*[:：]|\S{0,8}(?:错误|失败|出错)\s*[:：])",
    re.IGNORECASE,
)
# How pydantic-ai asks a model to try again, in whatever format the run was recorded.
_RETRIED = "Fix the errors and try again."


def outcome_of(text: str) -> StepOutcome:
    """Return how a tool return ended, as far as its text tells.

    Args:
        text: What the tool gave back; a JSON object is looked into.

    Returns:
        `retried` if the model was asked to try again, `failed` for an error text or an object
        that says so (`error`, `is_error`, `ok`, `success`, `status`), else `ok`.
    """
    if _RETRIED in text:
        return "retried"
    flags = parse_object(text)
    if flags is not None and _flagged(flags):
        return "failed"
    return "failed" if _FAILED.match(text) else "ok"


def _flagged(flags: Mapping[str, JsonValue]) -> bool:
    if flags.get("is_error") is True or flags.get("isError") is True:
        return True
    if flags.get("ok") is False or flags.get("success") is False:
        return True
    return bool(flags.get("error")) or flags.get("status") == "error"


def instant(value: JsonValue) -> datetime | None:
    """Return a recorded time: ISO 8601 text, or seconds or milliseconds since 1970.

    Args:
        value: As recorded; text without an offset counts as UTC, and digits as the number that
            they are.

    Returns:
        UTC, or None if it is no time, as 0 and -1 are where none was known.
    """
    try:
        if isinstance(value, str) and _EPOCH.fullmatch(value.strip()):
            return epoch_instant(float(value))
        if isinstance(value, str):
            moment = datetime.fromisoformat(value.strip())
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return epoch_instant(value)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def untimed(fields: Mapping[str, JsonValue], *names: str) -> str:
    """Return which of some fields say a time that is none, in words, or "".

    Args:
        fields: As recorded.
        names: Fields that may hold a time; one that is absent or null says nothing.
    """
    wrong = [
        f"{name} {compact(fields[name]):.40} is no time"
        for name in names
        if fields.get(name) is not None and instant(fields[name]) is None
    ]
    return f"{' and '.join(wrong)}; left out" if wrong else ""


@dataclass(slots=True, kw_only=True)
class Stepping:
    """Collects the steps of one task; calls and returns keep their pairs.

    A call id that a recording uses twice gets a suffix, so that each return has one call.

    Attributes:
        steps: Steps so far, not yet numbered.
        system: System texts so far.
        problems: What could not be used, in words.
    """

    steps: list[Step] = field(default_factory=list[Step])
    system: list[str] = field(default_factory=list[str])
    problems: list[str] = field(default_factory=list[str])
    _uses: Counter[str] = field(default_factory=Counter[str])
    _open: dict[str, Step] = field(default_factory=dict[str, Step])

    def say(self, kind: StepKind, text: str, *, at: datetime | None = None) -> None:
        """Add what somebody said; blank text is no step."""
        if text.strip():
            self.steps.append(Step(step_id="", kind=kind, text=normalise(text), at=at))

    def call(
        self, tool: str, arguments: str, *, call_id: str | None, at: datetime | None = None
    ) -> None:
        """Add a tool call.

        Args:
            tool: Name of the tool.
            arguments: Arguments as JSON text.
            call_id: Id in the recording; without one, the next return of that tool answers it.
            at: When, UTC, or None.
        """
        given = call_id or f"{tool}-call"
        self._uses[given] += 1
        unique = given if self._uses[given] == 1 else f"{given}~{self._uses[given]}"
        step = Step(
            step_id="",
            kind="tool_call",
            text=normalise(arguments),
            tool=tool,
            call_id=unique,
            at=at,
        )
        self._open[given] = step
        self.steps.append(step)

    def answer(
        self,
        text: str,
        *,
        call_id: str | None,
        tool: str | None,
        outcome: StepOutcome,
        at: datetime | None = None,
    ) -> None:
        """Add a tool return, beside its call if the recording has one.

        Args:
            text: What the tool gave back.
            call_id: Id in the recording, or None to answer the open call of that tool.
            tool: Name in the recording, or None to take that of the call.
            outcome: How it ended.
            at: When, UTC, or None.
        """
        given = call_id or f"{tool}-call"
        call = self._open.pop(given, None)
        step = Step(
            step_id="",
            kind="tool_return",
            text=normalise(text),
            tool=tool or (call.tool if call else None),
            call_id=call.call_id if call else call_id,
            outcome=outcome,
            at=at,
        )
        self.steps.append(step)

    def trajectory(self, *, model: str | None) -> Trajectory:
        """Return the steps, numbered, under the system texts in their order."""
        return Trajectory(
            steps=number_steps(self.steps),
            instructions=normalise("\n\n".join(text for text in self.system if text.strip())),
            model=model,
        )
