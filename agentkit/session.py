"""`Session`: one conversation with one user, over as many tasks as it takes."""

import asyncio
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from pydantic_ai.agent import AbstractAgent
from pydantic_ai.messages import ModelMessage, UserContent, repair_messages
from pydantic_ai.run import AgentRunResult

from agentkit.capability import Hindsight, is_equipped
from agentkit.capability.boundary import boundary
from agentkit.capability.hindsight import AMBIENT, Ambient
from agentkit.errors import InputError
from agentkit.records import Episode, Outcome, Scope
from agentkit.steps import prompt_text

if TYPE_CHECKING:
    from agentkit.kit import Kit


class Session:
    """A conversation: the history goes on until the task ends, then the bench is cleared.

    Made by `Kit.session`; use it with `async with`, so that its last task is sealed.
    """

    def __init__(
        self,
        kit: "Kit",
        agent: AbstractAgent[Any, Any],
        *,
        scope: Scope,
        session_id: str,
        deps: Any,
    ) -> None:
        """Bind a session.

        Args:
            kit: The open kit.
            agent: Any pydantic-ai agent, with or without a `Hindsight` of its own.
            scope: Whose conversation it is.
            session_id: Its name; two users may use the same one.
            deps: Passed to every run.
        """
        self._kit = kit
        self._agent = agent
        self._deps = deps
        self._open = True
        # One conversation: what is said while an answer is made is answered after it.
        self._turn = asyncio.Lock()
        self._messages: list[ModelMessage] = []
        self._extra = [] if is_equipped(agent) else [Hindsight.for_session(kit, scope)]
        self.scope = scope
        self.session_id = session_id

    @property
    def messages(self) -> Sequence[ModelMessage]:
        """The messages of the task that is open, whole and unfitted."""
        return tuple(self._messages)

    async def run(
        self, prompt: str | Sequence[UserContent] | None = None, **options: Any
    ) -> AgentRunResult[Any]:
        """Run the agent on the next thing the user says.

        Args:
            prompt: What the user says; None to go on with `deferred_tool_results=`.
            options: Passed on to `Agent.run`, such as `usage_limits` or `model`.

        Returns:
            The run's result, as `Agent.run` gives it. What a failed run said and did stays in
            the conversation, with its unanswered tool calls closed as interrupted.

        Raises:
            InputError: If the session was ended.
        """
        if not self._open:
            raise InputError(f"session {self.session_id!r} has ended; open a new one")
        async with self._turn:
            await self._settle(prompt_text(prompt))
            return await self._run(prompt, options)

    async def _run(
        self, prompt: str | Sequence[UserContent] | None, options: dict[str, Any]
    ) -> AgentRunResult[Any]:
        run_id = str(options.pop("run_id", None) or self._kit.new_id())
        ambient = Ambient(self.scope, self.session_id, run_id)
        token = AMBIENT.set(ambient)
        try:
            result = await self._agent.run(
                prompt,
                message_history=list(self._messages),
                conversation_id=self.session_id,
                run_id=run_id,
                deps=options.pop("deps", self._deps),
                capabilities=[*self._extra, *options.pop("capabilities", ())],
                **options,
            )
        except BaseException:
            if ambient.heard:
                self._messages = repair_messages(ambient.heard)
            raise
        finally:
            AMBIENT.reset(token)
        self._messages = list(result.all_messages())
        return result

    async def end(self, *, outcome: Outcome | None = None) -> Episode | None:
        """End the open task now, and the session with it.

        Args:
            outcome: How it ended, if the caller knows; the caller's word goes first.

        Returns:
            The sealed episode, or None when nothing was open.
        """
        self._open = False
        await self._kit.background.join(lane="record")
        return await self._kit.end_task(self.scope, self.session_id, outcome=outcome)

    async def __aenter__(self) -> Self:
        """Start the kit's background work."""
        await self._kit.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Seal what is open."""
        if self._open:
            await self.end()

    async def _settle(self, prompt: str) -> None:
        """Clear the bench once a boundary has sealed the task, be it by what is said now."""
        await self._kit.background.join(lane="record")
        if not self._messages:
            return
        with boundary("looking for the end of a task"):
            if prompt.strip():
                await self._kit.begin_prompt(self.scope, self.session_id, prompt)
            if not await self._kit.tasks.is_open(self.scope, self.session_id):
                self._messages = []
