"""One run of the agent: what was recalled is told, then the answer, piece by piece or whole."""

import asyncio
import logging
from collections.abc import AsyncIterable, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic_ai.exceptions import AgentRunError, UserError
from pydantic_ai.messages import (
    AgentStreamEvent,
    FunctionToolCallEvent,
    ModelMessage,
    ModelRequest,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    UserPromptPart,
)

from agentkit.chat.events import Recalled, RecalledMemory, Tell, ToolUsed, Words
from agentkit.errors import AgentkitError, NotFoundError, RunError
from agentkit.recall import explanation
from agentkit.records import Scope
from agentkit.steps import briefing_of, prompt_text
from agentkit.text import one_line

if TYPE_CHECKING:
    from pydantic_ai import RunContext
    from pydantic_ai.run import AgentRunResult

    from agentkit.kit import Kit

logger = logging.getLogger("agentkit")

# A recall is looked for among the newest of the log, each of which is read with its pool: it was
# made by the run at hand, and the others leave room for runs beside it and the model's searches.
LOOKED_THROUGH = 8
FAILURE_CHARS = 300

Run = Callable[..., Awaitable["AgentRunResult[str]"]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a run came to.

    Attributes:
        text: The answer, not blank.
        recalled: What was recalled for it, or None.
        tokens_in: Input tokens that the run reported.
        tokens_out: Output tokens that the run reported.
    """

    text: str
    recalled: Recalled | None
    tokens_in: int
    tokens_out: int


async def ask(
    run: Run, prompt: str, *, kit: "Kit", scope: Scope, tell: Tell, stream: bool
) -> Answer:
    """Run the agent once and tell what happens.

    Args:
        run: `Agent.run` or `Session.run`, or a call that adds arguments to one of them.
        prompt: What the user says.
        kit: The open project.
        scope: Whose memory.
        tell: Told what was recalled, the tools called, and the answer.
        stream: Whether the answer is told in pieces as it comes; else once, whole.

    Raises:
        RunError: If the run failed or the answer is blank; one line says why.
        asyncio.CancelledError: If whoever waits for it was cancelled, and the run with it.
    """
    listening = _Listening(kit=kit, scope=scope, tell=tell)
    options = {"event_stream_handler": listening.hear} if stream else {}
    task = asyncio.ensure_future(run(prompt, **options))
    try:
        await asyncio.wait([task])
    except asyncio.CancelledError:
        # What the run said and did so far is recorded before anybody goes on.
        task.cancel()
        await asyncio.wait([task])
        raise
    if (error := task.exception()) is not None:
        raise _failure(error) from error
    result = task.result()
    await listening.look_for_recall(result.new_messages())
    if not result.output.strip():
        raise RunError("the model gave an empty answer; ask again, or use another model")
    if not listening.spoke:
        tell(Words(result.output))
    usage = result.usage
    return Answer(
        text=result.output,
        recalled=listening.recalled,
        tokens_in=usage.input_tokens,
        tokens_out=usage.output_tokens,
    )


@dataclass(kw_only=True)
class _Listening:
    """Tells what a run does.

    Attributes:
        recalled: What was recalled for it, once known.
        spoke: Whether a piece of text was told.
    """

    kit: "Kit"
    scope: Scope
    tell: Tell
    recalled: Recalled | None = field(default=None, init=False)
    spoke: bool = field(default=False, init=False)

    async def hear(self, ctx: "RunContext[Any]", events: AsyncIterable[AgentStreamEvent]) -> None:
        """Tell the events of one model request and of the tools that it calls."""
        own = [message for message in ctx.messages if message.run_id == ctx.run_id]
        await self.look_for_recall(own)
        async for event in events:
            if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
                self._say(event.part.content)
            elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
                self._say(event.delta.content_delta)
            elif isinstance(event, FunctionToolCallEvent):
                self.tell(ToolUsed(event.part.tool_name))

    async def look_for_recall(self, messages: Sequence[ModelMessage]) -> None:
        """Tell what was recalled, once, where it has not been told."""
        if self.recalled is not None:
            return
        for part in _briefings(messages):
            self.recalled = await _recalled(self.kit, part, scope=self.scope)
            if self.recalled is not None:
                self.tell(self.recalled)
                return

    def _say(self, text: str) -> None:
        if text:
            self.spoke = True
            self.tell(Words(text))


def _briefings(messages: Sequence[ModelMessage]) -> list[UserPromptPart]:
    return [
        part
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, UserPromptPart) and briefing_of(part)
    ]


async def _recalled(kit: "Kit", part: UserPromptPart, *, scope: Scope) -> Recalled | None:
    """Read the recall behind a briefing off the log; trouble with it is no trouble of the run."""
    text = prompt_text(part.content)
    try:
        await kit.background.join(lane="log")
        logged = await kit.retrievals(scope=scope, limit=LOOKED_THROUGH)
        found = next((one for one in logged if one.retrieval_id == briefing_of(part)), None)
        if found is None:
            return None
        intent = found.result.intent
        returned = [one for one in found.result.pool if one.returned]
        # What did not fit the briefing was not shown to the model.
        shown = [one for one in returned if one.memory_id in text] or returned
        memories: list[RecalledMemory] = []
        for one in shown:
            memory = await kit.memory(one.memory_id, scope=scope)
            why = explanation(one, intent=intent)
            memories.append(RecalledMemory(memory=memory, explanation=why))
    except NotFoundError:
        return None
    except AgentkitError as error:
        logger.warning("what was recalled cannot be shown: %s", error)
        return None
    return Recalled(retrieval_id=found.retrieval_id, memories=tuple(memories))


def _failure(error: BaseException) -> BaseException:
    """Return why a run failed, for one line; a tool of the owner may raise anything."""
    if isinstance(error, AgentkitError) or not isinstance(error, Exception):
        return error
    logger.debug("the run failed", exc_info=error)
    said = one_line(str(error), limit_chars=FAILURE_CHARS)
    if isinstance(error, AgentRunError | UserError):
        return RunError(f"the run failed: {said}")
    hint = "agentkit --debug shows where"
    return RunError(f"the run failed: {type(error).__name__}: {said} ({hint})")
