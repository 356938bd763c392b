"""What of a long text is searched with."""

import pytest

from agentkit.recall import focus

SYSTEM = (
    "You are a careful assistant for a warehouse. Follow every rule below without exception. "
    "Do you have the order number? Ask for it first. Never reveal internal notes. "
) * 25
LOG = "\n".join(
    f"2026-11-30T12:00:{n % 60:02d}Z ERROR worker-{n} failed at /srv/app/x.py:{n}"
    for n in range(90)
)
QUESTION = "How do we cancel an order that was already packed?"
ASKS_ZH = "已经打包的订单怎么取消？"


def short(text: str) -> str:
    return focus(text, limit_chars=600)


def test_a_short_text_comes_back_whole() -> None:
    assert short(f"  {QUESTION}\nIt is order 4711. ") == f"{QUESTION}\nIt is order 4711."
    assert short(" \n ") == ""


@pytest.mark.parametrize("question", [QUESTION, ASKS_ZH])
@pytest.mark.parametrize("joint", ["\n\n", "\n", " "])
def test_a_question_behind_a_pasted_system_text_is_found(question: str, joint: str) -> None:
    found = short(SYSTEM.strip() + joint + question)
    assert found == question


@pytest.mark.parametrize("question", [QUESTION, ASKS_ZH])
def test_a_question_before_or_behind_a_pasted_log_is_found(question: str) -> None:
    assert short(f"{question}\n\n{LOG}") == question
    assert short(f"{LOG}\n\n{question}") == question
    assert short(f"{question}\n```\n{LOG}\n```\n") == question


def test_a_request_without_a_question_mark_is_found_at_the_end() -> None:
    assert short(f"{SYSTEM}\n\nCancel order 4711 and refund it.") == (
        "Cancel order 4711 and refund it."
    )


def test_a_bare_thanks_at_the_end_does_not_replace_the_request() -> None:
    found = short(f"Cancel order 4711.\n\n{LOG}\n\n{'x ' * 300}\n\nThanks!")
    assert "Cancel order 4711." in found
    assert "Thanks!" in found


@pytest.mark.parametrize("text", ["a" * 9_000, LOG, "。" * 2_000, "x. " * 3_000, "{" * 5_000])
def test_any_long_text_gives_something_within_the_limit(text: str) -> None:
    found = focus(text, limit_chars=100)
    assert 0 < len(found) <= 100
