"""The three workbench tools: open a large result again, pin something, unpin it.

As with the memory tools, a wrong argument is told to the model as often as it takes, and trouble
of the store is logged and told as "not available".
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_ai import RunContext, ToolFailed
from pydantic_ai.messages import ModelMessage
from pydantic_ai.toolsets import FunctionToolset

from agentkit.capability.bench import Beside, part_handle, pin_tokens, tool_returns
from agentkit.capability.boundary import boundary
from agentkit.capability.tools import ARGUMENT_RETRIES, Bound
from agentkit.errors import InputError, NotFoundError
from agentkit.kit import Kit
from agentkit.working import Pin, note_pin, page_of, result_pin, said_of, with_pin, without_pin

TOOLSET_ID = "agentkit_workbench"
UNAVAILABLE = "the result cannot be read just now; go on without it"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A tool result that was found by its handle."""

    text: str
    tool: str


class WorkbenchTools:
    """The tools, bound to a kit and to whoever's run it is."""

    def __init__(self, kit: Kit, bound: Callable[[RunContext[Any]], Bound]) -> None:
        """Bind the tools.

        Args:
            kit: Where results and pins are.
            bound: Says whose run a context is; the user is never an argument of a tool.
        """
        self._kit = kit
        self._bound = bound

    def toolset(self) -> FunctionToolset[Any]:
        """Return the three tools as one toolset."""
        tools = [self.workbench_open, self.workbench_pin, self.workbench_unpin]
        return FunctionToolset(tools, id=TOOLSET_ID, max_retries=ARGUMENT_RETRIES)

    async def workbench_open(self, ctx: RunContext[Any], handle: str, page: int = 1) -> str:
        """Read a tool result that was cut, page by page.

        Args:
            ctx: The run.
            handle: Handle as it stands where the result was cut.
            page: Page to read, from 1.
        """
        found = await self._find(ctx, handle)
        if found is None:
            return UNAVAILABLE
        try:
            shown = page_of(found.text, handle=handle, number=page, policy=self._kit.policy.working)
        except InputError as error:
            raise ToolFailed(str(error)) from error
        return shown.shown()

    async def workbench_pin(self, ctx: RunContext[Any], handle: str = "", note: str = "") -> str:
        """Keep something in sight until you unpin it: a cut tool result, or a short note.

        Args:
            ctx: The run.
            handle: Handle of the result, as it stands where the result was cut.
            note: A short note in your own words, in place of a handle.
        """
        if bool(handle.strip()) == bool(note.strip()):
            raise ToolFailed("give either the handle of a result or a note, one of the two")
        policy = self._kit.policy.working
        if note.strip():
            pin = note_pin(note, policy=policy)
        else:
            found = await self._find(ctx, handle)
            if found is None:
                return UNAVAILABLE
            pin = result_pin(found.text, handle=handle, tool=found.tool, policy=policy)
        who = self._bound(ctx)
        pins = with_pin(self._kit.workbench.known_pins(who.scope, who.session_id), pin)
        self._refuse_too_much(ctx, pins)
        self._kit.workbench.keep_pins(who.scope, who.session_id, pins)
        return said_of(pin)

    async def workbench_unpin(self, ctx: RunContext[Any], handle: str) -> str:
        """Stop keeping something in sight.

        Args:
            ctx: The run.
            handle: Handle of the pinned result or note.
        """
        who = self._bound(ctx)
        before = self._kit.workbench.known_pins(who.scope, who.session_id)
        pins = without_pin(before, handle)
        if len(pins) == len(before):
            held = ", ".join(pin.handle for pin in before) or "none"
            raise ToolFailed(f"nothing is pinned as {handle!r}; pinned handles: {held}")
        self._kit.workbench.keep_pins(who.scope, who.session_id, pins)
        return f"unpinned: {handle}"

    async def _find(self, ctx: RunContext[Any], handle: str) -> _Found | None:
        """Find a result in the run's own history, else in what is kept of its session.

        None where the store cannot be read; an unknown handle is told to the model.
        """
        for part in reversed(list(tool_returns(ctx.messages))):
            if part_handle(part) == handle:
                text = part.model_response_str(wrap_if_error=False)
                return _Found(text=text, tool=part.tool_name)
        missing = False
        with boundary("opening a large result"):
            who = self._bound(ctx)
            try:
                step = await self._kit.workbench.result(who.scope, who.session_id, handle)
            except NotFoundError:
                missing = True
            else:
                return _Found(text=step.text, tool=step.tool or "")
        if missing:
            raise ToolFailed(
                f"no result {handle!r} here; give a handle as it stands where a result was cut"
            )
        return None

    def _refuse_too_much(self, ctx: RunContext[Any], pins: Sequence[Pin]) -> None:
        """Tell the model when more would be pinned than leaves room for the work."""
        policy = self._kit.policy.working
        beside = beside_of(self._kit, ctx.messages, pins=pins)
        needed = pin_tokens(ctx.messages, policy=policy, beside=beside)
        limit = policy.pin_limit_for(model_string(ctx.model))
        if needed > limit:
            raise ToolFailed(
                f"pinning this would keep {needed} tokens in sight, over the {limit} that may be "
                "pinned; unpin something first, or pin a shorter note"
            )


def beside_of(
    kit: Kit, messages: Sequence[ModelMessage], *, pins: Sequence[Pin], handles: bool = True
) -> Beside:
    """Return the pins as they stand beside the messages of a run.

    Args:
        kit: The open kit.
        messages: The whole history; a pinned result that it holds is not told twice.
        pins: What is pinned.
        handles: Whether large results name their handle.

    Raises:
        TemplateError: If the template `workbench` is broken.
    """
    held = {part_handle(part) for part in tool_returns(messages)} if pins else set[str]()
    gone = [pin for pin in pins if pin.handle not in held]
    return Beside(pins=tuple(pins), pinned_text=kit.workbench.pinned_text(gone), handles=handles)


def model_string(model: object) -> str | None:
    """Return `provider:name` of a model, from which a worker elsewhere can build it again."""
    system = getattr(model, "system", None)
    name = getattr(model, "model_name", None)
    return f"{system}:{name}" if system and name else None
