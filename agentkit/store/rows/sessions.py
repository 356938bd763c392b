"""The steps of tasks that are still open, written while they happen."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, and_
from sqlmodel import Session, col, delete, select

from agentkit.records import Scope, Step
from agentkit.store.names import stored_name
from agentkit.store.processes import ProcessMark
from agentkit.store.rows.scoping import agent_key
from agentkit.store.tables import SessionRow, TaskStepRow
from agentkit.store.trajectories import dump_step, load_step
from agentkit.store.values import OpenTask
from agentkit.text import normalise


def append_steps(
    session: Session,
    scope: Scope,
    session_id: str,
    steps: Sequence[Step],
    *,
    instructions: str,
    model: str | None,
    owner: ProcessMark,
    now: datetime,
) -> None:
    """Add steps to the open task of a session; a step whose id is there already is left alone.

    Args:
        session: Session that holds the write lock.
        scope: Whose session.
        session_id: The session; two users, or two agents, may use the same name.
        steps: In the order in which they happened.
        instructions: Rendered system text of the last request; "" leaves what is known.
        model: Model string of the run; None leaves what is known.
        owner: The process that writes.
        now: Current time, UTC.

    Raises:
        InputError: If a name is too long to be stored.
    """
    name = stored_name(session_id, what="session_id")
    row = session.get(SessionRow, (scope.user_id, agent_key(scope), name), with_for_update=True)
    if row is None:
        row = SessionRow(
            user_id=scope.user_id,
            agent_key=agent_key(scope),
            session_id=name,
            opened_at=now,
            last_step_at=now,
        )
        session.add(row)
    row.last_step_at = now
    row.instructions = normalise(instructions) or row.instructions
    row.model = stored_name(model, what="model") if model else row.model
    row.owner = owner.as_text()
    if _add_new(session, scope, name, steps):
        row.opened_at = now


def _add_new(session: Session, scope: Scope, name: str, steps: Sequence[Step]) -> bool:
    """Write the steps that are not there yet, and return whether there was none before."""
    known = session.exec(
        select(TaskStepRow.step_id, TaskStepRow.ordinal).where(_steps_of(scope, name))
    ).all()
    seen = {step_id for step_id, _ in known}
    ordinal = max((place for _, place in known), default=-1)
    for step in steps:
        step_id = stored_name(step.step_id, what="step_id")
        if step_id in seen:
            continue
        seen.add(step_id)
        ordinal += 1
        session.add(
            TaskStepRow(
                user_id=scope.user_id,
                agent_key=agent_key(scope),
                session_id=name,
                ordinal=ordinal,
                step_id=step_id,
                payload=dump_step(step),
            )
        )
    return not known


def get_open_task(session: Session, scope: Scope, session_id: str) -> OpenTask | None:
    """Return the open task of a session, or None when it has none."""
    row = session.get(SessionRow, (scope.user_id, agent_key(scope), normalise(session_id)))
    return None if row is None else _open_task(session, row)


def list_open_tasks(session: Session, scope: Scope | None) -> tuple[OpenTask, ...]:
    """Return the open tasks, the longest untouched first.

    Args:
        session: Open session.
        scope: Whose, or None for those of all users; with an agent, that agent's own.
    """
    has_steps = (
        select(TaskStepRow.ordinal)
        .where(
            TaskStepRow.user_id == SessionRow.user_id,
            TaskStepRow.agent_key == SessionRow.agent_key,
            TaskStepRow.session_id == SessionRow.session_id,
        )
        .exists()
    )
    query = select(SessionRow).where(has_steps)
    if scope is not None:
        query = query.where(SessionRow.user_id == scope.user_id)
        if scope.agent_id is not None:
            query = query.where(SessionRow.agent_key == scope.agent_id)
    rows = session.exec(
        query.order_by(
            col(SessionRow.last_step_at),
            col(SessionRow.user_id),
            col(SessionRow.agent_key),
            col(SessionRow.session_id),
        )
    ).all()
    tasks = (_open_task(session, row) for row in rows)
    return tuple(task for task in tasks if task is not None)


def clear_steps(session: Session, scope: Scope, session_id: str) -> None:
    """Remove the steps of a session's open task; they are in a sealed trajectory by then."""
    session.exec(delete(TaskStepRow).where(_steps_of(scope, normalise(session_id))))


def _steps_of(scope: Scope, name: str) -> ColumnElement[bool]:
    return and_(
        col(TaskStepRow.user_id) == scope.user_id,
        col(TaskStepRow.agent_key) == agent_key(scope),
        col(TaskStepRow.session_id) == name,
    )


def _open_task(session: Session, row: SessionRow) -> OpenTask | None:
    scope = Scope(row.user_id, row.agent_key or None)
    payloads = session.exec(
        select(TaskStepRow.payload)
        .where(_steps_of(scope, row.session_id))
        .order_by(col(TaskStepRow.ordinal))
    ).all()
    if not payloads:
        return None
    return OpenTask(
        scope=scope,
        session_id=row.session_id,
        steps=tuple(load_step(payload) for payload in payloads),
        opened_at=row.opened_at,
        last_step_at=row.last_step_at,
        instructions=row.instructions,
        model=row.model,
        owner=ProcessMark.from_text(row.owner),
    )
