"""The overlap last measured of a user's approximate recalls: a job that is done, with its result.

A table of its own would hold a row a user. As a job it is erased, moved and kept apart by user as
all jobs are.
"""

import json
from datetime import datetime

from sqlalchemy import ColumnElement
from sqlmodel import Session, col, delete, select

from agentkit.records import Scope
from agentkit.store.ids import new_id
from agentkit.store.tables import JobRow
from agentkit.store.values import KeptOverlap

KIND = "overlap"
SUBJECT = "recall"


def keep_overlap(
    session: Session, scope: Scope, *, overlap: float, queries: int, now: datetime
) -> None:
    """Keep what was measured, in place of what was measured before.

    Args:
        session: Session that holds the write lock.
        scope: Whose recalls; all agents of the user share one figure.
        overlap: Mean share of the exact ten best that was found, in [0, 1].
        queries: Queries that it is a mean over.
        now: Current time, UTC.
    """
    session.exec(delete(JobRow).where(*_of(scope)))
    session.add(
        JobRow(
            id=new_id(now),
            user_id=scope.user_id,
            kind=KIND,
            subject_id=SUBJECT,
            state="done",
            run_after=now,
            payload=json.dumps({"overlap": overlap, "queries": queries}),
            created_at=now,
        )
    )


def get_overlap(session: Session, scope: Scope) -> KeptOverlap | None:
    """Return what was measured last, or None."""
    query = select(JobRow).where(*_of(scope)).order_by(col(JobRow.id).desc()).limit(1)
    row = session.exec(query).first()
    if row is None:
        return None
    held = json.loads(row.payload)
    return KeptOverlap(
        overlap=float(held["overlap"]), queries=int(held["queries"]), at=row.created_at
    )


def _of(scope: Scope) -> tuple[ColumnElement[bool], ...]:
    return (
        col(JobRow.user_id) == scope.user_id,
        col(JobRow.subject_id) == SUBJECT,
        col(JobRow.kind) == KIND,
    )
