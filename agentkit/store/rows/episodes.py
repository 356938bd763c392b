"""Sealing tasks and reading episodes."""

import json
from collections.abc import Iterable
from datetime import datetime
from typing import cast

from pydantic import TypeAdapter
from sqlmodel import Session, col, or_, select

from agentkit.errors import NotFoundError
from agentkit.records import (
    EndReason,
    Episode,
    Outcome,
    OutcomeSource,
    Reflection,
    Scope,
)
from agentkit.store.names import stored_name
from agentkit.store.rows.scoping import check_page, in_scope
from agentkit.store.tables import ID_CHARS, EpisodeRow
from agentkit.store.values import NewEpisode, StoredReflection
from agentkit.text import normalise, one_line

GOAL_CHARS = 500
_REFLECTION: TypeAdapter[Reflection] = TypeAdapter(Reflection)


def find_sealed(session: Session, scope: Scope, new: NewEpisode) -> EpisodeRow | None:
    """Return the episode that this task was sealed as before, by its id or source id, or None."""
    keys = [
        column == value
        for column, value in (
            (col(EpisodeRow.id), new.episode_id and normalise(new.episode_id)),
            (col(EpisodeRow.source_id), new.source_id and normalise(new.source_id)),
        )
        if value is not None
    ]
    if not keys:
        return None
    return session.exec(
        select(EpisodeRow).where(
            EpisodeRow.user_id == scope.user_id, EpisodeRow.agent_id == scope.agent_id, or_(*keys)
        )
    ).first()


def episode_row(
    scope: Scope, new: NewEpisode, *, episode_id: str, uri: str, sha256: str, now: datetime
) -> EpisodeRow:
    """Return the row of a task that is being sealed.

    Args:
        scope: Whose it is.
        new: The task.
        episode_id: Its id.
        uri: Address of its trajectory, written already.
        sha256: Hex digest of the trajectory's uncompressed content.
        now: Current time, UTC.
    """
    trajectory = new.trajectory
    return EpisodeRow(
        id=stored_name(episode_id, what="episode_id", most_chars=ID_CHARS),
        user_id=scope.user_id,
        agent_id=scope.agent_id,
        session_id=stored_name(new.session_id, what="session_id"),
        source_id=new.source_id and stored_name(new.source_id, what="source_id"),
        goal=one_line(normalise(new.goal or trajectory.goal), limit_chars=GOAL_CHARS),
        outcome=new.outcome,
        outcome_source=new.outcome_source,
        end_reason=new.end_reason,
        trajectory_uri=uri,
        trajectory_sha256=sha256,
        instructions=normalise(trajectory.instructions),
        model=trajectory.model and stored_name(trajectory.model, what="model"),
        step_count=len(trajectory.steps),
        tokens_in=new.tokens_in,
        tokens_out=new.tokens_out,
        started_at=new.started_at,
        ended_at=new.ended_at,
        recorded_at=now,
    )


def find_episode(session: Session, scope: Scope, episode_id: str) -> EpisodeRow:
    """Return the row of an episode.

    Raises:
        NotFoundError: If this scope has no such episode.
    """
    row = session.exec(
        select(EpisodeRow).where(
            EpisodeRow.id == normalise(episode_id),
            in_scope(col(EpisodeRow.user_id), col(EpisodeRow.agent_id), scope=scope),
        )
    ).first()
    if row is None:
        raise NotFoundError("episode", episode_id)
    return row


def list_episodes(
    session: Session,
    scope: Scope,
    *,
    limit: int,
    offset: int,
    reflected: bool | None,
    session_id: str | None = None,
) -> tuple[Episode, ...]:
    """Return episodes of a scope, the last ended first, ties by id.

    Args:
        session: Open session.
        scope: Whose episodes.
        limit: Size of the page, at least 1.
        offset: Episodes to skip, at least 0.
        reflected: Whether their reflection must be committed, must not, or None for either.
        session_id: Only those of this session, or None for all.

    Raises:
        InputError: If limit or offset is out of range.
    """
    check_page(limit=limit, offset=offset)
    query = select(EpisodeRow).where(
        in_scope(col(EpisodeRow.user_id), col(EpisodeRow.agent_id), scope=scope)
    )
    if reflected is not None:
        done = col(EpisodeRow.reflected_at)
        query = query.where(done.is_not(None) if reflected else done.is_(None))
    if session_id is not None:
        query = query.where(EpisodeRow.session_id == normalise(session_id))
    ordered = query.order_by(col(EpisodeRow.ended_at).desc(), col(EpisodeRow.id))
    return to_episodes(session.exec(ordered.limit(limit).offset(offset)))


def to_episodes(rows: Iterable[EpisodeRow]) -> tuple[Episode, ...]:
    """Return the episodes of rows, in their order."""
    return tuple(
        Episode(
            episode_id=row.id,
            scope=Scope(row.user_id, row.agent_id),
            session_id=row.session_id,
            goal=row.goal,
            outcome=cast("Outcome", row.outcome),
            outcome_source=cast("OutcomeSource | None", row.outcome_source),
            end_reason=cast("EndReason", row.end_reason),
            trajectory_uri=row.trajectory_uri,
            trajectory_sha256=row.trajectory_sha256,
            instructions=row.instructions,
            model=row.model,
            step_count=row.step_count,
            tokens_in=row.tokens_in,
            tokens_out=row.tokens_out,
            started_at=row.started_at,
            ended_at=row.ended_at,
            source_id=row.source_id,
            reflected_at=row.reflected_at,
        )
        for row in rows
    )


def dump_reflection(reflection: Reflection) -> str:
    """Return a reflection as JSON text."""
    # ASCII escapes keep whatever a model wrote, half surrogate pairs included.
    return json.dumps(_REFLECTION.dump_python(reflection, mode="json"))


def load_reflection(row: EpisodeRow) -> StoredReflection | None:
    """Return the reflection committed for an episode, or None."""
    if row.reflection is None or row.reflected_at is None:
        return None
    return StoredReflection(
        reflection=_REFLECTION.validate_python(json.loads(row.reflection)),
        refused=row.refused or "[]",
        reflected_at=row.reflected_at,
    )
