"""What every door of a store stands in: database, blobs, clock, embedder, index."""

import logging
import threading
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from sqlmodel import Session

from agentkit.errors import EmbedderError
from agentkit.ports import BlobStore, Clock, Embedder, EmbedderIdentity
from agentkit.records import Scope
from agentkit.store.database import Database
from agentkit.store.drafts import Draft, draft
from agentkit.store.ownership import IndexSlot
from agentkit.store.points import Reached, go_on
from agentkit.store.rows.change import Change
from agentkit.store.rows.owning import get_owner, own, refuse_other_owner
from agentkit.store.rows.pinned import get_pinned, pin, refuse_other
from agentkit.store.values import NewMemory

logger = logging.getLogger("agentkit")


@runtime_checkable
class Named(Protocol):
    """An embedder that knows its name without loading anything."""

    @property
    def name(self) -> str:
        """The embedder string."""
        ...


@runtime_checkable
class Measured(Protocol):
    """An embedder that may know the length of its vectors without loading anything."""

    @property
    def dim(self) -> int | None:
        """Length of a vector, or None while it is not known."""
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

    def _change(self, session: Session, scope: Scope) -> Change:
        return Change(session, user_id=scope.user_id, now=self._clock())

    async def _own_identity(self) -> EmbedderIdentity | None:
        """Return the embedder's identity, proven to be the pinned one where one is pinned.

        Raises:
            EmbedderError: If it cannot be loaded, or is another than the pinned one.
        """
        if self._embedder is None:
            return None
        identity = await self._embedder.identity()
        pinned = await self._database.read(get_pinned)
        if pinned is not None:
            refuse_other(pinned, identity.name, dim=identity.dim)
        return identity

    async def _maker(self, *, needed: bool) -> EmbedderIdentity | None:
        """Return who makes the vectors that come in, or None where none do."""
        return await self._embedder.identity() if needed and self._embedder is not None else None

    async def _drafts(
        self, new: Sequence[NewMemory]
    ) -> tuple[tuple[Draft, ...], EmbedderIdentity | None]:
        """Return the stored forms of new memories, and who made their vectors."""
        identity = await self._maker(needed=any(item.vectors is not None for item in new))
        return tuple(draft(item, embedder=identity) for item in new), identity

    def _pin(self, session: Session, identity: EmbedderIdentity | None) -> None:
        if identity is not None:
            pin(session, identity, now=self._clock())

    def _usable(
        self, session: Session, identity: EmbedderIdentity | None
    ) -> EmbedderIdentity | None:
        """Return who made the vectors that come in, or None where they must not be stored.

        Another process may have changed over to another embedder: then the words are stored, and
        a process that has that embedder makes the vectors.
        """
        try:
            self._pin(session, identity)
        except EmbedderError as error:
            logger.warning("vectors were left out: the embedder in use has changed")
            logger.debug("vectors were left out: %s", error)
            return None
        return identity

    def _refuse_other_name(self, session: Session) -> None:
        """Refuse an embedder that is known to be another than the pinned one."""
        pinned = get_pinned(session)
        if pinned is not None:
            self._refuse_name(pinned)

    def _refuse_name(self, pinned: EmbedderIdentity) -> None:
        if isinstance(self._embedder, Named):
            dim = self._embedder.dim if isinstance(self._embedder, Measured) else None
            refuse_other(pinned, self._embedder.name, dim=dim)

    def _refusal(self, pinned: EmbedderIdentity, maker: EmbedderIdentity | None) -> str:
        """Return why the vectors in use cannot be compared with this store's own, or ""."""
        try:
            self._refuse_name(pinned)
            if maker is not None:
                refuse_other(pinned, maker.name, dim=maker.dim)
        except EmbedderError as error:
            return str(error)
        return ""

    def _take(self, owner: str | None) -> None:
        """Make sure that this store is that user's, or shared."""
        found = self._database.read_now(get_owner)
        refuse_other_owner(found, owner)
        if owner is not None and found is None:
            self._database.write_now(lambda session: own(session, owner))

    def rest(self) -> None:
        """Let go of files and connections that nobody uses now; the next call opens them again."""
        if self._indexing.acquire(blocking=False):
            try:
                self._index.close()
            finally:
                self._indexing.release()
        self._database.close()

    async def close(self) -> None:
        """Let go of index and database; what was written is durable already."""
        self._index.close()
        self._database.close()
