"""Memories: written once, seen in their scope only, changed with a trace."""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from agentkit.errors import EmbedderError, InputError, NotFoundError
from agentkit.records import MemoryLink, Scope, Tag
from agentkit.store import FolderBlobs, Store
from agentkit.testing import FixedClock, HashEmbedder, memory_store, new_memory
from tests.databases import DATABASES, database_of

NOW = datetime(2026, 11, 30, 9, 30, tzinfo=UTC)
ALICE = Scope("alice")


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOW)


@pytest.fixture(params=["memory", *DATABASES])
async def store(
    request: pytest.FixtureRequest, tmp_path: Path, clock: FixedClock
) -> AsyncIterator[Store]:
    if request.param == "memory":
        opened = memory_store(clock=clock, embedder=HashEmbedder())
    else:
        opened = Store.open(
            database_url=database_of(request, request.param, tmp_path),
            blobs=FolderBlobs(tmp_path / "blobs"),
            index_path=None,
            embedder=HashEmbedder(),
            clock=clock,
        )
    yield opened
    await opened.close()


@asynccontextmanager
async def closed(store: Store) -> AsyncGenerator[Store]:
    """Close a store after a block, whatever happens in it."""
    try:
        yield store
    finally:
        await store.close()


async def write(store: Store, scope: Scope, content: str) -> str:
    (result,) = await store.add(scope, [new_memory(content)], actor="test")
    return result.memory.memory_id


async def test_a_memory_comes_back_as_it_was_written(store: Store) -> None:
    new = new_memory(
        "Use the median for gaps",
        cues=("missing values", " ", "missing values"),
        tags=("tool:csv",),
    )
    (result,) = await store.add(ALICE, [new], actor="test")
    memory = await store.memory(ALICE, result.memory.memory_id)
    assert memory == result.memory
    assert (memory.content, memory.cues) == ("Use the median for gaps", ("missing values",))
    assert memory.tags == (Tag("tool", "csv"),)
    assert memory.confidence == pytest.approx(0.75)
    assert (memory.alpha, memory.beta) == (3.0, 1.0)
    assert (memory.created_at, memory.revision) == (NOW, 1)


async def test_nothing_written_is_no_write(store: Store) -> None:
    assert await store.add(ALICE, [], actor="test") == ()
    assert await store.revision(ALICE) == 0


async def test_a_time_with_another_offset_is_the_same_instant(store: Store) -> None:
    pacific = datetime.fromisoformat("2026-11-30T01:30:00-08:00")
    new = new_memory("Standup moved", created_at=pacific, valid_to=NOW + timedelta(hours=9))
    (result,) = await store.add(ALICE, [new], actor="test")
    memory = await store.memory(ALICE, result.memory.memory_id)
    assert memory.created_at == NOW
    assert memory.created_at.utcoffset() == timedelta(0)


async def test_a_time_without_zone_is_refused(store: Store) -> None:
    naive = NOW.replace(tzinfo=None)
    with pytest.raises(InputError, match="no time zone"):
        await store.add(ALICE, [new_memory("x", created_at=naive)], actor="test")


async def test_writing_the_same_again_is_one_memory_with_the_tags_of_both(store: Store) -> None:
    first = await write(store, ALICE, "Staging DB is read-only")
    for _ in range(30):
        assert await write(store, ALICE, "Staging DB is read-only") == first
    again = new_memory("  staging DB is  read-only. ", tags=("domain:database",))
    (result,) = await store.add(ALICE, [again], actor="test")
    assert (result.memory.memory_id, result.duplicate) == (first, True)
    assert result.memory.tags == (Tag("domain", "database"),)
    assert len(await store.memories(ALICE)) == 1
    kinds = [event.kind for event in await store.history(ALICE, first)]
    assert kinds == ["created", "edited"]


async def test_the_same_twice_in_one_call_is_one_memory(store: Store) -> None:
    results = await store.add(
        ALICE, [new_memory("Ports are closed"), new_memory("ports are closed.")], actor="test"
    )
    assert [result.duplicate for result in results] == [False, True]
    assert results[0].memory.memory_id == results[1].memory.memory_id


async def test_a_digit_makes_another_memory(store: Store) -> None:
    await write(store, ALICE, "We run PostgreSQL 14")
    await write(store, ALICE, "We run PostgreSQL 16")
    assert len(await store.memories(ALICE)) == 2


async def test_the_same_operation_is_one_write_even_after_it_was_forgotten(store: Store) -> None:
    new = new_memory("Door code is blue-falcon", operation_id="op-1")
    (first,) = await store.add(ALICE, [new], actor="test")
    await store.forget(ALICE, [first.memory.memory_id], actor="test", reason="asked")
    (again,) = await store.add(ALICE, [new], actor="test")
    assert again.duplicate
    assert again.memory.status == "forgotten"
    assert await store.memories(ALICE) == ()


async def test_what_was_forgotten_can_be_learnt_anew(store: Store) -> None:
    first = await write(store, ALICE, "The gate opens at six")
    await store.forget(ALICE, [first], actor="test", reason="asked")
    assert await write(store, ALICE, "The gate opens at six") != first


async def test_the_users_word_raises_a_lesson_that_says_the_same(store: Store) -> None:
    lesson = await write(store, ALICE, "Reports go out on Monday")
    said = new_memory("Reports go out on Monday", source="user", confidence=0.95, permanent=True)
    (result,) = await store.add(ALICE, [said], actor="user")
    assert (result.memory.memory_id, result.duplicate) == (lesson, True)
    assert (result.memory.permanent, result.memory.source) == (True, "user")
    assert result.memory.confidence == pytest.approx(0.95)


async def test_composed_and_decomposed_accents_are_one_tag_and_one_memory(store: Store) -> None:
    await store.add(
        ALICE, [new_memory("Le caf\u00e9 ouvre", tags=("domain:caf\u00e9",))], actor="t"
    )
    other = new_memory("Das caf\u00e9 auch", tags=("domain:cafe\u0301",))
    result = await store.add(ALICE, [other, new_memory("Le cafe\u0301 ouvre")], actor="t")
    assert [entry.duplicate for entry in result] == [False, True]
    for form in ("caf\u00e9", "cafe\u0301"):
        assert len(await store.memories(ALICE, tag=Tag("domain", form))) == 2


@pytest.mark.parametrize("text", ["nul\x00byte", "half \ud83d pair", "x" * 100_000, "绿茶 🍵"])
async def test_any_text_can_be_stored_and_found_again(store: Store, text: str) -> None:
    memory_id = await write(store, ALICE, text)
    assert await write(store, ALICE, text) == memory_id
    assert (await store.memory(ALICE, memory_id)).content


@pytest.mark.parametrize(
    ("field", "new"),
    [
        ("blank", new_memory("  \n ")),
        ("cannot be forgotten", new_memory("x", status="forgotten")),
        ("tag", new_memory("x", tags=("tool:",))),
        ("confidence", new_memory("x", confidence=1.5)),
        ("operation_id", new_memory("x", operation_id="")),
    ],
)
async def test_what_cannot_be_stored_is_refused_and_nothing_is_written(
    store: Store, field: str, new: object
) -> None:
    good = new_memory("fine")
    assert isinstance(new, type(good))
    with pytest.raises(InputError, match=field):
        await store.add(ALICE, [good, new], actor="test")
    assert await store.memories(ALICE) == ()


async def test_equal_text_in_two_scopes_is_two_memories(store: Store) -> None:
    hers = await write(store, ALICE, "Prefers dark theme")
    his = await write(store, Scope("bob"), "Prefers dark theme")
    await store.forget(ALICE, [hers], actor="alice", reason="asked")
    assert await store.memories(ALICE) == ()
    assert [memory.memory_id for memory in await store.memories(Scope("bob"))] == [his]


@pytest.mark.parametrize("names", [("acme", "acme-corp", "acme/eu"), ("alice", "Alice", "álice")])
async def test_a_name_that_begins_or_looks_like_another_is_another(
    store: Store, names: tuple[str, ...]
) -> None:
    ids = {name: await write(store, Scope(name), f"secret of {name}") for name in names}
    await store.forget(Scope(names[0]), list(ids.values()), actor="t", reason="all of mine")
    assert await store.memories(Scope(names[0])) == ()
    for name in names[1:]:
        assert [memory.memory_id for memory in await store.memories(Scope(name))] == [ids[name]]
        assert (await store.count(Scope(name))) == {"active": 1}
        entries = (await store.changes(Scope(name), since=0)).entries
        assert [entry.memory_id for entry in entries] == [ids[name]]


async def test_a_foreign_id_and_a_missing_id_look_the_same(store: Store) -> None:
    foreign = await write(store, Scope("bob"), "secret")
    mine = await write(store, ALICE, "mine")
    for memory_id in (foreign, "ghost", foreign[:8], "half \ud83d"):
        for call in (
            store.memory(ALICE, memory_id),
            store.history(ALICE, memory_id),
            store.links(ALICE, memory_id),
            store.restore(ALICE, memory_id, actor="t", reason="r"),
            store.verify(ALICE, memory_id, actor="t", reason="r"),
            store.change_status(ALICE, memory_id, "archived", actor="t", reason="r"),
            store.link(ALICE, MemoryLink(from_id=mine, to_id=memory_id, relation="related")),
        ):
            with pytest.raises(NotFoundError, match="no memory"):
                await call
    assert await store.memories(ALICE, ids=[foreign]) == ()
    assert (await store.memory(Scope("bob"), foreign)).status == "active"


async def test_an_agents_own_memory_is_hidden_from_the_other_agents(store: Store) -> None:
    own = await write(store, Scope("alice", "cook"), "Salt late")
    shared = await write(store, ALICE, "Likes soup")
    writer = Scope("alice", "writer")
    assert [memory.memory_id for memory in await store.memories(writer)] == [shared]
    assert {memory.memory_id for memory in await store.memories(ALICE)} == {own, shared}
    assert await store.memories(writer, ids=[own]) == ()
    with pytest.raises(NotFoundError):
        await store.memory(writer, own)
    assert await write(store, writer, "Salt late") != own


async def test_reading_a_scope_does_not_make_it(store: Store) -> None:
    ghost = Scope("ghost")
    for _ in range(3):
        assert await store.memories(ghost) == ()
        changes = await store.changes(ghost, since=0)
        assert (changes.revision, changes.complete, changes.entries) == (0, True, ())
        assert await store.count(ghost) == {}
    assert await store.revision(ghost) == 0


async def test_forgetting_tells_the_truth(store: Store) -> None:
    mine = await write(store, ALICE, "one")
    foreign = await write(store, Scope("bob"), "two")
    first = await store.forget(
        ALICE, [mine, "ghost", foreign, mine[:8], mine], actor="t", reason="asked"
    )
    assert first.forgotten == (mine,)
    assert first.not_found == ("ghost", foreign, mine[:8])
    again = await store.forget(ALICE, [mine], actor="t", reason="asked")
    assert (again.forgotten, again.not_found) == ((), (mine,))


async def test_forgetting_nothing_is_refused(store: Store) -> None:
    await write(store, ALICE, "one")
    with pytest.raises(InputError, match="no memory id"):
        await store.forget(ALICE, [], actor="t", reason="asked")
    with pytest.raises(InputError, match="needs a reason"):
        await store.forget(ALICE, ["x"], actor="t", reason=" ")
    assert len(await store.memories(ALICE)) == 1


async def test_an_empty_filter_means_nothing_not_everything(store: Store) -> None:
    await write(store, ALICE, "one")
    assert await store.memories(ALICE, ids=[]) == ()
    assert await store.memories(ALICE, statuses=[]) == ()


async def test_a_forgotten_memory_never_comes_back_unless_restored(store: Store) -> None:
    memory_id = await write(store, ALICE, "Door code is blue-falcon")
    await store.change_status(ALICE, memory_id, "disputed", actor="t", reason="doubt")
    before = (await store.changes(ALICE, since=0)).revision
    await store.forget(ALICE, [memory_id], actor="alice", reason="asked")
    assert await store.memories(ALICE) == ()
    assert await store.memories(ALICE, ids=[memory_id]) == ()
    assert (await store.changes(ALICE, since=0)).entries == ()
    assert (await store.changes(ALICE, since=before)).removed == (memory_id,)
    restored = await store.restore(ALICE, memory_id, actor="alice", reason="by mistake")
    assert restored.status == "disputed"
    assert [event.kind for event in await store.history(ALICE, memory_id)] == [
        "created",
        "disputed",
        "forgotten",
        "restored",
    ]


async def test_forty_thousand_ids_can_be_asked_for(store: Store) -> None:
    memory_id = await write(store, ALICE, "one")
    ids = [f"ghost-{number}" for number in range(40_000)] + [memory_id]
    assert [memory.memory_id for memory in await store.memories(ALICE, ids=ids)] == [memory_id]


async def test_an_expired_memory_is_absent_before_any_sweep(
    store: Store, clock: FixedClock
) -> None:
    new = new_memory(
        "Parking is free today", valid_to=NOW + timedelta(minutes=1), tags=("domain:car",)
    )
    (result,) = await store.add(ALICE, [new], actor="t")
    memory_id = result.memory.memory_id
    clock.advance(minutes=2)
    with pytest.raises(NotFoundError):
        await store.memory(ALICE, memory_id)
    assert await store.memories(ALICE) == ()
    assert await store.memories(ALICE, ids=[memory_id], tag=Tag("domain", "car")) == ()
    assert await store.count(ALICE) == {}
    assert await write(store, ALICE, "Parking is free today") != memory_id


async def test_a_status_moves_only_where_it_can(store: Store) -> None:
    memory_id = await write(store, ALICE, "one")
    newer = await write(store, ALICE, "two")
    for status in ("forgotten", "pending"):
        with pytest.raises(InputError):
            await store.change_status(ALICE, memory_id, status, actor="t", reason="r")
    with pytest.raises(InputError, match="itself"):
        await store.change_status(
            ALICE, memory_id, "superseded", actor="t", reason="r", superseded_by=memory_id
        )
    moved = await store.change_status(
        ALICE, memory_id, "superseded", actor="t", reason="r", superseded_by=newer
    )
    assert (moved.status, moved.superseded_by) == ("superseded", newer)
    with pytest.raises(InputError, match="cannot become archived"):
        await store.change_status(ALICE, memory_id, "archived", actor="t", reason="r")
    with pytest.raises(InputError, match="restore it"):
        await store.verify(ALICE, memory_id, actor="t", reason="r")
    restored = await store.restore(ALICE, memory_id, actor="t", reason="r")
    assert (restored.status, restored.superseded_by) == ("active", None)


async def test_the_status_a_memory_has_already_changes_nothing(store: Store) -> None:
    memory_id = await write(store, ALICE, "one")
    before = await store.revision(ALICE)
    await store.change_status(ALICE, memory_id, "active", actor="t", reason="r")
    assert await store.revision(ALICE) == before
    assert len(await store.history(ALICE, memory_id)) == 1


async def test_verifying_raises_confidence_and_says_so(store: Store, clock: FixedClock) -> None:
    memory_id = await write(store, ALICE, "one")
    clock.advance(days=3)
    memory = await store.verify(ALICE, memory_id, actor="rules", reason="seen again")
    assert memory.confidence == pytest.approx(4 / 5)
    assert memory.last_verified_at == NOW + timedelta(days=3)
    assert (memory.created_at, memory.edited_at) == (NOW, None)
    event = (await store.history(ALICE, memory_id))[-1]
    assert (event.kind, event.actor, event.reason) == ("verified", "rules", "seen again")
    assert json.loads(event.old or "")["confidence"] == pytest.approx(0.75)


async def test_a_pair_is_linked_once(store: Store) -> None:
    old, new = await write(store, ALICE, "old"), await write(store, ALICE, "new")
    link = MemoryLink(from_id=new, to_id=old, relation="contradicts", rationale="differs")
    assert await store.link(ALICE, link)
    assert not await store.link(ALICE, link)
    turned = MemoryLink(from_id=old, to_id=new, relation="contradicts")
    assert not await store.link(ALICE, turned)
    assert await store.links(ALICE, old) == await store.links(ALICE, new) == (link,)
    with pytest.raises(InputError, match="itself"):
        await store.link(ALICE, MemoryLink(from_id=old, to_id=old, relation="related"))


async def test_a_page_comes_newest_first(store: Store, clock: FixedClock) -> None:
    ids: list[str] = []
    for number in range(5):
        clock.advance(minutes=1)
        ids.append(await write(store, ALICE, f"number {number}"))
    page = await store.memories(ALICE, limit=2, offset=1)
    assert [memory.memory_id for memory in page] == [ids[3], ids[2]]
    for limit, offset in ((0, 0), (-1, 0), (5, -1)):
        with pytest.raises(InputError):
            await store.memories(ALICE, limit=limit, offset=offset)


async def test_changes_bring_a_reader_up_to_date_step_by_step(store: Store) -> None:
    first = await write(store, ALICE, "one")
    start = await store.changes(ALICE, since=0)
    assert (start.complete, [entry.memory_id for entry in start.entries]) == (True, [first])
    assert np.isnan(start.entries[0].used_s)
    assert start.entries[0].created_s == NOW.timestamp()
    second = await write(store, ALICE, "two")
    step = await store.changes(ALICE, since=start.revision)
    assert (step.complete, [entry.memory_id for entry in step.entries]) == (False, [second])
    same = await store.changes(ALICE, since=step.revision)
    assert (same.entries, same.removed, same.revision) == ((), (), step.revision)
    ahead = await store.changes(ALICE, since=step.revision + 7)
    assert ahead.complete


async def test_a_memory_without_vector_is_there_and_gets_one_later(store: Store) -> None:
    await store.add(ALICE, [new_memory("one", cues=("first",))], actor="t")
    bare = await store.changes(ALICE, since=0)
    assert [key.vector for key in bare.entries[0].keys] == [None, None]
    report = await store.settle()
    assert (report.embedded, report.waiting, report.problem) == (2, 0, "")
    step = await store.changes(ALICE, since=bare.revision)
    expected = await HashEmbedder().embed(["one", "first"], kind="document")
    for key, vector in zip(step.entries[0].keys, expected, strict=True):
        assert key.vector is not None
        np.testing.assert_allclose(key.vector, vector, atol=1e-6)
    assert [key.kind for key in step.entries[0].keys] == ["content", "cue"]


async def test_vectors_that_come_along_are_used_as_they_are(store: Store) -> None:
    new = new_memory("one", cues=(" ", "first"))
    vectors = await HashEmbedder().embed(["one", " ", "first"], kind="document")
    await store.add(ALICE, [replace(new, vectors=vectors)], actor="t")
    (entry,) = (await store.changes(ALICE, since=0)).entries
    kept = [key.vector for key in entry.keys]
    assert kept[0] is not None
    assert kept[1] is not None
    np.testing.assert_allclose(np.stack([kept[0], kept[1]]), vectors[[0, 2]], atol=1e-6)
    with pytest.raises(InputError, match="shape"):
        await store.add(ALICE, [replace(new_memory("two"), vectors=vectors)], actor="t")
    assert (await store.settle()).embedded == 0


async def test_a_store_without_embedder_goes_by_words(clock: FixedClock) -> None:
    store = memory_store(clock=clock, embedder=None)
    await store.add(ALICE, [new_memory("one")], actor="t")
    assert (await store.settle()).problem == ""
    (entry,) = (await store.changes(ALICE, since=0)).entries
    assert entry.keys[0].vector is None
    assert entry.keys[0].terms.length == 1
    await store.close()


@pytest.mark.parametrize(("dim", "name"), [(8, "hash"), (4, "other")])
async def test_another_embedder_is_refused_and_nothing_is_lost(
    database_url: str, tmp_path: Path, clock: FixedClock, dim: int, name: str
) -> None:
    def opened(embedder: HashEmbedder) -> Store:
        return Store.open(
            database_url=database_url,
            blobs=FolderBlobs(tmp_path / "blobs"),
            index_path=None,
            embedder=embedder,
            clock=clock,
        )

    store = opened(HashEmbedder(4))
    await store.add(ALICE, [new_memory("one")], actor="t")
    await store.settle()
    await store.close()
    with pytest.raises(EmbedderError, match=r"hash \(4 dimensions\).*set embedder to hash"):
        async with closed(opened(HashEmbedder(dim, name=name))) as other:
            await other.settle()
    back = opened(HashEmbedder(4))
    (entry,) = (await back.changes(ALICE, since=0)).entries
    assert entry.keys[0].vector is not None
    await back.close()


async def test_names_from_outside_are_kept_without_nul_bytes(store: Store) -> None:
    new = new_memory("Ports are closed", operation_id="op\x001")
    (first,) = await store.add(ALICE, [new], actor="te\x00st")
    (again,) = await store.add(ALICE, [new], actor="test")
    assert again.duplicate
    (created,) = await store.history(ALICE, first.memory.memory_id)
    assert created.actor == "test"
    other = await write(store, ALICE, "Ports are open")
    link = MemoryLink(
        from_id=other,
        to_id=first.memory.memory_id,
        relation="contradicts",
        rationale="not\x00 both \ud83d",
    )
    assert await store.link(ALICE, link)
    (kept,) = await store.links(ALICE, other)
    assert kept.rationale == "not both ?"
    with pytest.raises(NotFoundError):
        await store.memory(ALICE, "no\x00body \ud83d")


async def test_a_name_that_no_column_holds_is_refused_before_anything_is_written(
    store: Store,
) -> None:
    with pytest.raises(InputError, match="actor has 256 characters; at most 255 are kept"):
        await store.add(ALICE, [new_memory("x")], actor="a" * 256)
    with pytest.raises(InputError, match="operation_id"):
        await store.add(ALICE, [new_memory("x", operation_id="o" * 256)], actor="a")
    assert await store.memories(ALICE) == ()


async def test_pages_and_lists_come_in_the_order_of_bytes(store: Store) -> None:
    names = ["b", "a-c", "ab", "B", "a", "\u00e1", "A", "a_c", "\u8336"]
    for name in names:
        await write(store, Scope("sorted", name), f"of {name}")
    found = await store.memories(Scope("sorted"), limit=20)
    assert [memory.memory_id for memory in found] == sorted(one.memory_id for one in found)
    changes = await store.changes(Scope("sorted"), since=0)
    assert [entry.memory_id for entry in changes.entries] == sorted(
        entry.memory_id for entry in changes.entries
    )
