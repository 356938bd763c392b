"""The vectors of several embedders side by side: fill, count, change over, drop."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

import numpy as np
from sqlalchemy import and_, func, insert, or_, tuple_, update
from sqlalchemy import select as select_columns
from sqlmodel import Session, col, delete, select

from agentkit.errors import InputError
from agentkit.ports import EmbedderIdentity
from agentkit.records import Float32Array, Scope
from agentkit.store.rows import outbox
from agentkit.store.rows.change import NOBODY
from agentkit.store.rows.outbox import TextToEmbed
from agentkit.store.rows.pinned import get_pinned, repin
from agentkit.store.tables import EmbeddingRow, MemoryKeyRow, MemoryRow, ScopeRevisionRow
from agentkit.store.values import VISIBLE, KeptVectors

# float32, as the column holds them.
_BYTES_PER_NUMBER = 4


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VectorPage:
    """Vectors of the keys of some memories of one scope, made by one embedder.

    Attributes:
        memory_ids: Memory of each row, sorted.
        vectors: shape (len(memory_ids), dim), float32.
    """

    memory_ids: tuple[str, ...]
    vectors: Float32Array


def count_keys(session: Session) -> int:
    """Return how many keys recall may use."""
    query = (
        select_columns(func.count())
        .select_from(MemoryKeyRow)
        .join(MemoryRow, col(MemoryRow.id) == col(MemoryKeyRow.memory_id))
        .where(col(MemoryRow.status).in_(VISIBLE))
    )
    return session.connection().execute(query).scalar_one()


def count_vectors(session: Session) -> tuple[KeptVectors, ...]:
    """Return how many vectors of each embedder there are, by fingerprint."""
    query = (
        select_columns(col(EmbeddingRow.fingerprint), func.count(), func.sum(col(EmbeddingRow.dim)))
        .group_by(col(EmbeddingRow.fingerprint))
        .order_by(col(EmbeddingRow.fingerprint))
    )
    return tuple(
        KeptVectors(fingerprint=fingerprint, vectors=count, nbytes=int(dims) * _BYTES_PER_NUMBER)
        for fingerprint, count, dims in session.connection().execute(query)
    )


def read_unfilled(
    session: Session, *, fingerprint: str, after: TextToEmbed | None, limit: int
) -> tuple[TextToEmbed, ...]:
    """Return a page of the keys that recall may use and that have no vector of an embedder.

    Args:
        session: Open session.
        fingerprint: The embedder.
        after: Last key of the page before, or None for the first page.
        limit: Size of the page.

    Returns:
        In the order of memory id and ordinal.
    """
    place = tuple_(col(MemoryKeyRow.memory_id), col(MemoryKeyRow.ordinal))
    own = and_(
        col(EmbeddingRow.memory_id) == col(MemoryKeyRow.memory_id),
        col(EmbeddingRow.ordinal) == col(MemoryKeyRow.ordinal),
        col(EmbeddingRow.fingerprint) == fingerprint,
    )
    query = (
        select_columns(
            col(MemoryKeyRow.user_id),
            col(MemoryKeyRow.memory_id),
            col(MemoryKeyRow.ordinal),
            col(MemoryKeyRow.text),
        )
        .join(MemoryRow, col(MemoryRow.id) == col(MemoryKeyRow.memory_id))
        .outerjoin(EmbeddingRow, own)
        .where(col(MemoryRow.status).in_(VISIBLE), col(EmbeddingRow.memory_id).is_(None))
        .order_by(col(MemoryKeyRow.memory_id), col(MemoryKeyRow.ordinal))
        .limit(limit)
    )
    if after is not None:
        query = query.where(place > (after.memory_id, after.ordinal))
    return tuple(TextToEmbed(*row) for row in session.connection().execute(query))


def fill(
    session: Session,
    keys: Sequence[TextToEmbed],
    vectors: Float32Array,
    *,
    embedder: EmbedderIdentity,
) -> int:
    """Store vectors beside those in use, and return how many were new.

    No revision moves: nobody reads them before the change-over.

    Args:
        session: Session that holds the write lock.
        keys: The keys, as they were when they were embedded; one that was edited, purged or
            filled by another process meanwhile is left out.
        vectors: shape (len(keys), dim), float32, L2-normalised.
        embedder: Who made them.
    """
    memory_ids = sorted({key.memory_id for key in keys})
    texts = select(MemoryKeyRow.memory_id, MemoryKeyRow.ordinal, MemoryKeyRow.text)
    filled = select(EmbeddingRow.memory_id, EmbeddingRow.ordinal)
    filled = filled.where(EmbeddingRow.fingerprint == embedder.fingerprint)
    rows = session.exec(texts.where(col(MemoryKeyRow.memory_id).in_(memory_ids))).all()
    held = {(row[0], row[1]): row[2] for row in rows}
    done = set(session.exec(filled.where(col(EmbeddingRow.memory_id).in_(memory_ids))))
    values: list[dict[str, object]] = [
        {
            "memory_id": key.memory_id,
            "ordinal": key.ordinal,
            "fingerprint": embedder.fingerprint,
            "user_id": key.user_id,
            "dim": embedder.dim,
            "vector": vector.astype("<f4").tobytes(),
        }
        for key, vector in zip(keys, vectors, strict=True)
        if held.get((key.memory_id, key.ordinal)) == key.text
        and (key.memory_id, key.ordinal) not in done
    ]
    if values:
        session.connection().execute(insert(EmbeddingRow), values)
    return len(values)


def change_over(
    session: Session, *, old: EmbedderIdentity | None, new: EmbedderIdentity, now: datetime
) -> bool:
    """Make another embedder the one in use, if every key that recall may use has its vector.

    Every cache of every user starts anew, and the index is filled anew through the outbox.

    Args:
        session: Session that holds the write lock.
        old: The embedder in use, as the caller knows it.
        new: The one to use from now on.
        now: Current time, UTC.

    Returns:
        False where keys still lack a vector; then nothing was changed.

    Raises:
        EmbedderError: If another than `old` is in use by now.
    """
    if outbox.count_without_vector(session, fingerprint=new.fingerprint):
        return False
    repin(session, old=old, new=new, now=now)
    following = col(ScopeRevisionRow.revision) + 1
    session.connection().execute(
        update(ScopeRevisionRow)
        .where(col(ScopeRevisionRow.user_id) != NOBODY)
        # In this order it is right too where a database reads what it has just set.
        .ordered_values(
            (col(ScopeRevisionRow.purged_revision), following),
            (col(ScopeRevisionRow.revision), following),
        )
    )
    outbox.queue_everything(session, done=())
    return True


def drop_page(session: Session, *, fingerprint: str, after: str, limit: int) -> str | None:
    """Delete the vectors that an embedder made for some memories.

    Args:
        session: Session that holds the write lock.
        fingerprint: The embedder.
        after: Last memory of the page before, or "" for the first.
        limit: Most memories.

    Returns:
        The last memory of the page, or None when none is left.

    Raises:
        InputError: If it is the embedder in use, perhaps since a moment ago.
    """
    pinned = get_pinned(session)
    if pinned is not None and pinned.fingerprint == fingerprint:
        raise InputError(
            f"recall goes by the vectors of {fingerprint}; switch to another embedder before they "
            "are dropped"
        )
    made = (col(EmbeddingRow.fingerprint) == fingerprint, col(EmbeddingRow.memory_id) > after)
    page = session.exec(
        select(EmbeddingRow.memory_id)
        .where(*made)
        .distinct()
        .order_by(col(EmbeddingRow.memory_id))
        .limit(limit)
    ).all()
    if not page:
        return None
    session.exec(delete(EmbeddingRow).where(*made, col(EmbeddingRow.memory_id) <= page[-1]))
    return page[-1]


def read_scope_page(session: Session, scope: Scope, *, after: str, limit: int) -> tuple[str, ...]:
    """Return a page of the ids of the memories that a scope may recall, sorted.

    Args:
        session: Open session.
        scope: Whose memories; with an agent, its own and those of no agent.
        after: Last id of the page before, or "" for the first page.
        limit: Size of the page.
    """
    query = (
        select(MemoryRow.id)
        .where(
            col(MemoryRow.user_id) == scope.user_id,
            or_(col(MemoryRow.agent_id).is_(None), col(MemoryRow.agent_id) == scope.agent_id),
            col(MemoryRow.status).in_(VISIBLE),
            col(MemoryRow.id) > after,
        )
        .order_by(col(MemoryRow.id))
        .limit(limit)
    )
    return tuple(session.exec(query))


def read_vectors(
    session: Session, memory_ids: Sequence[str], *, embedder: EmbedderIdentity
) -> VectorPage:
    """Return the vectors that an embedder made for the keys of some memories.

    Args:
        session: Open session.
        memory_ids: At most some hundreds.
        embedder: The embedder.
    """
    query = (
        select_columns(col(EmbeddingRow.memory_id), col(EmbeddingRow.vector))
        .where(
            col(EmbeddingRow.fingerprint) == embedder.fingerprint,
            col(EmbeddingRow.memory_id).in_(memory_ids),
        )
        .order_by(col(EmbeddingRow.memory_id))
    )
    rows = list(cast("Iterable[Any]", session.connection().execute(query)))
    matrix = np.frombuffer(b"".join(row[1] for row in rows), dtype="<f4")
    return VectorPage(
        memory_ids=tuple(row[0] for row in rows),
        vectors=matrix.reshape(len(rows), embedder.dim),
    )
