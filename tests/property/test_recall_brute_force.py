"""In scan mode the answer is what brute force in plain Python gives, whatever is asked and held."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import isnan

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from agentkit.policy.decay import DecayPolicy
from agentkit.policy.recall import RecallPolicy, TagPolicy
from agentkit.recall import RankQuery, ScopeIndex, rank
from agentkit.records import (
    MEMORY_TYPES,
    KeyEntry,
    MemoryEntry,
    Normalisers,
    ScopeChanges,
    Tag,
    TimeRange,
)
from agentkit.text import term_counts
from tests.recall_scope import DAY_S, NOW_S, unit

NAN = float("nan")
TAGS = (Tag("tool", "csv"), Tag("tool", "git"), Tag("domain", "law"))
POLICY = RecallPolicy(tags=TagPolicy(relax_below=0))
DECAY = DecayPolicy(tags={"tool:csv": 5.0, "domain:law": None}, default_half_life_days=40.0)
QUERY = unit(3, 2, 1)

vectors = st.none() | st.tuples(*[st.integers(-3, 3)] * 3).filter(any)
# Both sides of now, and now itself.
days = st.sampled_from([-900.0, -30.0, -1.0, 0.0, 1.0, 9.0]) | st.floats(-900, 9)
times = st.just(NAN) | days.map(lambda at: NOW_S + at * DAY_S)


@dataclass(frozen=True, slots=True)
class Scored:
    """What brute force makes of one memory."""

    memory_id: str
    score: float
    created_s: float

    @property
    def order(self) -> tuple[float, float, str]:
        return -round(self.score, 9), -self.created_s, self.memory_id


@st.composite
def memories(draw: st.DrawFn) -> tuple[MemoryEntry, ...]:
    return tuple(draw(memory(place)) for place in range(draw(st.integers(0, 14))))


@st.composite
def memory(draw: st.DrawFn, place: int) -> MemoryEntry:
    episode = draw(st.sampled_from([None, "e1", "e1", "e2"]))
    drawn = draw(st.lists(vectors, min_size=1, max_size=2))
    return MemoryEntry(
        memory_id=f"m{place:02d}",
        agent_id=draw(st.sampled_from([None, None, None, "planner"])),
        memory_type=draw(st.sampled_from(["episodic", *MEMORY_TYPES])),
        status=draw(st.sampled_from(["active", "active", "pending", "disputed", "archived"])),
        tags=tuple(sorted(draw(st.sets(st.sampled_from(TAGS))))),
        confidence=draw(st.sampled_from([0.05, 0.5, 0.95])),
        trust=draw(st.sampled_from([0.5, 1.0])),
        permanent=draw(st.booleans()),
        demoted=draw(st.booleans()),
        used_count=draw(st.integers(0, 50)),
        recalled_count=draw(st.integers(0, 500)),
        created_s=NOW_S + draw(days) * DAY_S,
        edited_s=draw(times),
        used_s=draw(times),
        recalled_s=draw(times),
        verified_s=draw(times),
        valid_from_s=draw(st.just(NAN) | times),
        valid_to_s=draw(st.just(NAN) | times),
        episode_id=episode,
        # Steps two apart are neighbours still, those three apart are none.
        position=place * draw(st.integers(1, 2)) if episode else -1,
        keys=tuple(
            KeyEntry(
                key_id=f"m{place:02d}:{at}",
                kind="cue" if at else "content",
                terms=term_counts(""),
                vector=None if numbers is None else unit(*numbers),
            )
            for at, numbers in enumerate(drawn)
        ),
    )


@st.composite
def queries(draw: st.DrawFn) -> RankQuery:
    first = draw(st.none() | st.integers(-900, 5))
    last = draw(st.none() | st.integers(6, 20) | st.integers(-5, 5))
    ends = [
        None if at is None else datetime.fromtimestamp(NOW_S + at * DAY_S, UTC)
        for at in (first, last)
    ]
    is_range = ends != [None, None] and (None in ends or (first or 0) < (last or 0))
    return RankQuery(
        text="",
        vector=QUERY,
        agent_id=draw(st.sampled_from([None, "planner", "other"])),
        memory_types=draw(st.sampled_from([(), (), ("episodic",), ("semantic", "procedural")])),
        top_k=draw(st.integers(1, 15)),
        min_confidence=draw(st.sampled_from([0.0, 0.5])),
        tags=tuple(draw(st.sets(st.sampled_from(TAGS), max_size=2))),
        match=draw(st.sampled_from(["all", "any"])),
        include_archived=draw(st.booleans()),
        within=TimeRange(*ends) if is_range else None,
    )


def passes(entry: MemoryEntry, query: RankQuery) -> bool:
    """Whether a memory may come back at all."""
    carried = [tag in entry.tags for tag in query.tags]
    created_at = datetime.fromtimestamp(entry.created_s, UTC)
    return (
        entry.agent_id in (None, query.agent_id)
        and (entry.status != "archived" or query.include_archived)
        and (not query.memory_types or entry.memory_type in query.memory_types)
        and entry.confidence >= query.min_confidence
        and (isnan(entry.valid_from_s) or entry.valid_from_s <= NOW_S)
        and (isnan(entry.valid_to_s) or entry.valid_to_s > NOW_S)
        and (not carried or (all(carried) if query.match == "all" else any(carried)))
        and (query.within is None or created_at in query.within)
    )


def cosine(key: KeyEntry) -> float | None:
    return None if key.vector is None else float(np.einsum("i,i->", key.vector, QUERY))


def is_placed(entry: MemoryEntry) -> bool:
    return entry.memory_type == "episodic" and entry.episode_id is not None


def meaning(entry: MemoryEntry, passing: list[MemoryEntry], everyone: list[MemoryEntry]) -> float:
    """The best cosine of a memory's keys, its content taken together with what is around it."""
    own = [cosine(key) for key in entry.keys]
    if own[0] is not None and is_placed(entry):
        placed = sorted(
            (one for one in everyone if is_placed(one) and one.episode_id == entry.episode_id),
            key=lambda one: (one.position, one.memory_id),
        )
        here = placed.index(entry)
        total, whole = own[0], 1.0
        for other in placed[max(here - 2, 0) : here] + placed[here + 1 : here + 3]:
            apart = abs(other.position - entry.position)
            share = {1: POLICY.neighbours.next, 2: POLICY.neighbours.second}.get(apart, 0.0)
            theirs = cosine(other.keys[0])
            if other in passing and theirs is not None:
                total, whole = total + share * theirs, whole + share
        own[0] = total / whole
    return max(one for one in own if one is not None)


def half_life_days(entry: MemoryEntry) -> float:
    named = [DECAY.tags[str(tag)] for tag in entry.tags if str(tag) in DECAY.tags]
    base = DECAY.types.get(entry.memory_type, DECAY.default_half_life_days)
    if named:
        base = None if None in named else max(one for one in named if one is not None)
    if base is None or entry.permanent:
        return float("inf")
    boosted = base * (1 + DECAY.boost * float(np.log(1 + entry.used_count)))
    return min(boosted, max(base, DECAY.longest_half_life_days))


def unused(entry: MemoryEntry, share: float) -> float:
    """How far a memory sinks for being recalled without use."""
    expected = entry.recalled_count * share
    if entry.permanent or expected <= entry.used_count + 1:
        return 1.0
    return max((entry.used_count + 1) / expected, POLICY.unused_weight)


def weight(entry: MemoryEntry, share: float) -> float:
    """Everything that the sum of the arms is multiplied by."""
    starts = (entry.created_s, entry.edited_s, entry.used_s, entry.verified_s)
    age_days = max(0.0, (NOW_S - max(at for at in starts if not isnan(at))) / DAY_S)
    left = DECAY.floor + (1 - DECAY.floor) * 0.5 ** (age_days / half_life_days(entry))
    return (
        left
        * entry.trust
        * entry.confidence**POLICY.confidence_exponent
        * (POLICY.demoted_weight if entry.demoted else 1.0)
        * (POLICY.disputed_weight if entry.status == "disputed" else 1.0)
        * unused(entry, share)
    )


def brute_force(
    entries: tuple[MemoryEntry, ...], query: RankQuery, normalisers: Normalisers
) -> list[Scored]:
    """Every memory that may come back and that something speaks for, best first."""
    passing = [entry for entry in entries if passes(entry, query)]
    meant = {
        entry.memory_id: meaning(entry, passing, list(entries))
        for entry in passing
        if any(key.vector is not None for key in entry.keys)
    }
    low, high = normalisers.cosine_low, normalisers.cosine_high
    seen = [entry for entry in entries if entry.agent_id in (None, query.agent_id)]
    recalls = sum(entry.recalled_count for entry in seen)
    used = sum(entry.used_count for entry in seen)
    share = min(used / recalls, 1.0) if recalls else 0.0
    found: list[Scored] = []
    for entry in passing:
        at = meant.get(entry.memory_id)
        dense = 0.0 if at is None or high <= low else min(max((at - low) / (high - low), 0), 1)
        shared = len(set(entry.tags) & set(query.tags)) / max(len(query.tags), 1)
        base = normalisers.w_dense * dense + normalisers.w_tag * shared
        if (at is not None and high > low) or shared:
            found.append(Scored(entry.memory_id, base * weight(entry, share), entry.created_s))
    return sorted(found, key=lambda one: one.order)


@given(entries=memories(), query=queries())
@settings(deadline=None, max_examples=100)
def test_the_answer_is_the_top_of_what_brute_force_finds(
    entries: tuple[MemoryEntry, ...], query: RankQuery
) -> None:
    index = ScopeIndex()
    index.apply(ScopeChanges(revision=1, complete=True, entries=entries))
    found = rank(index, query, policy=POLICY, decay=DECAY, now_s=NOW_S)
    wanted = brute_force(entries, query, found.normalisers)
    scores = {one.memory_id: one.score for one in wanted}
    logged = {candidate.memory_id: candidate.score for candidate in found.pool}
    assert logged.keys() == scores.keys()
    for memory_id, score in scores.items():
        assert abs(logged[memory_id] - score) < 1e-6
    # Equal to the last digit in one way of adding up may differ by one in another.
    exact = [replace(one, score=logged[one.memory_id]) for one in wanted]
    by_score = sorted(exact, key=lambda one: one.order)
    assert list(found.memory_ids) == [one.memory_id for one in by_score[: query.top_k]]
