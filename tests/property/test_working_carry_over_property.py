"""A carry-over is never over its budget, whatever the task said."""

from pathlib import Path
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from agentkit.records import EndReason, Outcome, Step, StepKind
from agentkit.templates import Templates
from agentkit.text import estimate_tokens
from agentkit.working import CarryOver, carried, fitted

TEMPLATES = Templates([Path(__file__).resolve().parents[2] / "prompts"])
TEXTS = st.text(alphabet="ab <&>\n日本語。…", max_size=400)
STEPS = st.builds(
    Step,
    step_id=st.just("s0001"),
    kind=st.sampled_from(get_args(StepKind)),
    text=TEXTS,
    tool=st.sampled_from([None, "read", "write"]),
    call_id=st.sampled_from([None, "c1", "c2"]),
)


def render(found: CarryOver) -> str:
    return TEMPLATES.render("carry_over", language=found.language, **found.variables())


@given(
    steps=st.lists(STEPS, max_size=12),
    goal=TEXTS,
    outcome=st.sampled_from(get_args(Outcome)),
    end_reason=st.sampled_from(get_args(EndReason)),
    budget=st.integers(0, 400),
)
def test_a_carry_over_fits_every_budget_and_keeps_its_one_tag(
    steps: list[Step], goal: str, outcome: Outcome, end_reason: EndReason, budget: int
) -> None:
    found = carried(steps, goal=goal, outcome=outcome, end_reason=end_reason)
    if found is None:
        assert end_reason in ("closed", "imported") or not goal.strip()
        return
    text = fitted(found, budget_tokens=budget, render=render, estimate=estimate_tokens)
    assert estimate_tokens(text) <= budget
    assert text == fitted(found, budget_tokens=budget, render=render, estimate=estimate_tokens)
    if text:
        assert text.count("<earlier_task>") == text.count("</earlier_task>") == 1
        assert text.count("<") == 2
