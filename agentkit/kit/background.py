"""Work that must get done but that nobody waits for.

Every piece of work is safe to start again: what a dying event loop cancelled is run again at
exit, and what the process did not get to is found in the database at the next start.
"""

import asyncio
import concurrent.futures.thread  # noqa: F401 # pyright: ignore[reportUnusedImport] - see at_thread_exit
import itertools
import logging
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from agentkit.errors import AgentkitError

logger = logging.getLogger("agentkit")

EXIT_BUDGET_S = 20.0
OTHER_LOOP_PAUSE_S = 0.02

Lane = Literal["log", "record", "work"]


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece of work.

    Attributes:
        name: What it is, for the log.
        lane: `log` for the retrieval log, `record` for runs (both soon done, and waited for by
            what builds on them), `work` for what takes its time.
        work: Called again if the loop dies first, so doing it twice must be harmless.
    """

    name: str
    lane: Lane
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
        self._loop: asyncio.AbstractEventLoop | None = None
        self._registered = False
        self._owes_exit_work = False

    def spawn(
        self, name: str, work: Callable[[], Awaitable[None]], *, lane: Lane = "record"
    ) -> None:
        """Start a piece of work in the running loop.

        Args:
            name: What it is, for the log.
            work: Called again if the loop dies first, so doing it twice must be harmless.
            lane: Which calls of `join` wait for it.
        """
        number = next(self._numbers)
        self._pending[number] = Piece(name, lane, work)
        self._owes_exit_work = True
        self._register()
        self._loop = asyncio.get_running_loop()
        task = self._loop.create_task(self._run(number), name=f"agentkit {name}")
        self._tasks[number] = task
        task.add_done_callback(lambda _: self._tasks.pop(number, None))

    async def join(self, *, lane: Lane | None = None) -> None:
        """Wait until nothing is pending.

        Args:
            lane: Wait for the pieces of this lane alone, or None for all.
        """
        while waiting := [
            number for number, piece in self._pending.items() if lane in (None, piece.lane)
        ]:
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
        self._owes_exit_work = False

    async def _turn(self, waiting: list[int]) -> None:
        """Wait for tasks of this loop, or run again what a loop that is gone dropped."""
        here = asyncio.get_running_loop()
        tasks = [self._tasks[number] for number in waiting if number in self._tasks]
        mine = [task for task in tasks if task.get_loop() is here]
        if mine:
            await asyncio.wait(mine, return_when=asyncio.FIRST_COMPLETED)
            return
        if any(task.get_loop().is_running() for task in tasks):
            await asyncio.sleep(OTHER_LOOP_PAUSE_S)
            return
        for number in waiting:
            await self._run(number)

    async def _run(self, number: int) -> None:
        piece = self._pending.get(number)
        if piece is None:
            return
        await attempt(piece.name, piece.work)
        self._pending.pop(number, None)

    def _register(self) -> None:
        if not self._registered:
            self._registered = True
            at_thread_exit(self._at_exit)

    def _at_exit(self) -> None:
        """Finish in the loop that was used, or in a new one where that is closed."""
        if not self._owes_exit_work:
            return
        loop = self._loop
        if loop is not None and not loop.is_closed() and not loop.is_running():
            loop.run_until_complete(self.close())
            return
        asyncio.run(self.close())
