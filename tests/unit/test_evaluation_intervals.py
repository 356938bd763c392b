import math

import numpy as np

from agentkit.evaluation.intervals import draw, interval

VALUES = np.arange(40, dtype=np.float64) % 2


def test_an_interval_holds_its_mean_and_is_the_same_every_time() -> None:
    users = ["u"] * 40
    first = interval(VALUES, resamples=draw(users))
    assert first == interval(VALUES, resamples=draw(users))
    assert first.low < first.mean == 0.5 < first.high


def test_another_seed_gives_another_interval() -> None:
    values = np.linspace(0.0, 1.0, 40)
    users = ["u"] * 40
    first = interval(values, resamples=draw(users, seed=1))
    assert first != interval(values, resamples=draw(users, seed=2))


def test_twenty_users_are_resampled_as_users_and_fewer_as_questions() -> None:
    assert draw([f"u{i % 20}" for i in range(60)]).by_group
    assert not draw([f"u{i % 19}" for i in range(60)]).by_group


def test_users_whose_questions_agree_widen_the_interval() -> None:
    users = [f"u{i // 5}" for i in range(100)]
    values = np.array([float(i // 5 % 2) for i in range(100)])
    by_user = interval(values, resamples=draw(users))
    by_question = interval(values, resamples=draw(["u"] * 100))
    assert by_user.high - by_user.low > by_question.high - by_question.low


def test_equal_arms_differ_by_exactly_nothing() -> None:
    gain = interval(VALUES - VALUES, resamples=draw(["u"] * 40))
    assert (gain.mean, gain.low, gain.high) == (0.0, 0.0, 0.0)


def test_no_question_gives_no_number_and_no_warning() -> None:
    none = interval(np.zeros(0), resamples=draw([]))
    assert math.isnan(none.mean)
    assert math.isnan(none.low)
