"""The window at every budget from 1 to the full size, for any conversation."""

from hypothesis import given, settings
from hypothesis import strategies as st

from agentkit.errors import InputError
from agentkit.policy.working import WorkingPolicy
from agentkit.text import estimate_tokens
from agentkit.working.window import BenchItem, ItemKind, View, fit

POLICY = WorkingPolicy(
    goal_tokens=20, large_result_tokens=50, result_head_chars=60, result_tail_chars=30
)
WORDS = st.text(alphabet="ab 日本語", max_size=60)
LONG = st.integers(0, 40).map(lambda number: "row of data " * number)


def part(kind: ItemKind, text: str, **marks: object) -> BenchItem:
    tokens = estimate_tokens(text) + 3
    return BenchItem(kind=kind, text=text, tokens=tokens, **marks)  # pyright: ignore[reportArgumentType] # marks are fields


@st.composite
def conversations(draw: st.DrawFn) -> list[BenchItem]:
    """System text, then turns with parallel calls, ending in a prompt or in tool returns."""
    items = [part("system", draw(WORDS))]
    turns = draw(st.integers(1, 3))
    response = 0
    for turn in range(turns):
        last = turn == turns - 1
        items.append(part("user", draw(WORDS), is_goal=turn == 0, is_current=last))
        for _ in range(draw(st.integers(0, 2))):
            response += 1
            calls = draw(st.integers(0, 3))
            pinned = draw(st.integers(0, 9)) == 0
            items.append(part("model", draw(WORDS), response=response, pinned=pinned))
            names = [f"call{number}" for number in range(calls)]
            items += [part("tool_call", "{}", response=response, call_id=name) for name in names]
            items += [part("tool_return", draw(LONG), call_id=name) for name in names]
    return items


def views(items: list[BenchItem]) -> list[tuple[int, View | None]]:
    """The view at every budget from 1 to the full size; None where it is refused."""
    found: list[tuple[int, View | None]] = []
    for budget_tokens in range(1, sum(item.tokens for item in items) + 1):
        try:
            view = fit(items, budget_tokens=budget_tokens, policy=POLICY)
        except InputError:
            view = None
        found.append((budget_tokens, view))
    return found


def pairs(items: list[BenchItem], kept: tuple[int, ...]) -> tuple[list[str], list[str]]:
    calls = [items[i].call_id or "" for i in kept if items[i].kind == "tool_call"]
    returns = [items[i].call_id or "" for i in kept if items[i].kind == "tool_return"]
    return sorted(calls), sorted(returns)


@settings(deadline=None, max_examples=30)
@given(conversations())
def test_every_view_is_whole_within_budget_and_grows_with_it(items: list[BenchItem]) -> None:
    must = {
        index
        for index, item in enumerate(items)
        if item.kind == "system" or item.is_current or item.pinned
    }
    before: set[int] = set()
    seen: dict[int, str] = {}
    for budget_tokens, view in views(items):
        if view is None:
            assert not before
            continue
        kept = set(view.kept)
        assert must <= kept
        assert before <= kept
        assert view.tokens <= budget_tokens
        assert kept.isdisjoint(view.left)
        assert len(kept) + len(view.left) == len(items)
        calls, returns = pairs(items, view.kept)
        assert calls == returns
        assert not any(items[i].is_current or items[i].kind == "system" for i in view.texts)
        for index, text in seen.items():
            assert len(view.texts.get(index, items[index].text)) >= len(text)
        seen = dict(view.texts)
        before = kept
    assert before == set(range(len(items)))


@given(conversations(), st.integers(1, 400))
def test_the_same_items_give_the_same_view(items: list[BenchItem], budget_tokens: int) -> None:
    try:
        first = fit(items, budget_tokens=budget_tokens, policy=POLICY)
    except InputError:
        return
    assert first == fit(list(items), budget_tokens=budget_tokens, policy=POLICY)
