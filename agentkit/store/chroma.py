"""The derived index on embedded Chroma: ids, vectors and filter fields, never text."""

import hashlib
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from agentkit.errors import StoreError
from agentkit.ports import EmbedderIdentity, IndexItem
from agentkit.records import Float32Array

# Chroma takes at most 5,461 rows in a call.
BATCH_ROWS = 5_000
# With the default of 100, recall fell to 0.33-0.75 on hard data of 20k to 100k rows; with 1,000 it
# was 0.96-1.0 at 3-6 ms (measured on chromadb 1.5.9). It cannot be changed later.
EF_SEARCH = 1_000
EF_CONSTRUCTION = 200
LOCK_SUFFIX = ".lock"


class ChromaIndex:
    """One collection in a folder that this process owns."""

    def __init__(self, path: Path, *, identity: EmbedderIdentity) -> None:
        """Open the folder, making the collection where it is missing.

        Args:
            path: Folder of the embedded Chroma; one process at a time may open it.
            identity: Embedder whose vectors the collection holds; part of its name.

        Raises:
            StoreError: If Chroma cannot open the folder.
        """
        from chromadb.errors import ChromaError

        self._error: type[Exception] = ChromaError
        self._path = path
        path.mkdir(parents=True, exist_ok=True)
        self._name = collection_name(identity)
        self._metadata = {"embedder": identity.name, "dim": identity.dim}
        try:
            self._open()
        except (ChromaError, ValueError) as error:
            raise StoreError(
                f"the vector index in {path} cannot be opened: {error}; recall works without it, "
                "and it can be rebuilt: delete the folder"
            ) from error

    def upsert(self, items: Sequence[IndexItem]) -> None:
        """Write or overwrite items; doing it twice is harmless.

        Raises:
            StoreError: If Chroma refuses.
        """
        for start in range(0, len(items), BATCH_ROWS):
            batch = items[start : start + BATCH_ROWS]
            self._call(
                partial(
                    self._collection.upsert,
                    ids=[item.key_id for item in batch],
                    embeddings=np.stack([item.vector for item in batch]),
                    metadatas=[_fields(item) for item in batch],
                )
            )

    def delete(self, key_ids: Sequence[str]) -> None:
        """Remove keys; unknown ids are ignored.

        Raises:
            StoreError: If Chroma refuses.
        """
        for start in range(0, len(key_ids), BATCH_ROWS):
            batch = list(key_ids[start : start + BATCH_ROWS])
            self._call(partial(self._collection.delete, ids=batch))

    def query(self, vector: Float32Array, *, user_id: str, limit: int) -> list[tuple[str, float]]:
        """Return (key id, cosine) pairs of that user, most similar first, ties by id.

        Args:
            vector: shape (dim,), float32, L2-normalised.
            user_id: Whose keys may come back.
            limit: Most pairs wanted, at least 1.

        Raises:
            StoreError: If Chroma refuses.
        """
        answer = self._call(
            lambda: self._collection.query(
                query_embeddings=vector.reshape(1, -1),
                n_results=limit,
                where={"user_id": user_id},
                include=["distances"],
            )
        )
        pairs = zip(answer["ids"][0], answer["distances"][0], strict=True)
        found = [(str(key), 1.0 - float(distance)) for key, distance in pairs]
        return sorted(found, key=lambda pair: (-pair[1], pair[0]))

    def ids(self, *, user_id: str | None = None) -> set[str]:
        """Return the ids of the keys held, of one user or of all.

        Raises:
            StoreError: If Chroma refuses.
        """
        where = {} if user_id is None else {"where": {"user_id": user_id}}
        held: set[str] = set()
        while True:
            page = self._call(
                lambda: self._collection.get(
                    limit=BATCH_ROWS, offset=len(held), include=[], **where
                )
            )["ids"]
            held.update(page)
            if len(page) < BATCH_ROWS:
                return held

    def clear(self) -> None:
        """Remove everything, files included; the lock file stays.

        Chroma keeps what is deleted: after `delete` and `delete_collection` alike, ids, vectors
        and fields still stood in its files (measured on chromadb 1.5.9).

        Raises:
            StoreError: If Chroma refuses.
        """
        self._client.close()
        for entry in self._path.iterdir():
            if entry.is_dir():
                shutil.rmtree(entry)
            elif entry.suffix != LOCK_SUFFIX:
                entry.unlink()
        self._call(self._open)

    def close(self) -> None:
        """Release the folder."""
        self._client.close()

    def _open(self) -> None:
        import chromadb
        from chromadb.config import Settings

        self._client: Any = chromadb.PersistentClient(
            path=str(self._path), settings=Settings(anonymized_telemetry=False)
        )
        self._collection: Any = self._open_collection()

    def _open_collection(self) -> Any:
        return self._client.get_or_create_collection(
            self._name,
            embedding_function=None,
            configuration={
                "hnsw": {
                    "space": "cosine",
                    "ef_search": EF_SEARCH,
                    "ef_construction": EF_CONSTRUCTION,
                }
            },
            metadata=self._metadata,
        )

    def _call(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except self._error as error:
            raise StoreError(f"the vector index refused: {error}", retryable=True) from error


def collection_name(identity: EmbedderIdentity) -> str:
    """Return the name of the collection that holds the vectors of an embedder.

    Args:
        identity: The embedder; its fingerprint is hashed, for Chroma takes plain names only.
    """
    digest = hashlib.sha256(identity.fingerprint.encode("utf-8")).hexdigest()
    return f"agentkit-keys-{digest[:32]}"


def _fields(item: IndexItem) -> dict[str, str]:
    """Return every field, always: Chroma merges fields, so one left out would keep its value."""
    return {
        "user_id": item.user_id,
        "agent_id": item.agent_id or "",
        "memory_id": item.memory_id,
        "memory_type": item.memory_type,
    }
