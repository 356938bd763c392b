"""What the index keeps between queries, and cosines that two threads share."""

import numpy as np

from agentkit.policy.decay import DecayPolicy
from agentkit.policy.recall import RecallPolicy
from agentkit.recall.keys import Keys
from agentkit.recall.standing import standing_of
from agentkit.records import KeyEntry, ScopeChanges, Tag
from agentkit.text import term_counts
from tests.recall_scope import holding, memory, unit

CSV = Tag("tool", "csv")
MANY = 16_384


def test_what_was_derived_is_kept_until_the_next_change() -> None:
    index = holding(memory("a", "red", unit(1, 0), tags=(CSV,)))
    made: list[int] = []

    def make() -> int:
        made.append(len(index))
        return len(index)

    assert [index.derived("size", make), index.derived("size", make)] == [1, 1]
    entry = memory("b", "blue", unit(0, 1), tags=(CSV,))
    index.apply(ScopeChanges(revision=2, complete=False, entries=(entry,)))
    assert index.derived("size", make) == 2
    assert made == [1, 2]
    assert index.tag_mask(CSV).tolist() == [True, True]
    assert index.visible_to(None).tolist() == [True, True]


def test_the_index_keeps_a_bounded_number_of_what_was_derived() -> None:
    index = holding(memory("a", "red", unit(1, 0)))
    made: list[int] = []

    def make() -> list[int]:
        made.append(1)
        return made

    for number in range(1_000):
        index.derived(number, make)
    for number in range(1_000):
        index.derived(number, make)
    assert len(made) == 2_000, "the oldest were let go"


def test_another_policy_has_a_standing_of_its_own() -> None:
    index = holding(memory("a", "red", unit(1, 0), confidence=0.25, demoted=True))
    policy, decay = RecallPolicy(), DecayPolicy()
    kept = standing_of(index, policy=policy, decay=decay)
    assert standing_of(index, policy=policy, decay=decay) is kept
    other = RecallPolicy(demoted_weight=1.0)
    lighter = standing_of(index, policy=other, decay=decay)
    assert lighter.held[0] * policy.demoted_weight == kept.held[0]


def test_counting_recalls_moves_the_standing_where_they_lengthen_the_half_life() -> None:
    index = holding(memory("a", "red", unit(1, 0)))
    decay, policy = DecayPolicy(boost_on="recalled"), RecallPolicy()
    before = standing_of(index, policy=policy, decay=decay).half_life_days[0]
    index.count_recalled(["a"], at_s=0.0)
    assert standing_of(index, policy=policy, decay=decay).half_life_days[0] > before


def test_a_large_scope_gives_each_row_the_cosine_that_it_has_alone() -> None:
    rng = np.random.default_rng(4)
    rows = rng.standard_normal((MANY, 24)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    terms = term_counts("red")
    keys = Keys()
    keys.add_all(
        [
            KeyEntry(key_id=str(at), kind="content", terms=terms, vector=row)
            for at, row in enumerate(rows)
        ]
    )
    found = keys.cosines(rows[7])
    alone = Keys()
    alone.add_all([KeyEntry(key_id="x", kind="content", terms=terms, vector=rows[MANY - 3])])
    assert found[MANY - 3] == alone.cosines(rows[7])[0]
    assert int(found.argmax()) == 7
    assert np.allclose(found, rows @ rows[7], atol=1e-6)
