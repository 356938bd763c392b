"""What every door of a store stands in: database, blobs, clock, embedder, index."""

import threading
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from sqlmodel import Session

from agentkit.ports import BlobStore, Clock, Embedder, EmbedderIdentity
from agentkit.records import Scope
from agentkit.store.database import Database
from agentkit.store.drafts import Draft, draft
from agentkit.store.ownership import IndexSlot
from agentkit.store.points import Reached, go_on
from agentkit.store.rows.change import Change
from agentkit.store.rows.pinned import get_pinned, pin, refuse_other
from agentkit.store.values import NewMemory


@runtime_checkable
class Named(Protocol):
    """An embedder that knows its name without loading anything."""

    @property
    def name(self) -> str:
        """The embedder string."""
        ...


class Room:
    """The parts of an open store. Doors are subclasses, so that each file is about one thing."""

    def __init__(
        self,
        *,
        database: Database,
        blobs: BlobStore,
        clock: Clock,
        embedder: Embedder | None,
        index: IndexSlot,
        reached: Reached = go_on,
    ) -> None:
        """Hold the parts; `Store.open` makes them."""
        self._database = database
        self._blobs = blobs
        self._clock = clock
        self._embedder = embedder
        self._index = index
        self._reached = reached
        self._indexing = threading.Lock()
        self._identity: EmbedderIdentity | None = None

    def _change(self, session: Session, scope: Scope) -> Change:
        return Change(session, user_id=scope.user_id, now=self._clock())

    async def _own_identity(self) -> EmbedderIdentity | None:
        """Return the embedder's identity, proven to be the pinned one where one is pinned.

        Raises:
            EmbedderError: If it cannot be loaded, or is another than the pinned one.
        """
        if self._embedder is None:
            return None
        if self._identity is None:
            identity = await self._embedder.identity()
            pinned = await self._database.read(get_pinned)
            if pinned is not None:
                refuse_other(pinned, identity.name, dim=identity.dim)
            self._identity = identity
        return self._identity

    async def _drafts(
        self, new: Sequence[NewMemory]
    ) -> tuple[tuple[Draft, ...], EmbedderIdentity | None]:
        """Return the stored forms of new memories, and who made their vectors."""
        brings_vectors = any(item.vectors is not None for item in new)
        identity = await self._own_identity() if brings_vectors else None
        return tuple(draft(item, embedder=identity) for item in new), identity

    def _pin(self, session: Session, identity: EmbedderIdentity | None) -> None:
        if identity is not None:
            pin(session, identity, now=self._clock())

    def _refuse_other_name(self, session: Session) -> None:
        """Refuse an embedder that is known by name to be another than the pinned one."""
        pinned = get_pinned(session)
        if pinned is None or not isinstance(self._embedder, Named):
            return
        refuse_other(pinned, self._embedder.name, dim=None)

    async def close(self) -> None:
        """Let go of index and database; what was written is durable already."""
        self._index.close()
        self._database.close()
