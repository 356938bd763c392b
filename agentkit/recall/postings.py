"""BM25 over the keys of one scope: postings in memory, loaded at once, changed one at a time."""

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from agentkit.records import TermCounts

Float64Array = npt.NDArray[np.float64]
_BYTES_PER_TERM = 400
_BYTES_PER_POSTING = 6
# A place in a dictionary, two numbers in lists.
_BYTES_PER_BULK_TERM = 180

_Found = tuple[int, npt.NDArray[np.int64], Float64Array]
_NO_ROWS = np.zeros(0, dtype=np.int64)
_NO_COUNTS = np.zeros(0, dtype=np.float64)


class _Posting:
    """Rows in which one term occurs, of those that came in singly, in their order."""

    __slots__ = ("alive", "counts", "rows")

    def __init__(self) -> None:
        self.rows = array("I")
        self.counts = array("H")
        self.alive = 0


@dataclass(frozen=True, slots=True, eq=False)
class LexicalScores:
    """What the lexical arm says of every row.

    Attributes:
        bm25: shape (rows,), float64, at least 0; 0 where no term matches and for removed rows.
        matched: shape (rows,), float64 in [0, 1]: share of the query's idf mass found in the row.
        known: Share of the query's idf mass whose terms occur in the scope at all, in [0, 1].
        around: shape (m,), float64, at least 0: BM25 of the rows of the window, each with the
            shares of its neighbours' words; None without a window.
    """

    bm25: Float64Array
    matched: Float64Array
    known: float
    around: Float64Array | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowWindow:
    """Rows that are scored together with those around them.

    Attributes:
        rows: shape (m,), int64: the rows, none of them removed.
        near: shape (4, m), int64: places in `rows` of their neighbours.
        share: shape (4, m), float64: what is taken of each; the same in both directions.
        whole: shape (m,), float64: 1 plus all shares.
    """

    rows: npt.NDArray[np.int64]
    near: npt.NDArray[np.int64]
    share: Float64Array
    whole: Float64Array


class Postings:
    """Inverted index of one scope; rows are numbered from 0 in the order of `add`.

    Document frequencies are those of this scope alone, taken when a query comes, so another
    user's words never move a score. Sums run over the query's terms in ascending order in
    float64, so the order in which rows came in does not matter.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._bulk = _Bulk()
        self._postings: dict[int, _Posting] = {}
        self._terms: list[TermCounts | None] = []
        self._lengths = np.zeros(16, dtype=np.float64)
        self._alive = np.zeros(16, dtype=np.float64)
        self._alive_rows = 0
        self._alive_length = 0
        self._entries = 0

    def __len__(self) -> int:
        """Number of rows, removed ones included."""
        return len(self._terms)

    @property
    def nbytes(self) -> int:
        """Estimate of the memory held, in bytes."""
        return (
            self._lengths.nbytes
            + self._alive.nbytes
            + self._bulk.nbytes
            + len(self._postings) * _BYTES_PER_TERM
            + self._entries * (_BYTES_PER_POSTING + 10)
        )

    def terms(self, row: int) -> TermCounts:
        """Return the term counts of a row that has not been removed.

        Args:
            row: Row number.

        Raises:
            KeyError: If the row was removed.
        """
        counts = self._terms[row]
        if counts is None:
            raise KeyError(row)
        return counts

    def add(self, counts: TermCounts) -> int:
        """Add a row and return its number.

        Args:
            counts: Its terms; none is fine.
        """
        row = len(self._terms)
        if row == len(self._lengths):
            self._lengths = np.concatenate([self._lengths, np.zeros_like(self._lengths)])
            self._alive = np.concatenate([self._alive, np.zeros_like(self._alive)])
        self._terms.append(counts)
        self._lengths[row] = counts.length
        self._alive[row] = 1.0
        self._alive_rows += 1
        self._alive_length += counts.length
        self._entries += len(counts.terms)
        postings = self._postings
        for term, count in zip(counts.terms.tolist(), counts.counts.tolist(), strict=True):
            posting = postings.get(term)
            if posting is None:
                posting = postings[term] = _Posting()
            posting.rows.append(row)
            posting.counts.append(count)
            posting.alive += 1
        return row

    def add_all(self, given: Sequence[TermCounts]) -> range:
        """Add rows and return their numbers; the first ones at once, in arrays.

        Args:
            given: Their terms.
        """
        first = len(self._terms)
        if first:
            for counts in given:
                self.add(counts)
            return range(first, len(self._terms))
        rows = len(given)
        capacity = max(16, rows + rows // 2)
        self._terms = list(given)
        self._lengths = np.zeros(capacity, dtype=np.float64)
        self._lengths[:rows] = [counts.length for counts in given]
        self._alive = np.zeros(capacity, dtype=np.float64)
        self._alive[:rows] = 1.0
        self._alive_rows = rows
        self._alive_length = sum(counts.length for counts in given)
        self._bulk = _Bulk.of(given)
        return range(rows)

    def remove(self, row: int) -> None:
        """Take a row out; its number is not given again.

        Args:
            row: Row number; removing it twice is harmless.
        """
        counts = self._terms[row]
        if counts is None:
            return
        self._terms[row] = None
        self._alive[row] = 0.0
        self._alive_rows -= 1
        self._alive_length -= counts.length
        if row < self._bulk.rows:
            self._bulk.remove(counts)
            return
        for term in counts.terms.tolist():
            self._postings[term].alive -= 1

    def score(
        self, query: TermCounts, *, k1: float, b: float, window: RowWindow | None = None
    ) -> LexicalScores:
        """Score every row against a query.

        Args:
            query: Terms of the query; each counts once, however often it is said.
            k1: Saturation of repeats, dimensionless, at least 0.
            b: Length normalisation, in [0, 1].
            window: Rows to score with those around them as well, or None.

        Returns:
            Scores by row number, and by place in the window.

        Source:
            Robertson and Zaragoza, 2009, with the idf of Lucene (never negative).
        """
        rows = len(self._terms)
        bm25 = np.zeros(rows, dtype=np.float64)
        matched = np.zeros(rows, dtype=np.float64)
        total_mass = known_mass = 0.0
        average = self._alive_length / self._alive_rows if self._alive_rows else 0.0
        pace = k1 * (1.0 - b + b * self._lengths[:rows] / max(average, 1.0))
        around = None if window is None else _Around(window, rows=rows, pace=pace, k1=k1)
        for term in query.terms.tolist():
            frequency, where, counts = self._found(term)
            idf = math.log1p((self._alive_rows - frequency + 0.5) / (frequency + 0.5))
            total_mass += idf
            if not frequency:
                continue
            known_mass += idf
            bm25[where] += idf * (k1 + 1.0) * counts / (counts + pace[where])
            matched[where] += idf
            if around is not None:
                around.add(where, counts, idf=idf)
        alive = self._alive[:rows]
        return LexicalScores(
            bm25=bm25 * alive,
            matched=matched * alive / total_mass if total_mass else matched,
            known=known_mass / total_mass if total_mass else 0.0,
            around=None if around is None else around.bm25,
        )

    def _found(self, term: int) -> _Found:
        """How many living rows hold a term, and the rows that do or did, with their counts."""
        bulk = self._bulk.find(term)
        posting = self._postings.get(term)
        if posting is None:
            return bulk
        frequency, rows, counts = bulk
        # Copies: an array that is looked at cannot grow.
        return (
            frequency + posting.alive,
            np.concatenate([rows, np.array(posting.rows, dtype=np.int64)]),
            np.concatenate([counts, np.array(posting.counts, dtype=np.float64)]),
        )


class _Bulk:
    """The postings of the rows that came in first, all at once: sorted arrays, no objects."""

    def __init__(self) -> None:
        self.rows = 0
        self._starts: list[int] = [0]
        self._alive: list[int] = []
        self._places: dict[int, int] = {}
        self._row = np.zeros(0, dtype=np.uint32)
        self._count = np.zeros(0, dtype=np.uint16)

    @classmethod
    def of(cls, given: Sequence[TermCounts]) -> "_Bulk":
        """Return the postings of rows numbered from 0."""
        new = cls()
        if not given:
            return new
        terms = np.concatenate([counts.terms for counts in given])
        sizes = [len(counts.terms) for counts in given]
        # Stable, so that the rows of a term stay in order.
        order = np.argsort(terms, kind="stable")
        unique, starts = np.unique(terms[order], return_index=True)
        new.rows = len(given)
        new._row = np.repeat(np.arange(new.rows, dtype=np.uint32), sizes)[order]
        new._count = np.concatenate([counts.counts for counts in given])[order]
        bounds = np.append(starts, len(terms))
        new._starts = bounds.tolist()
        new._alive = np.diff(bounds).tolist()
        new._places = dict(zip(unique.tolist(), range(len(unique)), strict=True))
        return new

    @property
    def nbytes(self) -> int:
        """Estimate of the memory held, in bytes."""
        return self._row.nbytes + self._count.nbytes + len(self._places) * _BYTES_PER_BULK_TERM

    def remove(self, counts: TermCounts) -> None:
        """Count the terms of a row no more."""
        for term in counts.terms.tolist():
            self._alive[self._places[term]] -= 1

    def find(self, term: int) -> _Found:
        """How many living rows hold a term, and the rows that do or did, with their counts."""
        place = self._places.get(term)
        if place is None:
            return 0, _NO_ROWS, _NO_COUNTS
        span = slice(self._starts[place], self._starts[place + 1])
        rows, counts = self._row[span], self._count[span]
        return self._alive[place], rows.astype(np.int64), counts.astype(np.float64)


class _Around:
    """BM25 of rows whose words are theirs and, in shares, those of their neighbours.

    The length of such a text is the mean over the window, on the scale of single texts: dividing
    by the sum of the lengths finds less (LoCoMo recall@10 0.763 against 0.769).
    """

    def __init__(self, window: RowWindow, *, rows: int, pace: Float64Array, k1: float) -> None:
        self._window = window
        self._k1 = k1
        self._places = np.full(rows, -1, dtype=np.int64)
        self._places[window.rows] = np.arange(len(window.rows))
        # The pace is linear in the length, so its mean is the pace of the mean.
        own = pace[window.rows]
        total = own.copy()
        for near, share in zip(window.near, window.share, strict=True):
            total += share * own[near]
        self._pace = total / window.whole
        self._counts = np.zeros(len(window.rows), dtype=np.float64)
        self.bm25 = np.zeros(len(window.rows), dtype=np.float64)

    def add(self, where: npt.NDArray[np.int64], counts: Float64Array, *, idf: float) -> None:
        """Add what one term is worth."""
        places = self._places[where]
        placed = places >= 0
        at, said = places[placed], counts[placed]
        held = self._counts
        held[at] = said
        for near, share in zip(self._window.near, self._window.share, strict=True):
            given = share[at] * said
            gives = given > 0.0
            held[near[at[gives]]] += given[gives]
        touched = np.flatnonzero(held)
        found = held[touched]
        self.bm25[touched] += idf * (self._k1 + 1.0) * found / (found + self._pace[touched])
        held[touched] = 0.0
