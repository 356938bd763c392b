"""What every embedder does with texts before, and with vectors after."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from agentkit.records import Float32Array
from agentkit.text import normalise

# 100 kB take the bundled embedder 2.3 s, and what stands first says what a text is about.
MOST_CHARS = 2_000
# A few hundred vectors of 512 numbers are under a megabyte.
CACHED_QUERIES = 256


@dataclass(frozen=True, slots=True)
class CleanTexts:
    """Texts that an embedder can take, and where they stood.

    Attributes:
        texts: Normalised and cut, none of them blank.
        places: Index of each in what was given.
        total: Number of texts given.
    """

    texts: list[str]
    places: list[int]
    total: int

    def spread(self, vectors: Float32Array, *, dim: int) -> Float32Array:
        """Return one row for each text given, zero for a blank one.

        Args:
            vectors: shape (len(texts), dim), any length of the rows.
            dim: Length of a vector.

        Returns:
            shape (total, dim), float32, each row L2-normalised or zero.
        """
        spread = np.zeros((self.total, dim), dtype=np.float32)
        if self.places:
            spread[self.places] = unit_rows(vectors)
        return spread


def clean(texts: Sequence[str]) -> CleanTexts:
    """Return the texts as an embedder can take them: NFC, cut, without lone surrogates."""
    cut = [normalise(text[:MOST_CHARS]) for text in texts]
    places = [place for place, text in enumerate(cut) if text.strip()]
    return CleanTexts([cut[place] for place in places], places, len(texts))


def unit_rows(vectors: Float32Array) -> Float32Array:
    """Return the rows scaled to length 1; a zero row stays zero."""
    held = np.asarray(vectors, dtype=np.float32)
    lengths = np.linalg.norm(held, axis=1, keepdims=True)
    return np.divide(held, lengths, out=np.zeros_like(held), where=lengths > 0)


class QueryCache:
    """The vectors of the last queries: a task asks the same thing more than once."""

    def __init__(self) -> None:
        """Hold nothing yet."""
        self._held: OrderedDict[str, Float32Array] = OrderedDict()

    def get(self, text: str) -> Float32Array | None:
        """Return the vector of a query, or None."""
        vector = self._held.get(text)
        if vector is not None:
            self._held.move_to_end(text)
        return vector

    def put(self, text: str, vector: Float32Array) -> None:
        """Keep the vector of a query, letting go of the oldest."""
        self._held[text] = vector
        while len(self._held) > CACHED_QUERIES:
            self._held.popitem(last=False)
