"""Both arms over one scope: what words and meaning say of every memory, raw."""

from dataclasses import dataclass

import numpy as np

from agentkit.policy.recall import LexicalPolicy, NeighbourPolicy
from agentkit.recall.columns import BoolArray, Float64Array, Int64Array
from agentkit.recall.context import Window
from agentkit.recall.index import ScopeIndex
from agentkit.recall.keys import Keys
from agentkit.records import Float32Array, TermCounts


@dataclass(frozen=True, slots=True, eq=False)
class Arms:
    """Raw scores of both arms, best key of each memory, by slot.

    Attributes:
        cosine: shape (n,), float64 in [-1, 1]; 0.0 where there is no vector.
        has_vector: shape (n,), bool: False where the memory has no embedding at all.
        bm25: shape (n,), float64, at least 0.
        matched: shape (n,), float64 in [0, 1]: share of the query's idf mass in the best key.
        known: Share of the query's idf mass whose terms occur in the scope, in [0, 1].
        placed: shape (n,), bool: which memories were looked at with their neighbours; the others
            have the same score with and without.
        context_cosine: shape (n,), float64: cosines with the neighbours in the episode.
        context_bm25: shape (n,), float64: BM25 with the neighbours in the episode.
        has_neighbours: Whether any memory was; without, the scores with neighbours are the others.
    """

    cosine: Float64Array
    has_vector: BoolArray
    bm25: Float64Array
    matched: Float64Array
    known: float
    placed: BoolArray
    context_cosine: Float64Array
    context_bm25: Float64Array
    has_neighbours: bool


def measure_arms(
    index: ScopeIndex,
    terms: TermCounts,
    vector: Float32Array | None,
    *,
    seen: BoolArray,
    lexical: LexicalPolicy,
    neighbours: NeighbourPolicy,
) -> Arms:
    """Score every memory by words and by meaning, alone and with its neighbours.

    Args:
        index: The memories; the caller holds its lock.
        terms: Terms of the query.
        vector: shape (dim,), float32, L2-normalised, or None for no dense arm.
        seen: shape (slots,), bool: what the filter left in; the others are no neighbours.
        lexical: The words arm.
        neighbours: How much is taken of neighbours.

    Returns:
        Scores by slot; those of dead slots mean nothing and must be masked.

    Raises:
        InputError: If the vector has another length than those held.
    """
    first, keys = index.columns.first_key, index.keys
    window = index.context.window(seen, policy=neighbours)
    words = keys.lexical(
        terms,
        k1=lexical.k1,
        b=lexical.b,
        window=None if window is None else window.of_rows(first),
    )
    bm25 = context_bm25 = _best_key(words.bm25, first)
    placed = np.zeros(len(first), dtype=np.bool_)
    if window is not None and words.around is not None:
        placed[window.slots] = True
        context_bm25 = _best_key(_replaced(words.bm25, first[window.slots], words.around), first)
    has_vector, cosine, context_cosine = _meaning(keys, vector, first, window=window)
    return Arms(
        cosine=cosine,
        has_vector=has_vector,
        bm25=bm25,
        matched=_best_key(words.matched, first),
        known=words.known,
        placed=placed,
        context_cosine=context_cosine,
        context_bm25=context_bm25,
        has_neighbours=window is not None,
    )


def _meaning(
    keys: Keys, vector: Float32Array | None, first: Int64Array, *, window: Window | None
) -> tuple[BoolArray, Float64Array, Float64Array]:
    """Whether each memory has a vector; its best cosine alone and with its neighbours."""
    held = keys.has_vector
    whole = bool(held.all())
    if whole or not len(first) or len(held) == len(first):
        has_vector = held[: len(first)]
    else:
        has_vector = np.logical_or.reduceat(held, first)
    nothing = np.zeros(len(first), dtype=np.float64)
    if vector is None or not len(first):
        return has_vector, nothing, nothing
    by_key = keys.cosines(vector)
    if not whole:
        by_key[~held] = -2.0
    cosine = context = _or_zero(_best_key(by_key, first), has_vector, all_have=whole)
    if window is not None:
        rows = first[window.slots]
        around = np.where(held[rows], window.mean(by_key[rows], has=held[rows]), -2.0)
        best = _best_key(_replaced(by_key, rows, around), first)
        context = _or_zero(best, has_vector, all_have=whole)
    return has_vector, cosine, context


def _or_zero(cosine: Float64Array, has_vector: BoolArray, *, all_have: bool) -> Float64Array:
    return cosine if all_have else np.where(has_vector, cosine, 0.0)


def _best_key(by_key: Float64Array, first: Int64Array) -> Float64Array:
    """Return the greatest value over the keys of each memory."""
    if len(by_key) == len(first):
        return by_key
    return np.maximum.reduceat(by_key, first) if len(first) else by_key[:0]


def _replaced(values: Float64Array, rows: Int64Array, others: Float64Array) -> Float64Array:
    values = values.copy()
    values[rows] = others
    return values
