"""pydantic-ai message histories, kept part by part where its own adapter refuses the whole.

The adapter refuses a history for one part of a newer release, or one damaged part. Here such a
part is left out and reported. What the rest means is told by the mapping that live runs use.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import ValidationError

from agentkit.evaluation.importers.reading import Format, Reading, digest
from agentkit.evaluation.importers.source import (
    JsonValue,
    as_list,
    as_object,
    as_text,
    compact,
)
from agentkit.evaluation.importers.stepping import outcome_of
from agentkit.records import Recording, Step, Trajectory, number_steps
from agentkit.text import normalise

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage


def _recognises(value: JsonValue) -> bool:
    listed = as_list(value)
    sample: Sequence[JsonValue] = [value] if listed is None else listed
    return any(_is_message(item) for item in sample)


def _is_message(value: JsonValue) -> bool:
    message = as_object(value)
    return (
        message is not None
        and message.get("kind") in ("request", "response")
        and as_list(message.get("parts")) is not None
    )


def _read(value: JsonValue) -> Reading:
    from agentkit.steps import instructions_of, steps_of

    listed = as_list(value)
    items: Sequence[JsonValue] = [value] if listed is None else listed
    problems: list[str] = []
    messages = list(_messages(items, problems))
    steps = number_steps(_settled(step) for step in steps_of(messages) if _says(step))
    if not steps:
        return Reading(recording=None, problems=(*problems, "the history has no steps"))
    source_id = f"sha256 {digest(items)}"
    times = [step.at for step in steps if step.at is not None]
    recording = Recording(
        source_id=source_id,
        trajectory=Trajectory(
            steps=steps,
            instructions=normalise(instructions_of(messages)),
            model=_last(items, "model_name"),
        ),
        session_id=_last(items, "conversation_id") or source_id,
        started_at=min(times, default=None),
        ended_at=max(times, default=None),
    )
    return Reading(recording=recording, problems=tuple(problems))


def _messages(items: Sequence[JsonValue], problems: list[str]) -> Iterator["ModelMessage"]:
    """Give the messages that can be used, and add what cannot be to the problems."""
    for number, item in enumerate(items, start=1):
        message = as_object(item)
        if message is None or not _is_message(item):
            problems.append(f"message {number} is no request or response")
            continue
        whole = _message(message)
        if whole is not None:
            yield whole
            continue
        for part in as_list(message.get("parts")) or ():
            alone = _message({**message, "parts": [part]})
            if alone is not None:
                yield alone
                continue
            kind = (as_object(part) or {}).get("part_kind")
            problems.append(f"message {number}: cannot use a part of kind {compact(kind):.60}")


def _message(message: Mapping[str, JsonValue]) -> "ModelMessage | None":
    """Return a message as pydantic-ai reads it, or None if it refuses it."""
    from pydantic_ai.messages import ModelMessagesTypeAdapter

    try:
        # Escaped, so that half a surrogate pair is a matter of the text and not of the encoding.
        (read,) = ModelMessagesTypeAdapter.validate_json(json.dumps([message]))
    except (ValidationError, RecursionError):
        return None
    return read


def _says(step: Step) -> bool:
    """Whether a step is one: blank words are not, an empty tool return is."""
    return step.kind in ("tool_call", "tool_return") or bool(step.text.strip())


def _settled(step: Step) -> Step:
    """Return a step in normal form; a tool that returns its errors as text has failed too."""
    text = normalise(step.text)
    outcome = outcome_of(text) if step.outcome == "ok" else step.outcome
    return replace(step, text=text, outcome=outcome)


def _last(items: Sequence[JsonValue], key: str) -> str | None:
    """Return the last text under a key of the messages, or None."""
    found = (as_text((as_object(item) or {}).get(key)) for item in reversed(items))
    return next((text for text in found if text), None)


PYDANTIC_AI = Format(
    name="pydantic-ai",
    expects="the JSON of one message history, a list of histories, or one history a line",
    recognises=_recognises,
    read=_read,
    gather=True,
)
