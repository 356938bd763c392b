"""What episodic memories take from their neighbours, beside a plain reckoning of the same."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentkit.policy.recall import LexicalPolicy, NeighbourPolicy
from agentkit.recall import ScopeIndex
from agentkit.recall.arms import measure_arms
from agentkit.records import KeyEntry, MemoryEntry, ScopeChanges
from agentkit.text import term_counts
from tests.recall_scope import memory

LEXICAL, SHARES = LexicalPolicy(), NeighbourPolicy(next=0.5, second=0.25)
QUERY = "valve pump"
WORDS = ("valve", "pump", "order", "shelf")


@dataclass(frozen=True, slots=True)
class Turn:
    """A memory of one episode, told so that a test can reckon with it."""

    position: int
    words: tuple[str, ...]
    angle: float | None
    seen: bool


turns = st.lists(
    st.builds(
        Turn,
        st.integers(0, 6),
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(tuple),
        st.none() | st.floats(0.0, 3.0),
        st.booleans(),
    ),
    min_size=1,
    max_size=7,
    unique_by=lambda turn: turn.position,
)


def entry(turn: Turn) -> MemoryEntry:
    vector = None
    if turn.angle is not None:
        vector = np.array([math.cos(turn.angle), math.sin(turn.angle)], dtype=np.float32)
    key = KeyEntry(
        key_id=f"k{turn.position}",
        kind="content",
        terms=term_counts(" ".join(turn.words)),
        vector=vector,
    )
    told = memory(
        f"t{turn.position}", memory_type="episodic", episode_id="e", position=turn.position
    )
    return told._replace(keys=(key,))


def share(one: Turn, other: Turn) -> float:
    by_distance = {0: 1.0, 1: SHARES.next, 2: SHARES.second}
    if one is not other and not (one.seen and other.seen):
        return 0.0
    return by_distance.get(abs(one.position - other.position), 0.0)


def expected_bm25(one: Turn, talk: list[Turn]) -> float:
    average = sum(len(turn.words) for turn in talk) / len(talk)
    around = [(turn, share(one, turn)) for turn in talk]
    length = sum(part * len(turn.words) for turn, part in around) / sum(p for _, p in around)
    pace = LEXICAL.k1 * (1.0 - LEXICAL.b + LEXICAL.b * length / average)
    total = 0.0
    for word in QUERY.split():
        holding = sum(word in turn.words for turn in talk)
        idf = math.log1p((len(talk) - holding + 0.5) / (holding + 0.5))
        count = sum(part * turn.words.count(word) for turn, part in around)
        total += idf * (LEXICAL.k1 + 1.0) * count / (count + pace)
    return total


def expected_cosine(one: Turn, talk: list[Turn]) -> float:
    if one.angle is None:
        return 0.0
    around = [(math.cos(t.angle), share(one, t)) for t in talk if t.angle is not None]
    return sum(cosine * part for cosine, part in around) / sum(part for _, part in around)


@given(talk=turns, seed=st.integers(0, 99))
@settings(deadline=None, max_examples=60)
def test_neighbours_count_as_if_their_shares_stood_in_the_memory(
    talk: list[Turn], seed: int
) -> None:
    order = np.random.default_rng(seed).permutation(len(talk))
    index = ScopeIndex()
    entries = tuple(entry(talk[int(at)]) for at in order)
    index.apply(ScopeChanges(revision=1, complete=True, entries=entries))
    by_id = {f"t{turn.position}": turn for turn in talk}
    arms = measure_arms(
        index,
        term_counts(QUERY),
        np.array([1.0, 0.0], dtype=np.float32),
        seen=np.array([by_id[memory_id].seen for memory_id in index.ids], dtype=np.bool_),
        lexical=LEXICAL,
        neighbours=SHARES,
    )
    for slot, memory_id in enumerate(index.ids):
        turn = by_id[memory_id]
        if not turn.seen:
            continue
        assert arms.placed[slot]
        assert arms.context_bm25[slot] == pytest.approx(expected_bm25(turn, talk))
        assert arms.context_cosine[slot] == pytest.approx(expected_cosine(turn, talk), abs=1e-6)
