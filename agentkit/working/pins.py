"""Pins: what the model wants to keep on its bench, past the end of a task too."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

from agentkit.policy.working import WorkingPolicy
from agentkit.records import Step
from agentkit.text import cut_tokens
from agentkit.working.handles import handle_of, handle_of_step
from agentkit.working.window import shorten

PIN_TOOL = "workbench_pin"
UNPIN_TOOL = "workbench_unpin"
OPEN_TOOL = "workbench_open"

_HANDLE = re.compile(r"\b[nr]-[a-z2-7]{10}\b")

PinKind = Literal["note", "result"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """Something that stays on the bench until it is unpinned or the session is closed.

    Attributes:
        handle: Handle of the result, or of the note; unique within a session.
        kind: A `note` in the model's words, or a tool `result`.
        text: The note, or the result as it stands on the bench: large ones as head and tail.
        tool: Tool that gave the result, else "".
    """

    handle: str
    kind: PinKind
    text: str
    tool: str = ""


def note_pin(text: str, *, policy: WorkingPolicy) -> Pin:
    """Return a note as a pin; the same words give the same handle.

    Args:
        text: The note; it is cut to `note_tokens`.
        policy: Size of a note.
    """
    cut = cut_tokens(text.strip(), policy.note_tokens)
    handle = handle_of(tool=PIN_TOOL, call_id=cut, at=None)
    return Pin(handle=f"n-{handle[2:]}", kind="note", text=cut)


def result_pin(text: str, *, handle: str, tool: str, policy: WorkingPolicy) -> Pin:
    """Return a tool result as a pin.

    Args:
        text: The whole result.
        handle: Its handle.
        tool: Tool that gave it.
        policy: Sizes of head and tail.
    """
    shown = shorten(text, policy=policy, handle=handle)
    return Pin(handle=handle, kind="result", text=shown, tool=tool)


def with_pin(pins: Sequence[Pin], pin: Pin) -> tuple[Pin, ...]:
    """Return the pins with one more, the newest last; pinned again it is still one."""
    return (*without_pin(pins, pin.handle), pin)


def without_pin(pins: Sequence[Pin], handle: str) -> tuple[Pin, ...]:
    """Return the pins without that of a handle; an unknown one changes nothing."""
    return tuple(pin for pin in pins if pin.handle != handle)


def pins_of(steps: Iterable[Step], *, policy: WorkingPolicy) -> tuple[Pin, ...]:
    """Return what is pinned after some steps: the steps are the record of the pins.

    Only pinning that succeeded counts.

    Args:
        steps: Steps of a session in order, those of sealed tasks first.
        policy: Sizes of notes and results.
    """
    pins: tuple[Pin, ...] = ()
    asked: dict[str, dict[str, object]] = {}
    results: dict[str, Step] = {}
    for step in steps:
        if step.kind == "tool_call" and step.tool in (PIN_TOOL, UNPIN_TOOL) and step.call_id:
            asked[step.call_id] = _arguments(step.text)
        if step.kind != "tool_return":
            continue
        arguments = asked.get(step.call_id or "")
        if step.tool not in (PIN_TOOL, UNPIN_TOOL):
            results[handle_of_step(step)] = step
        elif arguments is not None and step.outcome == "ok":
            pins = _after(pins, step, arguments, results=results, policy=policy)
    return pins


def said_of(pin: Pin) -> str:
    """Return what the model is told of a pin; the record reads the handle in it."""
    return f"pinned as {pin.handle}; it stays until you unpin it"


def _after(
    pins: tuple[Pin, ...],
    done: Step,
    arguments: dict[str, object],
    *,
    results: dict[str, Step],
    policy: WorkingPolicy,
) -> tuple[Pin, ...]:
    """The pins after one call of a tool that pins or unpins."""
    handle, note = str(arguments.get("handle") or ""), str(arguments.get("note") or "")
    if done.tool == UNPIN_TOOL:
        return without_pin(pins, handle)
    if note:
        # A note whose secrets were masked would have another handle than the model was told.
        told = _HANDLE.search(done.text)
        made = note_pin(note, policy=policy)
        return with_pin(pins, replace(made, handle=told.group()) if told else made)
    step = results.get(handle)
    if step is None:
        return pins
    pin = result_pin(step.text, handle=handle, tool=step.tool or "", policy=policy)
    return with_pin(pins, pin)


def _arguments(text: str) -> dict[str, object]:
    """The arguments of a call; what is no JSON object names nothing."""
    try:
        found: object = json.loads(text)
    except json.JSONDecodeError:
        return {}
    return cast("dict[str, object]", found) if isinstance(found, dict) else {}
