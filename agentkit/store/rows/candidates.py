"""What the approximate plan asks of SQL: how large a scope is, what passes, who stands beside."""

from collections.abc import Collection, Sequence
from datetime import datetime
from heapq import nlargest
from typing import Any

import numpy as np
from sqlalchemy import ColumnElement, func, literal, or_
from sqlalchemy import select as select_columns
from sqlmodel import Session, col, select

from agentkit.records import Float32Array, MemoryEntry, Query, Scope, Tag
from agentkit.store.rows.memories import not_expired
from agentkit.store.rows.scoping import chunks, of_ids
from agentkit.store.tables import EmbeddingRow, MemoryRow, MemoryTagRow, OutboxRow
from agentkit.store.values import VISIBLE
from agentkit.text import normalise

# As far as neighbours in an episode lend to each other.
REACH = 2


def holds_more(session: Session, scope: Scope, *, than: int) -> bool:
    """Return whether a user has more memories than a number, of whatever status.

    An index alone answers it, and it never counts further than that number.
    """
    some = select(literal(1)).where(MemoryRow.user_id == scope.user_id).limit(than + 1).subquery()
    return session.exec(select(func.count()).select_from(some)).one() > than


def waiting_ids(session: Session, scope: Scope, *, limit: int) -> tuple[str, ...]:
    """Return memories of a user on which index and SQL may differ, at most so many, by id."""
    query = (
        select(OutboxRow.memory_id)
        .where(OutboxRow.user_id == scope.user_id, OutboxRow.ordinal >= 0)
        .distinct()
        .order_by(col(OutboxRow.memory_id))
        .limit(limit)
    )
    return tuple(session.exec(query))


def passing_ids(
    session: Session, scope: Scope, query: Query, *, now: datetime, limit: int
) -> tuple[str, ...]:
    """Return memories that pass the filter of a query, at most so many, in no order.

    Args:
        session: Open session.
        scope: Whose memories; without an agent, those alone that belong to no agent, as in recall.
        query: Its filters.
        now: Current time, UTC.
        limit: Most ids wanted.
    """
    found = select(MemoryRow.id).where(*_filters(scope, query, now=now)).limit(limit)
    return tuple(session.exec(found))


def nearest_passing(
    session: Session,
    scope: Scope,
    query: Query,
    vector: Float32Array,
    *,
    fingerprint: str,
    now: datetime,
    limit: int,
    piece_keys: int,
) -> frozenset[str]:
    """Return the memories of the most similar keys among those that pass the filter of a query.

    Read piece by piece, so that no scope is too large. An index asked among ids does not do: Chroma
    took 7 s for 1,000 of 20,000.

    Args:
        session: Open session.
        scope: Whose memories, as recall sees them.
        query: Its filters.
        vector: shape (dim,), float32, L2-normalised.
        fingerprint: Embedder that made it.
        now: Current time, UTC.
        limit: Most keys wanted, at least 1.
        piece_keys: Keys read at a time, at least 1.
    """
    found = (
        select_columns(col(EmbeddingRow.memory_id), col(EmbeddingRow.vector))
        .join(MemoryRow, col(MemoryRow.id) == col(EmbeddingRow.memory_id))
        .where(col(EmbeddingRow.fingerprint) == fingerprint, *_filters(scope, query, now=now))
    )
    rows = session.connection().execute(found, execution_options={"yield_per": piece_keys})
    best: list[tuple[float, str]] = []
    for piece in rows.partitions():
        matrix = np.frombuffer(b"".join(row[1] for row in piece), dtype="<f4")
        cosines: list[float] = (matrix.reshape(len(piece), -1) @ vector).tolist()
        best += zip(cosines, (row[0] for row in piece), strict=True)
        best = nlargest(limit, best)
    return frozenset(memory_id for _, memory_id in best)


def neighbour_ids(
    session: Session, scope: Scope, entries: Collection[MemoryEntry]
) -> frozenset[str]:
    """Return the episodic memories that stand at most two places from some of these.

    Args:
        session: Open session.
        scope: Whose memories.
        entries: Memories; those that are in no episode have no neighbours.
    """
    places: dict[str, set[int]] = {}
    for entry in entries:
        if entry.episode_id is not None and entry.memory_type == "episodic" and entry.position >= 0:
            near = range(entry.position - REACH, entry.position + REACH + 1)
            places.setdefault(entry.episode_id, set()).update(near)
    found: set[str] = set()
    for chunk in chunks(sorted(places)):
        query = select(MemoryRow.id, MemoryRow.episode_id, MemoryRow.position).where(
            of_ids(col(MemoryRow.user_id), col(MemoryRow.agent_id), scope=Scope(scope.user_id)),
            MemoryRow.type == "episodic",
            col(MemoryRow.position) >= 0,
            col(MemoryRow.episode_id).in_(chunk),
        )
        found.update(
            memory_id
            for memory_id, episode_id, position in session.exec(query)
            if episode_id is not None and position in places[episode_id]
        )
    return frozenset(found - {entry.memory_id for entry in entries})


def _filters(scope: Scope, query: Query, *, now: datetime) -> list[ColumnElement[bool]]:
    """The same as the filter of recall, in SQL; what it names must follow `recall/filters.py`."""
    agent = col(MemoryRow.agent_id).is_(None)
    if scope.agent_id is not None:
        agent = or_(agent, col(MemoryRow.agent_id) == scope.agent_id)
    seen = VISIBLE if query.include_archived else [one for one in VISIBLE if one != "archived"]
    begun = or_(col(MemoryRow.valid_from).is_(None), col(MemoryRow.valid_from) <= now)
    filters: list[ColumnElement[bool]] = [
        col(MemoryRow.user_id) == scope.user_id,
        agent,
        col(MemoryRow.status).in_(seen),
        begun,
        not_expired(now),
    ]
    if query.memory_types:
        filters.append(col(MemoryRow.type).in_(query.memory_types))
    if query.min_confidence > 0.0:
        filters.append(col(MemoryRow.confidence) >= query.min_confidence)
    if query.within is not None and query.within.start is not None:
        filters.append(col(MemoryRow.created_at) >= query.within.start)
    if query.within is not None and query.within.end is not None:
        filters.append(col(MemoryRow.created_at) < query.within.end)
    carried = [col(MemoryRow.id).in_(_tagged(scope, tag)) for tag in query.tags]
    if carried:
        filters += carried if query.match == "all" else [or_(*carried)]
    return filters


def _tagged(scope: Scope, tag: Tag) -> Any:
    return select(MemoryTagRow.memory_id).where(
        MemoryTagRow.user_id == scope.user_id,
        MemoryTagRow.facet == normalise(tag.facet),
        MemoryTagRow.value == normalise(tag.value),
    )


def key_owners(key_ids: Sequence[str]) -> frozenset[str]:
    """Return the memories that keys belong to."""
    return frozenset(name.rpartition(":")[0] for name in key_ids)
