"""When a scope is scanned, how many keys are asked for, and what an overlap is."""

import pytest

from agentkit.policy.recall import PlanPolicy, RecallPolicy
from agentkit.recall import (
    Filter,
    IndexCache,
    count_matching,
    first_fetch,
    fits,
    next_fetch,
    overlap,
    wanted,
)
from agentkit.records import ScopeChanges, Tag
from tests.recall_scope import NOW_S, holding, memory

POLICY = RecallPolicy(plan=PlanPolicy(exact_up_to=50, over_fetch=3, most_keys=500), pool_final=10)


@pytest.mark.parametrize(("size", "small"), [(None, None), (0, True), (50, True), (51, False)])
def test_a_scope_is_scanned_up_to_the_limit_and_one_not_held_must_be_counted(
    size: int | None, small: bool | None
) -> None:
    assert fits(size, policy=POLICY) is small


@pytest.mark.parametrize(("top_k", "keys"), [(1, 30), (10, 30), (40, 120)])
def test_keys_are_fetched_for_the_pool_or_for_the_hits_whichever_are_more(
    top_k: int, keys: int
) -> None:
    assert wanted(top_k, policy=POLICY) == max(top_k, 10)
    assert first_fetch(top_k, policy=POLICY) == keys


def test_more_keys_are_asked_for_in_few_steps_up_to_the_bound() -> None:
    steps = [30]
    while (more := next_fetch(steps[-1], policy=POLICY)) is not None:
        steps.append(more)
    assert steps == [30, 120, 480, 500]


def test_a_first_fetch_over_the_bound_is_the_last() -> None:
    assert next_fetch(900, policy=POLICY) is None


def test_tags_count_strictly_where_it_is_asked_whether_enough_passed() -> None:
    csv = Tag("tool", "csv")
    index = holding(memory("a", tags=(csv,)), memory("b"))
    assert count_matching(index, Filter(), now_s=NOW_S) == 2
    assert count_matching(index, Filter(tags=(csv,)), now_s=NOW_S) == 1
    assert count_matching(index, Filter(tags=(Tag("tool", "git"),)), now_s=NOW_S) == 0


@pytest.mark.parametrize(
    ("exact", "approximate", "share"),
    [
        ("abcd", "dcba", 1.0),
        ("abcd", "abxy", 0.5),
        ("ab", "", 0.0),
        ("", "ab", None),
        ("abcdefghij" + "kl", "klabcdefgh", 0.8),
    ],
)
def test_an_overlap_is_the_share_of_the_exact_ten_best(
    exact: str, approximate: str, share: float | None
) -> None:
    assert overlap(list(exact), list(approximate)) == share


def test_a_user_that_was_never_read_has_no_size_in_the_cache() -> None:
    cache = IndexCache(max_bytes=1 << 20)
    assert cache.size("owner") is None
    index = cache.get("owner")
    assert cache.size("owner") is None
    index.apply(ScopeChanges(revision=3, complete=True, entries=(memory("a", "text"),)))
    assert cache.size("owner") == 1
