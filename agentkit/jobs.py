"""`agentkit worker`: APScheduler ticks over the job table.

The scheduler only ticks. Jobs, leases and retries are rows in the database, so any number of
workers may tick at once and a missed tick costs nothing.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from apscheduler.schedulers.asyncio import (  # pyright: ignore[reportMissingTypeStubs] - it ships none
    AsyncIOScheduler,
)

from agentkit.kit import Kit
from agentkit.kit.background import attempt
from agentkit.records import ReflectionReport

logger = logging.getLogger("agentkit")

TICK_S = 5.0
RECOVER_EVERY_S = 60.0
MISFIRE_GRACE_S = 60

Told = Callable[[tuple[ReflectionReport, ...]], None]


class Ticker:
    """Works off due jobs at every tick, and seals abandoned tasks once a minute."""

    def __init__(self, kit: Kit, *, tick_s: float = TICK_S, told: Told | None = None) -> None:
        """Bind the kit.

        Args:
            kit: The open kit whose jobs are worked off.
            tick_s: Seconds between ticks, above 0.
            told: Told the reports of each tick that did something.
        """
        self._kit = kit
        self._tick_s = tick_s
        self._told = told
        self._scheduler: Any = AsyncIOScheduler(
            timezone="UTC",
            job_defaults={
                "coalesce": True,
                "max_instances": 1,
                "misfire_grace_time": MISFIRE_GRACE_S,
            },
        )
        self._running: set[asyncio.Task[object]] = set()

    async def run(self, stop: asyncio.Event) -> None:
        """Tick until told to stop; the tick that is going on is finished.

        Args:
            stop: Set by whoever wants the worker to end.
        """
        self._scheduler.add_job(self._guarded, "interval", seconds=self._tick_s, args=["jobs"])
        self._scheduler.add_job(
            self._guarded, "interval", seconds=RECOVER_EVERY_S, args=["recover"]
        )
        self._scheduler.start()
        try:
            await self._guarded("recover")
            await self._guarded("jobs")
            await stop.wait()
            # The scheduler would cancel a tick that is going on; it is let finish first.
            self._scheduler.pause()
            if self._running:
                await asyncio.wait(self._running)
        finally:
            self._scheduler.shutdown(wait=False)

    async def _guarded(self, what: str) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._running.add(task)
        try:
            await attempt(f"tick {what}", self._jobs if what == "jobs" else self._recover)
        finally:
            if task is not None:
                self._running.discard(task)

    async def _jobs(self) -> None:
        reports = await self._kit.reflect()
        if reports and self._told is not None:
            self._told(reports)

    async def _recover(self) -> None:
        sealed = await self._kit.tasks.recover()
        if sealed:
            logger.info("sealed %d abandoned tasks", sealed)
