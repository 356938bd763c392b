"""Bringing the index level with SQL, key by key.

A row says only that a key may differ; what to do is read from SQL when it is done. So the order of
rows does not matter, and doing one twice is harmless. A row of ordinal `OBJECTS` is about the
objects of an episode: those that no row points at are to go.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from sqlalchemy import ColumnElement, and_, func, insert, not_, or_
from sqlalchemy import select as select_columns
from sqlmodel import Session, col, delete, select

from agentkit.ports import EmbedderIdentity, IndexItem
from agentkit.records import Float32Array, MemoryType
from agentkit.store.ids import key_id
from agentkit.store.rows.change import NOBODY, Change
from agentkit.store.rows.scoping import chunks
from agentkit.store.tables import EmbeddingRow, MemoryKeyRow, MemoryRow, OutboxRow
from agentkit.store.values import VISIBLE

# In place of a key's ordinal, with the id of an episode in place of a memory's.
OBJECTS = -1


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


@dataclass(frozen=True, slots=True)
class WorkedKey:
    """A key of a piece of the outbox, as it stood when that was resolved.

    Attributes:
        user_id: Whose it is.
        memory_id: Its memory.
        ordinal: Its place among the keys of the memory.
        revision: Revision of the memory, or None when it was gone.
    """

    user_id: str
    memory_id: str
    ordinal: int
    revision: int | None


@dataclass(frozen=True, slots=True, eq=False)
class IndexWork:
    """A piece of the outbox, resolved.

    Attributes:
        seqs: Outbox rows that are done once the rest of it is.
        keys: The keys it is about, each once.
        upserts: Keys that the index must hold.
        deletes: Ids of keys that it must not.
    """

    seqs: tuple[int, ...]
    keys: tuple[WorkedKey, ...]
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
        select_columns(
            col(OutboxRow.seq),
            col(OutboxRow.user_id),
            col(OutboxRow.memory_id),
            col(OutboxRow.ordinal),
            col(MemoryRow.revision),
            col(MemoryRow.agent_id),
            col(MemoryRow.type),
            col(MemoryRow.status),
            col(EmbeddingRow.vector),
        )
        .select_from(OutboxRow)
        .outerjoin(MemoryKeyRow, _key_of_outbox())
        .outerjoin(MemoryRow, col(MemoryRow.id) == col(MemoryKeyRow.memory_id))
        .outerjoin(EmbeddingRow, _same_key(fingerprint))
        .where(col(OutboxRow.ordinal) != OBJECTS)
        .where(or_(col(MemoryRow.id).is_(None), not_(_lacks_vector())))
        .order_by(col(OutboxRow.seq))
        .limit(limit)
    )
    seqs: list[int] = []
    # Several rows of one key come to the same thing; Chroma refuses an id twice in one call.
    keys: dict[str, WorkedKey] = {}
    upserts: dict[str, IndexItem] = {}
    rows = cast("Iterable[Any]", session.connection().execute(query))
    for seq, user_id, memory_id, ordinal, revision, agent_id, memory_type, status, vector in rows:
        seqs.append(seq)
        name = key_id(memory_id, ordinal)
        keys[name] = WorkedKey(user_id, memory_id, ordinal, revision)
        if status not in VISIBLE or vector is None:
            continue
        upserts[name] = IndexItem(
            key_id=name,
            user_id=user_id,
            agent_id=agent_id,
            memory_id=memory_id,
            memory_type=cast("MemoryType", memory_type),
            vector=np.frombuffer(vector, dtype="<f4"),
        )
    deletes = tuple(sorted(keys.keys() - upserts.keys()))
    return IndexWork(tuple(seqs), tuple(keys.values()), tuple(upserts.values()), deletes)


def finish_work(session: Session, work: IndexWork) -> None:
    """Remove outbox rows that are done, unless their memories changed in the meantime.

    Two processes that use one index server may do the same key in the wrong order: a memory that
    is not as it was when the work was read is queued once more.
    """
    drop_rows(session, work.seqs)
    found: dict[str, int] = {}
    for chunk in chunks(sorted({key.memory_id for key in work.keys})):
        query = select(MemoryRow.id, MemoryRow.revision).where(col(MemoryRow.id).in_(chunk))
        found.update(session.exec(query).all())
    _insert(
        session,
        [
            # A purge takes the user's name along: the index goes by the key's id alone.
            (key.user_id if key.memory_id in found else NOBODY, key.memory_id, key.ordinal)
            for key in work.keys
            if found.get(key.memory_id) != key.revision
            and (key.revision is not None or key.memory_id not in found)
        ],
    )


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


def queue_keys(session: Session, key_ids: Collection[str]) -> None:
    """Put keys into the outbox; those that SQL does not have are left out.

    Args:
        session: Session that holds the write lock.
        key_ids: Any number of ids of keys.
    """
    wanted = frozenset(key_ids)
    for chunk in chunks(sorted({name.rpartition(":")[0] for name in wanted})):
        query = select(MemoryKeyRow.user_id, MemoryKeyRow.memory_id, MemoryKeyRow.ordinal)
        rows = session.exec(query.where(col(MemoryKeyRow.memory_id).in_(chunk))).all()
        _insert(session, [row for row in rows if key_id(row[1], row[2]) in wanted])


def _insert(session: Session, keys: Sequence[tuple[str, str, int]]) -> None:
    values: list[dict[str, object]] = [
        {"user_id": user_id, "memory_id": memory_id, "ordinal": ordinal}
        for user_id, memory_id, ordinal in keys
    ]
    if values:
        session.connection().execute(insert(OutboxRow), values)


def purged_seqs(session: Session) -> tuple[int, ...]:
    """Return the outbox rows of purged memories: the index may still hold keys of them."""
    query = (
        select(OutboxRow.seq)
        .outerjoin(MemoryRow, col(MemoryRow.id) == col(OutboxRow.memory_id))
        .where(col(MemoryRow.id).is_(None), col(OutboxRow.ordinal) != OBJECTS)
        .order_by(col(OutboxRow.seq))
    )
    return tuple(seq for seq in session.exec(query) if seq is not None)


def queue_objects(session: Session, episode_ids: Sequence[str]) -> None:
    """Say that objects of episodes may be there to which no row points any more.

    Args:
        session: Session that holds the write lock, in which the last row that did was changed.
        episode_ids: The episodes, gone or not.
    """
    _insert(session, [(NOBODY, episode_id, OBJECTS) for episode_id in episode_ids])


def stale_objects(session: Session) -> dict[int, str]:
    """Return the outbox rows that are about objects, each with the id of its episode."""
    query = select(OutboxRow.seq, OutboxRow.memory_id).where(col(OutboxRow.ordinal) == OBJECTS)
    return {seq: episode_id for seq, episode_id in session.exec(query) if seq is not None}


def drop_rows(session: Session, seqs: Sequence[int]) -> None:
    """Remove outbox rows that are done."""
    for chunk in chunks(seqs):
        session.exec(delete(OutboxRow).where(col(OutboxRow.seq).in_(chunk)))


def queue_everything(session: Session, *, done: Sequence[int]) -> None:
    """Put every key into the outbox, for an index that was cleared is filled anew.

    Args:
        session: Session that holds the write lock.
        done: Outbox rows of purged memories, read before the index was cleared. Those of a later
            purge stay: by then, another process of an index server may have written its keys.
    """
    drop_rows(session, done)
    query = select(MemoryKeyRow.user_id, MemoryKeyRow.memory_id, MemoryKeyRow.ordinal)
    _insert(session, session.exec(query).all())


def _joined(query: Any, *, fingerprint: str) -> Any:
    return (
        query.select_from(OutboxRow)
        .join(MemoryRow, col(MemoryRow.id) == col(OutboxRow.memory_id))
        .join(MemoryKeyRow, _key_of_outbox())
        .outerjoin(EmbeddingRow, _same_key(fingerprint))
    )


def _key_of_outbox() -> ColumnElement[bool]:
    return and_(
        col(MemoryKeyRow.memory_id) == col(OutboxRow.memory_id),
        col(MemoryKeyRow.ordinal) == col(OutboxRow.ordinal),
    )


def _same_key(fingerprint: str) -> ColumnElement[bool]:
    return and_(
        col(EmbeddingRow.memory_id) == col(MemoryKeyRow.memory_id),
        col(EmbeddingRow.ordinal) == col(MemoryKeyRow.ordinal),
        col(EmbeddingRow.fingerprint) == fingerprint,
    )


def _lacks_vector() -> ColumnElement[bool]:
    return and_(col(MemoryRow.status).in_(VISIBLE), col(EmbeddingRow.vector).is_(None))
