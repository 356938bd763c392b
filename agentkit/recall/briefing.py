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

    Near-duplicates come once. Among the rest the next is the best that is not too like those
    already in; only whole memories go in, and a shorter one further down may fill the gap that
    a long one left. In the text they stand in rank order.

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
    said = [_said(hit.memory.content) for hit in hits]
    why_not = _duplicates(hits, said, policy=policy)
    views = [_view(hit) for hit in hits]
    chosen: list[int] = []
    text, tokens = "", 0
    left = [at for at in range(len(hits)) if at not in why_not]
    while left:
        at = max(left, key=lambda at: (_worth(at, chosen, hits, said, policy=policy), -at))
        left.remove(at)
        tried = render(BriefingView(tuple(views[one] for one in sorted([*chosen, at]))))
        needed = estimate(tried)
        if needed <= budget_tokens:
            chosen.append(at)
            text, tokens = tried, needed
        else:
            why_not[at] = f"does not fit: {needed} tokens with it, the budget is {budget_tokens}"
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


def _duplicates(
    hits: Sequence[Hit], said: Sequence[_Said], *, policy: BriefingPolicy
) -> dict[int, str]:
    """Which hits say the same as a better one, and which that is."""
    found: dict[int, str] = {}
    for at, one in enumerate(said):
        for earlier in range(at):
            other = said[earlier]
            same = one.turning == other.turning and _likeness(one, other) >= policy.near_duplicate
            if same and earlier not in found:
                found[at] = f"says the same as {hits[earlier].memory.memory_id}"
                break
    return found


def _worth(
    at: int,
    chosen: Sequence[int],
    hits: Sequence[Hit],
    said: Sequence[_Said],
    *,
    policy: BriefingPolicy,
) -> float:
    """Maximal marginal relevance: score as a share of the best, less likeness to what is in.

    Source:
        Carbonell and Goldstein, SIGIR 1998.
    """
    best = max(hits[0].score, 1e-9)
    likeness = max((_likeness(said[at], said[one]) for one in chosen), default=0.0)
    return (1.0 - policy.diversity) * hits[at].score / best - policy.diversity * likeness


def _likeness(one: _Said, other: _Said) -> float:
    """Jaccard index of the words of two texts, in [0, 1]."""
    union = len(one.words | other.words)
    return len(one.words & other.words) / union if union else 1.0
