"""Tool calls with what came back, as the rule critic reads them."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from agentkit.records import Step, Trajectory
from agentkit.text import one_line

ERROR_CHARS = 160
VALUE_CHARS = 80
# More differing parts than this say less than the whole value does.
MOST_PARTS = 3
# Shown before the first difference of two long texts, so that it can be placed.
CONTEXT_CHARS = 24
_ERROR_START = re.compile(
    r"^\s*(?:[\w.]*(?:error|exception)\b|traceback\b|fatal\b|failed\b|failure\b|错误|失败|异常|出错|无法)",
    re.IGNORECASE,
)
_ERROR_LABEL = re.compile(r"^(?:error|错误|出错|失败)\s*[:：]\s*", re.IGNORECASE)
_NO_SUCH_TOOL = re.compile(
    r"unknown tool|no such tool|no tool (?:named|called)|tool\b.{0,60}\b(?:not found|not exist|"
    r"doesn't exist|is not available)|未知(?:的)?工具|没有(?:这个|该)?工具|工具不存在",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    """One tool call and its return.

    Attributes:
        call: The call step.
        result: The return step, or None when nothing came back.
        failed: Whether the return says that it went wrong.
        error: The error on one line, without a label, or "".
        position: Index of the call among the steps of the trajectory.
    """

    call: Step
    result: Step | None
    failed: bool
    error: str
    position: int

    @property
    def tool(self) -> str:
        """Name of the tool."""
        return self.call.tool or ""

    @property
    def ok(self) -> bool:
        """Whether something came back and it was no error and not blank."""
        return self.result is not None and not self.failed and bool(self.result.text.strip())


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """An argument that differs between two calls.

    Attributes:
        name: Argument.
        old: Its value before, short, or None when it was not given.
        new: Its value after, short, or None when it is no longer given.
    """

    name: str
    old: str | None
    new: str | None


def tool_uses(trajectory: Trajectory) -> tuple[ToolUse, ...]:
    """Return the tool calls of a trajectory in order, paired with their returns.

    A return belongs to the first call before it of the same call id (recordings reuse ids) or,
    without ids, of the same tool, that has none yet.

    Args:
        trajectory: The steps of a task.
    """
    taken: set[int] = set()
    found: list[ToolUse] = []
    for position, step in enumerate(trajectory.steps):
        if step.kind != "tool_call":
            continue
        at = _return_of(trajectory.steps, position, taken)
        result = None if at is None else trajectory.steps[at]
        if at is not None:
            taken.add(at)
        failed = result is not None and _is_error(result)
        error = _error_line(result.text) if result is not None and failed else ""
        found.append(
            ToolUse(call=step, result=result, failed=failed, error=error, position=position)
        )
    return tuple(found)


def missing_tools(uses: Sequence[ToolUse]) -> frozenset[str]:
    """Return names that were called but are no tools: a lesson must never recommend one."""
    worked = {use.tool for use in uses if use.ok}
    named = {use.tool for use in uses if use.failed and _NO_SUCH_TOOL.search(use.error)}
    return frozenset(named - worked)


def changes(before: Step, after: Step) -> tuple[Change, ...]:
    """Return the arguments that differ between two calls, in the order of the later call.

    An argument with parts is taken apart where few parts differ: `payments.1.amount`.

    Args:
        before: The earlier call.
        after: The later call.
    """
    old, new = _arguments(before), _arguments(after)
    found: list[Change] = []
    for name in [*new, *(name for name in old if name not in new)]:
        if name in old and name in new and old[name] == new[name]:
            continue
        whole = _leaf_changes(name, old.get(name), new.get(name))
        if name in old and name in new and 0 < len(whole) <= MOST_PARTS:
            found += whole
        else:
            found.append(_change(name, old.get(name), new.get(name)))
    return tuple(found)


def _leaf_changes(name: str, old: object, new: object) -> list[Change]:
    """Return the parts that differ, by dotted name."""
    before, after = dict(_leaves(name, old)), dict(_leaves(name, new))
    names = [*after, *(key for key in before if key not in after)]
    return [
        _change(key, before.get(key), after.get(key))
        for key in names
        if before.get(key) != after.get(key)
    ]


def _leaves(name: str, value: object) -> Iterator[tuple[str, object]]:
    """Yield each part of a value that has no parts, with its dotted name."""
    if isinstance(value, dict):
        for key, part in cast("dict[str, object]", value).items():
            yield from _leaves(f"{name}.{key}", part)
    elif isinstance(value, list):
        for at, part in enumerate(cast("list[object]", value)):
            yield from _leaves(f"{name}.{at}", part)
    else:
        yield name, value


def _change(name: str, old: object, new: object) -> Change:
    if isinstance(old, str) and isinstance(new, str) and max(len(old), len(new)) > VALUE_CHARS:
        before, after = _differing(old, new)
        return Change(name=name, old=before, new=after)
    return Change(
        name=name,
        old=None if old is None else _short(old),
        new=None if new is None else _short(new),
    )


def _differing(old: str, new: str) -> tuple[str, str]:
    """Return two long texts from shortly before where they differ."""
    pairs = enumerate(zip(old, new, strict=False))
    start = next((at for at, (one, other) in pairs if one != other), min(len(old), len(new)))
    at = max(start - CONTEXT_CHARS, 0)
    lead = "…" if at else ""
    return lead + _short(old[at:]), lead + _short(new[at:])


def share_a_value(one: Step, other: Step) -> bool:
    """Whether two calls have a text or number argument in common, such as a path."""
    ours = {_short(value) for value in _arguments(one).values() if isinstance(value, str | int)}
    theirs = {_short(value) for value in _arguments(other).values() if isinstance(value, str | int)}
    return bool(ours & theirs)


def _return_of(steps: Sequence[Step], position: int, taken: set[int]) -> int | None:
    call = steps[position]
    for at in range(position + 1, len(steps)):
        step = steps[at]
        if step.kind != "tool_return" or at in taken:
            continue
        same = step.call_id == call.call_id if call.call_id else step.tool == call.tool
        if same:
            return at
    return None


def _is_error(step: Step) -> bool:
    if step.outcome in ("failed", "retried"):
        return True
    if step.outcome == "interrupted":
        return False
    return bool(_ERROR_START.match(step.text)) or _error_field(step.text) is not None


def _error_field(text: str) -> str | None:
    """Return the `error` of a JSON object, or None."""
    if not text.lstrip().startswith("{"):
        return None
    fields = _object(text)
    error = fields.get("error") or fields.get("错误")
    return None if not error else error if isinstance(error, str) else json.dumps(error)


def _error_line(text: str) -> str:
    said = _error_field(text) or text
    lines = [line for line in said.strip().splitlines() if line.strip()]
    if lines and lines[0].lower().startswith("traceback"):
        lines = lines[-1:]
    return one_line(
        _ERROR_LABEL.sub("", lines[0].strip()) if lines else "", limit_chars=ERROR_CHARS
    )


def _arguments(call: Step) -> dict[str, object]:
    return _object(call.text)


def _object(text: str) -> dict[str, object]:
    """Return a JSON object, or an empty one where the text is none."""
    try:
        parsed: object = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, object]", parsed) if isinstance(parsed, dict) else {}


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return one_line(text, limit_chars=VALUE_CHARS)
