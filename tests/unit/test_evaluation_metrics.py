import pytest

from agentkit.evaluation.metrics import Metric, parse_metric, score_rankings

METRICS = tuple(map(parse_metric, ("recall@2", "any-hit@2", "nDCG@2", "P@2", "MRR")))


def test_every_metric_is_one_for_a_perfect_ranking() -> None:
    scores = score_rankings(METRICS, gold=[frozenset("ab")], ranked=[("a", "b", "c")])
    assert scores.values.tolist() == [[1.0, 1.0, 1.0, 1.0, 1.0]]


def test_the_rank_of_the_hit_counts() -> None:
    scores = score_rankings(METRICS, gold=[frozenset("ab")], ranked=[("x", "a", "b")])
    recall, any_hit, ndcg, precision, mrr = scores.values[0].tolist()
    assert (recall, any_hit, precision, mrr) == (0.5, 1.0, 0.5, 0.5)
    assert ndcg == pytest.approx(0.3869, abs=1e-4)


def test_a_question_that_got_nothing_back_counts_zero() -> None:
    scores = score_rankings(METRICS, gold=[frozenset("a"), frozenset("b")], ranked=[(), ("b",)])
    assert scores.values[0].tolist() == [0.0] * 5
    assert scores.values[1, 0] == 1.0


def test_questions_without_an_answer_are_reported_apart_and_never_averaged() -> None:
    gold = [frozenset("a"), frozenset("b"), frozenset("c"), frozenset[str](), frozenset[str]()]
    silent = score_rankings(METRICS, gold=gold, ranked=[()] * 5)
    talkative = score_rankings(METRICS, gold=gold, ranked=[("a", "b", "c")] * 5)
    assert silent.values.shape == (3, 5)
    assert silent.values.sum() == 0.0
    assert (silent.undefined, silent.abstained) == (2, 2)
    assert (talkative.undefined, talkative.abstained) == (2, 0)


def test_questions_that_all_lack_an_answer_give_no_number() -> None:
    scores = score_rankings(METRICS, gold=[frozenset()], ranked=[("a",)])
    assert scores.values.shape == (0, 5)


def test_rows_follow_the_order_of_the_questions() -> None:
    gold = [frozenset({f"d{i}"}) for i in range(12)]
    ranked = [(f"d{i}",) if i % 3 == 0 else ("no",) for i in range(12)]
    scores = score_rankings((Metric("recall", 1),), gold=gold, ranked=ranked)
    assert scores.values[:, 0].tolist() == [float(i % 3 == 0) for i in range(12)]


def test_metric_names_survive_a_round_trip() -> None:
    names = ["recall@10", "any-hit@10", "nDCG@10", "P@5", "MRR"]
    assert [str(parse_metric(name)) for name in names] == names


@pytest.mark.parametrize("name", ["recall", "recall@0", "ndcg@10", "map@5", "P@-1", "MRR@10"])
def test_a_metric_that_does_not_exist_is_refused_with_those_that_do(name: str) -> None:
    with pytest.raises(ValueError, match="use recall@k, any-hit@k, nDCG@k, P@k or MRR"):
        parse_metric(name)
