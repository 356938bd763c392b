"""Handles name large results, and pages show them whole."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from agentkit.errors import InputError
from agentkit.policy.working import WorkingPolicy
from agentkit.records import Step
from agentkit.text import estimate_tokens
from agentkit.working import find_result, handle_of, page_of

AT = datetime(2026, 11, 30, 12, tzinfo=UTC)
POLICY = WorkingPolicy(page_tokens=40, large_result_tokens=200)


def returned(text: str, *, call_id: str, at: datetime = AT) -> Step:
    return Step(step_id="", kind="tool_return", text=text, tool="read", call_id=call_id, at=at)


def test_the_same_call_has_the_same_handle_in_every_zone() -> None:
    handle = handle_of(tool="read", call_id="c1", at=AT)
    elsewhere = AT.astimezone(timezone(timedelta(hours=8)))
    assert handle_of(tool="read", call_id="c1", at=elsewhere) == handle
    assert handle_of(tool="read", call_id="c1", at=AT.replace(tzinfo=None)) == handle
    assert handle_of(tool="read", call_id="c1", at=AT + timedelta(seconds=1)) != handle
    assert handle_of(tool="read", call_id="c2", at=AT) != handle
    assert handle == "r-tcpvhp2i7t"


def test_a_result_is_found_by_its_handle_among_steps_with_one_call_id() -> None:
    steps = [
        returned("first", call_id="x"),
        returned("second", call_id="x", at=AT.replace(hour=13)),
    ]
    for step in steps:
        assert find_result(steps, handle_of(tool="read", call_id="x", at=step.at)) is step
    assert find_result(steps, "r-unknown") is None


@pytest.mark.parametrize("text", ["row of data\n" * 90, "会议纪要，第一项。\n" * 30, "x" * 999])
def test_the_pages_together_are_the_whole_and_none_is_over_its_size(text: str) -> None:
    total = page_of(text, handle="r-1", number=1, policy=POLICY).total
    pages = [page_of(text, handle="r-1", number=n, policy=POLICY) for n in range(1, total + 1)]
    assert "".join(page.text for page in pages) == text
    assert all(estimate_tokens(page.text) <= 40 for page in pages)
    assert pages[1].shown().startswith(f"[r-1, page 2 of {total}]\n")


def test_a_page_ends_at_a_line_where_one_is_near() -> None:
    page = page_of("a line of text\n" * 40, handle="r-1", number=1, policy=POLICY)
    assert page.text.endswith("text\n")


def test_a_page_is_never_a_large_result_itself() -> None:
    greedy = WorkingPolicy(page_tokens=5_000, large_result_tokens=50)
    for text in ("会" * 9_000, "word " * 9_000):
        shown = page_of(text, handle="r-abcdefghij", number=9, policy=greedy).shown()
        assert estimate_tokens(shown) + 4 <= 50


@pytest.mark.parametrize("number", [0, -1, 4])
def test_a_page_that_is_not_there_says_how_many_there_are(number: int) -> None:
    with pytest.raises(InputError, match=f"no page {number}; give a page from 1 to 3"):
        page_of("x" * 400, handle="r-1", number=number, policy=POLICY)


def test_an_empty_result_has_one_empty_page() -> None:
    page = page_of("", handle="r-1", number=1, policy=POLICY)
    assert (page.number, page.total, page.text) == (1, 1, "")
