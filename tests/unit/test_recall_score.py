"""The score, its explanation, and the same score out of the log."""

from dataclasses import replace

import pytest

from agentkit.policy.decay import DecayPolicy
from agentkit.policy.recall import FusionPolicy, RecallPolicy
from agentkit.recall import (
    Ranking,
    RankQuery,
    explanation,
    rank,
    rescore,
    reweigh,
    why_not,
)
from agentkit.records import (
    Factors,
    IntentTag,
    Tag,
)
from tests.recall_scope import DAY_S, NOW_S, at_cosine, holding, memory, unit

CSV = IntentTag(Tag("tool", "csv"), "alias")
DECAY = DecayPolicy(tags={"tool:csv": 20.0})


def mixed() -> Ranking:
    """A ranking in which every factor is at work."""
    index = holding(
        memory("a", "fill nulls in csv", at_cosine(0.8), tags=(CSV.tag,), used_count=2),
        memory("b", "nulls", at_cosine(0.5), status="disputed", created_s=NOW_S - 50 * DAY_S),
        memory("c", "csv csv", None, confidence=0.4, trust=0.7, tags=(CSV.tag,)),
        memory("d", "other", at_cosine(0.9), permanent=True, demoted=True),
        memory("e0", "nulls", at_cosine(0.3), memory_type="episodic", episode_id="e", position=0),
        memory("e1", "and", at_cosine(0.2), memory_type="episodic", episode_id="e", position=1),
    )
    query = RankQuery(text="csv nulls", vector=unit(1, 0), top_k=2, intent=(CSV,))
    return rank(index, query, policy=RecallPolicy(), decay=DECAY, now_s=NOW_S)


def test_the_score_out_of_the_log_is_the_score_of_the_recall() -> None:
    found = mixed()
    again = rescore(found.pool, normalisers=found.normalisers, policy=RecallPolicy(), decay=DECAY)
    assert again == tuple(candidate.factors for candidate in found.pool)
    assert len(again) == 6


def test_another_policy_can_be_replayed_on_the_log() -> None:
    found = mixed()
    words_only = RecallPolicy(fusion=FusionPolicy(bias=-40.0, known=0.0))
    weights = reweigh(found.normalisers, intent=found.intent, policy=words_only)
    assert weights.w_dense == pytest.approx(0.0, abs=1e-9)
    assert weights.w_lexical == pytest.approx(1.0)
    same = reweigh(found.normalisers, intent=found.intent, policy=RecallPolicy())
    assert same == found.normalisers
    no_floor = rescore(
        found.pool,
        normalisers=found.normalisers,
        policy=RecallPolicy(),
        decay=DecayPolicy(floor=0.0, types={}, default_half_life_days=1.0),
    )
    faded = {c.memory_id: f for c, f in zip(found.pool, no_floor, strict=True)}
    assert faded["b"].decay == pytest.approx(2.0**-50)
    assert faded["d"].decay == 1.0


def test_the_explanation_names_every_part_of_the_score() -> None:
    lines = {c.memory_id: explanation(c, intent=(CSV,)) for c in mixed().pool}
    assert lines["a"].startswith("score ")
    for part in ("meaning ", "(cosine 0.80)", "words ", "tag tool:csv 0.60", "x trust 1.00"):
        assert part in lines["a"]
    assert "half-life" in lines["a"]
    assert "x confidence" in lines["a"]
    assert "meaning unknown (no vector)" in lines["c"]
    assert "x disputed 0.50" in lines["b"]
    assert "x demoted 0.50" in lines["d"]
    assert "neighbours in its episode" in lines["e1"]
    assert all("\n" not in line for line in lines.values())


def test_a_memory_held_back_by_age_says_so() -> None:
    factors = Factors(
        dense=0.9,
        lexical=0.1,
        tag=0.0,
        lent=0.0,
        decay=0.5,
        trust=1.0,
        confidence=1.0,
        demoted=1.0,
        disputed=1.0,
        half_life_days=30.0,
    )
    line = why_not(factors, rank=7, top_k=5, last_score=0.6)
    assert line == (
        "rank 7 where 5 were asked for; score 0.50 against 0.60 of the last one returned; "
        "held back most by age (x 0.50)"
    )
    assert "held back" not in why_not(replace(factors, dense=0.3), rank=7, top_k=5, last_score=0.6)


def test_no_decay_set_is_told_apart_from_permanent() -> None:
    index = holding(memory("m", "x"))
    free = DecayPolicy(types={"semantic": None})
    found = rank(index, RankQuery(text="x"), policy=RecallPolicy(), decay=free, now_s=NOW_S)
    assert "x decay 1.00 (none set)" in explanation(found.pool[0])


def test_close_cosines_are_not_pulled_apart_to_the_whole_range() -> None:
    index = holding(memory("a", vector=at_cosine(0.80)), memory("b", vector=at_cosine(0.78)))
    query = RankQuery(text="", vector=unit(1, 0))
    found = rank(index, query, policy=RecallPolicy(), decay=DECAY, now_s=NOW_S)
    scores = {candidate.memory_id: candidate.factors.dense for candidate in found.pool}
    assert scores["a"] == 1.0
    assert scores["b"] == pytest.approx(0.9, abs=1e-5)


def test_a_query_of_unknown_words_leans_to_meaning_and_one_of_known_words_to_words() -> None:
    index = holding(
        memory("a", "invoice 4711 was paid twice", at_cosine(0.5)),
        memory("b", "the pump station failed", at_cosine(0.6)),
        *(memory(f"x{n}", f"filler number {n}", at_cosine(0.01 * n)) for n in range(20)),
    )

    def dense_share(text: str) -> float:
        query = RankQuery(text=text, vector=unit(1, 0))
        found = rank(index, query, policy=RecallPolicy(), decay=DECAY, now_s=NOW_S)
        return found.normalisers.w_dense

    assert dense_share("invoice 4711 paid twice") < dense_share("weird unseen vocabulary pump")


def test_meaning_gets_weight_of_the_words_where_they_say_nothing() -> None:
    index = holding(
        memory("same words", "fill nulls csv", at_cosine(0.1)),
        memory("other language", "填补空值", at_cosine(0.8)),
        memory("neither", "x", at_cosine(0.0)),
    )
    query = RankQuery(text="fill nulls csv", vector=unit(1, 0), top_k=3)

    def score(unmatched: float) -> dict[str, float]:
        policy = RecallPolicy(fusion=FusionPolicy(bias=0.0, unmatched=unmatched))
        ranked = rank(index, query, policy=policy, decay=DECAY, now_s=NOW_S)
        again = rescore(ranked.pool, normalisers=ranked.normalisers, policy=policy, decay=DECAY)
        assert again == tuple(candidate.factors for candidate in ranked.pool)
        return {candidate.memory_id: candidate.score for candidate in ranked.pool}

    none, all_of_it = score(0.0), score(1.0)
    assert all_of_it["other language"] > none["other language"]
    assert all_of_it["same words"] == none["same words"]
    assert all_of_it["other language"] < all_of_it["same words"] + none["other language"]
