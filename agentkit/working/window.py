"""What of a running task the model is sent: the newest steps that fit a budget."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from agentkit.errors import InputError
from agentkit.policy.working import WorkingPolicy
from agentkit.text import cut_tokens, estimate_tokens

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
    tool returns are cut to head and tail wherever they stand. A return without a call leaves.
    The same items give the same view, and a larger budget never keeps less.

    Args:
        items: Parts in the order in which they are sent.
        budget_tokens: Most tokens of the view, at least 1.
        policy: Sizes of large results and of the goal.

    Raises:
        InputError: If what has to stay is over the budget; the message names both sizes.
    """
    bench = _Bench(items, policy=policy)
    newest = bench.newest_step()
    needed = bench.fixed | newest
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


def shorten(text: str, *, head_chars: int, tail_chars: int, handle: str) -> str:
    """Return head and tail of a long text, with a mark that says what is missing.

    Args:
        text: Any text.
        head_chars: Characters kept from the start, at least 0.
        tail_chars: Characters kept from the end, at least 0.
        handle: Name under which the whole text is kept, or "".

    Returns:
        The text itself where cutting it would not make it shorter.
    """
    missing = len(text) - head_chars - tail_chars
    where = f"; the whole result is kept as {handle}" if handle else ""
    mark = f"\n[... {missing} characters left out{where} ...]\n"
    if missing <= len(mark):
        return text
    tail = text[-tail_chars:] if tail_chars else ""
    return text[:head_chars] + mark + tail


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
        current = max((i for i, item in enumerate(self._items) if item.is_current), default=-1)
        behind = (step for step in reversed(self.steps) if max(step) > current)
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
        policy = self._policy
        return shorten(
            item.text,
            head_chars=policy.result_head_chars,
            tail_chars=policy.result_tail_chars,
            handle=item.handle,
        )

    def _replace(self, index: int, text: str) -> None:
        """Put a shorter text in place of an item's own; its overhead stays."""
        item = self._items[index]
        saved = estimate_tokens(item.text) - estimate_tokens(text)
        if saved > 0:
            self._texts[index] = text
            self._tokens[index] = max(item.tokens - saved, 0)


def _steps(items: Sequence[BenchItem]) -> list[set[int]]:
    """Group items into steps that stay or go together, by their first item; no lone returns."""
    steps: dict[int, set[int]] = {}
    by_response: dict[int, int] = {}
    by_call: dict[str, int] = {}
    for index, item in enumerate(items):
        if item.kind == "tool_return":
            # A call id may be used again in a later response: the newest call before it counts.
            first = by_call.get(item.call_id) if item.call_id is not None else None
            if first is not None:
                steps[first].add(index)
            continue
        first = index
        if item.response is not None:
            first = by_response.setdefault(item.response, index)
        steps.setdefault(first, set()).add(index)
        if item.kind == "tool_call" and item.call_id is not None:
            by_call[item.call_id] = first
    return [steps[first] for first in sorted(steps)]
