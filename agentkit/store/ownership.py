"""Who may write the vector index: one process a folder, and a lock file says which."""

from collections.abc import Callable
from pathlib import Path

from agentkit.ports import EmbedderIdentity, VectorIndex
from agentkit.store.locks import FileLock

LOCK_NAME = "owner.lock"

OpenIndex = Callable[[EmbedderIdentity], VectorIndex]


class IndexSlot:
    """The vector index of a store, opened when it is first needed and only by its owner."""

    def __init__(self, *, open_index: OpenIndex | None, lock: FileLock | None) -> None:
        """Open nothing yet.

        Args:
            open_index: Opens the index for an embedder, or None to have no index.
            lock: Lock that makes this process the owner, or None where nothing is shared.
        """
        self._open_index = open_index
        self._lock = lock
        self._index: VectorIndex | None = None

    @property
    def wanted(self) -> bool:
        """Whether this store is to have an index at all."""
        return self._open_index is not None

    @property
    def owner_pid(self) -> int | None:
        """Process that the lock file names, or None."""
        return None if self._lock is None else self._lock.holder_pid()

    def owned(self, identity: EmbedderIdentity) -> VectorIndex | None:
        """Return the index, or None where there is none or another process owns it.

        A process that did not get it tries again at the next call: the owner may have ended.

        Args:
            identity: Embedder whose vectors it holds.

        Raises:
            StoreError: If the index cannot be opened.
        """
        if self._index is None and self._open_index is not None:
            if self._lock is not None and not self._lock.acquire(wait=False):
                return None
            self._index = self._open_index(identity)
        return self._index

    def close(self) -> None:
        """Close the index and let another process have it."""
        if self._index is not None:
            self._index.close()
            self._index = None
        if self._lock is not None:
            self._lock.release()


def chroma_slot(path: Path) -> IndexSlot:
    """Return the slot of an embedded Chroma in a folder; chromadb is imported when it is opened.

    Args:
        path: The folder; its lock file lies in it.
    """

    def open_chroma(identity: EmbedderIdentity) -> VectorIndex:
        from agentkit.store.chroma import ChromaIndex

        return ChromaIndex(path, identity=identity)

    return IndexSlot(open_index=open_chroma, lock=FileLock(path / LOCK_NAME))
