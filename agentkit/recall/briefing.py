"""The briefing: recalled memories that fit a token budget, as delimited data for a model."""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from agentkit.policy.recall import BriefingPolicy
from agentkit.records import Briefing, BriefingEntry, Hit, Source
from agentkit.text import normalise, stem, terms

_LINE_ENDS = re.compile(r"[\r\n\v\f\x85\u2028\u2029]+")
_TABS = re.compile(r"[\t ]+")
_NUMBER = re.compile(r"\d")
# Words that turn a statement round; two texts that differ in one of them do not say the same.
_NEGATIONS = frozenset(
    "not no never none nothing without cannot don't doesn't didn't isn't won't can't avoid stop "
    "不 没 未 无 非 别 勿 莫".split()
)
_INDENT = "\n  "
_SAID_BY: Mapping[Source, str] = {
    "user": "user",
    "model_critic": "reflection",
    "rule_critic": "reflection",
    "agent": "agent",
    "tool": "tool",
    "web": "web",
    "import": "import",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefingMemory:
    """One memory as the template sees it; every text is escaped already.

    Attributes:
        memory_id: Its id, so that the model can name it.
        memory_type: `episodic`, `semantic` or `procedural`.
        content: What is remembered; lines after the first are indented.
        tags: Its tags, joined by commas, or "".
        source: Who said so: `user`, `reflection`, `agent`, `tool`, `web` or `import`.
        date: Day on which it was learnt, `YYYY-MM-DD`.
        note: A warning, such as that it is disputed, or "".
    """

    memory_id: str
    memory_type: str
    content: str
    tags: str
    source: str
    date: str
    note: str


@dataclass(frozen=True, slots=True)
class BriefingView:
    """What the template `briefing` is rendered with.

    Attributes:
        memories: In rank order.
    """

    memories: tuple[BriefingMemory, ...]

    def variables(self) -> dict[str, object]:
        """Return the variables of the template by name."""
        return {"memories": self.memories}


@dataclass(frozen=True, slots=True, eq=False)
class _Said:
    """What a memory says, for telling whether another says the same."""

    words: frozenset[str]
    turning: frozenset[str]


def compose(
    hits: Sequence[Hit],
    *,
    budget_tokens: int,
    policy: BriefingPolicy,
    render: Callable[[BriefingView], str],
    estimate: Callable[[str], int],
    retrieval_id: str,
) -> Briefing:
    """Return the memories that fit a budget, rendered, and what became of the others.

    Near-duplicates come once, the best that fits of them. Each memory type gets a line before
    another one gets its second, as long as what it has is worth `least_share` of the best. Among
    the rest the next is the best that is not too like those already in; only whole memories go
    in, and a shorter one further down may fill the gap that a long one left. In the text they
    stand in rank order, so that the same hits give the same text.

    Args:
        hits: Best first.
        budget_tokens: Most tokens of the whole rendered text, wrapper included, at least 0.
        policy: What counts as a near-duplicate, and how much variety counts.
        render: Renders the template, wrapper and all.
        estimate: Counts the tokens of a text.
        retrieval_id: The recall they came from.

    Returns:
        One entry a hit in rank order; the text is "" when nothing fits.
    """
    views = [_view(hit) for hit in hits]

    choice = _Choice(hits, policy=policy)
    text, tokens = "", 0
    while choice.left:
        at = choice.next()
        tried = render(BriefingView(tuple(views[one] for one in sorted([*choice.chosen, at]))))
        needed = estimate(tried)
        if needed <= budget_tokens:
            choice.take(at)
            text, tokens = tried, needed
        else:
            choice.leave(
                at, f"does not fit: {needed} tokens with it, the budget is {budget_tokens}"
            )
    chosen, why_not = choice.chosen, choice.why_not()
    entries = tuple(
        BriefingEntry(
            memory_id=hit.memory.memory_id, included=at in chosen, why_not=why_not.get(at, "")
        )
        for at, hit in enumerate(hits)
    )
    return Briefing(text=text, tokens=tokens, entries=entries, retrieval_id=retrieval_id)


def harmless(text: str) -> str:
    """Return a text that cannot leave its place in the prompt.

    Control, zero-width and direction characters go, line ends become one indented line end, and
    `&` and `<` are escaped, so that no text can open or close a tag.

    Args:
        text: Any text; readable text stays readable.
    """
    lines = [_TABS.sub(" ", _visible(line)).strip() for line in _LINE_ENDS.split(normalise(text))]
    joined = _INDENT.join(line for line in lines if line)
    return joined.replace("&", "&amp;").replace("<", "&lt;")


def _visible(line: str) -> str:
    return "".join(char for char in line if char == "\t" or unicodedata.category(char)[0] != "C")


def _view(hit: Hit) -> BriefingMemory:
    memory = hit.memory
    return BriefingMemory(
        memory_id=harmless(memory.memory_id),
        memory_type=memory.memory_type,
        content=harmless(memory.content),
        tags=harmless(", ".join(map(str, memory.tags))),
        source=_SAID_BY[memory.source],
        date=f"{memory.created_at:%Y-%m-%d}",
        note=harmless(hit.note),
    )


def _said(content: str) -> _Said:
    words = terms(content)
    turning = {word for word in words if word in _NEGATIONS or _NUMBER.search(word)}
    return _Said(frozenset(map(stem, words)), frozenset(turning))


class _Choice:
    """Which hit is tried next, while some are taken and others are left out."""

    def __init__(self, hits: Sequence[Hit], *, policy: BriefingPolicy) -> None:
        self.chosen: list[int] = []
        self.left: list[int] = []
        self._hits = hits
        self._policy = policy
        self._said = [_said(hit.memory.content) for hit in hits]
        self._unfit: dict[int, str] = {}
        # A hit that says the same as a better one waits for what becomes of that.
        self._waits: dict[int, int] = {}
        for at in range(len(hits)):
            self._enter(at)

    def next(self) -> int:
        """The best of the types that still lack a line, else of all that are left."""
        served = {self._hits[at].memory.memory_type for at in self.chosen}
        least = self._policy.least_share * self._hits[0].score
        owed = [
            at
            for at in self.left
            if self._hits[at].score >= least and self._hits[at].memory.memory_type not in served
        ]
        return max(owed or self.left, key=lambda at: (self._worth(at), -at))

    def take(self, at: int) -> None:
        """It is in."""
        self.left.remove(at)
        self.chosen.append(at)

    def leave(self, at: int, reason: str) -> None:
        """It does not fit; what says the same in fewer words gets its turn."""
        self.left.remove(at)
        self._unfit[at] = reason
        for waiting in sorted(one for one, better in self._waits.items() if better == at):
            del self._waits[waiting]
            self._enter(waiting)

    def why_not(self) -> dict[int, str]:
        """Why each that is not in was left out."""
        same = {
            at: f"says the same as {self._hits[better].memory.memory_id}"
            for at, better in self._waits.items()
        }
        return self._unfit | same

    def _enter(self, at: int) -> None:
        better = next((one for one in (*self.chosen, *self.left) if self._same(at, one)), None)
        if better is None:
            self.left.append(at)
        else:
            self._waits[at] = better

    def _same(self, at: int, other: int) -> bool:
        one, two = self._said[at], self._said[other]
        return one.turning == two.turning and _likeness(one, two) >= self._policy.near_duplicate

    def _worth(self, at: int) -> float:
        """Maximal marginal relevance: score as a share of the best, less likeness to what is in.

        Source:
            Carbonell and Goldstein, SIGIR 1998.
        """
        best = max(self._hits[0].score, 1e-9)
        said = self._said[at]
        likeness = max((_likeness(said, self._said[one]) for one in self.chosen), default=0.0)
        diversity = self._policy.diversity
        return (1.0 - diversity) * self._hits[at].score / best - diversity * likeness


def _likeness(one: _Said, other: _Said) -> float:
    """Jaccard index of the words of two texts, in [0, 1]."""
    union = len(one.words | other.words)
    return len(one.words & other.words) / union if union else 1.0
