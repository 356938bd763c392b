"""Filter first, then rank: which memories a query may see at all."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from agentkit.recall.columns import STATUSES, BoolArray
from agentkit.recall.index import ScopeIndex
from agentkit.recall.query import RankQuery
from agentkit.records import MEMORY_TYPES, MemoryStatus, MemoryType, Tag, TimeRange


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """What a memory must be to be ranked.

    Attributes:
        agent_id: Whose view; None sees only what belongs to no agent.
        memory_types: Types wanted, or empty for all.
        min_confidence: Memories below are left out, in [0, 1].
        include_archived: Whether archived memories pass.
        tags: Tags that must be carried.
        match: All of them, or any.
        within: Only what was created in this time, or None.
    """

    agent_id: str | None = None
    memory_types: tuple[MemoryType, ...] = ()
    min_confidence: float = 0.0
    include_archived: bool = False
    tags: tuple[Tag, ...] = ()
    match: Literal["all", "any"] = "all"
    within: TimeRange | None = None

    @classmethod
    def of(cls, query: RankQuery) -> "Filter":
        """Return the filter of a query."""
        return cls(
            agent_id=query.agent_id,
            memory_types=query.memory_types,
            min_confidence=query.min_confidence,
            include_archived=query.include_archived,
            tags=query.tags,
            match=query.match,
            within=query.within,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Filtered:
    """What passed.

    Attributes:
        mask: shape (slots,), bool.
        relaxations: Tag filters that were dropped, in order, in words.
    """

    mask: BoolArray
    relaxations: tuple[str, ...] = ()


def passing(index: ScopeIndex, wanted: Filter, *, now_s: float, relax_below: int) -> Filtered:
    """Return which memories pass a filter, dropping tag filters that leave too little.

    Only tags are ever dropped, facet by facet, the scarcest first; never what keeps scopes,
    agents, types, status, confidence and validity apart.

    Args:
        index: The memories.
        wanted: The filter.
        now_s: Now, seconds since 1970 UTC.
        relax_below: Tags are dropped while fewer than this many pass; 0 never drops one.
    """
    base = _untagged(index, wanted, now_s=now_s)
    if not wanted.tags:
        return Filtered(base)
    if wanted.match == "any":
        mask = base & _any_of(index, wanted.tags)
        if int(mask.sum()) >= relax_below:
            return Filtered(mask)
        return Filtered(base, (_dropped(wanted.tags, left=int(mask.sum())),))
    return _all_of(index, wanted.tags, base=base, relax_below=relax_below)


def count_passing(index: ScopeIndex, wanted: Filter, *, now_s: float) -> int:
    """Return how many memories pass a filter of which nothing but its tags may be dropped.

    Args:
        index: The memories.
        wanted: The filter; its tags are not looked at.
        now_s: Now, seconds since 1970 UTC.
    """
    with index.lock:
        return int(_untagged(index, wanted, now_s=now_s).sum())


def _all_of(
    index: ScopeIndex, tags: Sequence[Tag], *, base: BoolArray, relax_below: int
) -> Filtered:
    carried: dict[str, BoolArray] = {}
    for tag in tags:
        mask = index.tag_mask(tag)
        carried[tag.facet] = carried[tag.facet] & mask if tag.facet in carried else mask
    relaxations: list[str] = []
    while True:
        passed = base.copy()
        for mask in carried.values():
            passed &= mask
        if not carried or int(passed.sum()) >= relax_below:
            return Filtered(passed, tuple(relaxations))
        scarcest = min(carried, key=lambda facet: (int((base & carried[facet]).sum()), facet))
        del carried[scarcest]
        gone = [tag for tag in tags if tag.facet == scarcest]
        relaxations.append(_dropped(gone, left=int(passed.sum())))


def _dropped(tags: Sequence[Tag], *, left: int) -> str:
    names = ", ".join(map(str, tags))
    found = "no memory was left" if left == 0 else f"only {left} were left"
    return f"dropped the filter {names}: with it {found}"


def _any_of(index: ScopeIndex, tags: Sequence[Tag]) -> BoolArray:
    mask = np.zeros(index.slots, dtype=np.bool_)
    for tag in tags:
        mask |= index.tag_mask(tag)
    return mask


def _untagged(index: ScopeIndex, wanted: Filter, *, now_s: float) -> BoolArray:
    columns = index.columns
    agent_id, archived = wanted.agent_id, wanted.include_archived
    mask = index.derived(
        ("shown", agent_id, archived), lambda: _shown(index, agent_id, archived=archived)
    )
    if wanted.memory_types:
        types = [MEMORY_TYPES.index(name) for name in wanted.memory_types]
        mask = mask & np.isin(columns.memory_type, types)
    if wanted.min_confidence > 0.0:
        mask = mask & (columns.confidence >= wanted.min_confidence)
    if index.derived("dated", lambda: _Dated.of(index)).any:
        # NaN means unset, and every comparison with it is False.
        mask = mask & ~(columns.valid_from_s > now_s) & ~(columns.valid_to_s <= now_s)
    if wanted.within is not None:
        mask = mask & _created_in(index, wanted.within)
    return mask


def _shown(index: ScopeIndex, agent_id: str | None, *, archived: bool) -> BoolArray:
    """What an agent sees of the memories that have not lost their place."""
    seen: tuple[MemoryStatus, ...] = ("pending", "active", "disputed")
    if archived:
        seen = (*seen, "archived")
    shown = np.isin(index.columns.status, [STATUSES.index(status) for status in seen])
    return index.visible_to(agent_id) & shown


@dataclass(frozen=True, slots=True)
class _Dated:
    """Whether any memory is true for a time only."""

    any: bool

    @classmethod
    def of(cls, index: ScopeIndex) -> "_Dated":
        dates = index.columns.valid_from_s, index.columns.valid_to_s
        return cls(not all(bool(np.isnan(column).all()) for column in dates))


def _created_in(index: ScopeIndex, within: TimeRange) -> BoolArray:
    created_s = index.columns.created_s
    mask = np.ones(len(created_s), dtype=np.bool_)
    if within.start is not None:
        mask &= created_s >= within.start.timestamp()
    if within.end is not None:
        mask &= created_s < within.end.timestamp()
    return mask
