"""The derived index on Chroma, embedded or on a server: ids, vectors and filter fields, no text."""

import shutil
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from agentkit.errors import StoreError
from agentkit.ports import EmbedderIdentity, IndexItem
from agentkit.records import Float32Array
from agentkit.store.addresses import IndexAddress
from agentkit.store.collection_names import PREFIX, collection_name, others
from agentkit.store.dimensions import refuse_other_dim

# Chroma takes at most 5,461 rows in a call, and SQLite below it 32,766 ids.
BATCH_ROWS = 5_000
# With these, recall@10 at 100k rows of 512 numbers was 1.0 on clustered and 0.99 on hard queries
# (`python -m tests.bench.index`, evals/baselines/index.json). With Chroma's default of 100 for the
# first it had been 0.33-0.75 on other hard data of 20k to 100k rows. They cannot be changed later.
EF_SEARCH = 1_000
EF_CONSTRUCTION = 200
MAX_NEIGHBORS = 16
# A server that does not answer in this time is down; a batch takes it about two seconds.
SERVER_TIMEOUT_S = 60.0
LOCK_SUFFIX = ".lock"


class ChromaKeys:
    """One collection of a Chroma client."""

    def __init__(
        self, connect: Callable[[], Any], *, identity: EmbedderIdentity, prefix: str, place: str
    ) -> None:
        """Connect, and make the collection where it is missing.

        Args:
            connect: Returns a client of chromadb.
            identity: Embedder whose vectors the collection holds; part of its name.
            prefix: Beginning of the collection's name.
            place: Where it is, for messages.

        Raises:
            StoreError: If Chroma cannot be opened there.
        """
        from chromadb.errors import NotFoundError

        self._lost: type[Exception] = NotFoundError
        self._place = place
        self._dim = identity.dim
        self._name = collection_name(identity, prefix=prefix)
        self._metadata: dict[str, str | int | bool] = {
            "embedder": identity.name,
            "dim": identity.dim,
        }
        self._connect = connect
        self._open()

    def upsert(self, items: Sequence[IndexItem]) -> None:
        """Write or overwrite items; doing it twice is harmless.

        Raises:
            StoreError: If Chroma refuses, or a vector has another length.
        """
        refuse_other_dim((item.vector for item in items), dim=self._dim)
        for start in range(0, len(items), BATCH_ROWS):
            batch = items[start : start + BATCH_ROWS]
            fields: dict[str, Any] = {
                "ids": [item.key_id for item in batch],
                "embeddings": np.stack([item.vector for item in batch]),
                "metadatas": [_fields(item) for item in batch],
            }
            self._call(lambda held, fields=fields: held.upsert(**fields))

    def delete(self, key_ids: Sequence[str]) -> None:
        """Remove keys; unknown ids are ignored.

        Raises:
            StoreError: If Chroma refuses.
        """
        for batch in _batches(key_ids):
            self._call(lambda held, batch=batch: held.delete(ids=batch))

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
            StoreError: If Chroma refuses, or the vector has another length.
        """
        refuse_other_dim([vector], dim=self._dim)
        filters: dict[str, Any] = {"where": {"user_id": user_id}}
        if key_ids is not None:
            # One unknown id fails the whole query ("Error finding id").
            filters["ids"] = self._known(list(key_ids))
            if not filters["ids"]:
                return []
        answer = self._call(
            lambda held: held.query(
                query_embeddings=vector.reshape(1, -1),
                n_results=limit,
                include=["distances"],
                **filters,
            )
        )
        pairs = zip(answer["ids"][0], answer["distances"][0], strict=True)
        found = [(str(key), 1.0 - float(distance)) for key, distance in pairs]
        return sorted(found, key=lambda pair: (-pair[1], pair[0]))

    def get(self, key_ids: Sequence[str]) -> list[IndexItem]:
        """Return the items held of some keys; unknown ids are left out.

        Raises:
            StoreError: If Chroma refuses.
        """
        found: list[IndexItem] = []
        for batch in _batches(key_ids):
            answer = self._call(
                lambda held, batch=batch: held.get(ids=batch, include=["embeddings", "metadatas"])
            )
            rows = zip(answer["ids"], answer["embeddings"], answer["metadatas"], strict=True)
            found.extend(_item(*row) for row in rows)
        return found

    def ids(self, *, user_id: str | None = None) -> set[str]:
        """Return the ids of the keys held, of one user or of all.

        Raises:
            StoreError: If Chroma refuses.
        """
        where = {} if user_id is None else {"where": {"user_id": user_id}}
        held: set[str] = set()
        read = 0
        while True:
            page = self._call(
                lambda keys, read=read: keys.get(limit=BATCH_ROWS, offset=read, include=[], **where)
            )["ids"]
            held.update(page)
            read += len(page)
            if len(page) < BATCH_ROWS:
                return held

    def clear(self) -> None:
        """Remove everything.

        Raises:
            StoreError: If Chroma refuses.
        """
        # Another process of a server may have removed it in this moment: then it is made anew.
        self._call(lambda _held: self._client.delete_collection(self._name))
        self._collection = self._translated(self._open_collection)

    def drop_others(self) -> None:
        """Remove the collections that the same project has for other embedders.

        Raises:
            StoreError: If Chroma refuses.
        """
        held = self._translated(lambda: self._client.list_collections())
        for name in others([str(one.name) for one in held], own=self._name):
            # Another process of a server may have removed it in this moment.
            with suppress(self._lost):
                self._translated(
                    lambda name=name: self._client.delete_collection(name), passed=self._lost
                )

    @property
    def keeps_deleted(self) -> bool:
        """A server does: see `ChromaIndex.clear`. `chroma vacuum` is for whoever runs it."""
        return True

    def is_building(self) -> bool:
        """Whether a rebuild was begun and not finished; on a server, by any process.

        Raises:
            StoreError: If Chroma refuses.
        """
        self._collection = self._translated(self._open_collection)
        metadata: dict[str, Any] = self._collection.metadata or {}
        return bool(metadata.get("building"))

    def set_building(self, building: bool) -> None:
        """Note in the collection that a rebuild is begun or finished.

        Raises:
            StoreError: If Chroma refuses.
        """
        metadata = self._metadata | {"building": building}
        self._call(lambda held: held.modify(metadata=metadata))

    def close(self) -> None:
        """Release the folder or the connection."""
        self._client.close()

    def _open(self) -> None:
        self._client: Any = self._translated(self._connect)
        self._collection: Any = self._translated(self._open_collection)

    def _known(self, key_ids: Sequence[str]) -> list[str]:
        known: list[str] = []
        for batch in _batches(key_ids):
            known += self._call(lambda held, batch=batch: held.get(ids=batch, include=[]))["ids"]
        return known

    def _open_collection(self) -> Any:
        return self._client.get_or_create_collection(
            self._name,
            embedding_function=None,
            configuration={
                "hnsw": {
                    "space": "cosine",
                    "ef_search": EF_SEARCH,
                    "ef_construction": EF_CONSTRUCTION,
                    "max_neighbors": MAX_NEIGHBORS,
                }
            },
            metadata=self._metadata,
        )

    def _call(self, call: Callable[[Any], Any]) -> Any:
        """Call with the collection; one that another process made anew is looked up again."""
        try:
            return self._translated(lambda: call(self._collection), passed=self._lost)
        except self._lost:
            self._collection = self._translated(self._open_collection)
        return self._translated(lambda: call(self._collection))

    def _translated(
        self, call: Callable[[], Any], *, passed: type[Exception] | tuple[()] = ()
    ) -> Any:
        import httpx
        from chromadb.errors import ChromaError

        try:
            return call()
        except passed:
            raise
        except (ChromaError, httpx.HTTPError, ValueError) as error:
            raise self._refusal(error) from error
        except Exception as error:
            # The HTTP client raises a bare Exception for an answer that is no JSON.
            if type(error) is Exception:
                raise self._refusal(error) from error
            raise

    def _refusal(self, error: Exception) -> StoreError:
        return StoreError(
            f"the vector index in {self._place} refused: {error}; "
            "recall works without it, and `agentkit reindex` rebuilds it",
            retryable=True,
        )


class ChromaIndex(ChromaKeys):
    """The collection in a folder that this process owns."""

    def __init__(self, path: Path, *, identity: EmbedderIdentity) -> None:
        """Open the folder, making the collection where it is missing.

        Args:
            path: Folder of the embedded Chroma; one process at a time may open it.
            identity: Embedder whose vectors the collection holds; part of its name.

        Raises:
            StoreError: If Chroma cannot open the folder.
        """

        def connect() -> Any:
            import chromadb
            from chromadb.config import Settings

            path.mkdir(parents=True, exist_ok=True)
            return chromadb.PersistentClient(
                path=str(path), settings=Settings(anonymized_telemetry=False)
            )

        self._path = path
        super().__init__(connect, identity=identity, prefix=PREFIX, place=str(path))

    @property
    def keeps_deleted(self) -> bool:
        """Nothing stays: `clear` removes the files."""
        return False

    def clear(self) -> None:
        """Remove everything, files included; the lock file stays.

        Chroma keeps what is deleted: after `delete` and `delete_collection` alike, ids, vectors
        and fields still stood in its files (measured on chromadb 1.5.9). What it writes anew may
        hold bytes that this process held before: after a purge, see `IndexSlot.retire`.

        Raises:
            StoreError: If Chroma cannot open the folder again.
        """
        self._client.close()
        remove_files(self._path)
        self._open()


class ChromaServerIndex(ChromaKeys):
    """The collection on a Chroma server, which any number of processes may use."""

    def __init__(self, address: IndexAddress, *, identity: EmbedderIdentity) -> None:
        """Connect, making the collection where it is missing.

        Args:
            address: The server, and the name of the project there.
            identity: Embedder whose vectors the collection holds; part of its name.

        Raises:
            StoreError: If the server cannot be reached.
        """

        def connect() -> Any:
            import chromadb
            from chromadb.config import Settings

            client = chromadb.HttpClient(
                host=address.host,
                port=address.port,
                ssl=address.tls,
                settings=Settings(anonymized_telemetry=False),
            )
            self._sessions = _sessions(client)
            for session in self._sessions:
                session.timeout = SERVER_TIMEOUT_S
            return client

        self._sessions: list[Any] = []
        super().__init__(connect, identity=identity, prefix=address.name, place=address.url)

    def close(self) -> None:
        """Release the connections."""
        super().close()
        for session in self._sessions:
            session.close()


def _sessions(client: Any) -> list[Any]:
    """Return the connections of a client, which waits for ever and leaves them open if let be."""
    servers = (
        getattr(part, "_server", None) for part in (client, getattr(client, "_admin_client", None))
    )
    sessions = (getattr(server, "_session", None) for server in servers)
    return [session for session in sessions if session is not None]


def remove_files(path: Path) -> None:
    """Remove all files of an embedded Chroma that is closed; the lock file stays.

    Args:
        path: Its folder.
    """
    for entry in path.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry)
        elif entry.suffix != LOCK_SUFFIX:
            entry.unlink()


def _batches(key_ids: Sequence[str]) -> Iterator[list[str]]:
    for start in range(0, len(key_ids), BATCH_ROWS):
        yield list(key_ids[start : start + BATCH_ROWS])


def _fields(item: IndexItem) -> dict[str, str]:
    """Return every field, always: Chroma merges fields, so one left out would keep its value."""
    return {
        "user_id": item.user_id,
        "agent_id": item.agent_id or "",
        "memory_id": item.memory_id,
        "memory_type": item.memory_type,
    }


def _item(key_id: str, vector: Any, fields: dict[str, Any]) -> IndexItem:
    return IndexItem(
        key_id=key_id,
        user_id=str(fields.get("user_id", "")),
        agent_id=str(fields.get("agent_id", "")) or None,
        memory_id=str(fields.get("memory_id", "")),
        memory_type=str(fields.get("memory_type", "")),
        vector=np.asarray(vector, dtype=np.float32),
    )
