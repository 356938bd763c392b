"""Refusing a vector that does not fit, in the same words for every index."""

from collections.abc import Iterable

from agentkit.errors import StoreError
from agentkit.records import Float32Array


def refuse_other_dim(vectors: Iterable[Float32Array], *, dim: int) -> None:
    """Refuse vectors of another length than an index holds.

    Args:
        vectors: Each of shape (any length,).
        dim: Length of the vectors held.

    Raises:
        StoreError: Naming both lengths; nothing was written.
    """
    for vector in vectors:
        if vector.shape != (dim,):
            raise StoreError(
                f"the vector index holds vectors of {dim} dimensions, and one has "
                f"{'x'.join(map(str, vector.shape))}; nothing was written: "
                "another embedder needs an index of its own"
            )
