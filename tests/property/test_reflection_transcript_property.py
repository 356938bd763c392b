"""At every budget a transcript is within it, in order, and complete with what it left out."""

from hypothesis import given
from hypothesis import strategies as st

from agentkit.records import Step, StepKind, Trajectory, number_steps
from agentkit.reflection.secrets import redact
from agentkit.reflection.transcript import bound_transcript

KINDS: list[StepKind] = ["user", "model", "tool_call", "tool_return", "briefing"]
TEXTS = st.text(alphabet="ab 字\n{}.", max_size=400)
STEPS = st.lists(st.tuples(st.sampled_from(KINDS), TEXTS), max_size=12)


@given(STEPS, st.integers(0, 2_000), st.integers(1, 300))
def test_a_transcript_is_within_budget_and_loses_no_step(
    drafts: list[tuple[StepKind, str]], budget_tokens: int, step_tokens: int
) -> None:
    steps = number_steps(Step(step_id="", kind=kind, text=text) for kind, text in drafts)
    trajectory = Trajectory(steps=steps)
    shown = bound_transcript(trajectory, budget_tokens=budget_tokens, step_tokens=step_tokens)
    assert shown.tokens <= budget_tokens
    assert shown.tokens == sum(step.tokens for step in (*shown.head, *shown.tail))
    ids = [step.step_id for step in (*shown.head, *shown.omitted, *shown.tail)]
    assert ids == [step.step_id for step in steps if step.kind != "briefing"]
    again = bound_transcript(trajectory, budget_tokens=budget_tokens, step_tokens=step_tokens)
    assert again == shown


@given(st.text(max_size=300))
def test_masking_any_text_never_fails_and_settles_at_once(text: str) -> None:
    once = redact(text)
    assert redact(once.text).text == once.text
