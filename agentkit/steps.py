"""pydantic-ai messages as steps: the one mapping that recording and importing share."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    RetryFeedbackPart,
    TextContent,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from agentkit.records import Step, StepOutcome

BRIEFING_MARK = "agentkit.briefing"
CARRY_OVER_MARK = "agentkit.carry_over"

_OUTCOMES: Mapping[str, StepOutcome] = {
    "success": "ok",
    "failed": "failed",
    "denied": "failed",
    "interrupted": "interrupted",
    "retried": "retried",
}


def steps_of(messages: Iterable[ModelMessage], *, start: int = 1) -> tuple[Step, ...]:
    """Return what happened in messages, in order, with numbered step ids.

    System text is no step: it is the trajectory's instructions. A briefing that this package
    put in keeps its own kind. Thinking and files are left out; a file leaves a mark.

    Args:
        messages: Messages of one task.
        start: Number of the first step id, at least 1.
    """
    drafts = (draft for message in messages for draft in _drafts(message))
    return tuple(
        Step(
            step_id=f"s{ordinal:04d}",
            kind=draft.kind,
            text=draft.text,
            tool=draft.tool,
            call_id=draft.call_id,
            outcome=draft.outcome,
            at=draft.at,
        )
        for ordinal, draft in enumerate(drafts, start=start)
    )


def instructions_of(messages: Sequence[ModelMessage]) -> str:
    """Return the system text that the last request carried, or ""."""
    for message in reversed(messages):
        if not isinstance(message, ModelRequest):
            continue
        if message.instructions:
            return message.instructions
        system = [part.content for part in message.parts if part.part_kind == "system-prompt"]
        if system:
            return "\n\n".join(system)
    return ""


def is_briefing(part: UserPromptPart) -> bool:
    """Whether a user part is a briefing or a carry-over that this package put in."""
    if isinstance(part.content, str):
        return False
    return any(isinstance(item, TextContent) and _marked(item) for item in part.content)


def briefing_of(part: UserPromptPart) -> str | None:
    """Return the id of the recall that a briefing came from, or None for any other user part."""
    if isinstance(part.content, str):
        return None
    for item in part.content:
        if isinstance(item, TextContent) and _marked(item):
            metadata = cast("dict[str, Any]", item.metadata)
            return str(metadata[BRIEFING_MARK])
    return None


def prompt_text(content: object) -> str:
    """Return the text of a prompt as pydantic-ai takes it; files leave a mark such as `[image]`.

    Args:
        content: A string, a sequence of user content, or None.
    """
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, TextContent):
        return content.content
    if isinstance(content, Sequence):
        return "\n".join(prompt_text(item) for item in cast("Sequence[object]", content))
    kind = getattr(content, "kind", None)
    return f"[{kind}]" if isinstance(kind, str) else ""


def _marked(item: TextContent) -> bool:
    metadata: object = item.metadata
    if not isinstance(metadata, dict):
        return False
    marks = cast("dict[str, Any]", metadata)
    return BRIEFING_MARK in marks or CARRY_OVER_MARK in marks


def _drafts(message: ModelMessage) -> Iterator[Step]:
    if isinstance(message, ModelResponse):
        yield from _response_drafts(message)
        return
    for part in message.parts:
        draft = _request_draft(part)
        if draft is not None:
            yield draft


def _response_drafts(message: ModelResponse) -> Iterator[Step]:
    at = _utc(message.timestamp)
    for part in message.parts:
        if isinstance(part, TextPart) and part.content.strip():
            yield Step(step_id="", kind="model", text=part.content, at=at)
        elif isinstance(part, ToolCallPart):
            yield Step(
                step_id="",
                kind="tool_call",
                text=_arguments(part),
                tool=part.tool_name,
                call_id=part.tool_call_id,
                at=at,
            )


def _arguments(part: ToolCallPart) -> str:
    """Arguments as JSON text; a model's malformed JSON is kept as it came."""
    if part.args is None:
        return "{}"
    return part.args if isinstance(part.args, str) else part.args_as_json_str()


def _request_draft(part: ModelRequestPart) -> Step | None:
    if isinstance(part, UserPromptPart):
        return Step(
            step_id="",
            kind="briefing" if is_briefing(part) else "user",
            text=prompt_text(part.content),
            at=_utc(part.timestamp),
        )
    if isinstance(part, ToolReturnPart):
        return Step(
            step_id="",
            kind="tool_return",
            text=part.model_response_str(wrap_if_error=False),
            tool=part.tool_name,
            call_id=part.tool_call_id,
            outcome=_OUTCOMES[part.outcome],
            at=_utc(part.timestamp),
        )
    if isinstance(part, RetryFeedbackPart) or part.part_kind == "retry-prompt":
        return Step(
            step_id="",
            kind="tool_return",
            text=part.model_response(),
            tool=None,
            outcome="retried",
            at=_utc(part.timestamp),
        )
    return None


def _utc(at: datetime) -> datetime:
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
