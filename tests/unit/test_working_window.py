"""The window: what stays on the bench, and how large results are cut."""

from itertools import count

import pytest

from agentkit.errors import InputError
from agentkit.policy.working import WorkingPolicy
from agentkit.text import estimate_tokens
from agentkit.working.window import BenchItem, ItemKind, View, fit, shorten

POLICY = WorkingPolicy()
J = "明日の定例会議は午前十時に第三会議室で行います"
HANGUL = "내일정례회의는오전열시에제삼회의실에서합니다"


def item(
    kind: ItemKind,
    text: str,
    *,
    call_id: str | None = None,
    response: int | None = None,
    pinned: bool = False,
    is_goal: bool = False,
    is_current: bool = False,
) -> BenchItem:
    return BenchItem(
        kind=kind,
        text=text,
        tokens=estimate_tokens(text),
        call_id=call_id,
        response=response,
        handle=call_id or "",
        pinned=pinned,
        is_goal=is_goal,
        is_current=is_current,
    )


def ops_session() -> list[BenchItem]:
    """One task with two parallel calls, answered, and a new prompt."""
    return [
        item("system", "You are the ops helper."),
        item("user", "Check disk on web-3", is_goal=True),
        item("tool_call", '{"host": "web-3"}', call_id="c1", response=1),
        item("tool_call", '{"host": "web-3"}', call_id="c2", response=1),
        item("tool_return", "91%", call_id="c1"),
        item("tool_return", "12 days", call_id="c2"),
        item("model", "Disk is at 91%.", response=2),
        item("user", "And on web-4?", is_current=True),
    ]


def total(items: list[BenchItem]) -> int:
    return sum(each.tokens for each in items)


def view_of(items: list[BenchItem], budget_tokens: int, policy: WorkingPolicy = POLICY) -> View:
    return fit(items, budget_tokens=budget_tokens, policy=policy)


def test_everything_stays_where_there_is_room() -> None:
    items = ops_session()
    view = view_of(items, total(items))
    assert view == View(kept=tuple(range(8)), left=(), texts={}, tokens=total(items))


def test_a_tool_call_and_its_return_leave_together() -> None:
    items = ops_session()
    view = view_of(items, total(items) - 1)
    assert view.left == (2, 3, 4, 5)
    assert view.texts == {}


def test_the_newest_turn_over_budget_is_one_clear_error() -> None:
    items = ops_session()
    needed = items[0].tokens + items[7].tokens
    assert view_of(items, needed).kept == (0, 7)
    with pytest.raises(InputError, match=f"budget of {needed - 1}; raise `budget_tokens`"):
        view_of(items, needed - 1)


def test_the_step_that_the_model_has_to_react_to_stays() -> None:
    items = [
        item("system", "You help."),
        item("user", "Profile the table", is_goal=True, is_current=True),
        item("tool_call", "{}", call_id="a", response=1),
        item("tool_return", "old " * 50, call_id="a"),
        item("tool_call", "{}", call_id="b", response=2),
        item("tool_return", "new " * 50, call_id="b"),
    ]
    view = view_of(items, total(items) - 1)
    assert view.kept == (0, 1, 4, 5)


def test_call_ids_that_are_used_again_pair_with_the_newest_call() -> None:
    items = [
        item("user", "go", is_goal=True),
        item("tool_call", "{}", call_id="x", response=1),
        item("tool_return", "first " * 9, call_id="x"),
        item("tool_call", "{}", call_id="x", response=2),
        item("tool_return", "second", call_id="x"),
        item("user", "more", is_current=True),
    ]
    assert view_of(items, total(items) - 1).left == (1, 2)


def test_a_return_without_a_call_leaves() -> None:
    items = [item("tool_return", "lost", call_id="gone"), item("user", "hi", is_current=True)]
    assert view_of(items, 1000).left == (0,)


def test_pinned_parts_stay_with_their_whole_step() -> None:
    items = ops_session()
    items[4] = item("tool_return", "91%", call_id="c1", pinned=True)
    items.insert(7, item("user", "something long " * 40))
    kept = view_of(items, total(items) - items[7].tokens).kept
    assert set(kept) >= {2, 3, 4, 5}
    pinned_only = sum(items[i].tokens for i in (0, 2, 3, 4, 5, 8))
    with pytest.raises(InputError, match="pin less"):
        view_of(items, pinned_only - 1)


def test_a_long_goal_is_shortened_once_the_talk_goes_on() -> None:
    long = "Please look at this log. " + "line of a log " * 2000
    items = [
        item("user", long, is_goal=True),
        item("model", "Done.", response=1),
        item("user", "And now?", is_current=True),
    ]
    view = view_of(items, 24_000)
    assert view.kept == (0, 1, 2)
    assert view.texts[0].startswith("Please look at this log.")
    assert estimate_tokens(view.texts[0]) <= POLICY.goal_tokens
    first_turn = [item("user", long, is_goal=True, is_current=True)]
    assert view_of(first_turn, 24_000).texts == {}


def test_a_large_result_is_cut_to_head_and_tail_with_a_handle() -> None:
    text = "HEAD " + "x" * 20_000 + " TAIL"
    items = [
        item("user", "read it", is_current=True),
        item("tool_call", "{}", call_id="c9", response=1),
        item("tool_return", text, call_id="c9"),
    ]
    view = view_of(items, 24_000)
    shown = view.texts[2]
    assert shown.startswith("HEAD ")
    assert shown.endswith(" TAIL")
    assert "kept as c9" in shown
    assert f"{len(text) - 3000} characters left out" in shown
    assert view.tokens < 1_000


def test_shortening_never_makes_a_text_longer() -> None:
    ends = WorkingPolicy(result_head_chars=20, result_tail_chars=10)
    assert shorten("a" * 40, policy=ends, handle="h") == "a" * 40
    head = WorkingPolicy(result_head_chars=3, result_tail_chars=0)
    assert shorten("abc" * 100, policy=head, handle="") == (
        "abc\n[... 297 characters left out ...]\n"
    )


def test_a_large_chinese_result_is_cut_to_as_many_tokens_as_an_english_one() -> None:
    shown = shorten("会议纪要" * 2_000, policy=POLICY, handle="r-1")
    english = shorten("word" * 2_000, policy=POLICY, handle="r-1")
    assert abs(estimate_tokens(shown) - estimate_tokens(english)) <= 10
    assert shown.startswith("会议纪要")
    assert shown.endswith("会议纪要")


@pytest.mark.parametrize("text", [J, HANGUL])
def test_forty_turns_of_cjk_text_stay_within_the_budget(text: str) -> None:
    assert estimate_tokens(text) >= 0.6 * len(text)
    numbers = count()
    items = [item("user", text, is_goal=next(numbers) == 0) for _ in range(39)]
    items.append(item("user", text, is_current=True))
    view = view_of(items, 500)
    assert view.tokens <= 500
    assert sum(len(items[index].text) for index in view.kept) <= 500
    assert view.kept[-1] == 39
    assert len(view.kept) == 500 // len(text)
