"""Prototypes hang on the memories there are, whatever went before, and on nobody else's."""

from dataclasses import dataclass

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from agentkit.policy.recall import TagPolicy
from agentkit.recall import Prototypes, ScopeIndex
from agentkit.records import IntentTag, MemoryEntry, ScopeChanges, Tag
from tests.recall_scope import memory, unit

TAGS = (Tag("tool", "csv"), Tag("tool", "git"), Tag("domain", "law"), Tag("domain", "art"))
LEAST_EXAMPLES = 2
# Everything that can be told apart is told.
POLICY = TagPolicy(least_cosine=-1.0, softness_cosine=0.5, least_share=1e-6)
ASKED = (unit(1, 0.2, 0), unit(0, 1, -0.3), unit(0.4, 0.4, 0.9))

vectors = st.tuples(*[st.floats(-3, 3, width=16)] * 3).filter(lambda v: np.linalg.norm(v) > 0.1)


@dataclass(frozen=True)
class Change:
    """A memory written, or with no entry forgotten."""

    memory_id: str
    entry: MemoryEntry | None

    @property
    def tags(self) -> frozenset[Tag]:
        return frozenset() if self.entry is None else frozenset(self.entry.tags)


@st.composite
def changes(draw: st.DrawFn) -> Change:
    memory_id = f"m{draw(st.integers(0, 5))}"
    if draw(st.integers(0, 3)) == 0:
        return Change(memory_id, None)
    numbers = draw(st.none() | vectors)
    entry = memory(
        memory_id,
        vector=None if numbers is None else unit(*numbers),
        tags=tuple(sorted(draw(st.sets(st.sampled_from(TAGS))))),
        agent_id=draw(st.sampled_from([None, None, "planner", "other"])),
    )
    return Change(memory_id, entry)


def found(prototypes: Prototypes) -> list[tuple[IntentTag, ...]]:
    return [prototypes.find(vector, policy=POLICY) for vector in ASKED]


def seen_by(index: ScopeIndex, agent_id: str | None, earlier: Prototypes | None) -> Prototypes:
    return Prototypes(
        index.tag_examples(agent_id=agent_id), least_examples=LEAST_EXAMPLES, earlier=earlier
    )


@given(history=st.lists(changes(), max_size=25))
@settings(deadline=None, max_examples=60)
def test_prototypes_kept_level_are_those_of_the_memories_that_are_left(
    history: list[Change],
) -> None:
    index, kept = ScopeIndex(), Prototypes()
    live: dict[str, MemoryEntry] = {}
    for revision, change in enumerate(history, start=1):
        before = live.pop(change.memory_id, None)
        if change.entry is not None:
            live[change.memory_id] = change.entry
        index.apply(
            ScopeChanges(
                revision=revision,
                complete=False,
                entries=() if change.entry is None else (change.entry,),
                removed=(change.memory_id,),
            )
        )
        kept = seen_by(index, "planner", kept)
        touched = change.tags | frozenset(before.tags if before is not None else ())
        assert kept.computed <= len(touched)
    anew = ScopeIndex()
    others_never_were = [one for one in live.values() if one.agent_id != "other"]
    anew.apply(ScopeChanges(revision=1, complete=True, entries=tuple(others_never_were[::-1])))
    assert found(kept) == found(seen_by(anew, "planner", None))


@given(count=st.integers(1, 40), seed=st.integers(0, 9_999))
@settings(deadline=None, max_examples=40)
def test_a_sum_of_examples_depends_on_no_order(count: int, seed: int) -> None:
    draws = np.random.default_rng(seed)
    # Numbers of very different size are those that a sum of floats rounds.
    sizes = 10.0 ** draws.uniform(-9.0, 0.0, (count, 8))
    held = [unit(*numbers) for numbers in (draws.normal(size=(count, 8)) * sizes).tolist()]
    sums: list[list[float]] = []
    for places in (range(count), draws.permutation(count).tolist()):
        index = ScopeIndex()
        for revision, at in enumerate(places, start=1):
            entry = memory(f"m{at}", vector=held[at], tags=TAGS[:1])
            index.apply(ScopeChanges(revision=revision, complete=False, entries=(entry,)))
        (examples,) = index.tag_examples()
        sums.append(examples.total.tolist())
    assert sums[0] == sums[1]
