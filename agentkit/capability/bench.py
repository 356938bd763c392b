"""pydantic-ai messages on the workbench: parts as items, and the view back as messages."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from agentkit.capability.system_text import put_first
from agentkit.policy.working import WorkingPolicy
from agentkit.steps import is_briefing, prompt_text
from agentkit.text import estimate_tokens
from agentkit.working import BenchItem, Pin, View, fit, handle_of, pinned_tokens

PART_OVERHEAD_TOKENS = 4
BENCH_MARK = "agentkit.bench"


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an item stands: message and part."""

    message: int
    part: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What is on the bench beside the messages.

    Attributes:
        pins: What is pinned: results by handle, and their texts where the messages are gone.
        pinned_text: The pins that no message holds, rendered as data, or "".
        handles: Whether large results name their handle, since a tool is there to open it.
    """

    pins: tuple[Pin, ...] = ()
    pinned_text: str = ""
    handles: bool = False


NOTHING_BESIDE = Beside()


def fit_messages(
    messages: Sequence[ModelMessage],
    *,
    run_id: str | None,
    policy: WorkingPolicy,
    model: str | None = None,
    beside: Beside = NOTHING_BESIDE,
) -> list[ModelMessage]:
    """Return the messages that are sent: the newest steps that fit the budget, pairs kept whole.

    Args:
        messages: The whole history with the current prompt.
        run_id: Run that is going on; its user parts are the current prompt.
        policy: Budget and sizes.
        model: Model string, for a budget of its own, or None.
        beside: What is pinned.

    Returns:
        The same messages where everything fits; else new ones, with the stored history untouched.

    Raises:
        InputError: If what has to stay is over the budget.
    """
    shown = put_first(messages, _data(beside.pinned_text))
    places, items = _items(shown, run_id=run_id, beside=beside)
    budget = max(policy.budget_for(model) - _instruction_tokens(shown), 1)
    view = fit(items, budget_tokens=budget, policy=policy)
    if not view.left and not view.texts:
        return shown
    return _rebuilt(shown, places=places, view=view)


def pin_tokens(messages: Sequence[ModelMessage], *, policy: WorkingPolicy, beside: Beside) -> int:
    """Return what is pinned costs in a request, in estimated tokens.

    Args:
        messages: The whole history.
        policy: Sizes of large results.
        beside: Pins, and the text of those that no message holds.
    """
    shown = put_first(messages, _data(beside.pinned_text))
    _, items = _items(shown, run_id=None, beside=beside)
    return pinned_tokens(items, policy=policy)


def part_handle(part: ToolReturnPart) -> str:
    """Return the handle of a tool return."""
    return handle_of(tool=part.tool_name, call_id=part.tool_call_id, at=part.timestamp)


def tool_returns(messages: Sequence[ModelMessage]) -> Iterator[ToolReturnPart]:
    """Give the tool returns of a history, in order."""
    for message in messages:
        if isinstance(message, ModelRequest):
            yield from (part for part in message.parts if isinstance(part, ToolReturnPart))


def _data(text: str) -> list[UserPromptPart]:
    """A part of ours: data beside the messages, marked so that it is known again."""
    if not text:
        return []
    return [UserPromptPart([TextContent(text, metadata={BENCH_MARK: True})])]


def _is_ours(part: object) -> bool:
    if not isinstance(part, UserPromptPart) or isinstance(part.content, str):
        return False
    return any(
        isinstance(item, TextContent) and BENCH_MARK in (item.metadata or {})
        for item in part.content
    )


def _items(
    messages: Sequence[ModelMessage], *, run_id: str | None, beside: Beside
) -> tuple[list[_Place], list[BenchItem]]:
    """The parts of messages as items of the window, and where each stands."""
    places: list[_Place] = []
    items: list[BenchItem] = []
    pinned = {pin.handle for pin in beside.pins}
    goal_seen = False
    for number, message in enumerate(messages):
        current = run_id is not None and message.run_id == run_id
        for place, part in enumerate(message.parts):
            item = _item(part, response=number, current=current)
            if _is_ours(part):
                item = replace(item, is_current=False, pinned=True)
            elif item.kind == "user" and not goal_seen and not _briefs(part):
                goal_seen = True
                item = replace(item, is_goal=not item.is_current)
            elif isinstance(part, ToolReturnPart):
                handle = part_handle(part)
                shown = handle if beside.handles else ""
                item = replace(item, handle=shown, pinned=handle in pinned)
            places.append(_Place(number, place))
            items.append(item)
    if not any(item.is_current for item in items):
        _mark_last_prompt(items, places, last=len(messages) - 1)
    return places, items


def _mark_last_prompt(items: list[BenchItem], places: Sequence[_Place], *, last: int) -> None:
    """A run that was given no prompt of its own answers the one that its history ends with."""
    for index, item in enumerate(items):
        if places[index].message == last and item.kind == "user" and not item.pinned:
            items[index] = replace(item, is_current=True, is_goal=False)


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
