"""The memories of a user as they stood at an instant, on both databases."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from agentkit.records import Memory, Scope, Tag
from agentkit.store import MemoryEdit, Store
from agentkit.testing import FixedClock, HashEmbedder, MemoryBlobs, new_memory

NOW = datetime(2026, 11, 30, 9, 30, tzinfo=UTC)
ALICE, BOB = Scope("alice"), Scope("bob")
MEAN, MEDIAN = "Fill gaps with the mean", "Fill gaps with the median"


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
    )
    yield opened
    await opened.close()


async def write(store: Store, content: str, *, cues: tuple[str, ...] = ()) -> str:
    new = new_memory(content, cues=cues, tags=("tool:csv",))
    (result,) = await store.add(ALICE, [new], actor="test")
    return result.memory.memory_id


async def then(store: Store, at: datetime, scope: Scope = ALICE) -> tuple[Memory, ...]:
    return (await store.as_of(scope, at)).memories


async def test_only_what_was_recorded_by_then_is_there(store: Store, clock: FixedClock) -> None:
    first = await write(store, MEAN)
    clock.advance(days=2)
    await write(store, MEDIAN)
    assert [one.memory_id for one in await then(store, NOW)] == [first]
    assert len(await then(store, NOW + timedelta(days=2))) == 2
    assert await then(store, NOW - timedelta(seconds=1)) == ()
    assert await then(store, NOW, BOB) == ()


async def test_what_was_changed_several_times_reads_as_it_did_between(
    store: Store, clock: FixedClock
) -> None:
    memory_id = await write(store, MEAN, cues=("gaps",))
    await store.settle()
    for content, tag in ((MEDIAN, "tool:sql"), ("Drop rows with gaps", "tool:excel")):
        clock.advance(days=2)
        facet, value = tag.split(":")
        change = MemoryEdit(content=content, cues=(content[:4],), tags=(Tag(facet, value),))
        await store.edit(ALICE, memory_id, change, actor="person", reason="better")
    await store.settle()
    seen = [(await then(store, NOW + timedelta(days=days)))[0] for days in (0, 1, 2, 3, 4)]
    assert [one.content for one in seen] == [MEAN, MEAN, MEDIAN, MEDIAN, "Drop rows with gaps"]
    assert [one.cues for one in seen[1:4]] == [("gaps",), ("Fill",), ("Fill",)]
    assert [one.tags[0].value for one in seen[1:4]] == ["csv", "sql", "sql"]
    assert [one.edited_at for one in seen[:2]] == [None, None]
    past = await store.as_of(ALICE, NOW)
    assert [key.vector for key in past.changes.entries[0].keys] == [None, None]
    now = await store.as_of(ALICE, NOW + timedelta(days=9))
    assert all(key.vector is not None for key in now.changes.entries[0].keys)


async def test_what_was_forgotten_later_was_there_and_what_was_purged_never_is(
    store: Store, clock: FixedClock
) -> None:
    memory_id = await write(store, MEAN)
    clock.advance(days=1)
    await store.forget(ALICE, [memory_id], actor="person", reason="wrong")
    clock.advance(days=1)
    await store.restore(ALICE, memory_id, actor="person", reason="right after all")
    shown = [len(await then(store, NOW + timedelta(days=days))) for days in (0, 1, 2)]
    assert shown == [1, 0, 1]
    await store.purge_memories(ALICE, [memory_id])
    assert await then(store, NOW) == ()


async def test_what_expired_since_was_still_there(store: Store, clock: FixedClock) -> None:
    memory_id = await write(store, MEAN)
    clock.advance(days=2)
    ends = MemoryEdit(valid_to=NOW + timedelta(days=3))
    await store.edit(ALICE, memory_id, ends, actor="person", reason="ends")
    clock.advance(days=2)
    assert (await then(store, NOW))[0].valid_to is None
    assert len(await then(store, NOW + timedelta(days=2))) == 1
    assert await then(store, NOW + timedelta(days=3)) == ()
