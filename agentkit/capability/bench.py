"""pydantic-ai messages on the workbench: parts as items, and the view back as messages."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from agentkit.policy.working import WorkingPolicy
from agentkit.steps import is_briefing, prompt_text
from agentkit.text import estimate_tokens
from agentkit.working import BenchItem, View, fit

PART_OVERHEAD_TOKENS = 4


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an item stands: message and part."""

    message: int
    part: int


def fit_messages(
    messages: Sequence[ModelMessage], *, run_id: str | None, policy: WorkingPolicy
) -> list[ModelMessage]:
    """Return the messages that are sent: the newest steps that fit the budget, pairs kept whole.

    Args:
        messages: The whole history with the current prompt.
        run_id: Run that is going on; its user parts are the current prompt.
        policy: Budget and sizes.

    Returns:
        The same messages where everything fits; else new ones, with the stored history untouched.

    Raises:
        InputError: If what has to stay is over the budget.
    """
    places: list[_Place] = []
    items: list[BenchItem] = []
    goal_seen = False
    for number, message in enumerate(messages):
        current = run_id is not None and message.run_id == run_id
        for place, part in enumerate(message.parts):
            item = _item(part, response=number, current=current)
            if item.kind == "user" and not goal_seen and not _briefs(part):
                goal_seen = True
                item = replace(item, is_goal=not item.is_current)
            places.append(_Place(number, place))
            items.append(item)
    budget = max(policy.budget_tokens - _instruction_tokens(messages), 1)
    view = fit(items, budget_tokens=budget, policy=policy)
    if not view.left and not view.texts:
        return list(messages)
    return _rebuilt(messages, places=places, view=view)


def _instruction_tokens(messages: Sequence[ModelMessage]) -> int:
    """Instructions travel beside the parts of the last request."""
    for message in reversed(messages):
        if isinstance(message, ModelRequest):
            return estimate_tokens(message.instructions or "")
    return 0


def _briefs(part: ModelRequestPart | ModelResponsePart) -> bool:
    return isinstance(part, UserPromptPart) and is_briefing(part)


def _item(part: ModelRequestPart | ModelResponsePart, *, response: int, current: bool) -> BenchItem:
    if isinstance(part, UserPromptPart):
        text = prompt_text(part.content)
        return BenchItem(kind="user", text=text, tokens=_tokens(text), is_current=current)
    if isinstance(part, ToolReturnPart):
        text = part.model_response_str(wrap_if_error=False)
        return BenchItem(
            kind="tool_return", text=text, tokens=_tokens(text), call_id=part.tool_call_id
        )
    if isinstance(part, ToolCallPart):
        text = part.args if isinstance(part.args, str) else part.args_as_json_str()
        return BenchItem(
            kind="tool_call",
            text=text,
            tokens=_tokens(text + part.tool_name),
            call_id=part.tool_call_id,
            response=response,
        )
    if isinstance(part, TextPart | ThinkingPart):
        return BenchItem(
            kind="model", text=part.content, tokens=_tokens(part.content), response=response
        )
    if isinstance(part, SystemPromptPart):
        return BenchItem(kind="system", text=part.content, tokens=_tokens(part.content))
    return _other(part, response=response)


def _other(part: ModelRequestPart | ModelResponsePart, *, response: int) -> BenchItem:
    """A part that this version has no rule for: what it says counts, where it stands decides."""
    call_id = getattr(part, "tool_call_id", None)
    content = getattr(part, "content", "")
    text = content if isinstance(content, str) else str(content)
    if part.part_kind == "retry-prompt" and isinstance(call_id, str):
        return BenchItem(kind="tool_return", text=text, tokens=_tokens(text), call_id=call_id)
    if part.part_kind == "retry-feedback":
        return BenchItem(kind="user", text=text, tokens=_tokens(text), is_current=True)
    if part.part_kind in _RESPONSE_KINDS:
        return BenchItem(kind="model", text=text, tokens=_tokens(text), response=response)
    return BenchItem(kind="system", text=text, tokens=_tokens(text))


_RESPONSE_KINDS = frozenset(
    {"builtin-tool-call", "builtin-tool-return", "compaction", "file", "speech"}
)


def _tokens(text: str) -> int:
    return estimate_tokens(text) + PART_OVERHEAD_TOKENS


def _rebuilt(
    messages: Sequence[ModelMessage], *, places: Sequence[_Place], view: View
) -> list[ModelMessage]:
    """The kept parts as messages; a message of which nothing is left goes."""
    kept: dict[int, list[int]] = {}
    for index in view.kept:
        kept.setdefault(places[index].message, []).append(index)
    result: list[ModelMessage] = []
    for number, message in enumerate(messages):
        indexes = kept.get(number)
        if not indexes:
            continue
        if isinstance(message, ModelResponse):
            answered = [message.parts[places[index].part] for index in indexes]
            result.append(replace(message, parts=answered))
            continue
        parts = [
            _shortened(message.parts[places[index].part], view.texts.get(index))
            for index in indexes
        ]
        result.append(replace(message, parts=parts))
    return result


def _shortened(part: ModelRequestPart, text: str | None) -> ModelRequestPart:
    if text is None or not isinstance(part, ToolReturnPart | UserPromptPart):
        return part
    return replace(part, content=text)
