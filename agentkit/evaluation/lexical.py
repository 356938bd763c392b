"""A plain BM25 to compare with: the textbook form, independent of the recall room."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from agentkit.records import TermCounts
from agentkit.text import query_term_counts, term_counts

# The usual defaults of BM25 libraries (Robertson and Zaragoza 2009, section 3.5).
K1 = 1.5
B = 0.75


class Bm25:
    """BM25 with Lucene's idf over the documents of one user.

    English terms are stemmed, and function words of the question are dropped, as a usual
    analyser does: without both it would be too easy to beat.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        """Index the texts.

        Args:
            texts: Documents, in the order of the scores.
        """
        counted = [term_counts(text) for text in texts]
        self._size = len(texts)
        lengths = np.array([counts.length for counts in counted], dtype=np.float64)
        mean_length = float(lengths.mean()) if lengths.any() else 1.0
        damping = K1 * (1.0 - B + B * lengths / mean_length)
        self._postings = _invert(counted)
        self._impacts = {
            term: _idf(len(posting.places), size=self._size)
            * posting.counts
            * (K1 + 1.0)
            / (posting.counts + damping[posting.places])
            for term, posting in self._postings.items()
        }

    def scores(self, query: str) -> npt.NDArray[np.float64]:
        """Return the score of every document.

        Args:
            query: The question; a term that stands twice counts twice.

        Returns:
            shape (documents,), float64, at least 0.
        """
        found = np.zeros(self._size, dtype=np.float64)
        asked = query_term_counts(query)
        for term, count in zip(asked.terms.tolist(), asked.counts.tolist(), strict=True):
            if term in self._postings:
                found[self._postings[term].places] += count * self._impacts[term]
        return found


class _Posting:
    """Where one term stands, and how often."""

    def __init__(self, entries: Sequence[tuple[int, int]]) -> None:
        self.places = np.array([place for place, _ in entries], dtype=np.int64)
        self.counts = np.array([count for _, count in entries], dtype=np.float64)


def _invert(counted: Sequence[TermCounts]) -> dict[int, _Posting]:
    entries: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for place, counts in enumerate(counted):
        for term, count in zip(counts.terms.tolist(), counts.counts.tolist(), strict=True):
            entries[term].append((place, count))
    return {term: _Posting(found) for term, found in entries.items()}


def _idf(document_count: int, *, size: int) -> float:
    return float(np.log1p((size - document_count + 0.5) / (document_count + 0.5)))
