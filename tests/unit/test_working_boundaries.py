"""Where a task ends, and where it goes on."""

import pytest

from agentkit.policy.boundaries import BoundariesPolicy, ClosedRule, DoneRule, IdleRule
from agentkit.records import Step, StepKind
from agentkit.working.boundaries import Moment, Turn, decide, is_done, is_new_topic, turns_of

POLICY = BoundariesPolicy()
RULES = ("done", "quiet", "topic", "idle", "closed", "recovered")
OPEN = (Turn(user="Clean the sales table", answer="Done.", tool_calls=2),)


def steps(*said: tuple[StepKind, str]) -> list[Step]:
    return [
        Step(step_id=f"s{number:04d}", kind=kind, text=text)
        for number, (kind, text) in enumerate(said, start=1)
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Thanks, that's it.",
        "thanks!",
        "Great, thank you so much for your help!",
        "OK, that works. Thanks a lot",
        "No thanks, that's all I needed",
        "That’s all for today, bye",
        "I cancelled it myself. That's all.",
        "Thank you, you too, have a nice day",
        "好了",
        "可以了",
        "谢谢",
        "谢谢你的帮助！",
        "好的，谢谢，就这样吧",
        "搞定了，辛苦了",
        "文件我已经看过了，就这样。",
    ],
)
def test_the_user_says_that_it_is_done(text: str) -> None:
    assert is_done(text, rule=POLICY.done)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ok",
        "thanks, now also sort it",
        "Thanks. What about the second file?",
        "Thanks, next: write tests",
        "thanks but it still fails",
        'let it end with "that\'s all, thank you and goodbye"',
        "结尾换成「以上就是全部内容，谢谢，再见」",
        "thank you, please send it",
        "that's not it",
        "is that all?",
        "add a bye message to the script",
        "sort by date, thanks",
        "好的",
        "好的，然后呢",
        "谢谢，再帮我看看另一个",
        "谢谢，那第二个呢",
        "行了，别说了，开始写代码",
        "我改好了这个文件，接着测试",
        "我要好了的那个版本",
        "好了吗",
        "这样可以了吗？",
    ],
)
def test_thanks_with_something_new_in_the_same_breath_is_not_done(text: str) -> None:
    assert not is_done(text, rule=POLICY.done)


def test_turns_are_grouped_by_prompts() -> None:
    found = turns_of(
        steps(
            ("model", "hello"),
            ("user", "a"),
            ("user", "b"),
            ("briefing", "memories"),
            ("tool_call", "{}"),
            ("tool_return", "ok"),
            ("model", "first"),
            ("user", "c"),
            ("model", "second"),
        )
    )
    assert found == (
        Turn(user="a\nb", answer="first", tool_calls=1),
        Turn(user="c", answer="second"),
    )


def test_done_fires_after_the_turn_in_which_it_was_said() -> None:
    said = (*OPEN, Turn(user="Thanks, that's all", answer="You're welcome!"))
    assert decide(said, policy=POLICY, moment="turn_end") == "done"
    assert decide(OPEN, policy=POLICY, moment="turn_end") is None


def test_quiet_fires_after_work_and_two_turns_of_talk_that_concluded() -> None:
    talk = Turn(user="I see", answer="Yes, that is how it works.")
    assert decide((*OPEN, talk), policy=POLICY, moment="turn_end") is None
    assert decide((*OPEN, talk, talk), policy=POLICY, moment="turn_end") == "quiet"
    asking = Turn(user="I see", answer="Which column do you mean?")
    assert decide((*OPEN, talk, asking), policy=POLICY, moment="turn_end") is None
    offering = Turn(user="I see", answer="It is fixed. Is there anything else?")
    assert decide((*OPEN, talk, offering), policy=POLICY, moment="turn_end") == "quiet"


@pytest.mark.parametrize(
    ("user", "answer"),
    [
        ("I see", "I'll send the mail as soon as she agrees."),
        ("Tomorrow then", "Good, it stays on hold until you confirm."),
        ("Why is it so slow?", "The index was missing."),
        ("知道了", "收到后我就开始核对。"),
        ("嗯", "目前还有两行没有对上。"),
        ("是不是漏了一行", "这一行没有金额。"),
    ],
)
def test_a_promise_a_wait_or_a_user_who_still_asks_is_not_quiet(user: str, answer: str) -> None:
    talk = Turn(user="I see", answer="Yes, that is how it works.")
    last = Turn(user=user, answer=answer)
    assert decide((*OPEN, talk, last), policy=POLICY, moment="turn_end") is None


def test_a_chat_without_tools_is_never_quiet() -> None:
    talk = (Turn(user="Why is the sky blue", answer="Scattering."),) * 9
    assert decide(talk, policy=POLICY, moment="turn_end") is None


def test_an_empty_answer_concludes_nothing() -> None:
    silent = (Turn(user="I see"),) * 2
    assert decide((*OPEN, *silent), policy=POLICY, moment="turn_end") is None


def test_a_prompt_far_from_the_task_is_a_new_topic() -> None:
    prompt = "Book a table for two in Hamburg on Friday evening"
    assert decide(OPEN, policy=POLICY, moment="prompt", prompt=prompt, cosine=-0.1) == "topic"
    assert decide(OPEN, policy=POLICY, moment="prompt", prompt=prompt, cosine=0.4) is None
    assert decide(OPEN, policy=POLICY, moment="prompt", prompt=prompt) is None


@pytest.mark.parametrize(
    "prompt",
    [
        "Yes",
        "And write that down in the report for Friday",
        "继续处理剩下的数据表格",
        "那个文件的第三列是什么意思",
    ],
)
def test_a_short_prompt_or_one_that_refers_back_is_no_new_topic(prompt: str) -> None:
    assert not is_new_topic(prompt, cosine=-0.5, rule=POLICY.topic)


def test_idle_fires_from_the_named_minute_on() -> None:
    for moment in ("prompt", "tick"):
        assert decide(OPEN, policy=POLICY, moment=moment, idle_s=30 * 60) == "idle"
        assert decide(OPEN, policy=POLICY, moment=moment, idle_s=30 * 60 - 1) is None


def test_closing_and_starting_again_end_what_is_open() -> None:
    assert decide(OPEN, policy=POLICY, moment="close") == "closed"
    assert decide(OPEN, policy=POLICY, moment="start") == "recovered"


@pytest.mark.parametrize("moment", ["turn_end", "prompt", "tick", "close", "start"])
def test_nothing_ends_where_nothing_is_open(moment: Moment) -> None:
    assert decide((), policy=POLICY, moment=moment, idle_s=1e9, cosine=-1.0) is None


def test_each_rule_can_be_switched_off() -> None:
    off = BoundariesPolicy.model_validate({name: {"enabled": False} for name in RULES})
    turns = (*OPEN, *[Turn(user="Thanks, that's all", answer="Bye.")] * 3)
    prompt = "Book a table for two in Hamburg on Friday evening"
    for moment in ("turn_end", "prompt", "tick", "close", "start"):
        found = decide(turns, policy=off, moment=moment, idle_s=1e9, prompt=prompt, cosine=-1.0)
        assert found is None


def test_an_owner_can_change_words_and_times() -> None:
    policy = BoundariesPolicy(
        done=DoneRule.model_validate_json('{"endings": {"en": ["over and out"]}}'),
        idle=IdleRule(after_minutes=1),
        closed=ClosedRule(enabled=False),
    )
    assert is_done("Over and out!", rule=policy.done)
    assert not is_done("That's all", rule=policy.done)
    assert decide(OPEN, policy=policy, moment="tick", idle_s=60) == "idle"
    assert decide(OPEN, policy=policy, moment="close") is None
