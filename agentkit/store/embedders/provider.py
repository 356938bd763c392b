"""Any embedder that pydantic-ai knows, by its string."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from agentkit.errors import EmbedderError
from agentkit.ports import EmbedderIdentity, EmbedKind
from agentkit.records import Float32Array
from agentkit.store.embedders.texts import QueryCache, clean, unit_rows

if TYPE_CHECKING:
    from pydantic_ai.embeddings import EmbeddingModel

# Providers take between 96 (Cohere) and 2,048 (OpenAI) texts in one request.
BATCH_TEXTS = 96
_PROBE = "dimension"


class ProviderEmbedder:
    """A hosted or local-server embedder; its dimension is known after the first answer."""

    def __init__(self, name: str, *, model: "EmbeddingModel | None" = None) -> None:
        """Contact nobody yet.

        Args:
            name: Such as `openai:text-embedding-3-small`; vectors are pinned to it.
            model: The model itself, where the name alone does not lead to it.
        """
        self._model = name if model is None else model
        self._name = name
        self._embedder: Any = None
        self._dim: int | None = None
        self._queries = QueryCache()

    @property
    def name(self) -> str:
        """The embedder string, known without asking the provider."""
        return self._name

    @property
    def dim(self) -> int | None:
        """Length of a vector, or None before the provider's first answer."""
        return self._dim

    async def identity(self) -> EmbedderIdentity:
        """Return name and dimension, asking the provider once for a vector.

        Raises:
            EmbedderError: If the provider cannot be reached or refuses.
        """
        if self._dim is None:
            await self._request([_PROBE], kind="document")
        if self._dim is None:
            raise EmbedderError(f"embedder {self._name!r} answered without a vector")
        return EmbedderIdentity(self._name, self._dim)

    async def load(self) -> None:
        """Nothing is loaded: the provider has the model."""

    async def embed(self, texts: Sequence[str], *, kind: EmbedKind) -> Float32Array:
        """Return one vector a text.

        Args:
            texts: Any number of texts; empty and very long ones are allowed.
            kind: Whether they are queries or documents.

        Returns:
            shape (len(texts), dim), float32, each row L2-normalised (all zero for a blank text).

        Raises:
            EmbedderError: If the provider cannot be reached or refuses.
        """
        single = texts[0] if kind == "query" and len(texts) == 1 else None
        held = None if single is None else self._queries.get(single)
        if held is not None:
            return held.copy()
        dim = (await self.identity()).dim
        cleaned = clean(texts)
        rows = [
            await self._request(cleaned.texts[start : start + BATCH_TEXTS], kind=kind)
            for start in range(0, len(cleaned.texts), BATCH_TEXTS)
        ]
        vectors = cleaned.spread(
            np.concatenate(rows) if rows else np.zeros((0, dim), dtype=np.float32), dim=dim
        )
        if single is not None:
            self._queries.put(single, vectors.copy())
        return vectors

    async def _request(self, texts: list[str], *, kind: EmbedKind) -> Float32Array:
        from pydantic_ai import Embedder
        from pydantic_ai.exceptions import AgentRunError, UserError

        try:
            if self._embedder is None:
                self._embedder = Embedder(self._model, defer_model_check=False)
            answer = await self._embedder.embed(texts, input_type=kind)
        except (AgentRunError, UserError, ValueError, ImportError) as error:
            raise EmbedderError(
                f"embedder {self._name!r} failed: {error}; check its name and its API key, "
                "or set embedder to local",
                retryable=isinstance(error, AgentRunError),
            ) from error
        vectors = unit_rows(np.asarray(answer.embeddings, dtype=np.float32))
        if vectors.shape != (len(texts), self._dim or vectors.shape[-1]):
            raise EmbedderError(
                f"embedder {self._name!r} answered {vectors.shape} for {len(texts)} texts"
            )
        self._dim = int(vectors.shape[1])
        return vectors
