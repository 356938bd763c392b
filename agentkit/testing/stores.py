"""A store that lives in memory: real SQL, with blobs and index in dictionaries."""

from collections.abc import Collection, Sequence

import numpy as np

from agentkit.errors import StoreError
from agentkit.ports import Clock, Embedder, IndexItem
from agentkit.records import Float32Array
from agentkit.store import Store
from agentkit.store.dimensions import refuse_other_dim

SCHEME = "memory:"


class MemoryBlobs:
    """Immutable objects in a dictionary."""

    def __init__(self) -> None:
        """Hold nothing yet."""
        self._objects: dict[str, bytes] = {}

    def put(self, name: str, data: bytes) -> str:
        """Keep an object and return its address; the same content again is harmless.

        Args:
            name: Any name.
            data: The object.

        Raises:
            StoreError: If another object has this name.
        """
        uri = f"{SCHEME}{name}"
        if self._objects.setdefault(uri, data) != data:
            raise StoreError(f"{uri} exists with other content; objects never change")
        return uri

    def get(self, uri: str) -> bytes:
        """Return an object.

        Raises:
            StoreError: If it is missing.
        """
        if uri not in self._objects:
            raise StoreError(f"{uri} is missing")
        return self._objects[uri]

    def delete(self, uri: str) -> None:
        """Remove an object; a missing one is ignored."""
        self._objects.pop(uri, None)

    def uris(self) -> set[str]:
        """Return the addresses of all objects."""
        return set(self._objects)


class MemoryVectorIndex:
    """A vector index in a dictionary; its answers are exact."""

    def __init__(self) -> None:
        """Hold nothing yet."""
        self._items: dict[str, IndexItem] = {}
        self._building = False

    def upsert(self, items: Sequence[IndexItem]) -> None:
        """Write or overwrite items.

        Raises:
            StoreError: If a vector has another length than those held.
        """
        self._refuse_other_dim([item.vector for item in items])
        self._items.update((item.key_id, item) for item in items)

    def delete(self, key_ids: Sequence[str]) -> None:
        """Remove keys; unknown ids are ignored."""
        for key_id in key_ids:
            self._items.pop(key_id, None)

    def query(
        self,
        vector: Float32Array,
        *,
        user_id: str,
        limit: int,
        key_ids: Collection[str] | None = None,
    ) -> list[tuple[str, float]]:
        """Return (key id, cosine) pairs of that user, most similar first, ties by id.

        Args:
            vector: shape (dim,), float32, L2-normalised.
            user_id: Whose keys may come back.
            limit: Most pairs wanted, at least 1.
            key_ids: Only these; unknown ones are ignored. None for all keys of the user.

        Raises:
            StoreError: If the vector has another length than those held.
        """
        self._refuse_other_dim([vector])
        wanted = None if key_ids is None else frozenset(key_ids)
        found = [
            (item.key_id, float(np.dot(item.vector, vector)))
            for item in self._items.values()
            if item.user_id == user_id and (wanted is None or item.key_id in wanted)
        ]
        return sorted(found, key=lambda pair: (-pair[1], pair[0]))[:limit]

    def get(self, key_ids: Sequence[str]) -> list[IndexItem]:
        """Return the items held of some keys; unknown ids are left out."""
        return [self._items[key] for key in key_ids if key in self._items]

    def ids(self, *, user_id: str | None = None) -> set[str]:
        """Return the ids of the keys held, of one user or of all."""
        return {item.key_id for item in self._items.values() if user_id in (None, item.user_id)}

    def clear(self) -> None:
        """Remove everything."""
        self._items.clear()
        self._building = False

    def drop_others(self) -> None:
        """Do nothing: it holds the vectors of one embedder."""

    @property
    def keeps_deleted(self) -> bool:
        """Nothing stays: there are no files."""
        return False

    def is_building(self) -> bool:
        """Whether a rebuild was begun and not finished."""
        return self._building

    def set_building(self, building: bool) -> None:
        """Note that a rebuild is begun or finished."""
        self._building = building

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def _refuse_other_dim(self, vectors: Sequence[Float32Array]) -> None:
        for item in self._items.values():
            refuse_other_dim(vectors, dim=len(item.vector))
            return


def memory_store(*, clock: Clock, embedder: Embedder | None) -> Store:
    """Return a new, empty store in memory; close it when the test is over.

    Args:
        clock: Where the time comes from.
        embedder: Makes the vectors, or None: then recall goes by words alone.
    """
    return Store.open(
        database_url="sqlite://",
        blobs=MemoryBlobs(),
        index_path=None,
        embedder=embedder,
        clock=clock,
        index=MemoryVectorIndex(),
    )
