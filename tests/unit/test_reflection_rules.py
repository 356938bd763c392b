"""Without any model, rules learn from what went wrong, what worked, and what the user said."""

from datetime import UTC, datetime

import pytest

from agentkit.policy.reflection import ReflectionPolicy
from agentkit.policy.working import RememberPolicy
from agentkit.records import (
    Episode,
    Language,
    Lesson,
    Memory,
    Outcome,
    Reflection,
    ReflectionCase,
    Scope,
    Step,
    StepOutcome,
    Tag,
    Trajectory,
    number_steps,
)
from agentkit.reflection.quotes import stands_in
from agentkit.reflection.rules import RuleCritic, review
from agentkit.working.remember import to_remember

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
POLICY = ReflectionPolicy()


def user(text: str) -> Step:
    return Step(step_id="", kind="user", text=text)


def model(text: str) -> Step:
    return Step(step_id="", kind="model", text=text)


def used(tool: str, arguments: str, result: str, outcome: StepOutcome = "ok") -> list[Step]:
    return [
        Step(step_id="", kind="tool_call", text=arguments, tool=tool, call_id=f"{tool}{arguments}"),
        Step(
            step_id="",
            kind="tool_return",
            text=result,
            tool=tool,
            call_id=f"{tool}{arguments}",
            outcome=outcome,
        ),
    ]


def memory(memory_id: str, content: str) -> Memory:
    return Memory(
        memory_id=memory_id,
        scope=Scope("u1"),
        memory_type="procedural",
        content=content,
        status="active",
        confidence=0.65,
        alpha=2.6,
        beta=1.4,
        trust=0.9,
        source="rule_critic",
        created_at=NOW,
        recorded_at=NOW,
    )


def case(
    *steps: Step,
    outcome: Outcome = "unknown",
    language: Language = "en",
    recalled: tuple[Memory, ...] = (),
    limit: int = 5,
) -> ReflectionCase:
    trajectory = Trajectory(steps=number_steps(steps))
    return ReflectionCase(
        episode=Episode(
            episode_id="e1",
            scope=Scope("u1"),
            session_id="s1",
            goal=trajectory.goal,
            outcome=outcome,
            outcome_source=None,
            end_reason="done",
            trajectory_uri="memory:1",
            trajectory_sha256="0",
            instructions="",
            model=None,
            step_count=len(steps),
            tokens_in=0,
            tokens_out=0,
            started_at=NOW,
            ended_at=NOW,
        ),
        trajectory=trajectory,
        recalled=recalled,
        lesson_limit=limit,
        language=language,
    )


def no_tags(text: str) -> tuple[Tag, ...]:
    return ()


def looked_back(given: ReflectionCase) -> Reflection:
    return review(given, policy=POLICY, tag_finder=no_tags)


def grounded(lesson: Lesson, trajectory: Trajectory) -> bool:
    cited = [(trajectory.step(item.step_id), item.quote) for item in lesson.evidence]
    return bool(cited) and all(
        step is not None and stands_in(quote, step.text) for step, quote in cited
    )


REPAIRED = (
    user("Fill the gaps in the amount column of sales.csv"),
    *used(
        "tables_fill",
        '{"path": "sales.csv", "method": "mean"}',
        "Error: cannot take the mean of a text column",
        "failed",
    ),
    *used("tables_profile", '{"path": "sales.csv"}', '{"amount": "text, 12 missing"}'),
    *used("tables_fill", '{"path": "sales.csv", "method": "median"}', "12 cells filled"),
    model("Done: 12 gaps are filled with the median."),
    user("Thanks, that's it."),
)


def test_a_repaired_error_becomes_a_lesson_that_says_what_worked() -> None:
    given = case(*REPAIRED)
    lesson = looked_back(given).lessons[0]
    assert lesson.memory_type == "procedural"
    assert lesson.content == (
        "`tables_fill`: call it with method median instead of mean, after `tables_profile`, when "
        "it fails with “cannot take the mean of a text column”. Task: “Fill the gaps in the amount "
        "column of sales.csv”"
    )
    assert [item.step_id for item in lesson.evidence] == ["s0003", "s0006"]
    assert "Fill the gaps in the amount column of sales.csv" in lesson.cues
    assert (lesson.confidence, lesson.source) == (0.65, "rule_critic")


def test_every_lesson_quotes_steps_that_hold_the_quote() -> None:
    given = case(*REPAIRED, user("From now on always use the median for amounts."))
    lessons = looked_back(given).lessons
    assert len(lessons) >= 3
    assert all(grounded(lesson, given.trajectory) for lesson in lessons)


def test_a_lesson_of_the_rules_is_found_by_a_search_with_default_arguments() -> None:
    assert POLICY.confidence.rule_critic >= 0.6


def test_a_chinese_task_gives_chinese_lessons() -> None:
    given = case(
        user("把 客户.csv 读出来，统计每个城市的人数"),
        *used("read_text", '{"path": "客户.csv"}', "错误：不是 utf-8 编码", "failed"),
        *used("read_text", '{"path": "客户.csv", "encoding": "gbk"}', "张三,北京"),
        model("北京 1 人。"),
        user("好的，以后报表都用中文写，谢谢"),
        language="zh",
    )
    lessons = looked_back(given).lessons
    assert lessons[0].content == (
        "`read_text`：加上 encoding gbk，再调用一次，可解决报错“不是 utf-8 编码”。"
        "任务：“把 客户.csv 读出来，统计每个城市的人数”"
    )
    assert any("以后报表都用中文写" in lesson.content for lesson in lessons)
    assert {lesson.language for lesson in lessons} == {"zh"}


def test_preferences_and_facts_of_the_user_are_kept_in_their_own_words() -> None:
    given = case(
        user("Hi! Plot the sales. I prefer bar charts over pies. Can you do it?"),
        model("Here is the chart."),
        user("By the way, our fiscal year is from April to March. 我更喜欢简短的回答。"),
    )
    contents = [lesson.content for lesson in looked_back(given).lessons]
    assert "The user prefers: “I prefer bar charts over pies.”" in contents
    assert "The user prefers: “我更喜欢简短的回答。”" in contents
    assert any("fiscal year is from April to March" in content for content in contents)
    assert not any("Can you do it" in content for content in contents)


def stated(text: str, *, language: Language = "en") -> list[str]:
    given = case(user(text), model("Noted."), language=language)
    return [lesson.content for lesson in looked_back(given).lessons]


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Remember that the fiscal year starts in April.", "the fiscal year starts in April."),
        ("Please remember to use metric units.", "use metric units."),
        ("Thanks, and keep in mind that we close at five.", "we close at five."),
        ("From now on use the median for amounts.", "From now on use the median for amounts."),
        ("请记住：报表用人民币。", "报表用人民币。"),
        ("从现在起都用中文回答。", "从现在起都用中文回答。"),
    ],
)
def test_what_is_asked_to_be_remembered_is_kept_as_working_memory_keeps_it(
    said: str, kept: str
) -> None:
    assert stated(said) == [kept]
    assert to_remember(said, policy=RememberPolicy()) in (kept, None)


@pytest.mark.parametrize(
    "said",
    [
        "Never mind the last one, it is fine now.",
        "Never had this problem with the old table.",
        "Every time I run it, it crashes.",
        "By default the script fails with an error.",
        "它每次都报错，真的很烦。",
        "算了，不要再查这个表了。",
        "Remember when we cleaned the sales table.",
        "I'm a bit confused about the sales table.",
    ],
)
def test_talk_about_the_moment_is_no_preference_and_no_fact(said: str) -> None:
    assert stated(said) == []


def test_what_to_do_stands_first_and_a_long_task_is_shortened() -> None:
    task = "Fill the gaps in the amount column " + "and the other columns of the table " * 6
    given = case(user(task), *REPAIRED[1:])
    first = looked_back(given).lessons[0]
    assert first.content.startswith("`tables_fill`: call it with method median instead of mean")
    assert first.content.endswith("…”")
    assert len(first.content) < 250
    assert any(len(cue) > 100 for cue in first.cues)


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("en", "After `queue_start`, the same `mailer_start` call worked; it had failed with"),
        ("zh", "先用 `queue_start`，同样的 `mailer_start` 调用就成功了"),
    ],
)
def test_a_call_that_worked_after_another_tool_says_so(language: Language, expected: str) -> None:
    given = case(
        user("Bring the mailer up again after the update"),
        *used("mailer_start", '{"host": "m1"}', "Error: no queue to connect to", "failed"),
        *used("queue_start", '{"host": "m1"}', "queue is up"),
        *used("mailer_start", '{"host": "m1"}', "mailer is up"),
        model("It is up."),
        language=language,
    )
    assert looked_back(given).lessons[0].content.startswith(expected)


def test_a_detour_over_the_same_tool_is_said() -> None:
    given = case(
        user("Bring the mail worker up again"),
        *used("restart", '{"service": "worker"}', "Error: connection to queue refused", "failed"),
        *used("restart", '{"service": "queue"}', "queue is up"),
        *used("restart", '{"service": "worker"}', "worker is up"),
        model("It is up."),
    )
    assert (
        looked_back(given)
        .lessons[0]
        .content.startswith(
            "After `restart` with service queue instead of worker, the same `restart` call worked"
        )
    )


def test_a_look_around_in_between_is_not_taken_for_the_repair() -> None:
    given = case(
        user("Give me the invoice total for each customer"),
        *used("sql", '{"sql": "SELECT c.id FROM customers c"}', "Error: no column c.id", "failed"),
        *used("sql", '{"sql": "PRAGMA table_info(customers)"}', "customer_no, name"),
        *used("sql", '{"sql": "SELECT c.customer_no FROM customers c"}', "3 rows"),
        model("There are 3."),
    )
    first = looked_back(given).lessons[0].content
    assert "c.customer_no FROM customers c instead of SELECT c.id" in first
    assert "PRAGMA" not in first


def test_a_call_that_worked_on_another_try_says_so() -> None:
    given = case(
        user("Fetch the page about rate limits"),
        *used("fetch", '{"page": 1}', "Error: timed out", "failed"),
        *used("fetch", '{"page": 1}', "the page"),
        model("Here it is."),
    )
    assert (
        looked_back(given)
        .lessons[0]
        .content.startswith("`fetch`: the same call worked when made again")
    )


def test_forgetting_is_no_preference() -> None:
    given = case(user("I don't remember my order number, sorry about that"), model("No problem."))
    assert looked_back(given).lessons == ()


def test_a_correction_is_kept_with_what_is_right() -> None:
    given = case(
        user("Give me the total of each invoice customer"),
        model("Harbour has 1000."),
        user("No, that is wrong. Accounting counts every branch once."),
        model("Harbour has 500."),
    )
    (lesson,) = looked_back(given).lessons
    assert "Accounting counts every branch once" in lesson.content
    assert lesson.evidence[0].step_id == "s0003"


def test_a_further_question_is_no_correction() -> None:
    given = case(
        user("Give me the total of each invoice customer"),
        model("Harbour has 1000."),
        user("Actually, can you show it by region as well?"),
        model("North has 700."),
    )
    assert looked_back(given).lessons == ()


def test_a_tool_that_does_not_exist_is_never_recommended() -> None:
    unknown = "Unknown tool name: 'serch_docs'. Available tools: 'search_docs'"
    given = case(
        user("Find the page about rate limits in the docs"),
        *used("serch_docs", '{"q": "rate limits"}', unknown, "retried"),
        *used("search_docs", '{"q": "rate limits"}', "3 pages"),
        *used("serch_docs", '{"q": "limits"}', unknown, "retried"),
        *used("serch_docs", '{"q": "api limits"}', unknown, "retried"),
        model("I could not finish."),
        outcome="failure",
    )
    lessons = looked_back(given).lessons
    assert lessons
    assert not any("serch_docs" in lesson.content for lesson in lessons)
    assert not any("serch" in cue for lesson in lessons for cue in lesson.cues)


def test_no_memory_is_made_from_nothing() -> None:
    assert looked_back(case(user("hello there"), model(""))).lessons == ()
    assert looked_back(case(user("hello there"))).lessons == ()
    assert looked_back(case()).lessons == ()
    assert looked_back(case(user("hello there"), model(""))).outcome == "failure"


def test_a_failure_that_nothing_mended_is_a_warning() -> None:
    given = case(
        user("Cancel booking B-77 and refund it"),
        *used("cancel", '{"id": "B-77"}', "Error: saver tickets cannot be cancelled", "failed"),
        model("I cannot cancel it."),
        outcome="failure",
    )
    first, second = looked_back(given).lessons
    assert "no later call mended it" in first.content
    assert "did not reach the goal: `cancel`" in second.content


def test_a_failure_without_a_tool_call_says_so() -> None:
    given = case(
        user("Change my return flight to a later one"),
        model("Unfortunately I need the reservation id."),
        user("I do not have it with me"),
        model("You're welcome!"),
        outcome="failure",
    )
    (lesson,) = looked_back(given).lessons
    assert "without a single tool call" in lesson.content
    assert "I need the reservation id" in lesson.content


def test_the_reason_given_in_a_success_is_kept() -> None:
    given = case(
        user("Cancel my flight and refund the ticket"),
        *used("lookup", '{"id": "X1"}', "basic economy, no insurance"),
        model(
            "Since the ticket is basic economy without insurance, it cannot be refunded. Anything?"
        ),
        outcome="success",
    )
    (lesson,) = looked_back(given).lessons
    assert "it cannot be refunded." in lesson.content


def test_another_tool_that_got_the_same_input_is_named_as_the_way_out() -> None:
    given = case(
        user("How many rows are in the big log file?"),
        *used("read_text", '{"path": "big.log"}', "Error: file too large", "failed"),
        *used("count_lines", '{"path": "big.log"}', "90210"),
        model("It has 90210 rows."),
        outcome="success",
    )
    assert "Use `count_lines` instead of `read_text`" in looked_back(given).lessons[0].content


def test_a_nested_argument_is_named_where_it_differs() -> None:
    before = '{"payments": [{"id": "card", "amount": 5}, {"id": "gift", "amount": 250}]}'
    after = '{"payments": [{"id": "card", "amount": 55}, {"id": "gift", "amount": 250}]}'
    given = case(
        user("Book the flight for me please today"),
        *used("book", before, "Error: total price is 305, but paid 255", "failed"),
        *used("book", after, "booked"),
        model("Booked."),
    )
    assert "payments.0.amount 55 instead of 5" in looked_back(given).lessons[0].content


def test_at_most_the_wanted_number_of_lessons_comes_back() -> None:
    steps = [
        step
        for n in range(9)
        for step in used("fetch", f'{{"n": {n}}}', f"Error: bad kind of page {n}", "failed")
    ]
    given = case(user("Fetch all of the pages"), *steps, model("No."), outcome="failure", limit=2)
    assert len(looked_back(given).lessons) == 2
    assert looked_back(case(*REPAIRED, limit=0)).lessons == ()


def test_what_the_briefing_said_is_no_source_of_lessons() -> None:
    briefing = Step(step_id="", kind="briefing", text="From now on always use metric units.")
    given = case(briefing, user("Rename the files in the folder"), model("Renamed."))
    assert looked_back(given).lessons == ()


def test_the_known_outcome_is_respected_and_an_unknown_one_is_judged() -> None:
    assert looked_back(case(*REPAIRED, outcome="failure")).outcome == "failure"
    assert looked_back(case(*REPAIRED)).outcome == "success"
    complaint = case(user("Fix the chart"), model("Done."), user("It still does not work."))
    assert looked_back(complaint).outcome == "failure"


def test_the_same_case_gives_the_same_reflection() -> None:
    assert looked_back(case(*REPAIRED)) == looked_back(case(*REPAIRED))


def test_tags_come_from_the_finder_that_was_given() -> None:
    def finder(text: str) -> tuple[Tag, ...]:
        return (Tag("data_form", "csv"),) if "csv" in text else ()

    lessons = review(case(*REPAIRED), policy=POLICY, tag_finder=finder).lessons
    assert lessons[0].tags == (Tag("data_form", "csv"),)


def test_verdicts_tell_helpful_unused_and_misleading_apart() -> None:
    recalled = (
        memory("m1", "`tables_fill` fails with mean on text columns; use method median."),
        memory("m2", "Deploys go out on Tuesdays after the release meeting."),
        memory("m3", "Report amounts in thousands of euro."),
    )
    given = case(
        user("Fill the gaps in sales.csv"),
        *used("tables_fill", '{"path": "sales.csv", "method": "median"}', "12 filled"),
        model("Done; the total is 42 thousand euro."),
        user("No, give the full amount, not thousands."),
        model("42000."),
        recalled=recalled,
    )
    verdicts = {one.memory_id: one.kind for one in looked_back(given).verdicts}
    assert verdicts == {"m1": "helpful", "m2": "unused", "m3": "misleading"}
    assert {one.source for one in looked_back(given).verdicts} == {"rules"}


def test_words_that_the_user_said_first_prove_no_use() -> None:
    given = case(
        user("Use the median for the gaps in sales.csv with tables_fill"),
        *used("tables_fill", '{"method": "median"}', "12 filled"),
        recalled=(memory("m1", "`tables_fill`: use method median"),),
    )
    assert [one.kind for one in looked_back(given).verdicts] == ["unused"]


async def test_the_critic_is_the_pure_function_behind_the_port() -> None:
    critic = RuleCritic(POLICY, tag_finder=no_tags)
    assert await critic.review(case(*REPAIRED)) == looked_back(case(*REPAIRED))


def test_the_memorys_own_tools_are_no_lesson() -> None:
    found = looked_back(
        case(
            user("Forget the old door code."),
            *used("memory_forget", '{"memory_id": "x"}', "Error: no memory 'x'", "failed"),
            *used("memory_forget", '{"memory_id": "y"}', "forgotten: y"),
            model("Done."),
        )
    )
    assert all("memory_forget" not in lesson.content for lesson in found.lessons)
