"""The protocols that have more than one implementation today."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from agentkit.records import (
    Judgement,
    Memory,
    Reflection,
    ReflectionCase,
)

EmbedKind = Literal["query", "document"]


@dataclass(frozen=True, slots=True)
class EmbedderIdentity:
    """What pins vectors to the model that made them.

    Attributes:
        name: Embedder string, such as `local` or `openai:text-embedding-3-small`.
        dim: Length of a vector.
    """

    name: str
    dim: int

    @property
    def fingerprint(self) -> str:
        """Key under which vectors of this embedder are stored, `name@dim`."""
        return f"{self.name}@{self.dim}"


class Clock(Protocol):
    """Where the time comes from."""

    def __call__(self) -> datetime:
        """Return the current time, UTC-aware."""
        ...


class Embedder(Protocol):
    """Turns texts into vectors. Implementations: local, minilm, provider, hashed (testing)."""

    async def identity(self) -> EmbedderIdentity:
        """Return name and dimension, loading the model if that is how to know.

        Raises:
            EmbedderError: If it cannot be loaded.
        """
        ...

    async def load(self) -> None:
        """Load what is loaded only once, ahead of the first use; doing it twice is harmless.

        Raises:
            EmbedderError: If it cannot be loaded.
        """
        ...

    async def embed(self, texts: Sequence[str], *, kind: EmbedKind) -> npt.NDArray[np.float32]:
        """Return one vector a text.

        Args:
            texts: Any number of texts; empty and very long ones are allowed.
            kind: Whether they are queries or documents.

        Returns:
            shape (len(texts), dim), float32, each row L2-normalised (all zero for a blank text).

        Raises:
            EmbedderError: If the model cannot be loaded or the provider refuses.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IndexItem:
    """One key in a vector index: never any text.

    Attributes:
        key_id: Id of the key.
        user_id: Whose it is.
        agent_id: Agent it belongs to, or None.
        memory_id: Memory it finds.
        memory_type: Type of that memory.
        vector: shape (dim,), float32, L2-normalised.
    """

    key_id: str
    user_id: str
    agent_id: str | None
    memory_id: str
    memory_type: str
    vector: npt.NDArray[np.float32]


class VectorIndex(Protocol):
    """A derived index over keys. Implementations: Chroma, Qdrant, in-memory (testing).

    Calls block; the store makes them on a worker thread. What an adapter cannot do is a
    `StoreError`, also for a vector of another length than the index holds.
    """

    def upsert(self, items: Sequence[IndexItem]) -> None:
        """Write or overwrite items; doing it twice is harmless."""
        ...

    def delete(self, key_ids: Sequence[str]) -> None:
        """Remove keys; unknown ids are ignored."""
        ...

    def query(
        self,
        vector: npt.NDArray[np.float32],
        *,
        user_id: str,
        limit: int,
        key_ids: Collection[str] | None = None,
    ) -> list[tuple[str, float]]:
        """Return (key id, cosine) pairs of that user, most similar first.

        Args:
            vector: shape (dim,), float32, L2-normalised.
            user_id: Whose keys may come back.
            limit: Most pairs wanted, at least 1.
            key_ids: Only these, any number of them; unknown ones are ignored, none of them finds
                nothing. None for all keys of the user.
        """
        ...

    def get(self, key_ids: Sequence[str]) -> list[IndexItem]:
        """Return the items held of some keys, in any order; unknown ids are left out."""
        ...

    def ids(self, *, user_id: str | None = None) -> set[str]:
        """Return the ids of the keys held, of one user or of all."""
        ...

    def clear(self) -> None:
        """Remove everything, the mark of `set_building` included."""
        ...

    def drop_others(self) -> None:
        """Remove what the same place holds for other embedders than this index's own."""
        ...

    @property
    def keeps_deleted(self) -> bool:
        """Whether ids and vectors may stay in its files even after `clear`."""
        ...

    def is_building(self) -> bool:
        """Whether a rebuild was begun and not finished."""
        ...

    def set_building(self, building: bool) -> None:
        """Note durably, with the index itself, that a rebuild is begun or finished."""
        ...

    def close(self) -> None:
        """Release files and locks."""
        ...


class BlobStore(Protocol):
    """Immutable objects by name. Implementations: local folder, S3, in-memory (testing).

    Calls block; the store makes them on a worker thread.
    """

    def put(self, name: str, data: bytes) -> str:
        """Write an object durably and return its address; the same content again is harmless."""
        ...

    def get(self, uri: str) -> bytes:
        """Return an object.

        Raises:
            StoreError: If it is missing or unreadable.
        """
        ...

    def delete(self, uri: str) -> None:
        """Remove an object; a missing one is ignored."""
        ...

    def uris(self) -> set[str]:
        """Return the addresses of all objects."""
        ...


class Critic(Protocol):
    """Looks back on an episode. Implementations: rules, model."""

    async def review(self, case: ReflectionCase) -> Reflection:
        """Return the critique of one episode.

        Raises:
            ReflectionError: If nothing usable came back.
        """
        ...


class Judge(Protocol):
    """Says how a new memory stands to an old one. Implementations: rules, model."""

    async def judge(self, new: Memory, old: Memory) -> Judgement:
        """Return the relationship of `new` to `old`, with a confidence.

        Raises:
            ReflectionError: If nothing usable came back.
        """
        ...
