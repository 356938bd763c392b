"""The open stores of a project: one for all users, or one for each."""

import threading
from collections import OrderedDict
from typing import Protocol

from agentkit.ports import Clock, Embedder
from agentkit.records import Scope
from agentkit.store.blobs import user_folder
from agentkit.store.layout import Isolation, Layout
from agentkit.store.offload import offload
from agentkit.store.store import Store

# Stores that may hold files open at once: each holds a few, and 1,024 is a usual limit.
MOST_AWAKE = 64


class Stores(Protocol):
    """What a project is opened as. Implementations: one store for all users, one for each."""

    async def of(self, scope: Scope) -> Store:
        """Return the store that holds a user's memory.

        Raises:
            StoreError: If it cannot be opened, or is another user's.
        """
        ...

    async def seen(self, scope: Scope) -> Store:
        """Return a store to read a user's memory from, and nothing else: none is made for it.

        Raises:
            StoreError: If it cannot be opened, or is another user's.
        """
        ...

    async def has(self, scope: Scope) -> bool:
        """Whether there is a store for a user, so that asking `of` makes none.

        Raises:
            StoreError: If the server cannot be asked.
        """
        ...

    async def all(self) -> tuple[Store, ...]:
        """Return every store there is, in a fixed order.

        Raises:
            StoreError: If one cannot be opened.
        """
        ...

    async def close(self) -> None:
        """Close every store; what was written is durable already."""
        ...


class SharedStore:
    """One store for all users: each row says whose it is, and every call filters by it."""

    def __init__(self, store: Store) -> None:
        """Hold the store."""
        self._store = store

    async def of(self, scope: Scope) -> Store:
        """Return the one store."""
        return self._store

    async def seen(self, scope: Scope) -> Store:
        """Return the one store."""
        return self._store

    async def has(self, scope: Scope) -> bool:
        """There is, for everybody."""
        return True

    async def all(self) -> tuple[Store, ...]:
        """Return the one store."""
        return (self._store,)

    async def close(self) -> None:
        """Close it."""
        await self._store.close()


class StorePerUser:
    """A store for each user, opened when it is first asked for: a missing filter cannot leak.

    The ones used last keep their files open, the others open them again when they are asked.
    """

    def __init__(
        self,
        layout: Layout,
        *,
        embedder: Embedder | None,
        clock: Clock,
        most_awake: int = MOST_AWAKE,
    ) -> None:
        """Open nothing yet.

        Args:
            layout: Where the stores lie.
            embedder: Makes the vectors of all of them, or None.
            clock: Where the time comes from.
            most_awake: Stores that may hold files open at once, at least 1.
        """
        self._layout = layout
        self._most_awake = most_awake
        self._embedder = embedder
        self._clock = clock
        self._lock = threading.Lock()
        self._opening: dict[str, threading.Lock] = {}
        self._held: dict[str, Store] = {}
        self._awake: OrderedDict[str, Store] = OrderedDict()
        self._nobody: Store | None = None

    async def of(self, scope: Scope) -> Store:
        """Return the store of a user, made at the first call.

        Raises:
            StoreError: If it cannot be opened, or is another user's.
            EmbedderError: If it holds the vectors of another embedder.
        """
        return await self._part(user_folder(scope.user_id))

    async def seen(self, scope: Scope) -> Store:
        """Return the store of a user, or an empty one in memory where the user has none.

        Raises:
            StoreError: If it cannot be opened, or is another user's.
            EmbedderError: If it holds the vectors of another embedder.
        """
        return await self.of(scope) if await self.has(scope) else await offload(self._empty)

    async def has(self, scope: Scope) -> bool:
        """Whether a user has a store.

        Raises:
            StoreError: If the server cannot be asked.
        """
        part = user_folder(scope.user_id)
        return self._touched(part) is not None or await offload(lambda: self._layout.has(part))

    async def all(self) -> tuple[Store, ...]:
        """Return the store of every user, in a fixed order.

        Raises:
            StoreError: If one cannot be opened.
        """
        parts = await offload(self._layout.parts)
        return tuple([await self._part(part) for part in parts])

    async def close(self) -> None:
        """Close every store."""
        with self._lock:
            stores = list(self._held.values())
            self._held.clear()
            self._awake.clear()
            if self._nobody is not None:
                stores.append(self._nobody)
                self._nobody = None
        for store in stores:
            await store.close()

    async def _part(self, part: str) -> Store:
        store = self._touched(part)
        if store is None:
            store = await offload(lambda: self._open(part))
        if len(self._awake) > self._most_awake:
            await offload(self._rest)
        return store

    def _touched(self, part: str) -> Store | None:
        with self._lock:
            store = self._held.get(part)
            if store is not None:
                self._awake[part] = store
                self._awake.move_to_end(part)
            return store

    def _open(self, part: str) -> Store:
        with self._lock:
            mine = self._opening.setdefault(part, threading.Lock())
        # Others are opened meanwhile: nobody waits for another user's store.
        with mine:
            held = self._touched(part)
            if held is not None:
                return held
            self._layout.prepare(part)
            store = open_store(self._layout, part, embedder=self._embedder, clock=self._clock)
            with self._lock:
                self._held[part] = self._awake[part] = store
            return store

    def _empty(self) -> Store:
        """What a name that nobody ever used is read from; nothing is ever written into it."""
        with self._lock:
            if self._nobody is None:
                self._nobody = Store.open(
                    database_url="sqlite://",
                    blobs=self._layout.blobs(None),
                    index_path=None,
                    embedder=None,
                    clock=self._clock,
                )
            return self._nobody

    def _rest(self) -> None:
        with self._lock:
            spare = max(len(self._awake) - self._most_awake, 0)
            resting = [self._awake.popitem(last=False)[1] for _ in range(spare)]
        for store in resting:
            store.rest()


def open_store(
    layout: Layout, part: str | None, *, embedder: Embedder | None, clock: Clock
) -> Store:
    """Return an open store of a layout.

    Args:
        layout: Where things lie.
        part: Folder name of the user whose store it is, or None for the shared one.
        embedder: Makes the vectors, or None.
        clock: Where the time comes from.

    Raises:
        StoreError: If the database cannot be opened, or belongs to another user.
        EmbedderError: If the embedder is known by name to be another than the pinned one.
        ConfigError: If an address in the settings is none.
    """
    return Store.open(
        database_url=layout.database(part),
        blobs=layout.blobs(part),
        index_path=None,
        slot=layout.slot(part),
        embedder=embedder,
        clock=clock,
        owner=part,
    )


def open_stores(
    layout: Layout, isolation: Isolation, *, embedder: Embedder | None, clock: Clock
) -> Stores:
    """Return the stores of a project.

    Args:
        layout: Where things lie.
        isolation: One store for all users, or one for each.
        embedder: Makes the vectors, or None.
        clock: Where the time comes from.

    Raises:
        ConfigError: If the project holds memories in the other mode.
        StoreError: If the database cannot be opened.
        EmbedderError: If the embedder is known by name to be another than the pinned one.
    """
    layout.refuse_other(isolation)
    if isolation == "physical":
        return StorePerUser(layout, embedder=embedder, clock=clock)
    return SharedStore(open_store(layout, None, embedder=embedder, clock=clock))
