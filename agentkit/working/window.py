"""What of a running task the model is sent: the newest steps that fit a budget."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from agentkit.errors import InputError
from agentkit.policy.working import WorkingPolicy
from agentkit.text import CHARS_PER_TOKEN, cut_tokens, estimate_tokens, head_chars

ItemKind = Literal["system", "user", "model", "tool_call", "tool_return"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchItem:
    """One part of a message, as far as the window needs it.

    Attributes:
        kind: `system` text, a `user` part, `model` text or thinking, `tool_call`, `tool_return`.
        text: The text that the model reads (arguments as JSON text for a call).
        tokens: Estimated tokens of the part as sent, overhead included, at least 0.
        call_id: Pairs a return with its call, else None.
        response: Number of the model response it is a part of, else None. Parts of one response
            stay or go together.
        handle: Name under which the whole text can be found again, for large tool returns.
        pinned: Stays whatever happens.
        is_goal: The task's first prompt: stays, shortened if it is long.
        is_current: Part of the prompt that is being answered, or the briefing put beside it: stays
            as it is.
    """

    kind: ItemKind
    text: str
    tokens: int
    call_id: str | None = None
    response: int | None = None
    handle: str = ""
    pinned: bool = False
    is_goal: bool = False
    is_current: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What stays on the bench.

    Attributes:
        kept: Indexes of the items that stay, ascending.
        left: Indexes of the items that leave, ascending.
        texts: New text by index, for kept items that were shortened.
        tokens: Estimated tokens of what stays, at most the budget.
    """

    kept: tuple[int, ...]
    left: tuple[int, ...]
    texts: Mapping[int, str]
    tokens: int


def fit(items: Sequence[BenchItem], *, budget_tokens: int, policy: WorkingPolicy) -> View:
    """Return the view of a conversation that fits a token budget.

    System text, the current prompt and the newest step always stay; then pinned parts, then the
    goal (shortened to what is left), then the newest steps up to the first that does not fit. A
    model response and the returns of its calls are one step: they stay or go together. Large
    tool returns are cut to head and tail wherever they stand. A return without a call leaves, and
    so does a call without a return.
    The same items give the same view, and a larger budget never keeps less.

    Args:
        items: Parts in the order in which they are sent.
        budget_tokens: Most tokens of the view, at least 1.
        policy: Sizes of large results and of the goal.

    Raises:
        InputError: If what has to stay is over the budget; the message names both sizes. Also if
            there is nothing that could be sent.
    """
    bench = _Bench(items, policy=policy)
    newest = bench.newest_step()
    needed = bench.fixed | newest
    if not needed:
        raise InputError(
            "no part of the history can be sent: its tool calls and returns belong to none of each "
            "other; pass a prompt or a whole history"
        )
    spent = bench.cost(needed)
    if spent > budget_tokens:
        raise InputError(
            f"the system text, the current prompt and the newest step need {spent} tokens, over "
            f"the working memory budget of {budget_tokens}; raise `budget_tokens` in "
            "memory/working.yaml or shorten the prompt"
        )
    pinned = bench.pinned - needed
    spent += bench.cost(pinned)
    if spent > budget_tokens:
        raise InputError(
            f"with what is pinned the request needs {spent} tokens, over the working memory "
            f"budget of {budget_tokens}; raise `budget_tokens` in memory/working.yaml or pin less"
        )
    return bench.fill(needed | pinned, spent=spent, budget_tokens=budget_tokens)


def pinned_tokens(items: Sequence[BenchItem], *, policy: WorkingPolicy) -> int:
    """Return what the pinned parts cost, in estimated tokens, their whole steps included.

    Args:
        items: Parts in the order in which they are sent.
        policy: Sizes of large results.
    """
    bench = _Bench(items, policy=policy)
    return bench.cost(bench.pinned)


def shorten(text: str, *, policy: WorkingPolicy, handle: str) -> str:
    """Return head and tail of a long text, with a mark that says what is missing.

    Args:
        text: Any text.
        policy: Characters kept from both ends; a CJK character counts as four.
        handle: Handle under which the whole text can be opened, or "".

    Returns:
        The text itself where cutting it would not make it shorter.
    """
    head = _within(text[: policy.result_head_chars])
    most_tail = policy.result_tail_chars
    tail = _within(text[-most_tail:][::-1]) if most_tail else 0
    missing = len(text) - head - tail
    where = f"; the whole is kept as {handle}, workbench_open shows it" if handle else ""
    mark = f"\n[... {missing} characters left out{where} ...]\n"
    if missing <= len(mark):
        return text
    return text[:head] + mark + (text[-tail:] if tail else "")


def _within(text: str) -> int:
    """Characters from the start of a text that take no more tokens than as many English ones."""
    return head_chars(text, int(-(-len(text) // CHARS_PER_TOKEN)))


class _Bench:
    """The items of one call of `fit`, with their steps and costs."""

    def __init__(self, items: Sequence[BenchItem], *, policy: WorkingPolicy) -> None:
        self._items = items
        self._policy = policy
        self._texts: dict[int, str] = {}
        self._tokens = [item.tokens for item in items]
        for index, item in enumerate(items):
            if item.kind == "tool_return" and item.tokens > policy.large_result_tokens:
                self._replace(index, self._head_and_tail(item))
        self.steps = _steps(items)
        self.fixed = {
            index for index, item in enumerate(items) if item.kind == "system" or item.is_current
        }
        marked = {index for index, item in enumerate(items) if item.pinned}
        self.pinned = set[int]().union(*(step for step in self.steps if step & marked))

    def newest_step(self) -> set[int]:
        """The last step behind the current prompt, which the model has to react to."""
        first = min((i for i, item in enumerate(self._items) if item.is_current), default=-1)
        behind = (step for step in reversed(self.steps) if max(step) > first and step - self.fixed)
        return next(behind, set[int]())

    def cost(self, indexes: set[int]) -> int:
        """Tokens of some items."""
        return sum(self._tokens[index] for index in indexes)

    def fill(self, kept: set[int], *, spent: int, budget_tokens: int) -> View:
        """Add the goal and then the newest steps to what has to stay."""
        goal = [i for i, item in enumerate(self._items) if item.is_goal and i not in kept]
        self._cut(goal, limit_tokens=self._policy.goal_tokens)
        room = budget_tokens - spent
        if self.cost(set(goal)) > room:
            # No step beside a cut goal, or a larger budget could keep less than a smaller one.
            goal = self._cut(goal, limit_tokens=room)
            return self.view(kept | set(goal), tokens=spent + self.cost(set(goal)))
        kept = kept | set(goal)
        spent += self.cost(set(goal))
        for step in reversed(self.steps):
            more = step - kept
            cost = self.cost(more)
            if spent + cost > budget_tokens:
                break
            kept |= more
            spent += cost
        return self.view(kept, tokens=spent)

    def _cut(self, indexes: Sequence[int], *, limit_tokens: int) -> list[int]:
        """Shorten parts to a limit for all of them, and return those of which anything is left."""
        kept: list[int] = []
        left = limit_tokens
        for index in indexes:
            item = self._items[index]
            overhead = max(item.tokens - estimate_tokens(item.text), 0)
            if self._tokens[index] > left:
                text = cut_tokens(item.text, max(left - overhead, 0))
                if not text:
                    continue
                self._replace(index, text)
            kept.append(index)
            left -= self._tokens[index]
        return kept

    def view(self, kept: set[int], *, tokens: int) -> View:
        """The answer for the items that stay."""
        return View(
            kept=tuple(sorted(kept)),
            left=tuple(index for index in range(len(self._items)) if index not in kept),
            texts={index: text for index, text in self._texts.items() if index in kept},
            tokens=tokens,
        )

    def _head_and_tail(self, item: BenchItem) -> str:
        return shorten(item.text, policy=self._policy, handle=item.handle)

    def _replace(self, index: int, text: str) -> None:
        """Put a shorter text in place of an item's own; its overhead stays."""
        item = self._items[index]
        saved = estimate_tokens(item.text) - estimate_tokens(text)
        if saved > 0:
            self._texts[index] = text
            self._tokens[index] = max(item.tokens - saved, 0)


def _steps(items: Sequence[BenchItem]) -> list[set[int]]:
    """Group items into steps that stay or go together, by their first item.

    A call that was never answered and a return that answers no call are in none.
    """
    steps: dict[int, set[int]] = {}
    by_response: dict[int, int] = {}
    open_calls: dict[str, list[tuple[int, int]]] = {}
    for index, item in enumerate(items):
        if item.kind == "tool_return":
            # A call id may be used again in a later response: the newest call before it counts.
            waiting = open_calls.get(item.call_id or "")
            if waiting:
                first, call = waiting.pop(0)
                steps[first] |= {call, index}
            continue
        first = index
        if item.response is not None:
            first = by_response.setdefault(item.response, index)
        steps.setdefault(first, set())
        if item.kind != "tool_call":
            steps[first].add(index)
            continue
        waiting = open_calls.setdefault(item.call_id or "", [])
        if any(by != first for by, _ in waiting):
            waiting.clear()
        waiting.append((first, index))
    return [steps[first] for first in sorted(steps) if steps[first]]
