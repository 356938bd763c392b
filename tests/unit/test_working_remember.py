"""What the user asks to have remembered in the middle of a task."""

import pytest

from agentkit.policy.working import RememberPolicy
from agentkit.working.remember import to_remember


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Remember that I prefer tabs over spaces.", "I prefer tabs over spaces."),
        (
            "please remember: the limit is 100/min in v1.2. Then open the file.",
            "the limit is 100/min in v1.2.",
        ),
        ("OK, remember the staging server is blue", "the staging server is blue"),
        ("From now on, use UTC. Run it.", "From now on, use UTC."),
        ("Remember this:\n- a is 1\n- b is 2", "- a is 1\n- b is 2"),
        ("Run the tests. Remember that port 80 is taken.", "port 80 is taken."),
        ("记住，我喜欢用中文回答。然后继续", "我喜欢用中文回答。"),
        ("请记住我的时区是东八区", "我的时区是东八区"),
        ("请帮我记一下：发票抬头是甲公司", "发票抬头是甲公司"),
        ("以后都用中文回答", "以后都用中文回答"),
    ],
)
def test_what_is_asked_to_be_remembered_is_found(said: str, kept: str) -> None:
    assert to_remember(said, policy=RememberPolicy()) == kept


@pytest.mark.parametrize(
    "said",
    [
        "",
        "Open the file",
        "Do you remember that file?",
        "I don't remember that",
        "I remember that it failed",
        "Remember when we did it",
        "remembering is hard",
        "Remember",
        "你还记得那个文件吗？",
        "记住了吗",
        "记住",
        "别忘了加测试",
    ],
)
def test_talk_about_remembering_is_left_alone(said: str) -> None:
    assert to_remember(said, policy=RememberPolicy()) is None


def test_the_rule_can_be_switched_off() -> None:
    off = RememberPolicy(enabled=False)
    assert to_remember("Remember that I prefer tabs.", policy=off) is None
