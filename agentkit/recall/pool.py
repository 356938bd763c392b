"""The pool of one recall: who is in it, where they stand, and everything that is logged of them."""

from collections.abc import Callable, Sequence
from typing import overload

import numpy as np

from agentkit.recall.columns import STATUSES, BoolArray, Float64Array, Int64Array
from agentkit.recall.explain import why_not
from agentkit.recall.floor import why_refused
from agentkit.recall.index import ScopeIndex
from agentkit.recall.query import RankQuery
from agentkit.recall.scan import Scan
from agentkit.recall.score import FeatureTable
from agentkit.recall.top import least_of_top
from agentkit.records import MEMORY_TYPES, Candidate, Features


class Pool(Sequence[Candidate]):
    """Candidates, each put together when it is first looked at.

    What is known of them was read out of the index already, so later changes do not show. Most
    are looked at by the log alone, which is written beside the caller: putting all of them
    together at once took half of the time of ranking 2,000 memories.
    """

    __slots__ = ("_made", "_make")

    def __init__(self, number: int, make: Callable[[int], Candidate]) -> None:
        """Put nothing together yet.

        Args:
            number: How many there are.
            make: Puts together the one at a place, from 0.
        """
        self._make = make
        self._made: list[Candidate | None] = [None] * number

    def __len__(self) -> int:
        """Number of candidates."""
        return len(self._made)

    @overload
    def __getitem__(self, place: int) -> Candidate: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Candidate, ...]: ...
    def __getitem__(self, place: int | slice) -> Candidate | tuple[Candidate, ...]:
        """Return the candidate at a place, or those of several."""
        places = range(len(self._made))[place]
        if isinstance(places, range):
            return tuple(self._at(one) for one in places)
        return self._at(places)

    def __eq__(self, other: object) -> bool:
        """Whether another sequence holds equal candidates in the same order."""
        if isinstance(other, Pool):
            return tuple(self) == tuple(other)
        return tuple(self) == other

    def __hash__(self) -> int:
        """Return the hash of the tuple of them."""
        return hash(tuple(self))

    def _at(self, place: int) -> Candidate:
        made = self._made[place]
        if made is None:
            made = self._made[place] = self._make(place)
        return made


def best_places(
    index: ScopeIndex, scanned: Scan, *, limit: int, leaving_out: BoolArray | None = None
) -> list[int]:
    """Return the best by score, then newest, then id.

    Args:
        index: The memories.
        scanned: Their scores.
        limit: Most places wanted, at least 0.
        leaving_out: shape (n,), bool: what must not be among them, or None.

    Returns:
        Positions in the columns of the scan, best first.
    """
    among = scanned.found if leaving_out is None else scanned.found & ~leaving_out
    return _top(index, scanned, scanned.score, among=among, limit=limit)


def build_pool(
    index: ScopeIndex,
    scanned: Scan,
    best: Sequence[int],
    *,
    hits: Sequence[int],
    below: BoolArray,
    query: RankQuery,
    arm_limit: int,
) -> Pool:
    """Return the best by final score, the hits, and those of either arm not among them, by rank.

    Args:
        index: The memories.
        scanned: Their scores.
        best: Positions of the best, as `best_places` returns them.
        hits: Positions of what is returned to the caller, best first.
        below: shape (n,), bool: what is below the floor.
        query: What was asked.
        arm_limit: How many of each arm are added, at least 0.
    """
    ranks = {at: rank for rank, at in enumerate(best, start=1)}
    words = scanned.context_bm25
    others = dict.fromkeys(at for at in hits if at not in ranks)
    for values, among in ((scanned.context_cosine, scanned.has_vector), (words, words > 0.0)):
        top = _top(index, scanned, values, among=among, limit=arm_limit)
        others.update(dict.fromkeys(at for at in top if at not in ranks))
    behind = _ranks(index, scanned, list(others))
    in_order = [*best, *sorted(behind, key=behind.__getitem__)]
    ranks.update(behind)
    last = float(scanned.score[hits[-1]]) if hits else 0.0
    returned = frozenset(hits)
    at: Int64Array = np.array(in_order, dtype=np.int64)
    all_ids = index.ids
    slots: list[int] = scanned.slots[at].tolist()
    ids = [all_ids[slot] for slot in slots]
    table = scanned.table_of(at)
    features = _features(index, scanned, at, table)
    factors = scanned.factors_of(table).rows()
    refused: list[bool] = below[at].tolist()

    def make(place: int) -> Candidate:
        rank, known, held = ranks[in_order[place]], features(place), factors(place)
        is_hit = in_order[place] in returned
        reason = ""
        if not is_hit and refused[place]:
            reason = why_refused(known, query=query)
        elif not is_hit:
            reason = why_not(held, rank=rank, top_k=query.top_k, last_score=last)
        return Candidate(
            memory_id=ids[place],
            rank=rank,
            features=known,
            factors=held,
            returned=is_hit,
            why_not=reason,
        )

    return Pool(len(ids), make)


def _top(
    index: ScopeIndex, scanned: Scan, values: Float64Array, *, among: BoolArray, limit: int
) -> list[int]:
    """Positions of the greatest values, ties by newest, then id."""
    found = np.flatnonzero(among)
    if limit < 1:
        return []
    if len(found) > limit:
        chosen = values if len(found) == len(values) else values[found]
        found = found[chosen >= least_of_top(chosen, limit)]
    places: list[int] = found.tolist()
    downwards: list[float] = (-values[found]).tolist()
    newest: list[float] = (-scanned.created_s[found]).tolist()
    all_ids = index.ids
    slots: list[int] = scanned.slots[found].tolist()
    ids = [all_ids[slot] for slot in slots]
    in_order = sorted(zip(downwards, newest, ids, places, strict=True))
    return [place for *_, place in in_order[:limit]]


def _ranks(index: ScopeIndex, scanned: Scan, places: Sequence[int]) -> dict[int, int]:
    """Ranks of some memories in the whole filtered scope, from 1."""
    if not places:
        return {}
    scores = scanned.score[list(places)]
    # Sorting whatever reaches them takes a third of the time of placing each between their levels.
    reaching = np.sort(scanned.score[scanned.score >= scores.min()])
    upto = np.searchsorted(reaching, scores, side="right")
    ahead: list[int] = (len(reaching) - upto).tolist()
    tied: list[int] = (upto - np.searchsorted(reaching, scores, side="left")).tolist()
    return {
        at: 1 + before + (_ahead_among_equals(index, scanned, at) if same > 1 else 0)
        for at, before, same in zip(places, ahead, tied, strict=True)
    }


def _ahead_among_equals(index: ScopeIndex, scanned: Scan, at: int) -> int:
    tied = scanned.score == scanned.score[at]
    newer = tied & (scanned.created_s > scanned.created_s[at])
    same = np.flatnonzero(tied & (scanned.created_s == scanned.created_s[at])).tolist()
    own = _id(index, scanned, at)
    return int(newer.sum()) + sum(_id(index, scanned, one) < own for one in same)


def _features(
    index: ScopeIndex, scanned: Scan, at: Int64Array, table: FeatureTable
) -> Callable[[int], Features]:
    """What is known of some memories; each column is read once, for all of them."""
    slots = scanned.slots[at]
    columns = index.columns
    placed: list[bool] = table.placed.tolist()
    around = table.context_cosine.tolist(), table.context_bm25.tolist()
    cosine, bm25 = table.cosine.tolist(), table.bm25.tolist()
    overlap, age = table.tag_overlap.tolist(), table.age_days.tolist()
    used, recalled = table.used.tolist(), table.recalled.tolist()
    confidence, trust = table.confidence.tolist(), table.trust.tolist()
    kind: list[int] = columns.memory_type[slots].tolist()
    status: list[int] = columns.status[slots].tolist()
    permanent, demoted = table.permanent.tolist(), table.demoted.tolist()
    has_vector: list[bool] = table.has_vector.tolist()
    matched = scanned.matched[at].tolist()
    tags = [index.tags(slot) for slot in slots.tolist()]
    episodes = [index.episode_id(slot) for slot in slots.tolist()]

    def make(row: int) -> Features:
        return Features(
            cosine=cosine[row],
            bm25=bm25[row],
            tag_overlap=overlap[row],
            age_days=age[row],
            used_count=used[row],
            recalled_count=recalled[row],
            confidence=confidence[row],
            trust=trust[row],
            memory_type=MEMORY_TYPES[kind[row]],
            status=STATUSES[status[row]],
            permanent=permanent[row],
            demoted=demoted[row],
            tags=tags[row],
            episode_id=episodes[row],
            has_vector=has_vector[row],
            matched=matched[row],
            context_cosine=around[0][row] if placed[row] else None,
            context_bm25=around[1][row] if placed[row] else None,
        )

    return make


def _id(index: ScopeIndex, scanned: Scan, at: int) -> str:
    return index.ids[int(scanned.slots[at])]
