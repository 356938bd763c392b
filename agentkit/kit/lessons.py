"""Lesson candidates that an agent proposed in the middle of a task."""

import json
from dataclasses import replace
from typing import cast

from agentkit.errors import InputError
from agentkit.kit.asking import build_lesson
from agentkit.policy import TaxonomyPolicy
from agentkit.records import Evidence, Lesson, Step, Trajectory

WRITE_TOOL = "memory_write"
QUOTE_CHARS = 200


def proposed(trajectory: Trajectory, *, taxonomy: TaxonomyPolicy) -> tuple[Lesson, ...]:
    """Return what an agent asked to have written with `memory_write`, in order.

    Nothing an agent says in the middle of a task is a memory before the task has ended; its
    calls are steps like any other, so a crash loses none of them.

    Args:
        trajectory: Steps of the task.
        taxonomy: Where the tags come from.
    """
    accepted = {
        step.call_id
        for step in trajectory.steps
        if step.kind == "tool_return" and step.tool == WRITE_TOOL and step.outcome == "ok"
    }
    found = (
        _lesson(step, taxonomy=taxonomy)
        for step in trajectory.steps
        if step.kind == "tool_call" and step.tool == WRITE_TOOL and step.call_id in accepted
    )
    return tuple(lesson for lesson in found if lesson is not None)


def _lesson(step: Step, *, taxonomy: TaxonomyPolicy) -> Lesson | None:
    """The call as a lesson that cites itself; None where it is not what the tool took."""
    try:
        raw: object = json.loads(step.text)
    except json.JSONDecodeError:
        return None
    if not isinstance(raw, dict):
        return None
    arguments = cast("dict[str, object]", raw)
    try:
        lesson = build_lesson(
            arguments.get("content"),
            memory_type=arguments.get("memory_type"),
            tags=arguments.get("tags"),
            confidence=arguments.get("confidence", 0.8),
            cues=arguments.get("cues"),
            taxonomy=taxonomy,
        )
    except InputError:
        return None
    quote = lesson.content[:QUOTE_CHARS]
    cited = (Evidence(step.step_id, quote),) if quote in step.text else ()
    return replace(lesson, evidence=cited)
