"""Scopes and beliefs."""

import pytest

from agentkit.errors import InputError
from agentkit.records import Belief, Scope, Step, number_steps


@pytest.mark.parametrize(
    "name", ["alice", "Alice", "álice", "acme/eu", "acme-corp", "张三", "a%", "_"]
)
def test_ordinary_names_are_scopes(name: str) -> None:
    assert Scope(name).user_id == name


@pytest.mark.parametrize(
    "name",
    [
        *("all", "ALL", "*", "%", "any", "everyone", "None", "null"),
        "",
        " ",
        " a",
        "a\n",
        "a\x00b",
        "a\ud800",
    ],
)
def test_names_that_mean_all_or_nothing_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="user_id"):
        Scope(name)
    with pytest.raises(InputError, match="agent_id"):
        Scope("alice", name)


def test_a_name_has_at_most_255_characters() -> None:
    assert Scope("x" * 255).user_id
    with pytest.raises(InputError, match="256 characters"):
        Scope("x" * 256)


def test_names_are_compared_letter_by_letter() -> None:
    assert (
        len({Scope("alice"), Scope("Alice"), Scope("álice"), Scope("acme"), Scope("acme/eu")}) == 5
    )


def test_an_agent_sees_the_shared_memories_and_its_own() -> None:
    assert Scope("alice", "writer").sees(None)
    assert Scope("alice", "writer").sees("writer")
    assert not Scope("alice", "writer").sees("reader")
    assert not Scope("alice").sees("writer")


def test_a_belief_starts_at_the_confidence_it_is_given() -> None:
    assert Belief.start(0.75).confidence == pytest.approx(0.75)
    assert Belief.start(0.0).confidence == pytest.approx(0.05)
    assert Belief.start(1.0).confidence == pytest.approx(0.95)


def test_help_raises_a_belief_and_harm_lowers_it_more() -> None:
    start = Belief.start(0.65)
    raised = start.confirmed().confidence - start.confidence
    lowered = start.confidence - start.refuted().confidence
    assert 0 < raised < lowered


def test_no_history_is_too_long_to_overturn() -> None:
    belief = Belief.start(0.95)
    for _ in range(1000):
        belief = belief.confirmed()
    assert belief.alpha + belief.beta <= 8.0 + 1e-9
    for _ in range(4):
        belief = belief.refuted()
    assert belief.confidence < 0.5


def test_steps_are_numbered_in_order() -> None:
    drafts = [Step(step_id="", kind="user", text="a"), Step(step_id="x", kind="model", text="b")]
    assert [step.step_id for step in number_steps(drafts)] == ["s0001", "s0002"]
    assert [step.text for step in number_steps(drafts)] == ["a", "b"]
