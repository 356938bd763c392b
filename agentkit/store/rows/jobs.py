"""Background work: claimed with a lease, so that several workers never share a job."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import cast

from sqlmodel import Session, and_, col, or_, select

from agentkit.errors import NotFoundError
from agentkit.records import Job, JobKind, JobState, Scope
from agentkit.store.ids import new_id
from agentkit.store.rows.scoping import in_scope
from agentkit.store.tables import JobRow
from agentkit.text import normalise


def add_job(
    session: Session,
    scope: Scope,
    *,
    kind: JobKind,
    subject_id: str,
    payload: str,
    now: datetime,
) -> None:
    """Write a job that may be claimed at once."""
    session.add(
        JobRow(
            id=new_id(now),
            user_id=scope.user_id,
            agent_id=scope.agent_id,
            kind=kind,
            subject_id=subject_id,
            state="pending",
            run_after=now,
            payload=payload,
            created_at=now,
        )
    )


def claim_job(
    session: Session,
    *,
    kinds: Sequence[JobKind],
    lease: timedelta,
    scope: Scope | None,
    now: datetime,
) -> Job | None:
    """Take the job that has been due longest and return it, or None when none is due.

    A job whose lease has run out is due again: its worker is taken to have died.

    Args:
        session: Session that holds the write lock.
        kinds: Kinds of work that the caller does.
        lease: How long it may take.
        scope: Whose jobs, or None for those of all users.
        now: Current time, UTC.
    """
    due = or_(
        and_(col(JobRow.state) == "pending", col(JobRow.run_after) <= now),
        and_(col(JobRow.state) == "running", col(JobRow.lease_until) <= now),
    )
    query = select(JobRow).where(due, col(JobRow.kind).in_(kinds))
    if scope is not None:
        query = query.where(in_scope(col(JobRow.user_id), col(JobRow.agent_id), scope=scope))
    row = session.exec(
        query.order_by(col(JobRow.run_after), col(JobRow.id))
        .limit(1)
        .with_for_update(skip_locked=True)
    ).first()
    if row is None:
        return None
    row.state, row.attempts, row.lease_until = "running", row.attempts + 1, now + lease
    session.flush()
    return to_jobs([row])[0]


def held_row(session: Session, job: Job) -> JobRow | None:
    """Return the row of a job that its holder still holds, or None when it was taken over.

    The number of attempts grows with each claim, so an old holder is told from the new one.
    """
    return session.exec(
        select(JobRow)
        .where(
            JobRow.id == job.job_id,
            JobRow.user_id == job.scope.user_id,
            JobRow.state == "running",
            JobRow.attempts == job.attempts,
        )
        .with_for_update()
    ).first()


def release_job(
    session: Session,
    job: Job,
    *,
    state: JobState,
    error: str = "",
    run_after: datetime | None = None,
) -> bool:
    """Let go of a claimed job and return whether it was still ours.

    Args:
        session: Session that holds the write lock.
        job: The job as it was claimed.
        state: Where it goes.
        error: What went wrong, or "".
        run_after: Not before, UTC, or None to leave it.
    """
    row = held_row(session, job)
    if row is None:
        return False
    row.state, row.lease_until, row.last_error = state, None, normalise(error)
    if run_after is not None:
        row.run_after = run_after
    return True


def requeue_job(session: Session, scope: Scope, job_id: str, *, now: datetime) -> Job:
    """Make a job that ended, or waits, due at once and return it; its attempts start again.

    Raises:
        NotFoundError: If this scope has no such job that could be run again.
    """
    row = session.exec(
        select(JobRow).where(
            JobRow.id == normalise(job_id),
            in_scope(col(JobRow.user_id), col(JobRow.agent_id), scope=scope),
            col(JobRow.state).in_(("dead", "partial", "waiting", "pending")),
        )
    ).first()
    if row is None:
        raise NotFoundError("job to run again", job_id)
    row.state, row.run_after, row.attempts = "pending", now, 0
    session.flush()
    return to_jobs([row])[0]


def list_jobs(
    session: Session, scope: Scope | None, *, states: Sequence[JobState] | None
) -> tuple[Job, ...]:
    """Return jobs, oldest first.

    Args:
        session: Open session.
        scope: Whose jobs, or None for those of all users.
        states: States wanted, or None for all.
    """
    query = select(JobRow).order_by(col(JobRow.id))
    if scope is not None:
        query = query.where(in_scope(col(JobRow.user_id), col(JobRow.agent_id), scope=scope))
    if states is not None:
        query = query.where(col(JobRow.state).in_(states))
    return to_jobs(session.exec(query))


def to_jobs(rows: Iterable[JobRow]) -> tuple[Job, ...]:
    """Return the jobs of rows, in their order."""
    return tuple(
        Job(
            job_id=row.id,
            scope=Scope(row.user_id, row.agent_id),
            kind=cast("JobKind", row.kind),
            subject_id=row.subject_id,
            state=cast("JobState", row.state),
            attempts=row.attempts,
            run_after=row.run_after,
            lease_until=row.lease_until,
            last_error=row.last_error,
            payload=row.payload,
        )
        for row in rows
    )
