"""Jobs: claim, finish, retry, bury."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from sqlmodel import Session

from agentkit.errors import InputError
from agentkit.records import Job, JobKind, JobState, Memory, Reflection, Scope, Verdict
from agentkit.store.doors.room import Room
from agentkit.store.rows import jobs
from agentkit.store.rows.reflections import ReflectionWrite, commit_reflection
from agentkit.store.values import NewMemory, Verification


class JobDoor(Room):
    """What a worker does with jobs."""

    async def claim(
        self, *, kinds: Sequence[JobKind], lease_s: float, scope: Scope | None = None
    ) -> Job | None:
        """Take the job that has been due longest, or None when none is due.

        No two callers get the same job, in whatever process they are; a job whose lease has run
        out is due again.

        Args:
            kinds: Kinds of work that the caller does.
            lease_s: Seconds after which the caller is taken to have died, above 0.
            scope: Whose jobs, or None for those of all users.

        Raises:
            InputError: If the lease is not above 0.
        """
        if lease_s <= 0:
            raise InputError(f"lease_s is {lease_s}; give a number of seconds above 0")
        return await self._database.write(
            lambda session: jobs.claim_job(
                session,
                kinds=kinds,
                lease=timedelta(seconds=lease_s),
                scope=scope,
                now=self._clock(),
            ),
            locks_rows=True,
        )

    async def finish_reflection(
        self,
        job: Job,
        *,
        reflection: Reflection,
        new: Sequence[NewMemory],
        verified: Sequence[Verification],
        verdicts: Sequence[Verdict],
        refused: str = "[]",
    ) -> tuple[Memory, ...]:
        """Commit what a reflection found in one transaction, and return its new memories.

        With the memories go: verifications, verdict labels on the episode's recalls and the
        beliefs they move, the demotion of the episode's own memory, a conflict job for each new
        memory that is not quarantined, and the end of the job. A job that another worker has
        taken over, or that is done, writes nothing and returns nothing.

        Args:
            job: The job as it was claimed.
            reflection: The critique.
            new: Memories to write, in lesson order; each gets the episode's id.
            verified: Memories that were learnt again; those forgotten meanwhile stay forgotten.
            verdicts: Verdicts; those on memories that no recall of the episode had are left out.
            refused: JSON text of what admission refused.

        Raises:
            InputError: If a memory cannot be stored; then nothing is.
            NotFoundError: If the episode is gone.
        """
        with_episode = [_of_episode(item, job.subject_id) for item in new]
        drafts, identity = await self._drafts(with_episode)

        def work(session: Session) -> tuple[Memory, ...]:
            write = ReflectionWrite(
                reflection=reflection,
                drafts=drafts,
                verified=tuple(verified),
                verdicts=tuple(verdicts),
                refused=refused,
                embedder=self._usable(session, identity),
            )
            return commit_reflection(self._change(session, job.scope), job, write)

        return await self._database.write(work)

    async def retry_job(self, job: Job, *, error: str, run_after: datetime) -> bool:
        """Put a claimed job back, to be run later.

        Args:
            job: The job as it was claimed.
            error: What went wrong.
            run_after: Not before, UTC.

        Returns:
            False when another worker has taken it over; then nothing was written.
        """
        return await self._database.write(
            lambda session: jobs.release_job(
                session, job, state="pending", error=error, run_after=run_after
            )
        )

    async def bury_job(self, job: Job, *, error: str) -> bool:
        """Give up on a claimed job; it stays, with its subject, to be looked at.

        Args:
            job: The job as it was claimed.
            error: What went wrong.

        Returns:
            False when another worker has taken it over; then nothing was written.
        """
        return await self._database.write(
            lambda session: jobs.release_job(session, job, state="dead", error=error)
        )

    async def finish_job(self, job: Job) -> bool:
        """Mark a claimed job as done.

        Args:
            job: The job as it was claimed.

        Returns:
            False when another worker has taken it over; then nothing was written.
        """
        return await self._database.write(
            lambda session: jobs.release_job(session, job, state="done")
        )

    async def requeue_job(self, scope: Scope, job_id: str) -> Job:
        """Make a dead, partial or waiting job due at once, its attempts counted anew.

        Raises:
            NotFoundError: If this scope has no such job.
        """
        return await self._database.write(
            lambda session: jobs.requeue_job(session, scope, job_id, now=self._clock())
        )

    async def jobs(
        self, scope: Scope | None = None, *, states: Sequence[JobState] | None = None
    ) -> tuple[Job, ...]:
        """Return jobs, oldest first.

        Args:
            scope: Whose jobs, or None for those of all users.
            states: States wanted, or None for all.
        """
        return await self._database.read(
            lambda session: jobs.list_jobs(session, scope, states=states)
        )


def _of_episode(new: NewMemory, episode_id: str) -> NewMemory:
    return new if new.episode_id is not None else replace(new, episode_id=episode_id)
