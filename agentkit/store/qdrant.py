"""The derived index on Qdrant: in memory, in a folder, or on a server."""

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

import numpy as np

from agentkit.errors import StoreError
from agentkit.ports import EmbedderIdentity, IndexItem
from agentkit.records import Float32Array
from agentkit.store.addresses import IndexAddress
from agentkit.store.collection_names import PREFIX, collection_name, others
from agentkit.store.dimensions import refuse_other_dim

# A request of this many vectors of 512 numbers is 2 MB; servers take 32 MB.
BATCH_ROWS = 1_000
SERVER_TIMEOUT_S = 60
# Points need ids of their own form: made from ours, the same in every process.
_NAMESPACE = UUID("6f0c6a52-7c0d-4f0e-9a51-3c6c8fd0b6a1")


class QdrantIndex:
    """One collection of Qdrant. Local ones belong to one process, a server to any number."""

    def __init__(self, where: Path | IndexAddress | None, *, identity: EmbedderIdentity) -> None:
        """Open it, making the collection where it is missing.

        Args:
            where: A folder, a server, or None to keep everything in memory.
            identity: Embedder whose vectors the collection holds; part of its name.

        Raises:
            StoreError: If Qdrant cannot be opened there.
        """
        from qdrant_client import models

        self._models: Any = models
        self._dim = identity.dim
        self._place = where.url if isinstance(where, IndexAddress) else str(where or ":memory:")
        prefix = where.name if isinstance(where, IndexAddress) else PREFIX
        self._name = collection_name(identity, prefix=prefix)
        self._metadata: dict[str, Any] = {"embedder": identity.name, "dim": identity.dim}
        self._remote = isinstance(where, IndexAddress)
        self._client: Any = self._call(lambda: _client(where))
        self._call(self._ensure_collection)

    def upsert(self, items: Sequence[IndexItem]) -> None:
        """Write or overwrite items; doing it twice is harmless.

        Raises:
            StoreError: If Qdrant refuses, or a vector has another length.
        """
        refuse_other_dim((item.vector for item in items), dim=self._dim)
        for start in range(0, len(items), BATCH_ROWS):
            points = [
                self._models.PointStruct(
                    id=_point_id(item.key_id), vector=item.vector.tolist(), payload=_payload(item)
                )
                for item in items[start : start + BATCH_ROWS]
            ]
            self._call(lambda points=points: self._client.upsert(self._name, points, wait=True))

    def delete(self, key_ids: Sequence[str]) -> None:
        """Remove keys; unknown ids are ignored.

        Raises:
            StoreError: If Qdrant refuses.
        """
        for batch in _batches(key_ids):
            points = self._models.PointIdsList(points=[_point_id(key) for key in batch])
            self._call(lambda points=points: self._client.delete(self._name, points, wait=True))

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
            StoreError: If Qdrant refuses, or the vector has another length.
        """
        refuse_other_dim([vector], dim=self._dim)
        if key_ids is not None and not key_ids:
            return []
        must = [self._is_user(user_id)]
        if key_ids is not None:
            must.append(self._models.HasIdCondition(has_id=[_point_id(key) for key in key_ids]))
        points = self._call(
            lambda: (
                self._client.query_points(
                    self._name,
                    query=vector.tolist(),
                    limit=limit,
                    query_filter=self._models.Filter(must=must),
                    with_payload=["key_id"],
                ).points
            )
        )
        found = [(str(point.payload["key_id"]), float(point.score)) for point in points]
        return sorted(found, key=lambda pair: (-pair[1], pair[0]))

    def get(self, key_ids: Sequence[str]) -> list[IndexItem]:
        """Return the items held of some keys; unknown ids are left out.

        Raises:
            StoreError: If Qdrant refuses.
        """
        found: list[IndexItem] = []
        for batch in _batches(key_ids):
            names = [_point_id(key) for key in batch]
            records = self._call(
                lambda names=names: self._client.retrieve(
                    self._name, names, with_payload=True, with_vectors=True
                )
            )
            found.extend(_item(record.payload, record.vector) for record in records)
        return found

    def ids(self, *, user_id: str | None = None) -> set[str]:
        """Return the ids of the keys held, of one user or of all.

        Raises:
            StoreError: If Qdrant refuses.
        """
        wanted = None if user_id is None else self._models.Filter(must=[self._is_user(user_id)])
        held: set[str] = set()
        after: Any = None
        while True:
            page, after = self._call(
                lambda after=after: self._client.scroll(
                    self._name,
                    scroll_filter=wanted,
                    limit=BATCH_ROWS,
                    offset=after,
                    with_payload=["key_id"],
                )
            )
            held.update(str(record.payload["key_id"]) for record in page)
            if after is None:
                return held

    def clear(self) -> None:
        """Remove everything.

        Raises:
            StoreError: If Qdrant refuses.
        """
        self._call(lambda: self._client.delete_collection(self._name))
        self._call(self._ensure_collection)

    def drop_others(self) -> None:
        """Remove the collections that the same project has for other embedders.

        Raises:
            StoreError: If Qdrant refuses.
        """
        held = self._call(lambda: self._client.get_collections()).collections
        for name in others([str(one.name) for one in held], own=self._name):
            self._call(lambda name=name: self._client.delete_collection(name))

    @property
    def keeps_deleted(self) -> bool:
        """Nothing stays: the folder of the collection is removed."""
        return False

    def is_building(self) -> bool:
        """Whether a rebuild was begun and not finished; on a server, by any process.

        Raises:
            StoreError: If Qdrant refuses.
        """
        held = self._call(lambda: self._client.get_collection(self._name))
        metadata: dict[str, Any] = held.config.metadata or {}
        return bool(metadata.get("building"))

    def set_building(self, building: bool) -> None:
        """Note in the collection that a rebuild is begun or finished.

        Raises:
            StoreError: If Qdrant refuses.
        """
        metadata = self._metadata | {"building": building}
        self._call(lambda: self._client.update_collection(self._name, metadata=metadata))

    def close(self) -> None:
        """Release the folder or the connection."""
        self._client.close()

    def _ensure_collection(self) -> None:
        if self._client.collection_exists(self._name):
            return
        vectors = self._models.VectorParams(size=self._dim, distance=self._models.Distance.COSINE)
        self._client.create_collection(self._name, vectors_config=vectors, metadata=self._metadata)
        if self._remote:
            self._client.create_payload_index(
                self._name, "user_id", field_schema=self._models.PayloadSchemaType.KEYWORD
            )

    def _is_user(self, user_id: str) -> Any:
        return self._models.FieldCondition(
            key="user_id", match=self._models.MatchValue(value=user_id)
        )

    def _call(self, call: Callable[[], Any]) -> Any:
        from qdrant_client.http.exceptions import ApiException

        try:
            return call()
        # Local Qdrant raises RuntimeError for a folder in use, ValueError for all else.
        except (ApiException, ValueError, RuntimeError) as error:
            raise StoreError(
                f"the vector index in {self._place} refused: {error}; "
                "recall works without it, and `agentkit reindex` rebuilds it",
                retryable=True,
            ) from error


def _client(where: Path | IndexAddress | None) -> Any:
    from qdrant_client import QdrantClient

    if where is None:
        return QdrantClient(":memory:")
    if isinstance(where, Path):
        where.mkdir(parents=True, exist_ok=True)
        # Calls come from worker threads, one at a time.
        return QdrantClient(path=str(where), force_disable_check_same_thread=True)
    return QdrantClient(
        host=where.host,
        port=where.port,
        https=where.tls,
        timeout=SERVER_TIMEOUT_S,
        check_compatibility=False,
    )


def _point_id(key_id: str) -> str:
    return str(uuid5(_NAMESPACE, key_id))


def _batches(key_ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(key_ids), BATCH_ROWS):
        yield key_ids[start : start + BATCH_ROWS]


def _payload(item: IndexItem) -> dict[str, str]:
    return {
        "key_id": item.key_id,
        "user_id": item.user_id,
        "agent_id": item.agent_id or "",
        "memory_id": item.memory_id,
        "memory_type": item.memory_type,
    }


def _item(fields: dict[str, Any], vector: Any) -> IndexItem:
    return IndexItem(
        key_id=str(fields["key_id"]),
        user_id=str(fields["user_id"]),
        agent_id=str(fields["agent_id"]) or None,
        memory_id=str(fields["memory_id"]),
        memory_type=str(fields["memory_type"]),
        vector=np.asarray(vector, dtype=np.float32),
    )
