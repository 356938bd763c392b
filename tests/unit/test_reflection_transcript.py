"""A transcript holds whole steps from both ends, and says what is missing."""

from agentkit.records import Step, StepKind, Trajectory, number_steps
from agentkit.reflection.transcript import bound_transcript, chunk_steps


def step(kind: StepKind, text: str) -> Step:
    return Step(step_id="", kind=kind, text=text)


def trajectory(*steps: Step) -> Trajectory:
    return Trajectory(steps=number_steps(steps))


def test_what_fits_is_shown_whole() -> None:
    shown = bound_transcript(
        trajectory(step("user", "hi"), step("model", "hello")), budget_tokens=100, step_tokens=50
    )
    assert [one.text for one in shown.head] == ["hi", "hello"]
    assert (shown.tail, shown.omitted, shown.left_out) == ((), (), "")


def test_a_briefing_is_never_shown() -> None:
    shown = bound_transcript(
        trajectory(step("briefing", "User prefers metric units"), step("user", "rename the files")),
        budget_tokens=1_000,
        step_tokens=500,
    )
    assert [one.step_id for one in shown.head] == ["s0002"]


def test_head_and_tail_stay_and_the_middle_is_named() -> None:
    steps = [step("user", "the goal"), *(step("model", f"step {n} " * 40) for n in range(20))]
    shown = bound_transcript(trajectory(*steps), budget_tokens=800, step_tokens=400)
    assert shown.head[0].text == "the goal"
    assert shown.tail[-1].step_id == "s0021"
    assert shown.left_out == f"{shown.omitted[0].step_id}-{shown.omitted[-1].step_id}"
    assert len(shown.head) + len(shown.omitted) + len(shown.tail) == 21
    assert shown.tokens <= 800


def test_a_long_result_keeps_its_head_and_its_tail() -> None:
    long = "BEGIN " + "noise " * 5_000 + "Error: the last line says it"
    shown = bound_transcript(
        trajectory(step("user", "go"), step("tool_return", long)),
        budget_tokens=10_000,
        step_tokens=100,
    )
    text = shown.head[1].text
    assert text.startswith("BEGIN")
    assert text.endswith("the last line says it")
    assert "tokens left out" in text
    assert shown.head[1].cut


def test_a_goal_longer_than_the_budget_is_cut_and_not_lost() -> None:
    shown = bound_transcript(
        trajectory(step("user", "文件 " * 3_000), step("model", "好")),
        budget_tokens=300,
        step_tokens=2_000,
    )
    assert shown.head[0].step_id == "s0001"
    assert shown.tokens <= 300


def test_chunks_cover_the_steps_in_order_and_stop_at_their_limit() -> None:
    steps = number_steps(step("model", f"text {n} " * 30) for n in range(12))
    chunks = chunk_steps(steps, chunk_tokens=250, step_tokens=200, limit=99)
    assert [one.step_id for chunk in chunks for one in chunk] == [one.step_id for one in steps]
    few = chunk_steps(steps, chunk_tokens=250, step_tokens=200, limit=2)
    assert (few[0], few[1]) == (chunks[0], chunks[-1])
