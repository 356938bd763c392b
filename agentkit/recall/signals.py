"""Ranges of the arms over the filtered scope, and what they say of the query."""

import numpy as np

from agentkit.recall.columns import BoolArray, Float64Array
from agentkit.recall.top import least_of_top
from agentkit.records import Normalisers, QuerySignals

# The lists are compared at the tenth place because that is where the reported metrics end.
TOP = 10
_PEAK_SCALE = 0.1


def measure(
    cosine: Float64Array,
    has_vector: BoolArray,
    bm25: Float64Array,
    matched: Float64Array,
    *,
    known: float,
    term_count: int,
    cjk: float,
    least_cosine_span: float,
) -> Normalisers:
    """Return the ranges of both arms and the query's signals, with all weights still 0.

    Args:
        cosine: shape (n,), float64, over the whole filtered scope.
        has_vector: shape (n,), bool: which of them count.
        bm25: shape (n,), float64, at least 0.
        matched: shape (n,), float64 in [0, 1]: share of the query's idf mass.
        known: Share of the query's idf mass that the scope knows, in [0, 1].
        term_count: Distinct terms of the query.
        cjk: Share of CJK letters of the query, in [0, 1].
        least_cosine_span: Narrower ranges of cosines are widened downwards to this.

    Returns:
        An arm that says nothing has an empty range.
    """
    seen = cosine[has_vector]
    high = float(seen.max()) if len(seen) else 0.0
    low = min(float(seen.min()), high - least_cosine_span) if len(seen) else 0.0
    most = float(bm25.max()) if len(bm25) else 0.0
    dense = np.where(has_vector, (cosine - low) / (high - low), 0.0) if high > low else None
    lexical = bm25 / most if most > 0.0 else None
    dense_tenth, lexical_tenth = _tenth(dense), _tenth(lexical)
    return Normalisers(
        signals=QuerySignals(
            known=known,
            matched=float(matched.max()) if len(matched) else 0.0,
            dense_gap=_gap(dense, dense_tenth),
            lexical_gap=_gap(lexical, lexical_tenth),
            dense_peak=_peak(seen),
            agreement=_agreement(
                dense, lexical, dense_tenth=dense_tenth, lexical_tenth=lexical_tenth
            ),
            length=float(np.log1p(term_count)),
            cjk=cjk,
        ),
        cosine_low=low,
        cosine_high=high,
        bm25_high=most,
        bm25_low=0.0,
    )


def _tenth(values: Float64Array | None) -> float:
    """The tenth best, or the last of fewer."""
    if values is None:
        return 0.0
    return least_of_top(values, min(TOP, len(values)))


def _gap(values: Float64Array | None, tenth: float) -> float:
    """Best minus tenth best."""
    return 0.0 if values is None else float(values.max()) - tenth


def _peak(values: Float64Array) -> float:
    spread = float(values.std()) if len(values) > 1 else 0.0
    return _PEAK_SCALE * (float(values.max()) - float(values.mean())) / spread if spread else 0.0


def _agreement(
    dense: Float64Array | None,
    lexical: Float64Array | None,
    *,
    dense_tenth: float,
    lexical_tenth: float,
) -> float:
    """Share of the ten best of one arm that are among the ten best of the other."""
    if dense is None or lexical is None:
        return 0.0
    ours = dense >= dense_tenth
    theirs = (lexical >= lexical_tenth) & (lexical > 0.0)
    return min(float((ours & theirs).sum()) / min(TOP, len(dense)), 1.0)
