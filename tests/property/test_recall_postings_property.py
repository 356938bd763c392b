"""Postings that were loaded at once, and those that came in one at a time, are the same."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from agentkit.recall.postings import Postings
from agentkit.text import query_term_counts, term_counts

WORDS = st.sampled_from(["gap", "median", "column", "report", "缺失", "周报", "csv"])
TEXTS = st.lists(st.lists(WORDS, max_size=6).map(" ".join), max_size=12)


@given(texts=TEXTS, at_once=st.integers(0, 12), removed=st.sets(st.integers(0, 11)), asked=TEXTS)
def test_how_rows_came_in_moves_no_score(
    texts: list[str], at_once: int, removed: set[int], asked: list[str]
) -> None:
    rows = [term_counts(text) for text in texts]
    singly, loaded = Postings(), Postings()
    for row in rows:
        singly.add(row)
    assert loaded.add_all(rows[:at_once]) == range(min(at_once, len(rows)))
    for row in rows[at_once:]:
        loaded.add(row)
    for row in removed & set(range(len(rows))):
        singly.remove(row)
        loaded.remove(row)
        loaded.remove(row)
    for text in asked:
        one, other = (
            postings.score(query_term_counts(text), k1=1.5, b=0.75) for postings in (singly, loaded)
        )
        assert np.array_equal(one.bm25, other.bm25)
        assert np.array_equal(one.matched, other.matched)
        assert one.known == other.known


@given(texts=TEXTS, more=TEXTS)
def test_rows_may_come_in_bulk_more_than_once(texts: list[str], more: list[str]) -> None:
    postings = Postings()
    postings.add_all([term_counts(text) for text in texts])
    again = postings.add_all([term_counts(text) for text in more])
    assert list(again) == list(range(len(texts), len(texts) + len(more)))
    assert len(postings) == len(texts) + len(more)
