"""The inline worker: claims due jobs one by one and works them off."""

import asyncio
import logging
from datetime import datetime, timedelta

from agentkit.errors import ReflectionError
from agentkit.kit.background import Background, attempt
from agentkit.kit.parts import Parts
from agentkit.kit.reflecting import Reflector
from agentkit.records import Job, JobKind, ReflectionReport, Scope
from agentkit.store import Progress

logger = logging.getLogger("agentkit")

KINDS: tuple[JobKind, ...] = ("reflect", "conflict")
LEASE_MARGIN_S = 60.0
BACKOFF_FIRST_S = 5.0
BACKOFF_MOST_S = 900.0
ALARM_LEAST_S = 1.0
# Days are what is kept: looking more often would find little.
DROP_EVERY = timedelta(hours=1)


class Worker:
    """Works off jobs in this process; several processes may do so at once."""

    def __init__(self, parts: Parts, *, reflector: Reflector, background: Background) -> None:
        """Bind the rooms; nothing runs until `wake` or `work_off`."""
        self._parts = parts
        self._reflector = reflector
        self._background = background
        self._awake = False
        self._turn = 0
        self._dropped: list[Job] = []
        self._alarm: asyncio.TimerHandle | None = None
        self._dropped_at: datetime | None = None

    def rest(self) -> None:
        """Wait for nothing any more; what is due later is done at the next start."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def wake(self) -> None:
        """Work off what is due beside the caller, unless somebody else is to do it."""
        if self._parts.settings.worker != "inline" or self._awake:
            return
        self._awake = True
        self._background.spawn("work off jobs", self._awake_work, lane="work")

    async def work_off(
        self, *, scope: Scope | None = None, progress: Progress | None = None
    ) -> tuple[ReflectionReport, ...]:
        """Do every due job, bring embeddings and index level, and let go of old log.

        Args:
            scope: Only jobs of this user, or None for everybody's.
            progress: Told the number of jobs done and the number still waiting.

        Returns:
            One report for each reflection, in the order in which they were done.

        Raises:
            StoreError: If the database cannot be read or written.
        """
        reports: list[ReflectionReport] = []
        done = 0
        await self._release_dropped()
        lease_s = self._parts.policy.reflection.timeout_s + LEASE_MARGIN_S
        while job := await self._claim(scope, lease_s=lease_s):
            report = await self._do(job)
            done += 1
            if report is not None:
                reports.append(report)
            if progress is not None:
                progress(done, await self._waiting(scope))
        for store in await self._parts.stores.all():
            report = await store.settle()
            if report.problem:
                logger.warning("index and embeddings are behind: %s", report.problem)
        await self._drop_old_log()
        return tuple(reports)

    async def _drop_old_log(self) -> None:
        """Delete what the policy keeps no longer, at most once in a while."""
        keep_days = self._parts.policy.recall.log.keep_days
        now = self._parts.clock()
        lately = self._dropped_at is not None and now - self._dropped_at < DROP_EVERY
        if keep_days == 0 or lately:
            return
        self._dropped_at = now
        for store in await self._parts.stores.all():
            await store.drop_old_retrievals(before=now - timedelta(days=keep_days))

    async def _claim(self, scope: Scope | None, *, lease_s: float) -> Job | None:
        """The next due job; with several stores each has its turn, whoever has the most jobs."""
        if scope is not None:
            store = await self._parts.store(scope)
            return await store.claim(kinds=KINDS, lease_s=lease_s, scope=scope)
        stores = await self._parts.stores.all()
        for step in range(len(stores)):
            place = (self._turn + step) % len(stores)
            job = await stores[place].claim(kinds=KINDS, lease_s=lease_s)
            if job is not None:
                self._turn = place + 1
                return job
        return None

    async def _awake_work(self) -> None:
        self._awake = False
        await self.work_off()
        await self._set_alarm()

    async def _set_alarm(self) -> None:
        """Come back when the next job is due: one put back, or one whose worker died."""
        now = self._parts.clock()
        stores = await self._parts.stores.all()
        jobs = [job for one in stores for job in await one.jobs(states=("pending", "running"))]
        due = [job.lease_until or job.run_after for job in jobs if job.kind in KINDS]
        self.rest()
        if due:
            wait_s = max((min(due) - now).total_seconds(), ALARM_LEAST_S)
            self._alarm = asyncio.get_running_loop().call_later(wait_s, self.wake)

    async def _release_dropped(self) -> None:
        """Put back what was being done when its event loop ended: nobody does it now."""
        while self._dropped:
            job = self._dropped[-1]
            store = await self._parts.store(job.scope)
            await store.retry_job(
                job, error="cut off before it was done", run_after=self._parts.clock()
            )
            self._dropped.remove(job)

    async def _waiting(self, scope: Scope | None) -> int:
        now = self._parts.clock()
        stores = await self._parts.stores_of(scope)
        jobs = [job for one in stores for job in await one.jobs(scope, states=("pending",))]
        return sum(job.run_after <= now for job in jobs)

    async def _do(self, job: Job) -> ReflectionReport | None:
        """Do one job; what fails is put back with a delay, or buried after the last try."""
        reports: list[ReflectionReport] = []

        async def work() -> None:
            if job.kind == "reflect":
                reports.append(await self._reflector.reflect(job))
            else:
                await self._reflector.check_conflicts(job)

        try:
            error = await attempt(f"job {job.job_id} ({job.kind} {job.subject_id})", work)
        except asyncio.CancelledError:
            self._dropped.append(job)
            await attempt("put back a job", self._release_dropped)
            raise
        if error is None:
            return reports[0] if reports else None
        await self._put_back(job, error)
        if job.kind != "reflect":
            return None
        return ReflectionReport(episode_id=job.subject_id, reflection=None, error=str(error))

    async def _put_back(self, job: Job, error: Exception) -> None:
        said = f"{type(error).__name__}: {error}"
        store = await self._parts.store(job.scope)
        permanent = isinstance(error, ReflectionError) and not error.retryable
        if permanent or job.attempts >= self._parts.policy.reflection.attempts:
            await store.bury_job(job, error=said)
            return
        asked_s = error.retry_after_s if isinstance(error, ReflectionError) else None
        wait_s = asked_s if asked_s is not None else backoff_s(job.attempts)
        run_after = self._parts.clock() + timedelta(seconds=wait_s)
        await store.retry_job(job, error=said, run_after=run_after)


def backoff_s(attempts: int) -> float:
    """Return the seconds to wait before the next try: 5, 10, 20 ... at most 900.

    Args:
        attempts: Tries so far, at least 1.
    """
    return min(BACKOFF_FIRST_S * 2 ** (attempts - 1), BACKOFF_MOST_S)
