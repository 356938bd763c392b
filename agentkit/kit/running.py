"""An open project at work: its background, the runs it takes over, its beginning and end."""

import asyncio
import logging
from types import TracebackType
from typing import Self
from weakref import WeakValueDictionary

from agentkit.kit.admitting import Admitter
from agentkit.kit.background import EXIT_BUDGET_S, Background
from agentkit.kit.briefing import Briefer
from agentkit.kit.carrying import Carrier
from agentkit.kit.critics import Critics
from agentkit.kit.parts import Parts
from agentkit.kit.reading import Reading
from agentkit.kit.recalling import Recaller
from agentkit.kit.reflecting import Reflector
from agentkit.kit.tasks import RunRecord, Tasks
from agentkit.kit.workbench import Workbench
from agentkit.kit.worker import Worker
from agentkit.records import Episode, Outcome, Scope
from agentkit.store import new_id

logger = logging.getLogger("agentkit")

# Writing a run takes milliseconds; over this the database is in trouble, and a run does not wait.
TURN_LIMIT_S = 5.0
# What the taking up of open tasks is about, for those who must not overtake it.
LEFT_OPEN = "what was left open"


class Holder:
    """Whoever has the turn in a session; the turn ends when it is let go of."""


class Running(Reading):
    """Puts the rooms together, takes over runs, and finishes what is pending at the end.

    Attributes:
        background: Work that must get done but that nobody waits for.
        tasks: Tasks that are open, and their sealing.
        workbench: What is pinned in sessions, and their large results.
        carrier: What sessions carry over a boundary.
    """

    def __init__(self, parts: Parts) -> None:
        """Put the rooms together; `Kit.open` makes the parts."""
        super().__init__(parts)
        self.put_together(parts)

    def put_together(self, parts: Parts) -> None:
        """Put the rooms together, at the beginning and again in a forked child."""
        self._parts = parts
        self.background = Background(exit_work=self._exit_work)
        self.tasks = Tasks(parts)
        self.workbench = Workbench(parts)
        self.carrier = Carrier(parts)
        self._recaller = Recaller(parts, background=self.background)
        self._briefer = Briefer(parts, self._recaller)
        self._admitter = Admitter(parts, self._recaller)
        reflector = Reflector(
            parts,
            recaller=self._recaller,
            admitter=self._admitter,
            tasks=self.tasks,
            critics=Critics(parts),
        )
        self._worker = Worker(parts, reflector=reflector, background=self.background)
        self._turns: WeakValueDictionary[tuple[Scope, str], Holder] = WeakValueDictionary()
        self._started = False

    async def take_turn(self, scope: Scope, session_id: str, *, holder: Holder) -> int | None:
        """Let a run go on with the task of a session.

        What the run before it did is written first, so that the steps of both are numbered as
        one task. Two runs at once are not one conversation.

        Args:
            scope: Whose session.
            session_id: The session.
            holder: Kept by the run until it ends.

        Returns:
            Number of the run's first step within the task, from 1; None when another run is going
            on in the session, or the one before cannot be written: this one is then a task of
            its own.

        Raises:
            StoreError: If the database cannot be read.
        """
        subject = (scope, session_id)
        if self._turns.setdefault(subject, holder) is not holder:
            return None
        try:
            async with asyncio.timeout(TURN_LIMIT_S):
                await self.background.join(subject=subject)
        except TimeoutError:
            logger.warning("the run before in session %r is not written yet", session_id)
            return None
        return await self.tasks.next_step(scope, session_id)

    async def begin_prompt(self, scope: Scope, session_id: str, prompt: str) -> bool:
        """End the open task of a session if what is said next begins another one.

        Args:
            scope: Whose session.
            session_id: The session.
            prompt: What the user says next.

        Returns:
            Whether a task was ended: a long silence, or another topic.

        Raises:
            StoreError: If the database cannot be read or written.
        """
        reason = await self.tasks.ended_before(scope, session_id, prompt)
        if reason is None:
            return False
        await self.background.join(lane="log")
        if await self.tasks.end(scope, session_id, reason=reason) is not None:
            self._worker.wake()
        return True

    def new_id(self) -> str:
        """Return a new id, uuid7 by the kit's clock."""
        return new_id(self._parts.clock())

    def end_turn(self, scope: Scope, session_id: str, *, holder: Holder) -> None:
        """Let the next run have the session; harmless where the turn was not held."""
        if self._turns.get((scope, session_id)) is holder:
            del self._turns[scope, session_id]

    async def end_task(
        self, scope: Scope, session_id: str, *, outcome: Outcome | None = None
    ) -> Episode | None:
        """Seal the open task of a session now, and reflect on it in the background.

        Args:
            scope: Whose task.
            session_id: Its session.
            outcome: How it ended, if the caller knows.
        """
        # What the last run did is written first, or it would be left open.
        await self.background.join(lane="log")
        await self.background.join(subject=(scope, session_id))
        episode = await self.tasks.end(
            scope, session_id, reason="closed", said=outcome or "unknown"
        )
        self.workbench.clear(scope, session_id)
        if episode is not None:
            self._worker.wake()
        return episode

    async def finish_run(self, record: RunRecord) -> None:
        """Take over a run that ended; where its task ended too, reflect in the background."""
        await self.background.join(lane="log")
        await self.background.join(subject=record.run_id)
        if await self.tasks.finish(record) is not None:
            self._worker.wake()
        if self.tasks.closing.is_wanted:
            self.background.spawn("embed the endings", self.tasks.closing.prepare, lane="work")

    async def start(self) -> None:
        """Take up what earlier processes left, beside the caller: open tasks, jobs, index. Once."""
        if self._started:
            return
        self._started = True

        async def recover() -> None:
            await self.tasks.recover()
            self._worker.wake()
            # On its own: whoever waits for what was left need not wait for the embedder.
            self.background.spawn("embed the taxonomy", self._recaller.intent.prepare, lane="work")

        self.background.spawn("take up what was left", recover, lane="work", subject=LEFT_OPEN)

    async def aclose(self, *, timeout_s: float = EXIT_BUDGET_S) -> None:
        """Finish what is pending, and close the store. Calling it twice is harmless.

        Args:
            timeout_s: Longest wait in seconds; what is not done by then is done at the next start.
        """
        await self.background.close(timeout_s=timeout_s)
        self._worker.rest()
        await self._parts.stores.close()

    async def __aenter__(self) -> Self:
        """Start the background work."""
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Finish and close."""
        await self.aclose()

    async def _exit_work(self) -> None:
        if self.settings.worker == "inline":
            await self._worker.work_off()
