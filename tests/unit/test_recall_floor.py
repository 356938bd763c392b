"""The floor: what is too far from a query is not returned, and says so."""

from typing import Any

import pytest

from agentkit.policy.decay import DecayPolicy
from agentkit.policy.recall import FloorPolicy, RecallPolicy
from agentkit.recall import Ranking, RankQuery, ScopeIndex, rank
from agentkit.records import Float32Array, IntentTag, Tag
from tests.recall_scope import NOW_S, at_cosine, holding, memory, unit

QUERY = unit(1.0, 0.0)
CSV = Tag("tool", "csv")
ANY_NUMBER = RecallPolicy(floor=FloorPolicy(least_memories=1))


def ask(
    index: ScopeIndex,
    text: str = "",
    vector: Float32Array | None = QUERY,
    *,
    policy: RecallPolicy = ANY_NUMBER,
    **changes: Any,
) -> Ranking:
    query = RankQuery(text=text, vector=vector, **changes)
    return rank(index, query, policy=policy, decay=DecayPolicy(), now_s=NOW_S)


def three() -> ScopeIndex:
    return holding(
        memory("a", vector=unit(1, 0)),
        memory("b", vector=unit(0.8, 0.6)),
        memory("c", vector=unit(0, 1)),
    )


def test_a_caller_gets_only_memories_as_similar_as_asked_for() -> None:
    """RC-02."""
    assert ask(three(), top_k=3).memory_ids == ("a", "b", "c")
    assert ask(three(), top_k=3, least_similarity=0.7).memory_ids == ("a", "b")
    assert ask(three(), top_k=3, least_similarity=0.8).memory_ids == ("a", "b")
    assert ask(three(), top_k=1, least_similarity=0.7).memory_ids == ("a",)
    assert ask(three(), top_k=3, least_similarity=-1.0).memory_ids == ("a", "b", "c")


def test_what_is_left_out_keeps_its_rank_and_says_why_with_figures() -> None:
    pool = {one.memory_id: one for one in ask(three(), top_k=3, least_similarity=0.7).pool}
    assert [one.returned for one in pool.values()] == [True, True, False]
    assert pool["c"].rank == 3
    assert pool["c"].why_not == (
        "below the floor: similarity 0.000 where at least 0.700 was asked for"
    )
    (only,) = ask(holding(memory("c", vector=at_cosine(0.25))), floor=0.3).pool
    assert only.why_not == (
        "below the floor: similarity 0.250, and no memory reaches 0.300; it holds 0% of the words, "
        "by weight"
    )


def test_places_of_what_is_left_out_go_to_the_next_that_are_near_enough() -> None:
    index = holding(
        *(memory(f"said{n}", "pump valve", at_cosine(0.2)) for n in range(60)),
        *(memory(f"near{n}", "other", at_cosine(0.6)) for n in range(3)),
    )
    by_words = RecallPolicy.model_validate({"fusion": {"bias": -9.0}, "pool_final": 5})
    found = ask(index, "pump valve", policy=by_words, top_k=3, least_similarity=0.5)
    assert set(found.memory_ids) == {"near0", "near1", "near2"}
    returned = [one for one in found.pool if one.returned]
    assert [one.memory_id for one in returned] == list(found.memory_ids)
    assert [one.rank for one in returned] == [61, 62, 63]


def test_nothing_comes_back_when_no_memory_reaches_the_floor() -> None:
    index = holding(memory("a", vector=at_cosine(0.35)), memory("b", vector=at_cosine(0.1)))
    assert ask(index, floor=0.4).memory_ids == ()
    assert ask(index, floor=None).memory_ids == ("a", "b")


def test_once_one_memory_reaches_the_floor_ranking_decides_about_all() -> None:
    index = holding(memory("a", vector=at_cosine(0.45)), memory("b", vector=at_cosine(0.1)))
    assert ask(index, floor=0.4).memory_ids == ("a", "b")


def test_a_tag_that_was_named_spares_a_memory_and_an_inferred_one_does_not() -> None:
    index = holding(
        memory("tagged", vector=at_cosine(0.1), tags=(CSV,)), memory("b", vector=at_cosine(0.3))
    )
    said, near = IntentTag(CSV, "alias"), IntentTag(CSV, "prototype", 0.9)
    assert ask(index, floor=0.5, tags=(CSV,)).memory_ids == ("tagged",)
    assert ask(index, floor=0.5, intent=(said,)).memory_ids == ("tagged",)
    assert ask(index, floor=0.5, intent=(near,)).memory_ids == ()


def test_enough_of_the_querys_words_spare_a_memory() -> None:
    index = holding(
        memory("a", "invoice 4711 was paid", at_cosine(0.1)),
        memory("b", "the pump is paid", at_cosine(0.1)),
    )
    assert ask(index, "invoice 4711 paid", floor=0.5).memory_ids == ("a",)


def test_a_memory_without_a_vector_is_never_below_a_floor() -> None:
    index = holding(memory("a", "pump valve"), memory("b", "pump", at_cosine(0.1)))
    words = "pump valve motor belt wheel"
    assert ask(index, words, floor=0.5, least_similarity=0.5).memory_ids == ("a",)
    without = ask(index, words, None, floor=0.5, least_similarity=0.5)
    assert set(without.memory_ids) == {"a", "b"}
    assert without.degraded


def test_being_permanent_is_no_reason_to_come_back_unasked() -> None:
    index = holding(memory("a", vector=at_cosine(0.1), permanent=True))
    assert ask(index, floor=0.5).memory_ids == ()


@pytest.mark.parametrize(("count", "left"), [(19, 5), (20, 0)])
def test_a_scope_of_few_memories_has_no_floor(count: int, left: int) -> None:
    index = holding(*(memory(f"m{n}", vector=at_cosine(0.1)) for n in range(count)))
    assert len(ask(index, floor=0.5, policy=RecallPolicy()).memory_ids) == left


def test_an_episode_reaches_the_floor_by_its_neighbours() -> None:
    def part(memory_id: str, position: int, cosine: float) -> Any:
        return memory(
            memory_id,
            vector=at_cosine(cosine),
            memory_type="episodic",
            episode_id="e",
            position=position,
        )

    index = holding(part("e0", 0, 0.39), part("e1", 1, 0.7), part("e2", 2, 0.39))
    top = max(one.features.context_cosine or 0.0 for one in ask(index).pool)
    assert ask(index, floor=top).memory_ids != ()
    assert len(ask(index, floor=0.65).memory_ids) == 3


def test_an_embedder_without_a_floor_of_its_own_has_none() -> None:
    policy = FloorPolicy(least_similarity={"local": 0.4})
    assert policy.least("local") == 0.4
    assert policy.least("openai:text-embedding-3-small") is None
