"""What the approximate plan reads, on every database: sizes, filters, neighbours, overlaps."""

import zlib
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from agentkit.records import Query, RecallResult, Retrieval, Scope, Tag, TimeRange
from agentkit.store import NewMemory, Store
from agentkit.store.rows.retrievals import pack_retrieval, to_retrievals
from agentkit.store.tables import RetrievalRow
from agentkit.testing import (
    FixedClock,
    HashEmbedder,
    MemoryBlobs,
    MemoryVectorIndex,
    new_episode,
    new_memory,
)

NOW = datetime(2026, 11, 30, 9, 30, tzinfo=UTC)
ALICE, BOB = Scope("alice"), Scope("bob")
PLANNER = Scope("alice", "planner")


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOW)


@pytest.fixture
async def store(clock: FixedClock, database_url: str) -> AsyncIterator[Store]:
    opened = Store.open(
        database_url=database_url,
        blobs=MemoryBlobs(),
        index_path=None,
        embedder=HashEmbedder(),
        clock=clock,
        index=MemoryVectorIndex(),
    )
    yield opened
    await opened.close()


async def write(store: Store, *new: NewMemory, scope: Scope = ALICE) -> list[str]:
    written = await store.add(scope, new, actor="t")
    return [one.memory.memory_id for one in written]


async def test_a_scope_is_counted_no_further_than_asked_and_alone(store: Store) -> None:
    await write(store, *[new_memory(f"note {n}") for n in range(4)])
    await write(store, *[new_memory(f"note {n}") for n in range(9)], scope=BOB)
    sizes = [await store.holds_more(ALICE, than=number) for number in (3, 4, 5)]
    assert sizes == [True, False, False]
    assert not await store.holds_more(Scope("nobody"), than=0)


async def test_memories_wait_until_the_index_has_them(store: Store) -> None:
    one, two = sorted(await write(store, new_memory("one", cues=("first",)), new_memory("two")))
    await write(store, new_memory("three"), scope=BOB)
    assert await store.waiting(ALICE, limit=9) == (one, two)
    assert await store.waiting(ALICE, limit=1) == (one,)
    await store.settle()
    assert await store.waiting(ALICE, limit=9) == ()


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (Query(text=""), "plain old csv both how weak"),
        (Query(text="", tags=(Tag("tool", "csv"),)), "csv both"),
        (Query(text="", tags=(Tag("tool", "csv"), Tag("domain", "law"))), "both"),
        (Query(text="", tags=(Tag("tool", "csv"), Tag("domain", "law")), match="any"), "csv both"),
        (Query(text="", memory_types=("procedural",)), "how"),
        (Query(text="", min_confidence=0.5), "plain old csv both how"),
        (Query(text="", include_archived=True), "plain old csv both how weak shelved"),
        (Query(text="", within=TimeRange(None, NOW - timedelta(days=9))), "old"),
        (Query(text="", within=TimeRange(NOW, None)), "plain csv both how weak"),
    ],
)
async def test_what_passes_in_sql_is_what_passes_in_recall(
    store: Store, query: Query, found: str
) -> None:
    news = [
        new_memory("plain"),
        new_memory("old", created_at=NOW - timedelta(days=10)),
        new_memory("csv", tags=("tool:csv",)),
        new_memory("both", tags=("tool:csv", "domain:law"), cues=("second key",)),
        new_memory("how", memory_type="procedural"),
        new_memory("weak", confidence=0.2),
        new_memory("gone", valid_to=NOW - timedelta(days=1)),
        new_memory("shelved"),
        new_memory("doubtful", status="quarantined"),
    ]
    ids = dict(zip([one.lesson.content for one in news], await write(store, *news), strict=True))
    await store.change_status(ALICE, ids["shelved"], "archived", actor="t", reason="old")
    await write(store, new_memory("the agent's"), scope=PLANNER)
    await write(store, new_memory("plain"), scope=BOB)
    wanted = {ids[name] for name in found.split()}
    assert set(await store.passing(ALICE, query, now=NOW, limit=99)) == wanted
    assert len(await store.passing(ALICE, query, now=NOW, limit=1)) == 1
    await store.settle()
    (vector,) = await HashEmbedder().embed(["plain"], kind="query")
    nearest = await store.nearest_passing(ALICE, query, vector, now=NOW, limit=99)
    assert nearest.memory_ids == wanted


async def test_an_agent_passes_what_is_its_own_and_what_is_everybodys(store: Store) -> None:
    shared = await write(store, new_memory("shared"))
    own = await write(store, new_memory("own"), scope=PLANNER)
    await write(store, new_memory("other"), scope=Scope("alice", "writer"))
    passing = await store.passing(PLANNER, Query(text=""), now=NOW, limit=9)
    assert set(passing) == {*shared, *own}


async def test_candidates_are_read_as_the_whole_scope_would_be(store: Store) -> None:
    written = await write(store, new_memory("one", cues=("first",)), new_memory("two"))
    foreign = await write(store, new_memory("three"), scope=BOB)
    await store.settle()
    whole = await store.changes(ALICE, since=0)
    picked = await store.entries(ALICE, [*written, *foreign, "missing"])
    assert (picked.revision, picked.complete, picked.refused) == (whole.revision, True, "")
    shown = [(entry.memory_id, [key.key_id for key in entry.keys]) for entry in picked.entries]
    assert shown == [(entry.memory_id, [k.key_id for k in entry.keys]) for entry in whole.entries]
    assert all(key.vector is not None for entry in picked.entries for key in entry.keys)


async def test_candidates_bring_those_beside_them_in_their_episode(store: Store) -> None:
    sealed = [
        await store.seal(ALICE, new_episode("hello", at=NOW, session_id=name), episodic=None)
        for name in ("first", "second")
    ]
    episodic = [
        replace(
            new_memory(f"turn {place} of {number}", memory_type="episodic"),
            episode_id=one.episode.episode_id,
            position=place,
        )
        for number, one in enumerate(sealed)
        for place in range(6)
    ]
    written = await write(store, *episodic)
    alone = await store.entries(ALICE, [written[1]])
    beside = await store.entries(ALICE, [written[1]], neighbours=True)
    assert [entry.memory_id for entry in alone.entries] == [written[1]]
    assert [entry.memory_id for entry in beside.entries] == sorted(written[:4])


async def test_the_index_names_a_users_own_memories_alone(store: Store) -> None:
    own = await write(store, new_memory("the pump leaks", cues=("pump",)), new_memory("ledger"))
    await write(store, new_memory("the pump leaks"), scope=BOB)
    await store.settle()
    (vector,) = await HashEmbedder().embed(["the pump leaks"], kind="query")
    near = await store.near(ALICE, vector, limit=9)
    assert (near.memory_ids, near.keys, near.problem) == (frozenset(own), 3, "")


async def test_the_nearest_that_pass_are_read_in_pieces(store: Store) -> None:
    said = [f"ledger {n}" for n in range(4)]
    said = [*said[:2], "the pump leaks", *said[2:], "the pump leaks now"]
    written = await write(store, *[new_memory(text) for text in said])
    await store.settle()
    (vector,) = await HashEmbedder().embed(["the pump leaks"], kind="query")
    nearest = await store.nearest_passing(
        ALICE, Query(text=""), vector, now=NOW, limit=2, piece_keys=2
    )
    assert nearest.memory_ids == {written[2], written[5]}


async def test_an_overlap_is_kept_for_each_user_and_the_last_one_counts(
    store: Store, clock: FixedClock
) -> None:
    assert await store.overlap(ALICE) is None
    await store.keep_overlap(ALICE, overlap=0.5, queries=3)
    clock.advance(days=1)
    await store.keep_overlap(PLANNER, overlap=0.75, queries=4)
    kept = await store.overlap(ALICE)
    assert kept is not None
    assert (kept.overlap, kept.queries, kept.at) == (0.75, 4, NOW + timedelta(days=1))
    assert await store.overlap(BOB) is None
    assert [job.state for job in await store.jobs(ALICE)] == ["done"]


async def test_the_log_of_an_older_release_is_read_whose_answers_were_all_exact() -> None:
    said = 'he wrote "approximate":false, in these words'
    record = Retrieval(
        retrieval_id="r1",
        scope=ALICE,
        session_id=None,
        query=Query(text=said),
        asked_at=NOW,
        policy_fingerprint="p1",
        result=RecallResult(retrieval_id="r1"),
    )
    written = zlib.decompress(pack_retrieval(record))
    older = written.replace(b'"approximate":null', b'"approximate":false')
    assert older != written
    row = RetrievalRow(
        id="r1",
        user_id="alice",
        asked_at=NOW,
        policy_fingerprint="p1",
        packed=zlib.compress(older),
    )
    assert to_retrievals([row]) == (record,)
