"""Who is asked to look back, and how each try differs from the one before."""

import pytest

from agentkit.policy.reflection import ReflectionMode
from agentkit.reflection.choose import choose_critics, plan_attempt


@pytest.mark.parametrize(
    ("mode", "named", "own", "history", "expected"),
    [
        ("auto", "m:x", True, True, ["external m:x", "self None", "rules None"]),
        ("auto", None, True, True, ["self None", "rules None"]),
        ("auto", None, True, False, ["external None", "rules None"]),
        ("auto", "m:x", False, False, ["external m:x", "rules None"]),
        ("auto", None, False, False, ["rules None"]),
        ("self", "m:x", True, True, ["self None", "rules None"]),
        ("self", "m:x", False, False, ["rules None"]),
        ("external", "m:x", True, True, ["external m:x", "rules None"]),
        ("external", None, True, True, ["external None", "rules None"]),
        ("external", None, False, False, ["rules None"]),
    ],
)
def test_the_mode_and_what_is_at_hand_decide_the_order(
    mode: ReflectionMode, named: str | None, own: bool, history: bool, expected: list[str]
) -> None:
    plans = choose_critics(mode, policy_model=named, own_model=own, own_history=history)
    assert [f"{plan.kind} {plan.model}" for plan in plans] == expected


def test_each_attempt_asks_in_another_way() -> None:
    plans = [plan_attempt(n, budget_tokens=12_000, native=True) for n in (1, 2, 3, 4)]
    assert [plan.rung for plan in plans] == ["native", "tool", "text", "text"]
    assert [plan.budget_tokens for plan in plans] == [12_000, 6_000, 3_000, 1_500]
    assert plan_attempt(1, budget_tokens=12_000, native=False).rung == "tool"


def test_a_budget_is_never_halved_away() -> None:
    assert plan_attempt(99, budget_tokens=12_000, native=False).budget_tokens == 400
    assert plan_attempt(99, budget_tokens=200, native=False).budget_tokens == 200
