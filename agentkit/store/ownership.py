"""Who may write the vector index: one process a folder, and a lock file says which."""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from agentkit.errors import ConfigError, MissingExtraError
from agentkit.ports import EmbedderIdentity, VectorIndex
from agentkit.store.addresses import IndexAddress
from agentkit.store.locks import FileLock

LOCK_NAME = "owner.lock"
CHROMA = "chroma"
QDRANT = "qdrant"
NONE = "none"

OpenIndex = Callable[[EmbedderIdentity], VectorIndex]


class IndexSlot:
    """The vector index of a store, opened when it is first needed and only by its owner.

    An embedded Chroma is retired by a purge: its files may hold any bytes that the memory of the
    writing process held before, so whoever knew what was purged must not write them anew. Until
    the store is opened anew, this process has no index then; keys wait in the outbox, recall
    scores exactly from SQL, and the next process rebuilds the index.
    """

    def __init__(
        self,
        *,
        open_index: OpenIndex | None,
        lock: FileLock | None,
        wipe: Callable[[], None] | None = None,
    ) -> None:
        """Open nothing yet.

        Args:
            open_index: Opens the index for an embedder, or None to have no index.
            lock: Lock that makes this process the owner, or None where nothing is shared.
            wipe: Removes the files of the closed index, where a purge is to retire it; None where
                the index itself forgets, or cannot.
        """
        self._open_index = open_index
        self._lock = lock
        self._wipe = wipe
        self._index: VectorIndex | None = None
        self._identity: EmbedderIdentity | None = None
        self._retired = False

    @property
    def wanted(self) -> bool:
        """Whether this store is to have an index at all."""
        return self._open_index is not None

    @property
    def owner_pid(self) -> int | None:
        """Process that the lock file names, or None."""
        return None if self._lock is None else self._lock.holder_pid()

    @property
    def retires(self) -> bool:
        """Whether a purge empties this index and leaves it to the next process."""
        return self._wipe is not None

    @property
    def retired(self) -> bool:
        """Whether a purge has ended the use of the index by this store."""
        return self._retired

    def owned(self, identity: EmbedderIdentity) -> VectorIndex | None:
        """Return the index, or None where there is none, it is retired, or another process's.

        A process that did not get it tries again at the next call: the owner may have ended.
        After a change of the embedder it is opened anew, and the old one's is removed.

        Args:
            identity: Embedder in use, whose vectors it holds.

        Raises:
            StoreError: If the index cannot be opened.
        """
        if self._retired:
            return None
        if self._lock is not None and not self._lock.held:
            # After a fork the child has neither the lock nor an index that it may use.
            self._index = None
        changed = self._index is not None and self._identity != identity
        if changed:
            self._close_index()
        if self._index is None and self._open_index is not None:
            if self._lock is not None and not self._lock.acquire(wait=False):
                return None
            self._index = self._open_index(identity)
            self._identity = identity
            if changed:
                self._index.drop_others()
        return self._index

    def retire(self) -> bool:
        """Remove the files of the index, and open it no more; another process may have it.

        It may be called again: in the meantime another process may have written the index.

        Returns:
            Whether the files are gone; False where another process owns them, which has to do it.
        """
        if self._wipe is None:
            return False
        self._retired = True
        if self._lock is not None and not self._lock.acquire(wait=False):
            return False
        self._close_index()
        self._wipe()
        self.close()
        return True

    def close(self) -> None:
        """Close the index and let another process have it."""
        self._close_index()
        if self._lock is not None:
            self._lock.release()

    def _close_index(self) -> None:
        if self._index is not None:
            self._index.close()
            self._index = None


def index_slot(kind: str, *, state: Path, url: str | None) -> IndexSlot:
    """Return the slot of the index that the settings name; nothing is opened or contacted.

    Args:
        kind: `chroma`, `qdrant` or `none`.
        state: State folder of the project; an embedded index has its own folder in it.
        url: Address of a server, `http://HOST:PORT/NAME`, or None for an embedded index.

    Raises:
        ConfigError: If there is no such index, or the address is none.
        MissingExtraError: If its library is not installed.
    """
    if kind == NONE:
        return IndexSlot(open_index=None, lock=None)
    if kind not in (CHROMA, QDRANT):
        raise ConfigError(f"{kind!r} is unknown; write chroma, qdrant or none", key="index")
    if kind == QDRANT and find_spec("qdrant_client") is None:
        raise MissingExtraError("index: qdrant", extra=QDRANT)
    if url is not None:
        return _server_slot(kind, IndexAddress.parse(url))
    return chroma_slot(state / CHROMA) if kind == CHROMA else _qdrant_slot(state / QDRANT)


def unused_index_folders(kind: str, *, state: Path, url: str | None) -> tuple[Path, ...]:
    """Return the folders of embedded indexes that are there, but that the settings do not name.

    Args:
        kind: `chroma`, `qdrant` or `none`.
        state: State folder of the project.
        url: Address of a server, or None for an embedded index.
    """
    used = kind if url is None else NONE
    folders = (state / name for name in (CHROMA, QDRANT) if name != used)
    return tuple(folder for folder in folders if folder.exists())


def _server_slot(kind: str, address: IndexAddress) -> IndexSlot:
    def connect(identity: EmbedderIdentity) -> VectorIndex:
        if kind == QDRANT:
            from agentkit.store.qdrant import QdrantIndex

            return QdrantIndex(address, identity=identity)
        from agentkit.store.chroma import ChromaServerIndex

        return ChromaServerIndex(address, identity=identity)

    return IndexSlot(open_index=connect, lock=None)


def _qdrant_slot(path: Path) -> IndexSlot:
    def open_qdrant(identity: EmbedderIdentity) -> VectorIndex:
        from agentkit.store.qdrant import QdrantIndex

        return QdrantIndex(path, identity=identity)

    return IndexSlot(open_index=open_qdrant, lock=FileLock(path / LOCK_NAME))


def chroma_slot(path: Path) -> IndexSlot:
    """Return the slot of an embedded Chroma in a folder; chromadb is imported when it is opened.

    Args:
        path: The folder; its lock file lies in it.
    """

    def open_chroma(identity: EmbedderIdentity) -> VectorIndex:
        from agentkit.store.chroma import ChromaIndex

        return ChromaIndex(path, identity=identity)

    def wipe() -> None:
        from agentkit.store.chroma import remove_files

        remove_files(path)

    return IndexSlot(open_index=open_chroma, lock=FileLock(path / LOCK_NAME), wipe=wipe)
