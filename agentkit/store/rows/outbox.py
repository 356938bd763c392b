"""Bringing the index level with SQL, key by key.

A row says only that a key may differ; what to do is read from SQL when it is done. So the order of
rows does not matter, and doing one twice is harmless.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from sqlalchemy import ColumnElement, and_, func, not_
from sqlalchemy import select as select_columns
from sqlmodel import Session, col, delete, select

from agentkit.ports import EmbedderIdentity, IndexItem
from agentkit.records import Float32Array, MemoryType
from agentkit.store.ids import key_id
from agentkit.store.rows.change import Change
from agentkit.store.rows.scoping import chunks
from agentkit.store.tables import EmbeddingRow, MemoryKeyRow, MemoryRow, OutboxRow
from agentkit.store.values import VISIBLE


@dataclass(frozen=True, slots=True)
class TextToEmbed:
    """A key without a vector.

    Attributes:
        user_id: Whose it is.
        memory_id: Its memory.
        ordinal: Its place among the keys of the memory.
        text: What is to be embedded.
    """

    user_id: str
    memory_id: str
    ordinal: int
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class IndexWork:
    """A piece of the outbox, resolved.

    Attributes:
        seqs: Outbox rows that are done once the rest of it is.
        upserts: Keys that the index must hold.
        deletes: Ids of keys that it must not.
    """

    seqs: tuple[int, ...]
    upserts: tuple[IndexItem, ...]
    deletes: tuple[str, ...]


def texts_to_embed(session: Session, *, fingerprint: str, limit: int) -> tuple[TextToEmbed, ...]:
    """Return keys that are waiting for a vector of an embedder, oldest first.

    Args:
        session: Open session.
        fingerprint: The embedder.
        limit: Most keys wanted.
    """
    query = (
        _joined(
            select_columns(
                col(MemoryKeyRow.user_id),
                col(MemoryKeyRow.memory_id),
                col(MemoryKeyRow.ordinal),
                col(MemoryKeyRow.text),
            ),
            fingerprint=fingerprint,
        )
        .where(_lacks_vector())
        .group_by(col(MemoryKeyRow.memory_id), col(MemoryKeyRow.ordinal))
        .order_by(func.min(OutboxRow.seq))
        .limit(limit)
    )
    return tuple(TextToEmbed(*row) for row in session.connection().execute(query))


def store_vectors(
    change: Change,
    keys: Sequence[TextToEmbed],
    vectors: Float32Array,
    *,
    embedder: EmbedderIdentity,
) -> int:
    """Store the vectors of keys of one user and return how many were new.

    The memories get the new revision, so that caches fetch their vectors.

    Args:
        change: The transaction.
        keys: The keys, all of the same user.
        vectors: shape (len(keys), dim), float32, L2-normalised.
        embedder: Who made them.
    """
    stored = 0
    for key, vector in zip(keys, vectors, strict=True):
        place = (key.memory_id, key.ordinal, embedder.fingerprint)
        memory = change.session.get(MemoryRow, key.memory_id)
        held = change.session.get(MemoryKeyRow, (key.memory_id, key.ordinal))
        # Meanwhile the memory may have been edited or purged.
        if memory is None or held is None or held.text != key.text:
            continue
        if change.session.get(EmbeddingRow, place) is not None:
            continue
        change.session.add(
            EmbeddingRow(
                memory_id=key.memory_id,
                ordinal=key.ordinal,
                fingerprint=embedder.fingerprint,
                user_id=key.user_id,
                dim=embedder.dim,
                vector=vector.astype("<f4").tobytes(),
            )
        )
        memory.revision = change.revision
        stored += 1
    return stored


def index_work(session: Session, *, fingerprint: str, limit: int) -> IndexWork:
    """Return the oldest part of the outbox that can be done now.

    Args:
        session: Open session.
        fingerprint: Embedder whose vectors the index holds.
        limit: Most outbox rows to resolve.
    """
    query = (
        _resolved(
            select_columns(
                col(OutboxRow.seq),
                col(OutboxRow.memory_id),
                col(OutboxRow.ordinal),
                col(MemoryRow.user_id),
                col(MemoryRow.agent_id),
                col(MemoryRow.type),
                col(MemoryRow.status),
                col(EmbeddingRow.vector),
            ),
            fingerprint=fingerprint,
        )
        .where(not_(_lacks_vector()))
        .order_by(col(OutboxRow.seq))
        .limit(limit)
    )
    seqs: list[int] = []
    # Several rows of one key come to the same thing; Chroma refuses an id twice in one call.
    upserts: dict[str, IndexItem] = {}
    deletes: set[str] = set()
    rows = cast("Iterable[Any]", session.connection().execute(query))
    for seq, memory_id, ordinal, user_id, agent_id, memory_type, status, vector in rows:
        seqs.append(seq)
        name = key_id(memory_id, ordinal)
        if status not in VISIBLE or vector is None:
            deletes.add(name)
            continue
        upserts[name] = IndexItem(
            key_id=name,
            user_id=user_id,
            agent_id=agent_id,
            memory_id=memory_id,
            memory_type=cast("MemoryType", memory_type),
            vector=np.frombuffer(vector, dtype="<f4"),
        )
    return IndexWork(tuple(seqs), tuple(upserts.values()), tuple(sorted(deletes)))


def finish_work(session: Session, seqs: Sequence[int]) -> None:
    """Remove outbox rows that are done."""
    for chunk in chunks(seqs):
        session.exec(delete(OutboxRow).where(col(OutboxRow.seq).in_(chunk)))


def count_waiting(session: Session) -> int:
    """Return how many keys are waiting in the outbox."""
    pairs = select(OutboxRow.memory_id, OutboxRow.ordinal).distinct().subquery()
    return session.exec(select(func.count()).select_from(pairs)).one()


def count_without_vector(session: Session, *, fingerprint: str) -> int:
    """Return how many keys that recall may use have no vector of an embedder."""
    query = (
        select_columns(func.count())
        .select_from(MemoryKeyRow)
        .join(MemoryRow, col(MemoryRow.id) == col(MemoryKeyRow.memory_id))
        .outerjoin(EmbeddingRow, _same_key(fingerprint))
        .where(_lacks_vector())
    )
    return session.connection().execute(query).scalar_one()


def indexable_ids(session: Session, *, fingerprint: str) -> set[str]:
    """Return the ids of the keys that the index of an embedder must hold."""
    query = (
        select_columns(col(EmbeddingRow.memory_id), col(EmbeddingRow.ordinal))
        .join(MemoryRow, col(MemoryRow.id) == col(EmbeddingRow.memory_id))
        .where(col(EmbeddingRow.fingerprint) == fingerprint, col(MemoryRow.status).in_(VISIBLE))
    )
    return {
        key_id(memory_id, ordinal) for memory_id, ordinal in session.connection().execute(query)
    }


def queue_everything(session: Session) -> None:
    """Put every key into the outbox, so that the index is built anew."""
    session.exec(delete(OutboxRow))
    query = select(MemoryKeyRow.user_id, MemoryKeyRow.memory_id, MemoryKeyRow.ordinal)
    session.add_all(
        OutboxRow(user_id=user_id, memory_id=memory_id, ordinal=ordinal)
        for user_id, memory_id, ordinal in session.exec(query)
    )


def has_purged(session: Session) -> bool:
    """Return whether the index may still hold keys of memories that were purged."""
    query = (
        select(OutboxRow.seq)
        .outerjoin(MemoryRow, col(MemoryRow.id) == col(OutboxRow.memory_id))
        .where(col(MemoryRow.id).is_(None))
        .limit(1)
    )
    return session.exec(query).first() is not None


def _resolved(query: Any, *, fingerprint: str) -> Any:
    """Join what there is: a key that is gone from SQL must be taken out of the index."""
    return (
        query.select_from(OutboxRow)
        .outerjoin(MemoryRow, col(MemoryRow.id) == col(OutboxRow.memory_id))
        .outerjoin(
            MemoryKeyRow,
            and_(
                col(MemoryKeyRow.memory_id) == col(OutboxRow.memory_id),
                col(MemoryKeyRow.ordinal) == col(OutboxRow.ordinal),
            ),
        )
        .outerjoin(EmbeddingRow, _same_key(fingerprint))
    )


def _joined(query: Any, *, fingerprint: str) -> Any:
    return (
        query.select_from(OutboxRow)
        .join(MemoryRow, col(MemoryRow.id) == col(OutboxRow.memory_id))
        .join(
            MemoryKeyRow,
            and_(
                col(MemoryKeyRow.memory_id) == col(OutboxRow.memory_id),
                col(MemoryKeyRow.ordinal) == col(OutboxRow.ordinal),
            ),
        )
        .outerjoin(EmbeddingRow, _same_key(fingerprint))
    )


def _same_key(fingerprint: str) -> ColumnElement[bool]:
    return and_(
        col(EmbeddingRow.memory_id) == col(MemoryKeyRow.memory_id),
        col(EmbeddingRow.ordinal) == col(MemoryKeyRow.ordinal),
        col(EmbeddingRow.fingerprint) == fingerprint,
    )


def _lacks_vector() -> ColumnElement[bool]:
    return and_(
        col(MemoryRow.id).is_not(None),
        col(MemoryRow.status).in_(VISIBLE),
        col(MemoryKeyRow.memory_id).is_not(None),
        col(EmbeddingRow.vector).is_(None),
    )
