"""A conversation line by line: what the user says goes to the agent, `/commands` to the kit."""

import asyncio
import re
from types import TracebackType
from typing import TYPE_CHECKING, Self

from agentkit.chat.asking import ask
from agentkit.chat.events import Event, Note, Recalled, Tell
from agentkit.chat.learning import what_was_learnt
from agentkit.errors import AgentkitError, InputError
from agentkit.kit.background import EXIT_BUDGET_S
from agentkit.records import Episode, Outcome
from agentkit.text import one_line

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from pydantic_ai import Agent

    from agentkit.kit import Kit

HELP = (
    "/done [success|failure]  end the task and learn from it",
    "/memories                what is remembered, newest first",
    "/why                     why the last memories were recalled",
    "/forget ID               stop using a memory",
    "/help                    this list",
    "/quit                    leave; the open task is ended first",
)
LISTED = 20
SHOWN_CHARS = 200
# A path or a date that begins with a slash is something for the agent.
_COMMAND = re.compile(r"/[a-z]+$")
_OUTCOMES: dict[str, Outcome | None] = {"": None, "success": "success", "failure": "failure"}
FORGOTTEN_BECAUSE = "the user said so in a chat"


class Conversation:
    """A conversation of a user with the project's agent.

    Use it with `async with`, so that the last task is sealed and looked back on.

    Attributes:
        session_id: Name of the session.
        failures: Answers that failed so far.
    """

    def __init__(
        self,
        kit: "Kit",
        agent: "Agent[object, str]",
        *,
        user_id: str,
        tell: Tell,
        stream: bool = True,
        session_id: str | None = None,
        limit_s: float = EXIT_BUDGET_S,
    ) -> None:
        """Bind a conversation.

        Args:
            kit: The open project.
            agent: The agent, without a memory of its own.
            user_id: Whose memory.
            tell: Told everything that there is to show.
            stream: Whether answers are told in pieces as they come.
            session_id: Name of the session, or None for a new one.
            limit_s: Longest wait in seconds for the look back on a task.

        Raises:
            InputError: If a name cannot be one.
        """
        self._kit = kit
        self._session = kit.session(agent, user_id=user_id, session_id=session_id)
        self._tell = tell
        self._stream = stream
        self._limit_s = limit_s
        self._known: set[str] = set()
        self._recalled: Recalled | None = None
        self._work: asyncio.Task[None] | None = None
        self.session_id = self._session.session_id
        self.failures = 0

    async def __aenter__(self) -> Self:
        """Start the background work, and note which tasks the session had before."""
        await self._session.__aenter__()
        self._known = {episode.episode_id for episode in await self._episodes()}
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Seal what is open, and tell what was learnt."""
        await self._session.end()
        await self._tell_learnt()

    async def hear(self, line: str) -> bool:
        """Take one line of the user, and return whether the conversation goes on.

        What goes wrong is told, and the conversation goes on.

        Args:
            line: What the user wrote; blank lines are passed over.
        """
        said = line.strip()
        word, _, rest = said.partition(" ")
        if word == "/quit":
            return False
        if _COMMAND.match(word):
            await self._do(self._command(word, rest.strip()))
        elif said:
            await self._do(self._answer(said))
        return True

    @property
    def busy(self) -> bool:
        """Whether something is being done, an answer or a command."""
        return self._work is not None

    def interrupt(self) -> bool:
        """Stop what is being done; False where there is nothing to stop, or it is being stopped."""
        if self._work is None or self._work.cancelling():
            return False
        return self._work.cancel()

    async def _do(self, work: "Coroutine[object, object, None]") -> None:
        """Do one thing in a task of its own, so that it alone can be stopped."""
        task = self._work = asyncio.create_task(work)
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait([task])
            raise
        finally:
            self._work = None
        if task.cancelled():
            self._tell(Note("stopped"))
            return
        error = task.exception()
        if isinstance(error, AgentkitError):
            self._tell(Note(str(error), failed=True))
        elif error is not None:
            raise error

    async def _answer(self, prompt: str) -> None:
        self._recalled = None
        try:
            await ask(
                self._session.run,
                prompt,
                kit=self._kit,
                scope=self._session.scope,
                tell=self._heard,
                stream=self._stream,
            )
        except AgentkitError:
            self.failures += 1
            raise
        await self._kit.background.join(lane="record")
        await self._tell_learnt()

    def _heard(self, event: Event) -> None:
        if isinstance(event, Recalled):
            self._recalled = event
        self._tell(event)

    async def _command(self, word: str, rest: str) -> None:
        if word == "/done":
            await self._end_task(rest)
        elif word == "/memories":
            await self._list_memories()
        elif word == "/why":
            self._explain()
        elif word == "/forget":
            await self._forget(rest)
        else:
            if word != "/help":
                self._tell(Note(f"no command {word}; there are:", failed=True))
            for line in HELP:
                self._tell(Note(line))

    async def _end_task(self, said: str) -> None:
        if said not in _OUTCOMES:
            raise InputError(f"/done {said} is not known; write /done, /done success or failure")
        scope = self._session.scope
        await self._kit.end_task(scope, self.session_id, outcome=_OUTCOMES[said])
        if not await self._tell_learnt():
            self._tell(Note("no task is open"))

    async def _list_memories(self) -> None:
        found = await self._kit.memories(scope=self._session.scope, limit=LISTED)
        for memory in found:
            said = one_line(memory.content, limit_chars=SHOWN_CHARS)
            self._tell(Note(f"{memory.memory_id}  {memory.memory_type}: {said}"))
        if not found:
            self._tell(Note("nothing is remembered yet"))

    def _explain(self) -> None:
        if self._recalled is None:
            self._tell(Note("nothing was recalled for the last answer"))
            return
        for one in self._recalled.memories:
            said = one_line(one.memory.content, limit_chars=SHOWN_CHARS)
            self._tell(Note(f"{one.memory.memory_id}  {said}"))
            self._tell(Note(f"    {one.explanation}"))

    async def _forget(self, memory_id: str) -> None:
        if not memory_id:
            raise InputError("/forget needs the id of a memory; /memories lists them")
        done = await self._kit.forget(
            [memory_id], scope=self._session.scope, reason=FORGOTTEN_BECAUSE
        )
        if done.not_found:
            raise InputError(f"no memory {memory_id!r} is in use; /memories lists them")
        self._tell(Note(f"forgotten: {memory_id}"))

    async def _tell_learnt(self) -> bool:
        """Tell what came of each task that ended since; return whether there was one."""
        ended = [one for one in await self._episodes() if one.episode_id not in self._known]
        for episode in reversed(ended):
            self._known.add(episode.episode_id)
            self._tell(await what_was_learnt(self._kit, episode, limit_s=self._limit_s))
        return bool(ended)

    async def _episodes(self) -> tuple[Episode, ...]:
        return await self._kit.episodes(scope=self._session.scope, session_id=self.session_id)
