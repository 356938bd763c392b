"""How far two embedders agree, on cosines that are written down."""

import numpy as np
import pytest

from agentkit.records import Float32Array
from agentkit.store.trials import QueryTrial, by_language, summarise, try_query

IDS = [f"m{place:02d}" for place in range(20)]


def falling(first: int = 0) -> Float32Array:
    """Cosines that fall along the ids, beginning with one of them."""
    return np.roll(np.linspace(0.9, 0.1, len(IDS), dtype=np.float32), first)


def tried(new: Float32Array, *helpful: str) -> QueryTrial:
    return try_query(IDS, old=falling(), new=new, helpful=helpful, language="en")


def test_equal_cosines_agree_wholly_and_rank_alike() -> None:
    trial = tried(falling(), "m00", "m03")
    assert (trial.overlap, trial.old_ranks, trial.new_ranks) == (1.0, (1, 4), (1, 4))


def test_the_overlap_is_the_share_of_the_ten_best_in_common() -> None:
    assert tried(falling(3)).overlap == 0.7
    assert tried(falling(10)).overlap == 0.0


def test_ranks_of_helpful_ones_are_counted_over_all_and_unknown_ones_left_out() -> None:
    trial = tried(falling(15), "m02", "purged")
    assert (trial.old_ranks, trial.new_ranks) == ((3,), (8,))


def test_ties_go_by_id_so_that_the_order_of_reading_does_not_matter() -> None:
    level = np.zeros(3, dtype=np.float32)
    trial = try_query(["a", "b", "c"], old=level, new=level, helpful=["b"], language="en")
    assert (trial.old_ranks, trial.new_ranks) == ((2,), (2,))


def test_ten_memories_or_fewer_tell_nothing_about_the_overlap() -> None:
    few = falling()[:10]
    trial = try_query(IDS[:10], old=few, new=few[::-1].copy(), helpful=["m00"], language="en")
    assert (trial.overlap, trial.new_ranks) == (None, (10,))
    found = summarise([trial])
    assert (found.queries, found.telling, found.overlap) == (1, 0, None)


def test_means_are_over_queries_and_over_helpful_memories() -> None:
    found = summarise([tried(falling(3), "m00"), tried(falling(10), "m01"), tried(falling())])
    assert (found.queries, found.telling, found.helpful) == (3, 3, 2)
    assert found.overlap == pytest.approx((0.7 + 0.0 + 1.0) / 3)
    assert (found.old_rank, found.new_rank) == (1.5, 15.0)
    assert found.old_mrr == pytest.approx((1 + 1 / 2) / 2)
    assert found.new_mrr == pytest.approx((1 / 18 + 1 / 12) / 2)


def test_nothing_has_no_mean() -> None:
    found = summarise([])
    assert (found.queries, found.overlap, found.old_mrr, found.new_rank) == (0, None, None, None)
    assert by_language([]) == {}


def test_each_language_has_its_own_means() -> None:
    level = falling()
    chinese = try_query(IDS, old=level, new=falling(10), helpful=[], language="zh")
    found = by_language([chinese, tried(level)])
    assert list(found) == ["en", "zh"]
    assert (found["en"].overlap, found["zh"].overlap) == (1.0, 0.0)
