"""What is recalled often and never of use sinks, once uses are confirmed at all."""

from typing import Any

import pytest

from agentkit.policy.decay import DecayPolicy
from agentkit.policy.recall import RecallPolicy
from agentkit.recall import Ranking, RankQuery, explanation, rank, rescore
from agentkit.records import MemoryEntry
from tests.recall_scope import NOW_S, at_cosine, holding, memory, unit

QUERY = RankQuery(text="", vector=unit(1, 0), top_k=2)


def ask(*entries: MemoryEntry, query: RankQuery = QUERY, **policy: Any) -> Ranking:
    return rank(
        holding(*entries),
        query,
        policy=RecallPolicy(**policy),
        decay=DecayPolicy(boost=0.0),
        now_s=NOW_S,
    )


def unused(found: Ranking) -> dict[str, float]:
    return {one.memory_id: one.factors.unused for one in found.pool}


def popular(**changes: Any) -> MemoryEntry:
    return memory("popular", vector=at_cosine(0.90), recalled_count=100, **changes)


def helpful(**changes: Any) -> MemoryEntry:
    return memory("helpful", vector=at_cosine(0.85), recalled_count=20, used_count=10, **changes)


def test_a_memory_recalled_often_and_never_of_use_sinks_below_one_that_helps() -> None:
    found = ask(popular(), helpful())
    assert found.memory_ids == ("helpful", "popular")
    # 100 recalls at 10 uses in 120 recalls: 8.33 uses expected, one granted.
    assert found.normalisers.used_share == pytest.approx(10 / 120)
    assert unused(found) == {"helpful": 1.0, "popular": 0.5}
    top, low = found.pool
    assert "unused" not in explanation(top)
    assert "x unused 0.50 (0 uses in 100 recalls)" in explanation(low)


def test_one_switch_turns_it_off() -> None:
    found = ask(popular(), helpful(), unused_weight=1.0)
    assert found.memory_ids == ("popular", "helpful")
    assert set(unused(found).values()) == {1.0}


def test_where_no_use_was_ever_confirmed_popularity_costs_nothing() -> None:
    found = ask(popular(), memory("other", vector=at_cosine(0.85), recalled_count=3))
    assert found.memory_ids == ("popular", "other")
    assert set(unused(found).values()) == {1.0}


@pytest.mark.parametrize(("recalls", "factor"), [(0, 1.0), (4, 1.0), (8, 0.5), (400, 0.2)])
def test_few_recalls_cost_nothing_and_many_cost_down_to_the_bound(
    recalls: int, factor: float
) -> None:
    # Ten thousand recalls with a use in every fourth hold the share of the scope where it is.
    others = memory("others", vector=at_cosine(0.5), recalled_count=10_000, used_count=2_500)
    found = ask(
        memory("m", vector=at_cosine(0.9), recalled_count=recalls), others, unused_weight=0.2
    )
    assert unused(found)["m"] == pytest.approx(factor, abs=0.02)


def test_two_uses_of_one_recall_count_as_one_in_the_share_of_the_scope() -> None:
    others = memory("others", vector=at_cosine(0.5), recalled_count=2, used_count=6)
    assert ask(others).normalisers.used_share == 1.0


def test_as_many_uses_as_others_have_keep_the_score() -> None:
    found = ask(popular(used_count=50), helpful())
    assert unused(found) == {"popular": 1.0, "helpful": 1.0}


def test_what_the_user_asked_to_keep_does_not_sink() -> None:
    assert unused(ask(popular(permanent=True), helpful()))["popular"] == 1.0


def test_counts_of_another_agents_memories_move_no_score() -> None:
    others = helpful(agent_id="planner")
    assert ask(popular(), others).normalisers.used_share == 0.0
    seen = RankQuery(text="", vector=unit(1, 0), agent_id="planner")
    assert unused(ask(popular(), others, query=seen))["popular"] == 0.5


def test_an_index_that_is_held_counts_each_recall() -> None:
    index = holding(popular(), helpful(recalled_s=NOW_S))
    for _ in range(20):
        index.count_recalled(["popular", "gone"], at_s=NOW_S - 1.0)
    index.count_recalled(["helpful"], at_s=NOW_S - 1.0)
    found = rank(index, QUERY, policy=RecallPolicy(), decay=DecayPolicy(), now_s=NOW_S)
    assert [one.features.recalled_count for one in found.pool] == [21, 120]
    assert index.columns.recalled_s.tolist() == [NOW_S - 1.0, NOW_S]


def test_the_log_alone_gives_the_factor_again() -> None:
    found = ask(popular(), helpful())
    again = rescore(
        found.pool,
        normalisers=found.normalisers,
        policy=RecallPolicy(unused_weight=0.9),
        decay=DecayPolicy(boost=0.0),
    )
    assert [factors.unused for factors in again] == [1.0, 0.9]
