"""Embedders that compute in this process: loaded once, under a lock, off the event loop."""

import threading
from collections.abc import Callable, Sequence

import numpy as np

from agentkit.ports import EmbedderIdentity, EmbedKind
from agentkit.records import Float32Array
from agentkit.store.embedders.texts import CleanTexts, QueryCache, clean
from agentkit.store.offload import offload

Encode = Callable[[list[str]], Float32Array]


class ThreadedEmbedder:
    """Runs a blocking encoder on worker threads."""

    def __init__(self, *, name: str, dim: int, load: Callable[[], Encode]) -> None:
        """Load nothing yet.

        Args:
            name: Embedder string.
            dim: Length of a vector, fixed by the model.
            load: Returns a function from texts to rows of shape (len(texts), dim), float32.
        """
        self._identity = EmbedderIdentity(name, dim)
        self._load = load
        self._encode: Encode | None = None
        self._loading = threading.Lock()
        self._queries = QueryCache()

    @property
    def name(self) -> str:
        """The embedder string, known without loading the model."""
        return self._identity.name

    @property
    def dim(self) -> int:
        """Length of a vector, known without loading the model."""
        return self._identity.dim

    async def identity(self) -> EmbedderIdentity:
        """Return name and dimension; the model is not needed for that."""
        return self._identity

    async def load(self) -> None:
        """Load the model, unless that is done.

        Raises:
            EmbedderError: If it cannot be loaded.
        """
        if self._encode is None:
            await offload(self._loaded)

    async def embed(self, texts: Sequence[str], *, kind: EmbedKind) -> Float32Array:
        """Return one vector a text.

        Args:
            texts: Any number of texts; empty and very long ones are allowed.
            kind: Whether they are queries or documents.

        Returns:
            shape (len(texts), dim), float32, each row L2-normalised (all zero for a blank text).

        Raises:
            EmbedderError: If the model cannot be loaded.
        """
        single = texts[0] if kind == "query" and len(texts) == 1 else None
        held = None if single is None else self._queries.get(single)
        if held is not None:
            return held.copy()
        cleaned = clean(texts)
        vectors = await offload(lambda: self._compute(cleaned))
        if single is not None:
            self._queries.put(single, vectors.copy())
        return vectors

    def _compute(self, cleaned: CleanTexts) -> Float32Array:
        dim = self._identity.dim
        if not cleaned.texts:
            return cleaned.spread(np.zeros((0, dim), dtype=np.float32), dim=dim)
        return cleaned.spread(self._loaded()(cleaned.texts), dim=dim)

    def _loaded(self) -> Encode:
        with self._loading:
            if self._encode is None:
                self._encode = self._load()
            return self._encode
