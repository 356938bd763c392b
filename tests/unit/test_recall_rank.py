"""Filter, exact scan and ranking over one user's memories."""

from typing import Any

import pytest

from agentkit.errors import InputError
from agentkit.policy.decay import DecayPolicy
from agentkit.policy.recall import RecallPolicy, TagPolicy
from agentkit.recall import Ranking, RankQuery, ScopeIndex, rank
from agentkit.records import (
    Float32Array,
    IntentTag,
    KeyEntry,
    MemoryEntry,
    Tag,
)
from agentkit.text import term_counts
from tests.recall_scope import BASE, DAY_S, NOW_S, at_cosine, holding, memory, unit

QUERY = unit(1.0, 0.0)
ALPHA, BETA, NOPE = Tag("topic", "alpha"), Tag("topic", "beta"), Tag("topic", "nope")


def ask(
    index: ScopeIndex,
    text: str = "",
    vector: Float32Array | None = None,
    *,
    policy: RecallPolicy | None = None,
    decay: DecayPolicy | None = None,
    **changes: Any,
) -> Ranking:
    return rank(
        index,
        RankQuery(text=text, vector=vector, **changes),
        policy=policy or RecallPolicy(),
        decay=decay or DecayPolicy(),
        now_s=NOW_S,
    )


def strict() -> RecallPolicy:
    return RecallPolicy(tags=TagPolicy(relax_below=0))


def test_the_nearest_by_meaning_comes_first_and_its_cosine_is_reported() -> None:
    index = holding(
        memory("a", vector=unit(1, 0)),
        memory("b", vector=unit(0.8, 0.6)),
        memory("c", vector=unit(0, 1)),
    )
    found = ask(index, vector=QUERY, top_k=3)
    assert found.memory_ids == ("a", "b", "c")
    cosines = [candidate.features.cosine for candidate in found.pool]
    assert cosines == pytest.approx([1.0, 0.8, 0.0], abs=1e-3)


@pytest.mark.parametrize("crowd", [60, 600])
def test_what_the_filter_leaves_out_never_starves_the_result(crowd: int) -> None:
    bob = [
        memory(f"bob{n}", vector=at_cosine(0.99), agent_id="bob", tags=(BETA,))
        for n in range(crowd)
    ]
    alice = [memory(f"alice{n}", vector=at_cosine(0.6), tags=(ALPHA,)) for n in range(5)]
    index = holding(*bob, *alice)
    everything = ask(index, vector=QUERY, top_k=5)
    assert set(everything.memory_ids) == {f"alice{n}" for n in range(5)}
    assert everything.considered == 5
    tagged = ask(index, vector=QUERY, top_k=5, agent_id="bob", tags=(ALPHA,))
    assert set(tagged.memory_ids) == {f"alice{n}" for n in range(5)}


def test_an_agents_own_memory_is_seen_by_that_agent_only() -> None:
    index = holding(
        memory("shared", vector=at_cosine(0.5)),
        memory("own", vector=at_cosine(0.9), agent_id="planner"),
    )
    assert ask(index, vector=QUERY).memory_ids == ("shared",)
    assert ask(index, vector=QUERY, agent_id="planner").memory_ids == ("own", "shared")
    assert ask(index, vector=QUERY, agent_id="plan").memory_ids == ("shared",)


def test_all_tags_means_all_and_any_means_any() -> None:
    index = holding(
        memory("m1", vector=QUERY, tags=(ALPHA,)),
        memory("m2", vector=QUERY, tags=(BETA,)),
        memory("m3", vector=QUERY, tags=(ALPHA, BETA)),
        memory("m4", vector=QUERY, tags=(Tag("topic", "alphabet"),)),
    )
    assert ask(index, vector=QUERY, tags=(ALPHA, BETA)).memory_ids == ("m3",)
    either = ask(index, vector=QUERY, tags=(ALPHA, BETA), match="any")
    assert set(either.memory_ids) == {"m1", "m2", "m3"}
    nothing = ask(index, vector=QUERY, tags=(ALPHA, NOPE), policy=strict())
    assert nothing.memory_ids == ()
    assert nothing.relaxations == ()


def test_a_tag_that_leaves_nothing_is_dropped_and_the_answer_says_so() -> None:
    tool, domain = Tag("tool", "csv"), Tag("domain", "finance")
    index = holding(memory("m1", vector=QUERY, tags=(tool,)), memory("m2", vector=at_cosine(0.9)))
    found = ask(index, vector=QUERY, tags=(domain, tool))
    assert found.memory_ids == ("m1",)
    assert found.relaxations == ("dropped the filter domain:finance: with it no memory was left",)
    assert ask(index, vector=QUERY, tags=(domain,), match="any").memory_ids == ("m1", "m2")


def test_relaxing_tags_never_relaxes_what_keeps_things_apart() -> None:
    tool = Tag("tool", "csv")
    index = holding(
        memory("other", vector=QUERY, agent_id="other", tags=(tool,)),
        memory("doubtful", vector=QUERY, confidence=0.2),
        memory("fact", vector=QUERY),
        memory("past", vector=QUERY, valid_to_s=NOW_S),
    )
    found = ask(index, vector=QUERY, tags=(tool,), min_confidence=0.6, memory_types=("procedural",))
    assert found.memory_ids == ()
    assert ask(index, vector=QUERY, tags=(tool,), min_confidence=0.6).memory_ids == ("fact",)


def test_forgotten_expired_and_future_memories_never_come_back() -> None:
    index = holding(
        memory("active", vector=QUERY),
        memory("pending", vector=QUERY, status="pending"),
        memory("archived", vector=QUERY, status="archived"),
        memory("forgotten", vector=QUERY, status="forgotten"),
        memory("superseded", vector=QUERY, status="superseded"),
        memory("quarantined", vector=QUERY, status="quarantined"),
        memory("expired", vector=QUERY, valid_to_s=NOW_S - 1),
        memory("future", vector=QUERY, valid_from_s=NOW_S + 1),
    )
    assert set(ask(index, vector=QUERY, top_k=9).memory_ids) == {"active", "pending"}
    asked = ask(index, vector=QUERY, top_k=9, include_archived=True)
    assert set(asked.memory_ids) == {"active", "pending", "archived"}


def test_a_memory_without_a_vector_is_found_by_its_words() -> None:
    index = holding(
        memory("m1", "quarterly invoices", vector=at_cosine(0.9)),
        memory("m2", "invoices of the supplier"),
        memory("m3", "something else", vector=at_cosine(0.2)),
    )
    found = ask(index, "supplier", vector=QUERY, top_k=50)
    assert set(found.memory_ids) == {"m1", "m2", "m3"}
    assert found.degraded == "1 memories have no vector yet: ranked by words alone"


def test_words_alone_work_without_an_embedder_and_bring_only_what_matches() -> None:
    index = holding(
        memory("a", "fill the nulls with the median"), memory("b", "pay the invoice"), memory("c")
    )
    found = ask(index, "what about the nulls")
    assert found.memory_ids == ("a",)
    assert found.normalisers.w_lexical == 1.0
    assert found.normalisers.w_dense == 0.0
    assert ask(index, "nothing in common").memory_ids == ()


def test_meaning_alone_decides_where_no_word_is_shared() -> None:
    index = holding(
        memory("a", "用中位数填补空值", vector=at_cosine(0.7)),
        memory("b", "支付发票", vector=at_cosine(0.3)),
    )
    found = ask(index, "impute missing cells", vector=QUERY)
    assert found.memory_ids == ("a", "b")
    assert found.normalisers.w_dense == 1.0
    assert all(candidate.factors.lexical == 0.0 for candidate in found.pool)


def test_a_memory_is_found_by_its_best_key() -> None:
    keys = (
        KeyEntry(key_id="m:0", kind="content", terms=term_counts("x"), vector=at_cosine(0.1)),
        KeyEntry(key_id="m:1", kind="cue", terms=term_counts("spreadsheet"), vector=QUERY),
    )
    index = holding(BASE._replace(memory_id="m", keys=keys), memory("n", vector=at_cosine(0.6)))
    found = ask(index, "spreadsheet", vector=QUERY)
    assert found.memory_ids == ("m", "n")
    assert found.pool[0].features.cosine == pytest.approx(1.0, abs=1e-6)
    assert found.pool[0].features.bm25 > 0.0


@pytest.mark.parametrize("order", [1, -1])
def test_equal_scores_come_back_newest_first_then_by_id(order: int) -> None:
    same = [
        memory(f"m{n:02d}", "the same", vector=unit(3, 1, 2), created_s=NOW_S - n % 2)
        for n in range(20)
    ]
    index = holding(*same[::order])
    found = ask(index, "the same", vector=unit(1, 1, 1), top_k=20)
    newest = [f"m{n:02d}" for n in range(20) if n % 2 == 0]
    assert list(found.memory_ids[:10]) == newest
    assert found.memory_ids[:3] == ask(index, "the same", vector=unit(1, 1, 1), top_k=3).memory_ids


def test_words_of_another_scope_never_move_a_score() -> None:
    ours = [memory("a", "rare pump"), memory("b", "pump pump station")]
    other = [memory(f"x{n}", "pump", agent_id="other") for n in range(5)]
    alone = ask(holding(*ours), "rare pump")
    reloaded = ask(holding(*ours[::-1]), "rare pump")
    assert [c.factors for c in alone.pool] == [c.factors for c in reloaded.pool]
    assert ask(holding(*ours, *other), "rare pump").memory_ids == alone.memory_ids


def test_being_recalled_often_does_not_pin_a_memory_on_top() -> None:
    index = holding(
        memory("a", vector=at_cosine(0.80), recalled_count=500, recalled_s=NOW_S),
        memory("b", vector=at_cosine(0.85)),
        memory("c", vector=at_cosine(0.10)),
    )
    for _ in range(20):
        assert ask(index, vector=QUERY, top_k=1).memory_ids == ("b",)


def test_an_old_exact_match_stays_in_front_of_fresh_ones_that_hardly_match() -> None:
    old = memory("old", vector=at_cosine(0.95), created_s=NOW_S - 242 * DAY_S)
    fresh = [memory(f"fresh{n}", vector=at_cosine(0.40)) for n in range(10)]
    found = ask(holding(old, *fresh), vector=QUERY, top_k=3)
    assert "old" in found.memory_ids
    top = next(candidate for candidate in found.pool if candidate.memory_id == "old")
    assert top.features.cosine == pytest.approx(0.95, abs=1e-3)
    assert 0.45 < top.factors.decay < 1.0
    assert top.score == pytest.approx(top.factors.base * top.factors.decay * 0.8**0.5)


def test_trust_confidence_dispute_and_extracted_lessons_weigh() -> None:
    index = holding(
        memory("plain", vector=QUERY),
        memory("unsure", vector=QUERY, confidence=0.3),
        memory("web", vector=QUERY, trust=0.5),
        memory("disputed", vector=QUERY, status="disputed"),
        memory("demoted", vector=QUERY, demoted=True),
    )
    found = ask(index, vector=QUERY)
    assert found.memory_ids[0] == "plain"
    factors = {candidate.memory_id: candidate.factors for candidate in found.pool}
    assert factors["web"].trust == 0.5
    assert factors["disputed"].disputed == 0.5
    assert factors["demoted"].demoted == 0.5
    assert factors["unsure"].confidence == pytest.approx(0.3**0.5)


def test_an_inferred_tag_lifts_and_never_filters() -> None:
    tag = Tag("tool", "csv")
    index = holding(
        memory("near", vector=at_cosine(0.9)),
        memory("tagged", vector=at_cosine(0.7), tags=(tag,)),
        memory("far", vector=at_cosine(0.1)),
    )
    assert ask(index, vector=QUERY).memory_ids[0] == "near"
    sure = ask(index, vector=QUERY, intent=(IntentTag(tag, "prototype", 1.0),))
    assert sure.memory_ids == ("tagged", "near", "far")
    assert sure.intent == (IntentTag(tag, "prototype", 1.0),)
    unsure = ask(index, vector=QUERY, intent=(IntentTag(tag, "prototype", 0.1),))
    assert unsure.memory_ids[0] == "near"


def test_an_inferred_tag_that_no_memory_carries_counts_for_nothing() -> None:
    tag, absent = Tag("tool", "csv"), IntentTag(Tag("domain", "law"), "prototype", 1.0)
    index = holding(memory("a", vector=QUERY, tags=(tag,)), memory("b", vector=QUERY))
    there = IntentTag(tag, "prototype", 0.5)
    alone = ask(index, vector=QUERY, intent=(there,))
    beside = ask(index, vector=QUERY, intent=(there, absent))
    assert beside.intent == (there,)
    assert [c.score for c in beside.pool] == [c.score for c in alone.pool]


def test_memories_of_one_episode_are_found_together_with_their_neighbours() -> None:
    def turn(position: int, cosine: float, *, episode: str = "e1", **changes: Any) -> MemoryEntry:
        return memory(
            f"{episode}-{position}",
            vector=at_cosine(cosine),
            memory_type=changes.pop("memory_type", "episodic"),
            episode_id=episode,
            position=position,
            **changes,
        )

    talk = [turn(0, 0.1), turn(1, 0.1), turn(2, 0.9), turn(3, 0.1), turn(9, 0.1)]
    others = [turn(3, 0.1, episode="e2"), turn(1, 0.1, episode="e3", memory_type="semantic")]
    found = ask(holding(*talk, *others), vector=QUERY, top_k=9)
    lent = {candidate.memory_id: candidate.factors.lent for candidate in found.pool}
    assert lent["e1-3"] > 0.0
    assert lent["e1-0"] > 0.0
    assert lent["e1-9"] == lent["e2-3"] == lent["e3-1"] == 0.0
    features = {candidate.memory_id: candidate.features for candidate in found.pool}
    assert features["e1-0"].context_cosine == pytest.approx((0.1 + 0.5 * 0.1 + 0.5 * 0.9) / 2.0)
    assert features["e3-1"].context_cosine is None


def test_what_the_filter_leaves_out_lends_nothing() -> None:
    def turn(position: int, **changes: Any) -> MemoryEntry:
        return memory(
            f"t{position}",
            vector=QUERY if position else at_cosine(0.5),
            memory_type="episodic",
            episode_id="e",
            position=position,
            **changes,
        )

    found = ask(holding(turn(0), turn(1, agent_id="other")), vector=QUERY)
    assert found.memory_ids == ("t0",)
    assert found.pool[0].factors.lent == 0.0


def test_the_pool_holds_the_best_of_each_arm_and_says_why_not() -> None:
    words = memory("words", "unicorn", vector=at_cosine(0.1), created_s=NOW_S - 4_000 * DAY_S)
    crowd = [memory(f"m{n}", "plain", vector=at_cosine(0.9 - n * 0.01)) for n in range(10)]
    policy = RecallPolicy(pool_final=3, pool_arm=2)
    found = ask(holding(words, *crowd), "unicorn", vector=QUERY, top_k=2, policy=policy)
    ranks = [candidate.rank for candidate in found.pool]
    assert ranks == sorted(ranks)
    assert "words" in {candidate.memory_id for candidate in found.pool}
    assert [c.memory_id for c in found.pool if c.returned] == list(found.memory_ids)
    for candidate in found.pool:
        assert bool(candidate.why_not) != candidate.returned
    last = next(candidate for candidate in found.pool if not candidate.returned)
    assert last.why_not.startswith("rank 3 where 2 were asked for")


def test_an_empty_scope_and_an_empty_filter_answer_with_nothing() -> None:
    assert ask(ScopeIndex(), "anything", vector=QUERY).memory_ids == ()
    assert ask(holding(memory("a", vector=QUERY)), vector=QUERY, min_confidence=0.9).pool == ()


def test_a_query_vector_of_another_embedder_is_refused() -> None:
    with pytest.raises(InputError, match="different embedders"):
        ask(holding(memory("a", vector=QUERY)), vector=unit(1, 0, 0))
