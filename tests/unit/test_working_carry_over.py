"""What is carried over from a task that ended, and what is left out of it."""

import pytest

from agentkit.records import EndReason, Step, StepKind, StepOutcome
from agentkit.working import CarriedCall, CarryOver, carried, fitted


def step(
    kind: StepKind,
    text: str,
    *,
    tool: str | None = None,
    call_id: str | None = None,
    outcome: StepOutcome | None = None,
) -> Step:
    return Step(step_id="", kind=kind, text=text, tool=tool, call_id=call_id, outcome=outcome)


CUT_OFF = [
    step("user", "Book the flight and the hotel."),
    step("tool_call", "{}", tool="flight", call_id="c1"),
    step("tool_call", "{}", tool="hotel", call_id="c2"),
    step("tool_return", "seat 4A", tool="flight", call_id="c1", outcome="ok"),
]


def plain(found: CarryOver) -> str:
    return f"{found.goal}|{found.answer}|{found.calls}"


@pytest.mark.parametrize("end_reason", ["closed", "imported"])
def test_nothing_is_carried_over_from_what_a_session_does_not_go_on_with(
    end_reason: EndReason,
) -> None:
    assert carried(CUT_OFF, goal="Book.", outcome="unknown", end_reason=end_reason) is None


def test_a_call_without_a_return_is_carried_over_as_interrupted_beside_the_real_result() -> None:
    found = carried(CUT_OFF, goal="Book.", outcome="failure", end_reason="recovered")
    assert found is not None
    assert found.cut_off
    assert found.calls == (
        CarriedCall(tool="flight", outcome="ok", result="seat 4A"),
        CarriedCall(tool="hotel", outcome="interrupted", result=""),
    )


def test_the_answer_before_a_farewell_is_carried_over_and_briefings_are_not() -> None:
    steps = [
        step("user", "Sort the orders."),
        step("briefing", "<memories>secret</memories>"),
        step("model", "Sorted 12 rows."),
        step("user", "Thanks!"),
        step("model", "You are welcome."),
    ]
    found = carried(steps, goal="Sort the orders.", outcome="success", end_reason="done")
    assert found is not None
    assert found.answer == "Sorted 12 rows."
    assert found.calls == ()
    assert "secret" not in plain(found)


def test_a_long_answer_is_cut_and_the_goal_stays() -> None:
    steps = [step("user", "Tell it."), step("model", "row of data " * 500)]
    found = carried(steps, goal="Tell it.", outcome="unknown", end_reason="quiet")
    assert found is not None
    text = fitted(found, budget_tokens=60, render=plain, estimate=len)
    assert text.startswith("Tell it.|row of data")
    assert len(text) <= 60


def test_a_budget_too_small_for_any_words_carries_nothing_over() -> None:
    found = carried(CUT_OFF, goal="Book.", outcome="unknown", end_reason="recovered")
    assert found is not None
    assert fitted(found, budget_tokens=10, render=plain, estimate=len) == ""
