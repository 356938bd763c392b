"""What became of the memories that were recalled, by rules: helpful, misleading or unused."""

from collections import Counter
from collections.abc import Sequence

from agentkit.records import Memory, Step, Trajectory, Verdict, VerdictKind
from agentkit.reflection.gist import gist
from agentkit.reflection.speech import is_correction

# Two telling words that stood nowhere before are hardly reused by chance; one may be.
LEAST_REUSED = 2
SHOWN_TERMS = 6


def judge_recalled(trajectory: Trajectory, recalled: Sequence[Memory]) -> tuple[Verdict, ...]:
    """Return a verdict on each recalled memory, in their order.

    A memory's distinctive terms are those that the user and the tools had not said themselves
    before the agent used them, and that no recalled memory of another episode has. Reused in
    what the agent said or called: `helpful`. Where the user's next words put the agent right,
    and the terms stood in the answer before them or are named in them: `misleading`. Else
    `unused`.

    Args:
        trajectory: The steps of the task.
        recalled: Memories that were in its briefing.
    """
    shared = _shared_terms(recalled)
    return tuple(_verdict(trajectory.steps, memory, shared=shared) for memory in recalled)


def _verdict(steps: Sequence[Step], memory: Memory, *, shared: frozenset[str]) -> Verdict:
    left = set(gist(memory.content)) - shared
    needed = min(LEAST_REUSED, len(left))
    reused: set[str] = set()
    for at, step in enumerate(steps):
        if step.kind in ("user", "tool_return"):
            left -= set(gist(step.text))
            continue
        if step.kind == "briefing":
            continue
        used = left & set(gist(f"{step.tool or ''} {step.text}"))
        if used and _corrected_after(steps, at, used):
            said = f"the user put the agent right after it used: {_listed(used)}"
            return _of(memory, kind="misleading", reason=said)
        reused |= used
    if needed and len(reused) >= needed:
        return _of(memory, kind="helpful", reason=f"the agent reused: {_listed(reused)}")
    return _of(memory, kind="unused", reason="")


def _of(memory: Memory, *, kind: VerdictKind, reason: str) -> Verdict:
    return Verdict(memory_id=memory.memory_id, kind=kind, source="rules", reason=reason)


def _listed(terms: set[str]) -> str:
    return ", ".join(sorted(terms)[:SHOWN_TERMS])


def _corrected_after(steps: Sequence[Step], at: int, used: set[str]) -> bool:
    """Whether the next words of the user correct what was said with these terms."""
    for later in range(at + 1, len(steps)):
        if steps[later].kind == "user":
            named = bool(used & set(gist(steps[later].text)))
            return is_correction(steps[later].text) and (named or later == at + 1)
    return False


def _shared_terms(recalled: Sequence[Memory]) -> frozenset[str]:
    """Return terms that recalled memories of more than one origin have.

    An episode and the lessons drawn from it are one origin: they tell of the same thing.
    """
    by_origin: dict[str, set[str]] = {}
    for memory in recalled:
        origin = by_origin.setdefault(memory.episode_id or memory.memory_id, set())
        origin |= set(gist(memory.content))
    counted = Counter(term for terms in by_origin.values() for term in terms)
    return frozenset(term for term, origins in counted.items() if origins > 1)
