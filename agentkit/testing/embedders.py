"""Embedders that need no model."""

from collections.abc import Mapping, Sequence

import numpy as np

from agentkit.errors import EmbedderError
from agentkit.ports import EmbedderIdentity, EmbedKind
from agentkit.records import Float32Array
from agentkit.text import term_hash, terms

_SIGN_BIT = 1 << 63


class HashEmbedder:
    """Texts that share words are near each other; the same in every process.

    Each term adds or takes 1 at a place that its hash names, so the cosine of two texts grows
    with the share of terms that they have in common.
    """

    def __init__(self, dim: int = 64, *, name: str = "hash") -> None:
        """Choose the length of a vector.

        Args:
            dim: Length of a vector, at least 1; short ones confuse words more often.
            name: Name that vectors are pinned to.
        """
        self._identity = EmbedderIdentity(name, dim)

    @property
    def name(self) -> str:
        """Name that vectors are pinned to."""
        return self._identity.name

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return self._identity.dim

    async def identity(self) -> EmbedderIdentity:
        """Return name and dimension."""
        return self._identity

    async def load(self) -> None:
        """Nothing is to be loaded."""

    async def embed(self, texts: Sequence[str], *, kind: EmbedKind) -> Float32Array:
        """Return one vector a text, queries and documents alike.

        Args:
            texts: Any number of texts.
            kind: Whether they are queries or documents.

        Returns:
            shape (len(texts), dim), float32, each row L2-normalised (all zero for a blank text).
        """
        vectors = np.zeros((len(texts), self._identity.dim), dtype=np.float32)
        for row, text in enumerate(texts):
            for term in terms(text):
                hashed = term_hash(term)
                place = hashed % self._identity.dim
                vectors[row, place] += 1.0 if hashed & _SIGN_BIT else -1.0
        return _unit(vectors)


class TableEmbedder:
    """Gives the vectors that a test wrote down."""

    def __init__(self, table: Mapping[str, Sequence[float]], *, name: str = "table") -> None:
        """Take the table.

        Args:
            table: Vector of each text, all of one length, scaled to length 1 here.
            name: Name that vectors are pinned to.

        Raises:
            ValueError: If the vectors are not of one length, or there are none.
        """
        lengths = {len(vector) for vector in table.values()}
        if len(lengths) != 1:
            raise ValueError(f"the vectors have lengths {sorted(lengths)}; one length is wanted")
        self._table = dict(table)
        self._identity = EmbedderIdentity(name, lengths.pop())

    @property
    def name(self) -> str:
        """Name that vectors are pinned to."""
        return self._identity.name

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return self._identity.dim

    async def identity(self) -> EmbedderIdentity:
        """Return name and dimension."""
        return self._identity

    async def load(self) -> None:
        """Nothing is to be loaded."""

    async def embed(self, texts: Sequence[str], *, kind: EmbedKind) -> Float32Array:
        """Return the vector of each text.

        Args:
            texts: Texts of the table.
            kind: Whether they are queries or documents.

        Returns:
            shape (len(texts), dim), float32, each row L2-normalised (a zero row stays zero).

        Raises:
            EmbedderError: If a text is not in the table.
        """
        for text in texts:
            if text not in self._table:
                raise EmbedderError(f"the table has no vector for {text!r}; add one")
        rows = [self._table[text] for text in texts]
        vectors = np.array(rows, dtype=np.float32).reshape(len(texts), self._identity.dim)
        return _unit(vectors)


def _unit(vectors: Float32Array) -> Float32Array:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
