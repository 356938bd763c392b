"""Closing by meaning: what examples teach, and when the margin is asked at all."""

from dataclasses import replace

import numpy as np
import pytest

from agentkit.policy.boundaries import BoundariesPolicy, DoneRule
from agentkit.policy.closing import MeaningRule
from agentkit.records import Float32Array
from agentkit.working import ClosingJudge, Turn, decide, open_to_meaning, parts_of

POLICY = BoundariesPolicy()
WORK = Turn(user="Total the invoices", answer="The total is 18 EUR.", tool_calls=2)
END = Turn(user="Spot on!", answer="Glad to help.")


def vectors(*sides: float) -> Float32Array:
    """Two equal vectors a message, on a line between the sides."""
    pairs = [[side, np.sqrt(1.0 - side * side)] for side in sides for _ in range(2)]
    return np.array(pairs, dtype=np.float32)


def taught() -> ClosingJudge:
    messages = ["lovely, sorted", "off home", "make it shorter", "add the phone numbers"]
    return ClosingJudge.fit(
        messages, vectors=vectors(0.9, 0.8, -0.9, -0.8), closing=[True, True, False, False]
    )


def test_a_message_near_the_closing_examples_lies_on_their_side() -> None:
    near, far = taught().margins(["ciao", "hm"], vectors=vectors(0.85, -0.85))
    assert near > 0.3
    assert far < -0.3


def test_words_of_an_example_move_a_message_of_the_same_vector() -> None:
    ends, goes_on = taught().margins(["sorted", "shorter"], vectors=vectors(0.0, 0.0))
    assert ends > goes_on + 0.1


def test_examples_of_one_side_teach_nothing_and_say_so() -> None:
    with pytest.raises(ValueError, match="both sides"):
        ClosingJudge.fit(["bye", "ciao"], vectors=vectors(0.9, 0.8), closing=[True, True])


def test_a_message_is_embedded_whole_and_by_its_last_clause() -> None:
    assert parts_of("Great, off home now!") == ("Great, off home now!", "off home now")
    assert parts_of("🙏") == ("🙏", "🙏")


def test_a_margin_ends_what_the_words_leave_open() -> None:
    least = POLICY.done.meaning.least_margin
    assert decide((WORK, END), policy=POLICY, moment="turn_end") is None
    assert decide((WORK, END), policy=POLICY, moment="turn_end", margin=least) == "done"
    assert decide((WORK, END), policy=POLICY, moment="turn_end", margin=least - 0.01) is None


@pytest.mark.parametrize(
    "said",
    [
        "Spot on, or is it?",
        "Spot on, now please print it",
        'Spot on, write "well said" below',
        "👍",
        "很好，帮我发出去",
        "结尾写「合作愉快」",
        "spot " * 60,
    ],
)
def test_a_message_that_asks_or_quotes_or_is_long_is_not_judged_by_meaning(said: str) -> None:
    turns = (WORK, replace(END, user=said))
    assert decide(turns, policy=POLICY, moment="turn_end", margin=2.0) is None


@pytest.mark.parametrize(
    "answer",
    ["Shall I book it?", "Tell me the name of the file.", "请把文件发给我。", "目前跑了一半。"],
)
def test_what_follows_an_answer_that_awaits_something_is_not_judged(answer: str) -> None:
    turns = (replace(WORK, answer=answer), END)
    assert not open_to_meaning(turns, rule=POLICY.done)
    assert decide(turns, policy=POLICY, moment="turn_end", margin=2.0) is None


def test_the_first_message_of_a_task_does_not_end_it_by_meaning() -> None:
    assert decide((END,), policy=POLICY, moment="turn_end", margin=2.0) is None


def test_switched_off_meaning_leaves_the_words_alone() -> None:
    rule = DoneRule(meaning=MeaningRule(enabled=False))
    policy = POLICY.model_copy(update={"done": rule})
    assert decide((WORK, END), policy=policy, moment="turn_end", margin=2.0) is None
    thanked = (WORK, replace(END, user="Thanks, that's all"))
    assert decide(thanked, policy=policy, moment="turn_end") == "done"
