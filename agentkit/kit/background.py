"""Work that must get done but that nobody waits for.

Every piece of work is safe to start again: what a dying event loop cancelled is run again at
exit, and what the process did not get to is found in the database at the next start.
"""

import asyncio
import concurrent.futures.thread  # noqa: F401 # pyright: ignore[reportUnusedImport] - see at_thread_exit
import itertools
import logging
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from agentkit.errors import AgentkitError

logger = logging.getLogger("agentkit")

EXIT_BUDGET_S = 20.0
OTHER_LOOP_PAUSE_S = 0.02
# Putting back a job is one small transaction.
CANCEL_LIMIT_S = 2.0

Lane = Literal["log", "record", "work"]


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece of work.

    Attributes:
        name: What it is, for the log.
        lane: `log` for the retrieval log, `record` for runs (both soon done, and waited for by
            what builds on them), `work` for what takes its time.
        subject: What it is about, for those who wait for that alone, or None.
        work: Called again if the loop dies first, so doing it twice must be harmless.
    """

    name: str
    lane: Lane
    subject: object
    work: Callable[[], Awaitable[None]]


async def attempt(name: str, work: Callable[[], Awaitable[None]]) -> Exception | None:
    """Do a piece of work at the job boundary.

    Args:
        name: What it is, for the log.
        work: The work.

    Returns:
        What went wrong, logged with its traceback, or None.
    """
    try:
        await work()
    except AgentkitError as error:
        logger.warning("%s: %s", name, error)
        return error
    except Exception as error:
        logger.exception("%s failed", name)
        return error
    return None


def at_thread_exit(call: Callable[[], None]) -> None:
    """Have a function called when the main thread is done, while threads can still be started.

    The handlers of `atexit` run after every thread pool has been closed: no name could be looked
    up for a model's address, no database call could leave the event loop, and chromadb could not
    be imported. Pools close themselves by the same hook, and the last one registered is called
    first; importing `concurrent.futures.thread` puts theirs before ours.

    Args:
        call: The function.
    """
    register: Callable[[Callable[[], None]], None] = vars(threading)["_register_atexit"]
    register(call)


class Background:
    """Runs work beside the caller's event loop and finishes it before the process ends."""

    def __init__(self, *, exit_work: Callable[[], Awaitable[None]]) -> None:
        """Hold no loop yet; the first `spawn` finds the running one.

        Args:
            exit_work: What is still to do at exit, besides the pieces not done yet.
        """
        self._exit_work = exit_work
        self._numbers = itertools.count()
        self._pending: dict[int, Piece] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        # Runs may be started from several threads, each with a loop of its own.
        self._lock = threading.RLock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._registered = False
        self._owes_exit_work = False
        self._before_join: list[Callable[[], None]] = []

    def before_join(self, call: Callable[[], None]) -> None:
        """Have a function called whenever somebody waits for what is pending.

        Args:
            call: Ends whatever a piece of work waits for; called from any thread, and often.
        """
        self._before_join.append(call)

    def spawn(
        self,
        name: str,
        work: Callable[[], Awaitable[None]],
        *,
        lane: Lane = "record",
        subject: object = None,
    ) -> None:
        """Start a piece of work in the running loop, and take over what a closed loop dropped.

        Args:
            name: What it is, for the log.
            work: Called again if the loop dies first, so doing it twice must be harmless.
            lane: Which calls of `join` wait for it.
            subject: What it is about; compared by value.
        """
        self._register()
        self._loop = asyncio.get_running_loop()
        with self._lock:
            self._owes_exit_work = True
            dropped = [number for number in self._pending if self._is_dropped(number)]
            number = next(self._numbers)
            self._pending[number] = Piece(name, lane, subject, work)
            for one in (*dropped, number):
                self._begin(one)

    async def join(self, *, lane: Lane | None = None, subject: object = None) -> None:
        """Wait for what is pending.

        Args:
            lane: Wait for the pieces of this lane alone, or None for all lanes.
            subject: Wait for the pieces about this alone, or None for all.

        With a lane or a subject, what is added meanwhile is not waited for, so that a busy
        process does not keep the caller; without, the wait ends when nothing is pending.
        """
        before = None if lane is None and subject is None else next(self._numbers)
        while waiting := self._waiting(lane=lane, subject=subject, before=before):
            self._call_before_join()
            await self._turn(waiting)

    async def close(self, *, timeout_s: float = EXIT_BUDGET_S) -> None:
        """Finish what is pending and the work owed at exit, then let go of the exit hook."""
        try:
            async with asyncio.timeout(timeout_s):
                await self.join()
                await self._exit_work()
                await self.join()
        except TimeoutError:
            logger.warning("stopped after %.0f s; the rest is done at the next start", timeout_s)
            await self._cancel_own()
        self._owes_exit_work = False

    def _call_before_join(self) -> None:
        for call in self._before_join:
            call()

    async def _cancel_own(self) -> None:
        """Stop what is going on in this loop, so that nothing goes on behind a closed store."""
        here = asyncio.get_running_loop()
        with self._lock:
            mine = [task for task in self._tasks.values() if task.get_loop() is here]
        for task in mine:
            task.cancel()
        if mine:
            await asyncio.wait(mine, timeout=CANCEL_LIMIT_S)

    def abandon(self) -> bool:
        """Forget everything, in a forked child: the parent does it. Whether a loop was used."""
        self._pending, self._tasks = {}, {}
        self._before_join = []
        self._owes_exit_work = False
        return self._loop is not None

    def _waiting(self, *, lane: Lane | None, subject: object, before: int | None) -> list[int]:
        with self._lock:
            return [
                number
                for number, piece in self._pending.items()
                if lane in (None, piece.lane)
                and (subject is None or subject == piece.subject)
                and (before is None or number < before)
            ]

    async def _turn(self, waiting: list[int]) -> None:
        """Wait for tasks of this loop, or begin again here what a loop that stopped left."""
        here = asyncio.get_running_loop()
        with self._lock:
            tasks = [self._tasks[number] for number in waiting if number in self._tasks]
        mine = [task for task in tasks if task.get_loop() is here]
        if mine:
            await asyncio.wait(mine, return_when=asyncio.FIRST_COMPLETED)
            return
        if any(task.get_loop().is_running() for task in tasks):
            await asyncio.sleep(OTHER_LOOP_PAUSE_S)
            return
        with self._lock:
            for number in waiting:
                if number in self._pending:
                    self._begin(number)

    def _is_dropped(self, number: int) -> bool:
        """Whether nothing is left that would do a pending piece."""
        task = self._tasks.get(number)
        return task is None or task.get_loop().is_closed()

    def _begin(self, number: int) -> None:
        """Do a pending piece in the running loop; the caller holds the lock."""
        name = self._pending[number].name
        task = asyncio.get_running_loop().create_task(self._run(number), name=f"agentkit {name}")
        # A loop may end before its task: the piece is begun again elsewhere, so asyncio's
        # complaint about a lost task would be wrong. asyncio.gather does the same.
        task._log_destroy_pending = False  # pyright: ignore[reportAttributeAccessIssue]
        self._tasks[number] = task
        task.add_done_callback(lambda done: self._end(number, done))

    def _end(self, number: int, done: asyncio.Task[None]) -> None:
        with self._lock:
            if self._tasks.get(number) is done:
                del self._tasks[number]

    async def _run(self, number: int) -> None:
        piece = self._pending.get(number)
        if piece is None:
            return
        try:
            await attempt(piece.name, piece.work)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            logger.warning("%s: what it waited for was cancelled", piece.name)
        with self._lock:
            self._pending.pop(number, None)

    def _register(self) -> None:
        if not self._registered:
            self._registered = True
            at_thread_exit(self._at_exit)

    def _at_exit(self) -> None:
        """Finish in the loops that were used, or in a new one where they are closed."""
        if not self._owes_exit_work:
            return
        end_s = time.monotonic() + EXIT_BUDGET_S
        for other in self._stopped_loops():
            # What was left half done goes on where it stands rather than being done twice.
            other.run_until_complete(self._finish_own(max(end_s - time.monotonic(), 0.0)))
        left_s = max(end_s - time.monotonic(), 0.0)
        loop = self._loop
        if loop is not None and not loop.is_closed() and not loop.is_running():
            loop.run_until_complete(self.close(timeout_s=left_s))
            return
        asyncio.run(self.close(timeout_s=left_s))

    def _stopped_loops(self) -> list[asyncio.AbstractEventLoop]:
        """The loops in which a piece stands half done and that nobody runs."""
        with self._lock:
            loops = {task.get_loop() for task in self._tasks.values()}
        return [loop for loop in loops if not loop.is_closed() and not loop.is_running()]

    async def _finish_own(self, timeout_s: float) -> None:
        """Wait for the pieces that were begun in this loop, and for those that they begin."""
        here = asyncio.get_running_loop()
        end_s = here.time() + timeout_s
        while (left_s := end_s - here.time()) > 0:
            with self._lock:
                mine = [task for task in self._tasks.values() if task.get_loop() is here]
            if not mine:
                return
            self._call_before_join()
            await asyncio.wait(mine, timeout=left_s)
