"""Sealing: goal, outcome and the episodic memory of a task."""

from collections.abc import Iterable

import pytest

from agentkit.policy.boundaries import BoundariesPolicy
from agentkit.policy.working import WorkingPolicy
from agentkit.records import (
    Outcome,
    OutcomeSource,
    Step,
    StepKind,
    StepOutcome,
    Tag,
    Trajectory,
    number_steps,
)
from agentkit.working.seal import Sealing, outcome_of, seal


def step(
    kind: StepKind,
    text: str,
    *,
    tool: str | None = None,
    call_id: str | None = None,
    outcome: StepOutcome | None = None,
) -> Step:
    return Step(step_id="", kind=kind, text=text, tool=tool, call_id=call_id, outcome=outcome)


def call(tool: str, call_id: str, *, returned: str, outcome: StepOutcome = "ok") -> list[Step]:
    return [
        step("tool_call", "{}", tool=tool, call_id=call_id),
        step("tool_return", returned, tool=tool, call_id=call_id, outcome=outcome),
    ]


REPAIRED = [
    step("user", "Hi"),
    step("briefing", "<memories>never learnt again</memories>"),
    step("user", "Fill the missing values in sales.csv with the median"),
    *call("fill_missing", "a", returned="unknown column 'Price'", outcome="failed"),
    *call("profile_table", "b", returned="columns: price, city"),
    *call("fill_missing", "c", returned="3 cells filled"),
    step("model", "I filled 3 cells of the column price with the median 12.5."),
]


def csv_tag(text: str) -> Iterable[Tag]:
    return [Tag("data_form", "csv")] if "csv" in text else []


def sealed(steps: list[Step], *, said: Outcome = "unknown", reward: float | None = None) -> Sealing:
    return seal(
        Trajectory(steps=number_steps(steps)),
        boundaries=BoundariesPolicy(),
        working=WorkingPolicy(),
        find_tags=csv_tag,
        confidence=0.65,
        said=said,
        reward=reward,
    )


def test_the_goal_is_the_first_prompt_that_is_more_than_a_greeting() -> None:
    assert sealed(REPAIRED).goal == "Fill the missing values in sales.csv with the median"
    assert sealed([step("user", "Hi"), step("model", "Hello!")]).goal == "Hi"
    assert len(sealed([step("user", "word " * 400), step("model", "ok")]).goal) <= 500


@pytest.mark.parametrize(
    ("said", "reward", "last", "outcome", "source"),
    [
        ("failure", 1.0, "Thanks!", "failure", "caller"),
        ("unknown", 0.0, "Thanks!", "failure", "reward"),
        ("unknown", 0.5, "that is wrong", "success", "reward"),
        ("unknown", None, "Thanks, that's it", "success", "user"),
        ("unknown", None, "Thanks, but it is still broken", "failure", "user"),
        ("unknown", None, "谢谢，可以了", "success", "user"),
        ("unknown", None, "还是不行，算了", "failure", "user"),
        ("unknown", None, "Now the second column", "success", "rules"),
    ],
)
def test_the_outcome_is_said_by_caller_then_reward_then_user_then_rules(
    said: Outcome, reward: float | None, last: str, outcome: Outcome, source: OutcomeSource
) -> None:
    found = sealed(
        [*REPAIRED, step("user", last), step("model", "Sure.")], said=said, reward=reward
    )
    assert (found.outcome, found.outcome_source) == (outcome, source)


def test_the_words_of_the_task_itself_are_no_verdict() -> None:
    found = sealed([step("user", "Translate: thanks, great work"), step("model", "谢谢")])
    assert (found.outcome, found.outcome_source) == ("unknown", None)


def test_rules_see_a_failed_last_tool_and_a_missing_answer() -> None:
    ask = step("user", "Profile the table please")
    failed = call("profile_table", "a", returned="no such file", outcome="failed")
    assert sealed([ask, *failed, step("model", "I could not.")]).outcome == "failure"
    assert sealed([ask, *call("profile_table", "a", returned="fine")]).outcome == "failure"
    assert sealed([ask, step("model", "A table is a grid.")]).outcome == "unknown"
    assert sealed([ask, step("model", "")]).outcome == "failure"


def test_the_episodic_memory_tells_goal_actions_trouble_outcome_and_answer() -> None:
    found = sealed([*REPAIRED, step("user", "Perfect, thanks")])
    memory = found.memory
    assert memory is not None
    assert memory.content.splitlines() == [
        "Task: Fill the missing values in sales.csv with the median",
        "Done: fill_missing (failed), profile_table, fill_missing",
        "Went wrong: unknown column 'Price'",
        "Outcome: success",
        "Answer: I filled 3 cells of the column price with the median 12.5.",
    ]
    assert memory.memory_type == "episodic"
    assert memory.tags == (Tag("data_form", "csv"), Tag("outcome", "success"))
    assert memory.cues == ("Fill the missing values in sales.csv with the median",)
    assert (memory.source, memory.confidence, memory.permanent) == ("rule_critic", 0.65, False)


def test_every_quote_stands_in_its_step() -> None:
    trajectory = Trajectory(steps=number_steps(REPAIRED))
    memory = sealed(REPAIRED).memory
    assert memory is not None
    assert len(memory.evidence) == 2
    for evidence in memory.evidence:
        cited = trajectory.step(evidence.step_id)
        assert cited is not None
        assert evidence.quote in cited.text


def test_a_chinese_task_is_remembered_in_chinese() -> None:
    found = sealed([step("user", "帮我统计销售表的缺失值"), step("model", "共有三个缺失值。")])
    assert found.language == "zh"
    assert found.memory is not None
    assert found.memory.language == "zh"
    assert found.memory.content.startswith("任务: 帮我统计销售表的缺失值\n结果: 不明")


def test_no_memory_is_made_from_nothing() -> None:
    assert sealed([]) == Sealing(
        goal="", outcome="unknown", outcome_source=None, language="en", memory=None
    )
    assert sealed([step("user", "Say something about tables"), step("model", "")]).memory is None


def test_the_memory_of_a_long_task_stays_within_what_admission_takes() -> None:
    many = [
        one
        for number in range(300)
        for one in call(f"a_tool_with_a_long_name_{number}", f"c{number}", returned="x " * 500)
    ]
    long = [step("user", "word " * 900), *many, step("model", "answer " * 900)]
    memory = sealed(long).memory
    assert memory is not None
    assert len(memory.content) <= 1_200


@pytest.mark.parametrize("farewell", ["You're welcome! Have a great day.", "不客气，再见！"])
def test_the_answer_that_is_remembered_is_no_farewell(farewell: str) -> None:
    done = sealed([*REPAIRED, step("user", "Thanks"), step("model", farewell)])
    assert done.memory is not None
    assert "Answer: I filled 3 cells" in done.memory.content
    assert farewell not in done.memory.content
    assert all(farewell not in item.quote for item in done.memory.evidence)


def test_how_the_memory_tools_went_says_nothing_about_the_task() -> None:
    steps = (
        Step(step_id="s0001", kind="user", text="Count the rows of the table."),
        Step(
            step_id="s0002", kind="tool_return", text="9", tool="count", call_id="a", outcome="ok"
        ),
        Step(
            step_id="s0003",
            kind="tool_return",
            text="no such memory",
            tool="memory_forget",
            call_id="b",
            outcome="failed",
        ),
        Step(step_id="s0004", kind="model", text="Nine rows."),
    )
    verified = outcome_of(steps, boundaries=BoundariesPolicy(), working=WorkingPolicy())
    assert verified.outcome == "success"


def test_an_answer_that_was_asked_for_again_and_came_is_a_success() -> None:
    """WM-08 (c)."""
    steps = (
        Step(step_id="s0001", kind="user", text="Say something about the orders."),
        Step(step_id="s0002", kind="tool_return", text="Please return text.", outcome="retried"),
        Step(step_id="s0003", kind="model", text="ok"),
    )
    verified = outcome_of(steps, boundaries=BoundariesPolicy(), working=WorkingPolicy())
    assert verified.outcome == "success"
