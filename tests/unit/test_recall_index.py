"""The index of one scope: changes in and out, keys, postings, the cache."""

import numpy as np
import pytest

from agentkit.errors import InputError
from agentkit.policy.recall import LexicalPolicy, NeighbourPolicy
from agentkit.recall import IndexCache, ScopeIndex
from agentkit.recall.arms import Arms, measure_arms
from agentkit.records import Float32Array, KeyEntry, MemoryEntry, ScopeChanges, Tag
from agentkit.text import term_counts
from tests.recall_scope import BASE, holding, memory, unit

CSV = Tag("tool", "csv")


def arms_of(index: ScopeIndex, text: str, vector: Float32Array | None = None) -> Arms:
    return measure_arms(
        index,
        term_counts(text),
        vector,
        seen=index.columns.alive,
        lexical=LexicalPolicy(),
        neighbours=NeighbourPolicy(),
    )


def bm25(index: ScopeIndex, text: str) -> dict[str, float]:
    arms = arms_of(index, text)
    alive = index.columns.alive
    return {index.ids[slot]: float(arms.bm25[slot]) for slot in np.flatnonzero(alive).tolist()}


def test_a_removed_memory_is_gone_from_every_arm() -> None:
    index = holding(
        memory("a", "red pump", unit(1, 0)), memory("b", "red valve", unit(1, 0), tags=(CSV,))
    )
    index.apply(ScopeChanges(revision=2, complete=False, removed=("b", "unknown")))
    assert len(index) == 1
    assert index.revision == 2
    assert [near.memory_id for near in index.nearest(unit(1, 0), limit=9)] == ["a"]
    assert bm25(index, "valve") == {"a": 0.0}
    assert index.tag_examples() == ()


def test_a_changed_memory_replaces_what_was_held_of_it() -> None:
    index = holding(memory("a", "red pump", unit(1, 0)))
    index.apply(
        ScopeChanges(
            revision=2, complete=False, entries=(memory("a", "blue pump", unit(0, 1), tags=(CSV,)),)
        )
    )
    assert len(index) == 1
    assert bm25(index, "red") == {"a": 0.0}
    assert index.nearest(unit(0, 1), limit=1)[0].cosine == pytest.approx(1.0)
    assert [one.count for one in index.tag_examples()] == [1]


def test_an_overtaken_answer_is_ignored_and_a_complete_one_replaces_all() -> None:
    index = holding(memory("a"))
    index.apply(ScopeChanges(revision=5, complete=False, entries=(memory("b"),)))
    index.apply(ScopeChanges(revision=3, complete=False, removed=("a", "b")))
    assert (len(index), index.revision) == (2, 5)
    index.apply(ScopeChanges(revision=4, complete=True, entries=(memory("c"),)))
    assert (len(index), index.revision) == (1, 4)


def test_scores_do_not_depend_on_the_order_or_on_what_was_there_before() -> None:
    texts = [f"word{n % 7} word{n % 5} word{n % 3} tail" for n in range(200)]
    entries = [memory(f"m{n:03d}", text, unit(n + 1, 7, 3)) for n, text in enumerate(texts)]
    fresh = holding(*entries[:90][::-1])
    used = holding(*entries)
    used.apply(
        ScopeChanges(
            revision=2, complete=False, removed=tuple(entry.memory_id for entry in entries[90:])
        )
    )
    assert used.slots == 90, "dead slots were squeezed out"
    query = "word1 word4 word2 tail"
    assert bm25(used, query) == bm25(fresh, query)
    near = unit(5, 2, 1)
    assert used.nearest(near, limit=90) == fresh.nearest(near, limit=90)


def test_squeezing_keeps_keys_tags_and_episodes_where_they_belong() -> None:
    def two_keys(n: int) -> MemoryEntry:
        first = KeyEntry(
            key_id=f"m{n}:0", kind="content", terms=term_counts(f"content{n}"), vector=None
        )
        cue = KeyEntry(
            key_id=f"m{n}:1", kind="cue", terms=term_counts(f"cue{n}"), vector=unit(n + 1, 1)
        )
        return BASE._replace(
            memory_id=f"m{n}",
            keys=(first, cue),
            tags=(Tag("n", str(n)),),
            episode_id=f"e{n}",
            position=0,
        )

    index = holding(*(two_keys(n) for n in range(200)))
    gone = tuple(f"m{n}" for n in range(200) if n % 3)
    index.apply(ScopeChanges(revision=2, complete=False, removed=gone))
    assert index.slots == len(index) == 67
    assert bm25(index, "cue99")["m99"] > 0.0
    assert sum(score > 0.0 for score in bm25(index, "cue99").values()) == 1
    slot = list(index.ids).index("m99")
    assert index.tags(slot) == (Tag("n", "99"),)
    assert index.tag_mask(Tag("n", "99")).nonzero()[0].tolist() == [slot]
    assert index.episode_id(slot) == "e99"
    arms = arms_of(index, "", unit(100, 1))
    assert arms.cosine[slot] == pytest.approx(1.0)


def test_a_recall_is_counted_where_it_is_held_and_its_time_never_goes_back() -> None:
    index = holding(memory("a", recalled_count=2, recalled_s=50.0), memory("b"))
    index.count_recalled(["a", "b", "gone"], at_s=40.0)
    index.count_recalled(["a"], at_s=60.0)
    assert index.columns.recalled_count.tolist() == [4, 1]
    assert index.columns.recalled_s.tolist() == [60.0, 40.0]
    assert index.revision == 1


def test_nearest_compares_contents_only_and_honours_the_agent() -> None:
    cue = KeyEntry(key_id="c:1", kind="cue", terms=term_counts(""), vector=unit(1, 0))
    with_cue = memory("cue", vector=unit(0, 1))
    index = holding(
        with_cue._replace(keys=(*with_cue.keys, cue)),
        memory("plain", vector=unit(1, 1)),
        memory("none"),
        memory("own", vector=unit(1, 0), agent_id="planner"),
    )
    assert [near.memory_id for near in index.nearest(unit(1, 0), limit=9)] == ["plain", "cue"]
    assert index.nearest(unit(1, 0), limit=1, agent_id="planner")[0].memory_id == "own"
    assert index.nearest(unit(1, 0), limit=0) == []
    assert ScopeIndex().nearest(unit(1, 0), limit=3) == []


def test_vectors_that_come_after_the_first_memories_find_their_rows() -> None:
    early = [memory(f"early{n}", "x") for n in range(40)]
    late = [memory(f"late{n}", "x", unit(n + 1, 1)) for n in range(40)]
    index = holding(*early, *late)
    assert index.nearest(unit(1, 1), limit=1)[0].memory_id == "late0"
    assert index.dim == 2


def test_a_vector_of_another_length_is_refused_and_nothing_of_it_is_kept() -> None:
    index = holding(memory("a", "x", unit(1, 0)))
    wrong = ScopeChanges(revision=2, complete=False, entries=(memory("b", "y", unit(1, 0, 0)),))
    with pytest.raises(InputError, match="b:0 has a vector of length 3 where others have 2"):
        index.apply(wrong)
    assert (len(index), index.revision) == (1, 1)
    with pytest.raises(InputError, match="no key"):
        index.apply(ScopeChanges(revision=2, complete=False, entries=(BASE,)))


def test_tag_examples_are_those_an_agent_may_see() -> None:
    index = holding(
        memory("a", vector=unit(1, 0), tags=(CSV,)),
        memory("b", vector=unit(0, 1), tags=(CSV,)),
        memory("own", vector=unit(1, 1), tags=(CSV,), agent_id="planner"),
        memory("no vector", tags=(CSV,)),
    )
    (shared,) = index.tag_examples()
    assert shared.count == 2
    assert shared.total.tolist() == [1.0, 1.0]
    assert sum(one.count for one in index.tag_examples(agent_id="planner")) == 3
    assert sum(one.count for one in index.tag_examples(agent_id="other")) == 2


def test_a_repeated_word_of_a_long_text_counts_less_than_a_short_exact_one() -> None:
    index = holding(
        memory("short", "pump station"),
        memory("long", "pump " + "filler words that go on " * 20),
        memory("other", "valve"),
    )
    scores = bm25(index, "pump")
    assert scores["short"] > scores["long"] > scores["other"] == 0.0
    everywhere = holding(memory("a", "pump"), memory("b", "pump"))
    assert min(bm25(everywhere, "pump").values()) > 0.0, "idf is never negative"


def test_the_cache_lets_go_of_the_scope_used_longest_ago() -> None:
    changes = ScopeChanges(
        revision=1,
        complete=True,
        entries=tuple(memory(f"m{n}", "x", unit(*range(1, 65))) for n in range(40)),
    )
    size = ScopeIndex()
    size.apply(changes)
    cache = IndexCache(max_bytes=size.nbytes * 5 // 2)
    for name in ("u1", "u2", "u1", "u3"):
        cache.get(name).apply(changes)
        cache.resized(name)
    assert (len(cache), cache.nbytes) == (2, 2 * size.nbytes)
    assert cache.get("u3").revision == cache.get("u1").revision == 1
    assert cache.get("u2").revision == 0, "it was let go and starts again"


def test_the_scope_used_last_is_kept_however_large() -> None:
    cache = IndexCache(max_bytes=1)
    cache.get("u1")
    cache.resized("u1")
    cache.resized("never seen")
    assert len(cache) == 1
    cache.drop("u1")
    cache.drop("u1")
    assert (len(cache), cache.nbytes) == (0, 0)
