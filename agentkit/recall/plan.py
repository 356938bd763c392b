"""Exact or approximate: when a scope is scanned, and how many keys the index is asked for."""

from collections.abc import Sequence
from typing import Literal

from agentkit.policy.recall import RecallPolicy
from agentkit.recall.filters import Filter, passing
from agentkit.recall.index import ScopeIndex

PlanChoice = Literal["auto", "exact", "approximate"]

# What a briefing and a page of results hold.
TOP = 10
# Three more questions reach from 1,000 keys to `most_keys`.
_WIDER = 4


def fits(size: int | None, *, policy: RecallPolicy) -> bool | None:
    """Return whether a scope is small enough to be scanned.

    Args:
        size: Memories of it that are held in memory, or None where it is not held.
        policy: Says how many are scanned.

    Returns:
        None where only the database can tell.
    """
    return None if size is None else size <= policy.plan.exact_up_to


def wanted(top_k: int, *, policy: RecallPolicy) -> int:
    """Return how many memories must pass the filter: what comes back, and the pool of the log.

    Args:
        top_k: Number of hits wanted, at least 1.
        policy: Size of the pool.
    """
    return max(top_k, policy.pool_final)


def first_fetch(top_k: int, *, policy: RecallPolicy) -> int:
    """Return how many keys the index is asked for first.

    Args:
        top_k: Number of hits wanted, at least 1.
        policy: How many times that is asked for.
    """
    return policy.plan.over_fetch * wanted(top_k, policy=policy)


def next_fetch(fetch: int, *, policy: RecallPolicy) -> int | None:
    """Return how many keys to ask for when too few memories passed, or None at the bound.

    Args:
        fetch: How many were asked for.
        policy: The bound.
    """
    return min(fetch * _WIDER, policy.plan.most_keys) if fetch < policy.plan.most_keys else None


def count_matching(index: ScopeIndex, filter_: Filter, *, now_s: float) -> int:
    """Return how many memories pass a filter, tags included and none of them dropped.

    Args:
        index: The memories.
        filter_: The filter.
        now_s: Now, seconds since 1970 UTC.
    """
    with index.lock:
        return int(passing(index, filter_, now_s=now_s, relax_below=0).mask.sum())


def overlap(exact: Sequence[str], approximate: Sequence[str]) -> float | None:
    """Return the share of the exact ten best that the approximate ten best hold, in [0, 1].

    Args:
        exact: Memory ids, best first.
        approximate: Memory ids, best first.

    Returns:
        None where the exact scan found nothing.
    """
    best = frozenset(exact[:TOP])
    return len(best.intersection(approximate[:TOP])) / len(best) if best else None
