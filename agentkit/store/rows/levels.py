"""Reading keys page by page, to compare the copies with them."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from sqlalchemy import and_, func, tuple_
from sqlalchemy import select as select_columns
from sqlmodel import Session, col, delete, select

from agentkit.ports import IndexItem
from agentkit.records import Float32Array
from agentkit.store.ids import key_id
from agentkit.store.rows.scoping import chunks
from agentkit.store.tables import EmbeddingRow, EpisodeRow, MemoryKeyRow, MemoryRow, OutboxRow
from agentkit.store.values import VISIBLE

FLOAT_BYTES = 4


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeyState:
    """A key as SQL has it, with the vector of one embedder.

    Attributes:
        key_id: Its id in the index.
        memory_id: Its memory.
        ordinal: Its place among the keys of the memory.
        user_id: Whose it is.
        agent_id: Agent it belongs to, or None.
        memory_type: Type of the memory.
        visible: Whether recall may use it.
        revision: Revision of the memory.
        queued: Whether it waits in the outbox.
        dim: Length that the vector is said to have, or None without one.
        vector: float32 little-endian, or None without one.
    """

    key_id: str
    memory_id: str
    ordinal: int
    user_id: str
    agent_id: str | None
    memory_type: str
    visible: bool
    revision: int
    queued: bool
    dim: int | None
    vector: bytes | None

    @property
    def damaged(self) -> bool:
        """Whether there is a vector that cannot be one."""
        if self.vector is None:
            return False
        whole = self.dim is not None and len(self.vector) == FLOAT_BYTES * self.dim
        return not whole or not bool(np.isfinite(self._array()).all())

    def item(self) -> IndexItem | None:
        """Return what the index must hold, or None where it must hold nothing."""
        if not self.visible or self.vector is None or self.damaged:
            return None
        return IndexItem(
            key_id=self.key_id,
            user_id=self.user_id,
            agent_id=self.agent_id,
            memory_id=self.memory_id,
            memory_type=self.memory_type,
            vector=self._array(),
        )

    def _array(self) -> Float32Array:
        return np.frombuffer(self.vector or b"", dtype="<f4")


@dataclass(frozen=True, slots=True)
class Sealed:
    """Where the trajectory of an episode is.

    Attributes:
        episode_id: The episode.
        uri: Address of its blob.
        sha256: Digest of the uncompressed content.
    """

    episode_id: str
    uri: str
    sha256: str


def read_keys(
    session: Session, *, fingerprint: str, after: KeyState | None, limit: int
) -> tuple[KeyState, ...]:
    """Return a page of the keys of all users, in the order of memory id and ordinal.

    Args:
        session: Open session.
        fingerprint: Embedder whose vectors are wanted.
        after: Last key of the page before, or None for the first page.
        limit: Size of the page.
    """
    query = (
        _states(fingerprint)
        .order_by(col(MemoryKeyRow.memory_id), col(MemoryKeyRow.ordinal))
        .limit(limit)
    )
    if after is not None:
        place = tuple_(col(MemoryKeyRow.memory_id), col(MemoryKeyRow.ordinal))
        query = query.where(place > (after.memory_id, after.ordinal))
    return _read(session, query)


def find_keys(
    session: Session, key_ids: Collection[str], *, fingerprint: str
) -> dict[str, KeyState]:
    """Return the keys of some ids; unknown ids are left out.

    Args:
        session: Open session.
        key_ids: Any number of ids of keys.
        fingerprint: Embedder whose vectors are wanted.
    """
    found: dict[str, KeyState] = {}
    for chunk in chunks(sorted({name.rpartition(":")[0] for name in key_ids})):
        query = _states(fingerprint).where(col(MemoryKeyRow.memory_id).in_(chunk))
        found.update((state.key_id, state) for state in _read(session, query))
    return {name: found[name] for name in key_ids if name in found}


def drop_vectors(session: Session, keys: Sequence[KeyState], *, fingerprint: str) -> None:
    """Remove the vectors of keys, so that they are embedded again.

    Args:
        session: Session that holds the write lock.
        keys: The keys.
        fingerprint: Embedder whose vectors they are.
    """
    for key in keys:
        session.exec(
            delete(EmbeddingRow).where(
                col(EmbeddingRow.memory_id) == key.memory_id,
                col(EmbeddingRow.ordinal) == key.ordinal,
                col(EmbeddingRow.fingerprint) == fingerprint,
            )
        )


def read_sealed(session: Session, *, after: str, limit: int) -> tuple[Sealed, ...]:
    """Return a page of the episodes of all users, by id.

    Args:
        session: Open session.
        after: Last id of the page before, or "" for the first page.
        limit: Size of the page.
    """
    query = (
        select(EpisodeRow.id, EpisodeRow.trajectory_uri, EpisodeRow.trajectory_sha256)
        .where(col(EpisodeRow.id) > after)
        .order_by(col(EpisodeRow.id))
        .limit(limit)
    )
    return tuple(Sealed(*row) for row in session.exec(query))


def used_uris(session: Session, uris: Collection[str]) -> set[str]:
    """Return those addresses that an episode points at."""
    used: set[str] = set()
    for chunk in chunks(sorted(uris)):
        query = select(EpisodeRow.trajectory_uri).where(col(EpisodeRow.trajectory_uri).in_(chunk))
        used.update(session.exec(query))
    return used


def count_all(session: Session) -> int:
    """Return how many keys and episodes there are, of all users."""
    counts = (select(func.count()).select_from(table) for table in (MemoryKeyRow, EpisodeRow))
    return sum(session.exec(query).one() for query in counts)


def read_outbox(session: Session) -> set[str]:
    """Return the ids of the keys that wait in the outbox."""
    rows = session.exec(select(OutboxRow.memory_id, OutboxRow.ordinal).distinct())
    return {key_id(memory_id, ordinal) for memory_id, ordinal in rows}


def _states(fingerprint: str) -> Any:
    return (
        select_columns(
            col(MemoryKeyRow.memory_id),
            col(MemoryKeyRow.ordinal),
            col(MemoryRow.user_id),
            col(MemoryRow.agent_id),
            col(MemoryRow.type),
            col(MemoryRow.status),
            col(MemoryRow.revision),
            col(EmbeddingRow.dim),
            col(EmbeddingRow.vector),
        )
        .select_from(MemoryKeyRow)
        .join(MemoryRow, col(MemoryRow.id) == col(MemoryKeyRow.memory_id))
        .outerjoin(
            EmbeddingRow,
            and_(
                col(EmbeddingRow.memory_id) == col(MemoryKeyRow.memory_id),
                col(EmbeddingRow.ordinal) == col(MemoryKeyRow.ordinal),
                col(EmbeddingRow.fingerprint) == fingerprint,
            ),
        )
    )


def _read(session: Session, query: Any) -> tuple[KeyState, ...]:
    rows = list(cast("Iterable[Any]", session.connection().execute(query)))
    queued = _queued(session, sorted({row[0] for row in rows}))
    return tuple(
        KeyState(
            key_id=key_id(row[0], row[1]),
            memory_id=row[0],
            ordinal=row[1],
            user_id=row[2],
            agent_id=row[3],
            memory_type=row[4],
            visible=row[5] in VISIBLE,
            revision=row[6],
            queued=key_id(row[0], row[1]) in queued,
            dim=row[7],
            vector=row[8],
        )
        for row in rows
    )


def _queued(session: Session, memory_ids: Sequence[str]) -> set[str]:
    queued: set[str] = set()
    for chunk in chunks(memory_ids):
        query = select(OutboxRow.memory_id, OutboxRow.ordinal)
        rows = session.exec(query.where(col(OutboxRow.memory_id).in_(chunk)))
        queued.update(key_id(memory_id, ordinal) for memory_id, ordinal in rows)
    return queued
