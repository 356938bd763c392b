"""What recall's index needs of the memories of a user, as quickly as SQL gives it."""

import math
from collections import defaultdict
from collections.abc import Collection
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import numpy as np
from sqlalchemy import ColumnElement, DateTime, and_, bindparam, type_coerce
from sqlalchemy import select as select_columns
from sqlmodel import Session, col

from agentkit.records import (
    Float32Array,
    KeyEntry,
    MemoryEntry,
    Scope,
    ScopeChanges,
    Tag,
)
from agentkit.store.ids import key_id
from agentkit.store.rows.scoping import chunks, of_ids
from agentkit.store.tables import (
    EmbeddingRow,
    MemoryKeyRow,
    MemoryRow,
    MemoryTagRow,
    ScopeRevisionRow,
)
from agentkit.store.values import VISIBLE
from agentkit.text import unpack_terms

_NO_TIMES = [None] * 6
_UNSET = (math.nan,) * 6
# Without a zone, as SQLite gives them.
_EPOCH = datetime.fromtimestamp(0, UTC).replace(tzinfo=None)
# Built once, as every recall begins with it.
_REVISION = select_columns(
    col(ScopeRevisionRow.revision), col(ScopeRevisionRow.purged_revision)
).where(col(ScopeRevisionRow.user_id) == bindparam("user"))


def get_revision(session: Session, scope: Scope) -> int:
    """Return the revision of a user's memories, 0 for one without; reading makes no row."""
    row = session.get(ScopeRevisionRow, scope.user_id)
    return 0 if row is None else row.revision


def get_changes(
    session: Session, scope: Scope, *, since: int, fingerprint: str | None
) -> ScopeChanges:
    """Return what changed in a user's memories since a revision.

    Args:
        session: Open session: one snapshot.
        scope: Whose memories; those of all agents of the user come along.
        since: Revision that the reader holds, or 0 for everything.
        fingerprint: Embedder whose vectors are wanted, or None for no vectors.
    """
    state = session.connection().execute(_REVISION, {"user": scope.user_id}).first()
    if state is None:
        return ScopeChanges(revision=0, complete=True)
    # A revision from the future means that the database was put back to an older state.
    complete = since <= 0 or since < state.purged_revision or since > state.revision
    if not complete and since == state.revision:
        return ScopeChanges(revision=state.revision, complete=False)
    changed: ColumnElement[bool] = col(MemoryRow.user_id) == scope.user_id
    visible = col(MemoryRow.status).in_(VISIBLE)
    narrow = visible if complete else col(MemoryRow.revision) > since
    rows = _rows(session, _memory_query(and_(changed, narrow)))
    wanted = None if complete else and_(changed, narrow, visible)
    keys = _keys(session, scope, wanted, fingerprint=fingerprint)
    tags = _tags(session, scope, wanted)
    return ScopeChanges(
        revision=state.revision,
        complete=complete,
        entries=tuple(
            _entry(row, keys=keys[row[0]], tags=tags[row[0]]) for row in rows if row[3] in VISIBLE
        ),
        removed=tuple(row[0] for row in rows if row[3] not in VISIBLE),
    )


def get_entries(
    session: Session, scope: Scope, memory_ids: Collection[str], *, fingerprint: str | None
) -> tuple[MemoryEntry, ...]:
    """Return some memories as recall's index sees them, by id; others than this user's never.

    Args:
        session: Open session.
        scope: Whose memories; those of all agents of the user come along.
        memory_ids: The memories; what recall may not return is left out.
        fingerprint: Embedder whose vectors are wanted, or None for no vectors.
    """
    entries: list[MemoryEntry] = []
    for chunk in chunks(sorted(memory_ids)):
        wanted = and_(
            of_ids(col(MemoryRow.user_id), col(MemoryRow.agent_id), scope=Scope(scope.user_id)),
            col(MemoryRow.status).in_(VISIBLE),
            col(MemoryRow.id).in_(chunk),
        )
        rows = _rows(session, _memory_query(wanted))
        keys = _keys(session, scope, wanted, fingerprint=fingerprint)
        tags = _tags(session, scope, wanted)
        entries += [_entry(row, keys=keys[row[0]], tags=tags[row[0]]) for row in rows]
    return tuple(entries)


def _rows(session: Session, query: Any) -> list[Any]:
    return list(session.connection().execute(query).all())


def _memory_query(changed: ColumnElement[bool]) -> Any:
    times = (
        col(MemoryRow.created_at),
        col(MemoryRow.edited_at),
        col(MemoryRow.last_used_at),
        col(MemoryRow.last_recalled_at),
        col(MemoryRow.last_verified_at),
        col(MemoryRow.valid_from),
        col(MemoryRow.valid_to),
    )
    return (
        select_columns(
            col(MemoryRow.id),
            col(MemoryRow.agent_id),
            col(MemoryRow.type),
            col(MemoryRow.status),
            col(MemoryRow.confidence),
            col(MemoryRow.trust),
            col(MemoryRow.permanent),
            col(MemoryRow.demoted),
            col(MemoryRow.used_count),
            col(MemoryRow.recalled_count),
            # Most times are unset, and our own type costs a call for each of them.
            *(type_coerce(time, DateTime(timezone=True)) for time in times),
            col(MemoryRow.episode_id),
            col(MemoryRow.position),
        )
        .where(changed)
        .order_by(col(MemoryRow.id))
    )


def _entry(row: Any, *, keys: list[KeyEntry], tags: list[Tag]) -> MemoryEntry:
    memory_id, agent_id, kind, status, confidence, trust, permanent, demoted, *rest = row
    used_count, recalled_count, created, *times, episode_id, position = rest
    # Most are unset, and looking at each of them is a tenth of the time of a cold scope.
    edited, used, recalled, verified, valid_from, valid_to = (
        _UNSET if times == _NO_TIMES else (math.nan if at is None else _seconds(at) for at in times)
    )
    return MemoryEntry(
        memory_id=memory_id,
        agent_id=agent_id,
        memory_type=kind,
        status=status,
        tags=tuple(sorted(tags)) if tags else (),
        confidence=confidence,
        trust=trust,
        permanent=permanent,
        demoted=demoted,
        used_count=used_count,
        recalled_count=recalled_count,
        created_s=_seconds(created),
        edited_s=edited,
        used_s=used,
        recalled_s=recalled,
        verified_s=verified,
        valid_from_s=valid_from,
        valid_to_s=valid_to,
        episode_id=episode_id,
        position=position,
        keys=tuple(keys),
    )


def _keys(
    session: Session,
    scope: Scope,
    wanted: ColumnElement[bool] | None,
    *,
    fingerprint: str | None,
) -> dict[str, list[KeyEntry]]:
    """Return the keys of memories, in order; `wanted` None means those of the whole user."""
    vectors = _vectors(session, scope, wanted, fingerprint=fingerprint)
    query = _of_user(
        select_columns(
            col(MemoryKeyRow.memory_id),
            col(MemoryKeyRow.ordinal),
            col(MemoryKeyRow.kind),
            col(MemoryKeyRow.terms),
        ),
        MemoryKeyRow,
        scope,
        wanted,
    )
    keys: dict[str, list[KeyEntry]] = defaultdict(list)
    # Sorted here: SQL would carry what it sorts to a temporary tree.
    for memory_id, ordinal, kind, terms in sorted(_rows(session, query), key=_place):
        keys[memory_id].append(
            KeyEntry(
                key_id=key_id(memory_id, ordinal),
                kind=kind,
                terms=unpack_terms(terms),
                vector=vectors.get((memory_id, ordinal)),
            )
        )
    return keys


def _vectors(
    session: Session,
    scope: Scope,
    wanted: ColumnElement[bool] | None,
    *,
    fingerprint: str | None,
) -> dict[tuple[str, int], Float32Array]:
    if fingerprint is None:
        return {}
    query = _of_user(
        select_columns(
            col(EmbeddingRow.memory_id), col(EmbeddingRow.ordinal), col(EmbeddingRow.vector)
        ).where(col(EmbeddingRow.fingerprint) == fingerprint),
        EmbeddingRow,
        scope,
        wanted,
    )
    rows = _rows(session, query)
    matrix = np.frombuffer(b"".join(row[2] for row in rows), dtype="<f4")
    if not rows:
        return {}
    return {
        (row[0], row[1]): vector
        for row, vector in zip(rows, matrix.reshape(len(rows), -1), strict=True)
    }


def _tags(
    session: Session, scope: Scope, wanted: ColumnElement[bool] | None
) -> dict[str, list[Tag]]:
    query = _of_user(
        select_columns(
            col(MemoryTagRow.memory_id), col(MemoryTagRow.facet), col(MemoryTagRow.value)
        ),
        MemoryTagRow,
        scope,
        wanted,
    )
    tags: dict[str, list[Tag]] = defaultdict(list)
    for memory_id, facet, value in _rows(session, query):
        tags[memory_id].append(_shared_tag(facet, value))
    return tags


def _of_user(
    query: Any,
    table: type[MemoryKeyRow] | type[EmbeddingRow] | type[MemoryTagRow],
    scope: Scope,
    wanted: ColumnElement[bool] | None,
) -> Any:
    """Return the query for one user; the join is left out where everything is wanted anyway."""
    if wanted is None:
        return query.where(col(table.user_id) == scope.user_id)
    return query.join(MemoryRow, col(MemoryRow.id) == col(table.memory_id)).where(wanted)


def _place(row: Any) -> tuple[str, int]:
    return row[0], row[1]


@lru_cache(maxsize=4096)
def _shared_tag(facet: str, value: str) -> Tag:
    return Tag(facet, value)


def _seconds(at: datetime) -> float:
    """Return seconds since 1970; SQLite's own type gives UTC without saying so."""
    return (at - _EPOCH).total_seconds() if at.tzinfo is None else at.timestamp()
