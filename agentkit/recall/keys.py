"""The keys of one scope: the texts, as vectors and as terms, by which memories are found."""

import threading
from collections.abc import Sequence

import numpy as np

from agentkit.errors import InputError
from agentkit.recall.columns import BoolArray, Float64Array, Int64Array
from agentkit.recall.postings import LexicalScores, Postings, RowWindow
from agentkit.records import Float32Array, KeyEntry, TermCounts

# Two threads take 5.7 ms where one takes 10.7 for 100,000 rows of 384 on two cores; starting the
# second takes 0.1, which pays from here on (`tests/bench/recall.py`).
_HALF_AT_LEAST = 8_192
_FIRST_CAPACITY = 16


class Keys:
    """Rows of a float32 matrix beside rows of postings, numbered from 0 in the order of `add`."""

    def __init__(self) -> None:
        """Start empty; the first vector decides the length of all."""
        self._vectors: Float32Array = np.zeros((0, 0), dtype=np.float32)
        self._has_vector: BoolArray = np.zeros(_FIRST_CAPACITY, dtype=np.bool_)
        self._postings = Postings()

    def __len__(self) -> int:
        """Number of rows, removed ones included."""
        return len(self._postings)

    @property
    def dim(self) -> int:
        """Length of the vectors held, or 0 while there are none."""
        return self._vectors.shape[1]

    @property
    def nbytes(self) -> int:
        """Estimate of the memory held, in bytes."""
        return self._vectors.nbytes + self._has_vector.nbytes + self._postings.nbytes

    @property
    def has_vector(self) -> BoolArray:
        """Shape (rows,), bool: which rows have an embedding."""
        return self._has_vector[: len(self)]

    def vector(self, row: int) -> Float32Array | None:
        """Return the vector of a row, or None while it has no embedding."""
        return self._vectors[row] if self._has_vector[row] else None

    def vectors(self, rows: Int64Array) -> Float32Array:
        """Return copies of the vectors of rows that have one.

        Args:
            rows: shape (n,), int64: row numbers.

        Returns:
            shape (n, dim), float32, L2-normalised.
        """
        return self._vectors[rows]

    def check(self, keys: Sequence[KeyEntry]) -> None:
        """Refuse vectors of different lengths.

        Args:
            keys: Keys about to be added.

        Raises:
            InputError: If they differ from those held, or among themselves.
        """
        dim = self.dim
        for key in keys:
            if key.vector is None:
                continue
            dim = dim or len(key.vector)
            if key.vector.shape != (dim,):
                raise InputError(
                    f"key {key.key_id} has a vector of length {len(key.vector)} where others have "
                    f"{dim}; they come from different embedders"
                )

    def add(self, key: KeyEntry) -> int:
        """Add a key and return its row.

        Args:
            key: The key; its vector has passed `check`.
        """
        row = self._postings.add(key.terms)
        if row >= len(self._has_vector):
            self._has_vector = np.concatenate([self._has_vector, np.zeros_like(self._has_vector)])
        if key.vector is None:
            return row
        dim = self.dim or len(key.vector)
        if row >= len(self._vectors):
            more = np.zeros((len(self._has_vector), dim), dtype=np.float32)
            more[: len(self._vectors)] = self._vectors.reshape(-1, dim)
            self._vectors = more
        self._has_vector[row] = True
        self._vectors[row] = key.vector
        return row

    def add_all(self, keys: Sequence[KeyEntry]) -> None:
        """Add keys where there are none yet, in one go; their rows are numbered from 0.

        Args:
            keys: The keys; their vectors have passed `check`.
        """
        self._postings.add_all([key.terms for key in keys])
        capacity = max(_FIRST_CAPACITY, len(keys) + len(keys) // 2)
        embedded = [row for row, key in enumerate(keys) if key.vector is not None]
        self._has_vector = np.zeros(capacity, dtype=np.bool_)
        self._has_vector[embedded] = True
        vectors = [key.vector for key in keys if key.vector is not None]
        if vectors:
            self._vectors = np.zeros((capacity, len(vectors[0])), dtype=np.float32)
            self._vectors[embedded] = vectors

    def remove(self, row: int) -> None:
        """Take a row out of the words arm; who owns it masks it in the dense arm.

        Args:
            row: Row number; removing it twice is harmless.
        """
        self._postings.remove(row)

    def lexical(
        self, terms: TermCounts, *, k1: float, b: float, window: RowWindow | None = None
    ) -> LexicalScores:
        """Score every row by words; see `Postings.score`.

        Args:
            terms: Terms of the query.
            k1: Saturation, at least 0.
            b: Length normalisation, in [0, 1].
            window: Rows to score with those around them as well, or None.
        """
        return self._postings.score(terms, k1=k1, b=b, window=window)

    def cosines(self, vector: Float32Array) -> Float64Array:
        """Return the cosine of every row to a vector; 0.0 where there is no embedding.

        Args:
            vector: shape (dim,), float32, L2-normalised.

        Returns:
            shape (rows,), float64, in [-1, 1]. A row's value does not depend on where it stands,
            so equal texts get equal scores: einsum keeps that, a BLAS product does not.

        Raises:
            InputError: If the vector has another length than those held.
        """
        found = np.zeros(len(self), dtype=np.float64)
        if not self.dim:
            return found
        if vector.shape != (self.dim,):
            raise InputError(
                f"the vector of the query has length {len(vector)} where those of the memories "
                f"have {self.dim}; they come from different embedders"
            )
        rows = min(len(self), len(self._vectors))
        query = vector.astype(np.float32, copy=False)
        found[:rows] = _products(self._vectors[:rows], query)
        np.maximum(found, -1.0, out=found)
        return np.minimum(found, 1.0, out=found)

    def chosen(self, rows: Sequence[int]) -> "Keys":
        """Return new keys that hold only some rows, in the order given.

        Args:
            rows: Rows that have not been removed.
        """
        new = Keys()
        new._postings.add_all([self._postings.terms(row) for row in rows])
        capacity = max(_FIRST_CAPACITY, len(rows) + len(rows) // 2)
        new._has_vector = np.zeros(capacity, dtype=np.bool_)
        new._has_vector[: len(rows)] = self._has_vector[rows]
        if self.dim:
            embedded = [at for at, row in enumerate(rows) if self._has_vector[row]]
            new._vectors = np.zeros((capacity, self.dim), dtype=np.float32)
            new._vectors[embedded] = self._vectors[[rows[at] for at in embedded]]
        return new


def _products(rows: Float32Array, query: Float32Array) -> Float32Array:
    """The product of each row with a vector, large numbers of rows on two threads.

    einsum lets other threads run meanwhile, and a row's product is the same wherever it is made.
    """
    half = len(rows) // 2
    if half < _HALF_AT_LEAST:
        return np.einsum("ij,j->i", rows, query)
    found = np.empty(len(rows), dtype=np.float32)

    def first() -> None:
        np.einsum("ij,j->i", rows[:half], query, out=found[:half])

    # A thread for this alone: a pool would have to be taken care of where a process forks.
    helper = threading.Thread(target=first, name="agentkit-cosines")
    helper.start()
    np.einsum("ij,j->i", rows[half:], query, out=found[half:])
    helper.join()
    return found
