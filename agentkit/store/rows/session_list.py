"""The sessions of a user, read off their sealed tasks and the tasks that are open."""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from sqlalchemy import func, select
from sqlmodel import Session, col

from agentkit.records import EndReason, Scope
from agentkit.store.rows.scoping import check_page
from agentkit.store.rows.sessions import list_open_tasks
from agentkit.store.tables import EpisodeRow
from agentkit.store.values import OpenTask, SessionSummary
from agentkit.text import one_line

GOAL_CHARS = 500


def list_sessions(
    session: Session, scope: Scope, *, limit: int, offset: int
) -> tuple[SessionSummary, ...]:
    """Return sessions, the last used first, ties by name.

    Args:
        session: Open session.
        scope: Whose; with an agent, that agent's own.
        limit: Size of the page, at least 1.
        offset: Sessions to skip, at least 0.

    Raises:
        InputError: If limit or offset is out of range.
    """
    check_page(limit=limit, offset=offset)
    found = {_key(one): one for one in _sealed(session, scope)}
    for task in list_open_tasks(session, scope):
        opened = _opened(task)
        before = found.get(_key(opened))
        found[_key(opened)] = opened if before is None else _joined(before, opened)
    ordered = sorted(found.values(), key=lambda one: (one.session_id, one.scope.agent_id or ""))
    ordered.sort(key=lambda one: one.last_at, reverse=True)
    return tuple(ordered[offset : offset + limit])


def _sealed(session: Session, scope: Scope) -> Sequence[SessionSummary]:
    """One summary for each session that has a sealed task, after its last one."""
    of_session = [col(EpisodeRow.agent_id), col(EpisodeRow.session_id)]
    newest = [col(EpisodeRow.ended_at).desc(), col(EpisodeRow.id).desc()]
    begun = func.min(col(EpisodeRow.started_at)).over(partition_by=of_session)
    steps = func.sum(col(EpisodeRow.step_count)).over(partition_by=of_session)
    place = func.row_number().over(partition_by=of_session, order_by=newest)
    query = select(
        *of_session,
        col(EpisodeRow.goal).label("goal"),
        col(EpisodeRow.end_reason).label("end_reason"),
        col(EpisodeRow.ended_at).label("ended_at"),
        begun.label("started_at"),
        func.count().over(partition_by=of_session).label("tasks"),
        steps.label("steps"),
        place.label("place"),
    ).where(col(EpisodeRow.user_id) == scope.user_id)
    if scope.agent_id is not None:
        query = query.where(col(EpisodeRow.agent_id) == scope.agent_id)
    tasks = query.subquery()
    rows = session.connection().execute(select(tasks).where(tasks.c.place == 1)).all()
    return [
        SessionSummary(
            scope=Scope(scope.user_id, row.agent_id),
            session_id=row.session_id,
            open=False,
            goal=row.goal,
            last_boundary=cast("EndReason", row.end_reason),
            started_at=row.started_at,
            last_at=row.ended_at,
            tasks=int(row.tasks),
            steps=int(row.steps),
        )
        for row in rows
    ]


def _opened(task: OpenTask) -> SessionSummary:
    said = next((step.text for step in task.steps if step.kind == "user"), "")
    return SessionSummary(
        scope=task.scope,
        session_id=task.session_id,
        open=True,
        goal=one_line(said, limit_chars=GOAL_CHARS),
        last_boundary=None,
        started_at=task.opened_at,
        last_at=task.last_step_at,
        tasks=0,
        steps=len(task.steps),
    )


def _joined(before: SessionSummary, opened: SessionSummary) -> SessionSummary:
    """A session whose next task is open."""
    return replace(
        opened,
        last_boundary=before.last_boundary,
        started_at=before.started_at,
        tasks=before.tasks,
        steps=before.steps + opened.steps,
    )


def _key(one: SessionSummary) -> tuple[str | None, str]:
    return (one.scope.agent_id, one.session_id)
