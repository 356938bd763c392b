"""Recall holds for any memories: exact top k, no order dependence, decay and budget in bounds."""

import unicodedata

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from agentkit.policy.decay import DecayPolicy
from agentkit.policy.recall import RecallPolicy
from agentkit.recall import (
    AliasTable,
    Ranking,
    RankQuery,
    ScopeIndex,
    focus,
    harmless,
    rank,
    rescore,
)
from agentkit.recall.columns import Columns
from agentkit.recall.decay import (
    ages_days,
    base_half_life_days,
    base_half_lives_days,
    decays,
    half_lives_days,
    last_s,
)
from agentkit.recall.popularity import unused_factors, used_share
from agentkit.records import MEMORY_TYPES, KeyEntry, MemoryEntry, ScopeChanges, Tag
from agentkit.text import term_counts

NAN = float("nan")
DAY_S = 86_400.0
NOW_S = 1_796_040_000.0
TAGS = (Tag("tool", "csv"), Tag("tool", "git"), Tag("domain", "law"))
DECAY = DecayPolicy(tags={"tool:csv": 5.0, "domain:law": None})

words = st.lists(st.sampled_from("pump valve order 缺失 数据 null 14 16".split()), max_size=6)
vectors = st.none() | st.tuples(*[st.integers(-3, 3)] * 3).filter(any)
times = st.just(NAN) | st.floats(NOW_S - 900 * DAY_S, NOW_S + 9 * DAY_S)


@st.composite
def memories(draw: st.DrawFn) -> tuple[MemoryEntry, ...]:
    count = draw(st.integers(0, 12))
    return tuple(draw(memory(f"m{n:02d}")) for n in range(count))


@st.composite
def memory(draw: st.DrawFn, memory_id: str) -> MemoryEntry:
    episode = draw(st.sampled_from([None, "e1", "e2"]))
    keys = draw(st.lists(st.tuples(words, vectors), min_size=1, max_size=3))
    return MemoryEntry(
        memory_id=memory_id,
        agent_id=draw(st.sampled_from([None, None, "planner"])),
        memory_type=draw(st.sampled_from(MEMORY_TYPES)),
        status=draw(st.sampled_from(["active", "pending", "disputed", "archived"])),
        tags=tuple(sorted(draw(st.sets(st.sampled_from(TAGS))))),
        confidence=draw(st.floats(0.05, 0.95)),
        trust=draw(st.sampled_from([0.5, 0.9, 1.0])),
        permanent=draw(st.booleans()),
        demoted=draw(st.booleans()),
        used_count=draw(st.integers(0, 50)),
        recalled_count=draw(st.integers(0, 500)),
        created_s=draw(st.floats(NOW_S - 900 * DAY_S, NOW_S)),
        edited_s=draw(times),
        used_s=draw(times),
        recalled_s=draw(times),
        verified_s=draw(times),
        valid_from_s=draw(times),
        valid_to_s=draw(times),
        episode_id=episode,
        position=draw(st.integers(-1, 5)) if episode else -1,
        keys=tuple(
            KeyEntry(
                key_id=f"{memory_id}:{at}",
                kind="cue" if at else "content",
                terms=term_counts(" ".join(said)),
                vector=None
                if numbers is None
                else (np.array(numbers) / np.linalg.norm(numbers)).astype(np.float32),
            )
            for at, (said, numbers) in enumerate(keys)
        ),
    )


def holding(entries: tuple[MemoryEntry, ...]) -> ScopeIndex:
    index = ScopeIndex()
    index.apply(ScopeChanges(revision=1, complete=True, entries=entries))
    return index


def ask(
    index: ScopeIndex, text: str, *, top_k: int = 3, least_similarity: float | None = None
) -> Ranking:
    query = RankQuery(
        least_similarity=least_similarity,
        text=text,
        vector=np.array([0.6, 0.8, 0.0], dtype=np.float32),
        top_k=top_k,
        agent_id="planner",
    )
    return rank(index, query, policy=RecallPolicy(), decay=DECAY, now_s=NOW_S)


@given(entries=memories(), said=words, top_k=st.integers(1, 14))
@settings(deadline=None, max_examples=50)
def test_the_answer_is_the_top_of_the_whole_scope_sorted_by_the_final_score(
    entries: tuple[MemoryEntry, ...], said: list[str], top_k: int
) -> None:
    text = " ".join(said)
    found = ask(holding(entries), text, top_k=top_k)
    everything = ask(holding(entries), text, top_k=50).pool
    by_score = sorted(
        everything,
        key=lambda c: (-round(c.score, 9), -_created(entries, c.memory_id), c.memory_id),
    )
    assert list(found.memory_ids) == [c.memory_id for c in by_score][:top_k]
    assert [c.rank for c in everything] == list(range(1, len(everything) + 1))
    near = ask(holding(entries), text, top_k=top_k, least_similarity=0.5)
    assert (
        list(near.memory_ids)
        == [
            c.memory_id
            for c in by_score
            if not c.features.has_vector or c.features.cosine >= 0.5 - 1e-6
        ][:top_k]
    )
    for candidate in everything:
        assert 0.0 < candidate.factors.decay <= 1.0
        assert 0.5 <= candidate.factors.unused <= 1.0
        assert candidate.score >= 0.0


def _created(entries: tuple[MemoryEntry, ...], memory_id: str) -> float:
    return next(entry.created_s for entry in entries if entry.memory_id == memory_id)


@given(entries=memories(), said=words, seed=st.integers(0, 9_999))
@settings(deadline=None, max_examples=40)
def test_neither_order_nor_history_changes_a_score(
    entries: tuple[MemoryEntry, ...], said: list[str], seed: int
) -> None:
    order = np.random.default_rng(seed).permutation(len(entries))
    shuffled = [entries[int(at)] for at in order]
    used = holding(tuple(entry._replace(tags=(), created_s=0.0) for entry in shuffled))
    half = tuple(entry.memory_id for entry in shuffled[::2])
    used.apply(ScopeChanges(revision=2, complete=False, removed=half))
    used.apply(ScopeChanges(revision=3, complete=False, entries=entries))
    text = " ".join(said)
    assert ask(used, text) == ask(holding(entries), text)


@given(entries=memories(), said=words)
@settings(deadline=None, max_examples=40)
def test_the_log_alone_gives_every_score_again(
    entries: tuple[MemoryEntry, ...], said: list[str]
) -> None:
    found = ask(holding(entries), " ".join(said))
    again = rescore(found.pool, normalisers=found.normalisers, policy=RecallPolicy(), decay=DECAY)
    logged = [candidate.score for candidate in found.pool]
    np.testing.assert_allclose([factors.score for factors in again], logged, rtol=1e-12)


@given(entries=memories())
@settings(deadline=None, max_examples=40)
def test_half_lives_of_a_scope_are_those_of_each_memory(entries: tuple[MemoryEntry, ...]) -> None:
    index = holding(entries)
    together = base_half_lives_days(
        index.columns.memory_type.astype(np.int64),
        [(tag, index.tag_mask(tag)) for tag in index.known_tags if str(tag) in DECAY.tags],
        policy=DECAY,
    )
    alone = [base_half_life_days(entry.memory_type, entry.tags, policy=DECAY) for entry in entries]
    assert together.tolist() == alone


@given(
    age=st.floats(0, 1e5),
    later=st.floats(0, 1e4),
    half_life=st.floats(0.01, 3_650),
    uses=st.integers(0, 10_000),
    floor=st.floats(0, 1),
)
def test_decay_falls_with_age_rises_with_use_and_keeps_its_floor(
    age: float, later: float, half_life: float, uses: int, floor: float
) -> None:
    policy = DecayPolicy(floor=floor)
    base = np.array([half_life])
    plain = half_lives_days(base, np.array([0]), policy=policy)
    used = half_lives_days(base, np.array([uses]), policy=policy)
    assert plain[0] == half_life
    assert plain[0] <= used[0] <= max(half_life, policy.longest_half_life_days)
    now = decays(np.array([age]), plain, policy=policy)[0]
    then = decays(np.array([age + later]), plain, policy=policy)[0]
    assert floor <= then <= now <= 1.0
    assert decays(np.array([age]), used, policy=policy)[0] >= now


@given(times=st.lists(times, min_size=5, max_size=5))
def test_age_is_never_negative_and_starts_at_the_last_event(times: list[float]) -> None:
    columns = Columns.empty(1)
    columns.created_s[0] = NOW_S - 10 * DAY_S
    columns.edited_s[0], columns.used_s[0], columns.recalled_s[0] = times[:3]
    columns.verified_s[0] = times[3]
    counted = [NOW_S - 10 * DAY_S, times[0], times[1], times[3]]
    last = max(time for time in counted if time == time)
    age = ages_days(last_s(columns, policy=DecayPolicy()), now_s=NOW_S)[0]
    assert age == max((NOW_S - last) / DAY_S, 0.0)


@given(
    counts=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), min_size=1, max_size=6),
    least=st.floats(0.05, 1),
)
def test_a_recall_without_use_never_lifts_a_memory_and_a_use_never_sinks_it(
    counts: list[tuple[int, int]], least: float
) -> None:
    before = sinking(counts, least=least)
    assert least <= before <= 1.0
    recalled, used = counts[0]
    assert sinking([(recalled + 1, used), *counts[1:]], least=least) <= before + 1e-12
    assert sinking([(recalled, used + 1), *counts[1:]], least=least) >= before - 1e-12
    if used <= recalled:
        # The verdict may come with the count of the recall that it is about.
        assert sinking([(recalled + 1, used + 1), *counts[1:]], least=least) >= before - 1e-12


def sinking(counts: list[tuple[int, int]], *, least: float) -> float:
    """Factor of the first of some memories with as many recalls and uses."""
    columns = Columns.empty(len(counts))
    columns.recalled_count[:], columns.used_count[:] = zip(*counts, strict=True)
    share = used_share(columns, seen=np.ones(len(counts), dtype=np.bool_))
    found = unused_factors(
        columns.used_count, columns.recalled_count, used_share=share, least=least
    )
    return float(found[0])


@given(text=st.text(max_size=2_000), limit=st.integers(1, 300))
def test_focus_keeps_its_limit_and_leaves_short_texts_alone(text: str, limit: int) -> None:
    found = focus(text, limit_chars=limit)
    assert len(found) <= limit or found == unicodedata.normalize("NFC", text).strip()
    assert len(found) <= 3 * limit
    assert focus(text, limit_chars=limit) == found
    if text.strip() and text.isprintable() and text.isascii():
        assert found
        if len(text.strip()) <= limit:
            assert found == text.strip()


@given(text=st.text(max_size=500))
def test_harmless_text_holds_no_tag_no_control_and_no_line_at_the_margin(text: str) -> None:
    found = harmless(text)
    assert "<" not in found
    assert not any(unicodedata.category(char)[0] == "C" for char in found.replace("\n", ""))
    assert all(line.startswith("  ") for line in found.split("\n")[1:])


@given(text=st.text(max_size=300))
def test_any_text_can_be_searched_for_phrases(text: str) -> None:
    assert AliasTable().find(text) == ()
