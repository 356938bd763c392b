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
    number = len(cosine)
    whole = bool(has_vector.all())
    seen = cosine if whole else cosine[has_vector]
    high = float(seen.max()) if len(seen) else 0.0
    low = min(float(seen.min()), high - least_cosine_span) if len(seen) else 0.0
    most = float(bm25.max()) if number else 0.0
    # Raw, since scaling all of them tells no more than scaling the two that are compared.
    dense_tenth = _tenth(seen, number=number, instead=low) if high > low else None
    lexical_tenth = _tenth(bm25, number=number, instead=0.0) if most > 0.0 else None
    return Normalisers(
        signals=QuerySignals(
            known=known,
            matched=float(matched.max()) if len(matched) else 0.0,
            dense_gap=0.0 if dense_tenth is None else (high - dense_tenth) / (high - low),
            lexical_gap=0.0 if lexical_tenth is None else (most - lexical_tenth) / most,
            dense_peak=_peak(seen, high=high),
            agreement=_agreement(
                cosine, has_vector, bm25, dense_tenth=dense_tenth, lexical_tenth=lexical_tenth
            ),
            length=float(np.log1p(term_count)),
            cjk=cjk,
        ),
        cosine_low=low,
        cosine_high=high,
        bm25_high=most,
        bm25_low=0.0,
    )


def _tenth(values: Float64Array, *, number: int, instead: float) -> float:
    """The tenth best of so many, or the last of fewer; `instead` where it is one without a value.

    Args:
        values: shape (m,), float64: those that there are.
        number: How many there would be if all had one, at least `m`.
        instead: What counts for the others.
    """
    wanted = min(TOP, number)
    return least_of_top(values, wanted) if len(values) >= wanted else instead


def _peak(values: Float64Array, *, high: float) -> float:
    spread = float(values.std()) if len(values) > 1 else 0.0
    return _PEAK_SCALE * (high - float(values.mean())) / spread if spread else 0.0


def _agreement(
    cosine: Float64Array,
    has_vector: BoolArray,
    bm25: Float64Array,
    *,
    dense_tenth: float | None,
    lexical_tenth: float | None,
) -> float:
    """Share of the ten best of one arm that are among the ten best of the other."""
    if dense_tenth is None or lexical_tenth is None:
        return 0.0
    best = np.flatnonzero(cosine >= dense_tenth)
    both = has_vector[best] & (bm25[best] >= lexical_tenth) & (bm25[best] > 0.0)
    return min(float(both.sum()) / min(TOP, len(cosine)), 1.0)
