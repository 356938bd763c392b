"""Editing: what is not named stays, what is taken away is gone, and both are on record."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from agentkit.errors import EmbedderError, InputError, NotFoundError
from agentkit.records import Scope, ScopeChanges, Tag
from agentkit.store import KEEP, MemoryEdit, Store
from agentkit.testing import FixedClock, HashEmbedder, memory_store, new_memory

NOW = datetime(2026, 11, 30, 9, 30, tzinfo=UTC)
ALICE = Scope("alice")


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOW)


@pytest.fixture
async def store(clock: FixedClock) -> AsyncIterator[Store]:
    opened = memory_store(clock=clock, embedder=HashEmbedder())
    yield opened
    await opened.close()


async def write(store: Store, content: str, *, cues: tuple[str, ...] = ()) -> str:
    new = new_memory(content, cues=cues, tags=("tool:csv", "domain:data"))
    (result,) = await store.add(ALICE, [new], actor="test")
    return result.memory.memory_id


async def edit(store: Store, memory_id: str, change: MemoryEdit) -> None:
    await store.edit(ALICE, memory_id, change, actor="person", reason="because")


def key_ids(changes: ScopeChanges) -> list[str]:
    return [key.key_id for entry in changes.entries for key in entry.keys]


async def test_new_content_keeps_everything_else(store: Store, clock: FixedClock) -> None:
    memory_id = await write(store, "Fill gaps with the mean", cues=("missing values",))
    await store.verify(ALICE, memory_id, actor="t", reason="again")
    before = await store.memory(ALICE, memory_id)
    clock.advance(days=3)
    await edit(store, memory_id, MemoryEdit(content="Fill gaps with the median"))
    after = await store.memory(ALICE, memory_id)
    assert after.content == "Fill gaps with the median"
    assert after.edited_at == NOW + timedelta(days=3)
    kept = (
        *("cues", "tags", "confidence", "alpha", "beta", "trust", "source", "created_at", "status"),
        *("recorded_at", "last_verified_at", "permanent", "memory_type", "valid_to", "episode_id"),
    )
    for name in kept:
        assert getattr(after, name) == getattr(before, name), name
    event = (await store.history(ALICE, memory_id))[-1]
    assert (event.kind, event.actor, event.reason) == ("edited", "person", "because")
    assert json.loads(event.old or "") == {"content": "Fill gaps with the mean"}
    assert json.loads(event.new or "") == {"content": "Fill gaps with the median"}


async def test_only_new_content_counts_as_an_edit_of_what_it_says(store: Store) -> None:
    memory_id = await write(store, "Fill gaps with the mean")
    await edit(store, memory_id, MemoryEdit(tags=(), cues=("gaps",)))
    assert (await store.memory(ALICE, memory_id)).edited_at is None


async def test_values_that_it_has_already_are_no_change(store: Store) -> None:
    memory_id = await write(store, "Fill gaps with the mean", cues=("gaps",))
    before = await store.revision(ALICE)
    same = MemoryEdit(
        content=" Fill gaps with the mean ",
        cues=("gaps", "gaps"),
        tags=(Tag("tool", "csv"), Tag("domain", "data")),
        valid_to=None,
    )
    await edit(store, memory_id, same)
    assert await store.revision(ALICE) == before
    assert len(await store.history(ALICE, memory_id)) == 1


async def test_a_tag_that_is_removed_is_gone_from_every_path(store: Store) -> None:
    memory_id = await write(store, "Fill gaps with the mean")
    held = (await store.changes(ALICE, since=0)).revision
    await edit(store, memory_id, MemoryEdit(tags=(Tag("domain", "data"),)))
    assert (await store.memory(ALICE, memory_id)).tags == (Tag("domain", "data"),)
    assert await store.memories(ALICE, tag=Tag("tool", "csv")) == ()
    assert await store.count(ALICE, tag=Tag("tool", "csv")) == {}
    (entry,) = (await store.changes(ALICE, since=held)).entries
    assert entry.tags == (Tag("domain", "data"),)
    event = (await store.history(ALICE, memory_id))[-1]
    assert json.loads(event.old or "") == {"tags": ["domain:data", "tool:csv"]}
    assert json.loads(event.new or "") == {"tags": ["domain:data"]}


async def test_keys_and_vectors_follow_the_new_words(store: Store) -> None:
    memory_id = await write(store, "old words", cues=("first", "second"))
    await store.settle()
    await edit(store, memory_id, MemoryEdit(content="new words", cues=("second",)))
    changes = await store.changes(ALICE, since=0)
    assert key_ids(changes) == [f"{memory_id}:0", f"{memory_id}:1"]
    content, cue = changes.entries[0].keys
    assert content.vector is None
    expected = await HashEmbedder().embed(["new words", "second"], kind="document")
    assert cue.vector is not None
    np.testing.assert_allclose(cue.vector, expected[1], atol=1e-6)
    report = await store.settle()
    assert (report.embedded, report.waiting, report.problem) == (1, 0, "")
    checks = {check.name: check for check in await store.check()}
    assert checks["index"].detail == "2 keys, 0 missing, 0 too many"
    (entry,) = (await store.changes(ALICE, since=0)).entries
    assert entry.keys[0].vector is not None
    np.testing.assert_allclose(entry.keys[0].vector, expected[0], atol=1e-6)


async def test_vectors_that_come_along_are_used_by_their_text(store: Store) -> None:
    memory_id = await write(store, "old words", cues=("first",))
    await store.settle()
    vectors = await HashEmbedder().embed(["new words"], kind="document")
    with pytest.raises(EmbedderError, match="shape"):
        await edit(store, memory_id, MemoryEdit(content="x", vectors={"x": vectors[0][:2]}))
    await edit(store, memory_id, MemoryEdit(content="new words", vectors={"new words": vectors[0]}))
    (entry,) = (await store.changes(ALICE, since=0)).entries
    assert entry.keys[0].vector is not None
    np.testing.assert_allclose(entry.keys[0].vector, vectors[0], atol=1e-6)
    assert entry.keys[1].vector is not None
    assert (await store.settle()).embedded == 0


async def test_an_end_in_the_past_hides_at_once_and_can_be_taken_back(store: Store) -> None:
    memory_id = await write(store, "Parking is free")
    await edit(store, memory_id, MemoryEdit(valid_to=NOW))
    assert await store.memories(ALICE) == ()
    with pytest.raises(NotFoundError):
        await store.memory(ALICE, memory_id)
    with pytest.raises(NotFoundError):
        await edit(store, memory_id, MemoryEdit(content="Parking costs"))
    await edit(store, memory_id, MemoryEdit(valid_to=None))
    assert [memory.memory_id for memory in await store.memories(ALICE)] == [memory_id]
    told = [json.loads(event.new or "{}") for event in await store.history(ALICE, memory_id)]
    assert [fields.get("valid_to", KEEP) for fields in told] == [KEEP, NOW.isoformat(), None]


async def test_what_cannot_be_edited_is_refused_and_nothing_changes(store: Store) -> None:
    memory_id = await write(store, "one")
    other = await write(store, "Two things")
    before = await store.revision(ALICE)
    for change, why in (
        (MemoryEdit(), "nothing is to be changed"),
        (MemoryEdit(content=" \n"), "blank"),
        (MemoryEdit(content="two  things."), f"memory {other} says that already"),
        (MemoryEdit(tags=(Tag("tool", ""),)), "tag"),
        (MemoryEdit(valid_to=NOW.replace(tzinfo=None)), "no time zone"),
        (
            MemoryEdit(valid_from=NOW + timedelta(days=2), valid_to=NOW + timedelta(days=1)),
            "before",
        ),
    ):
        with pytest.raises(InputError, match=why):
            await edit(store, memory_id, change)
    await store.forget(ALICE, [other], actor="t", reason="r")
    with pytest.raises(InputError, match="restore it"):
        await edit(store, other, MemoryEdit(content="three"))
    with pytest.raises(NotFoundError):
        await store.edit(Scope("bob"), memory_id, MemoryEdit(content="mine"), actor="t")
    assert await store.revision(ALICE) == before + 1
    assert (await store.memory(ALICE, memory_id)).content == "one"


@pytest.mark.parametrize("text", ["nul\x00byte", "half \ud83d pair", "x" * 100_000, "绿茶 🍵"])
async def test_any_text_can_be_edited_in(store: Store, text: str) -> None:
    memory_id = await write(store, "one")
    await edit(store, memory_id, MemoryEdit(content=text, cues=(text + "!",)))
    again = await write(store, text)
    assert again == memory_id
    await store.history(ALICE, memory_id)


async def test_composed_and_decomposed_accents_are_one_text_in_an_edit(store: Store) -> None:
    memory_id = await write(store, "Le caf\u00e9 ouvre")
    before = await store.revision(ALICE)
    await edit(store, memory_id, MemoryEdit(content="Le cafe\u0301 ouvre"))
    assert await store.revision(ALICE) == before


@pytest.mark.parametrize("status", ["forgotten", "superseded", "archived"])
async def test_restoring_gives_back_the_status_from_before(store: Store, status: str) -> None:
    memory_id = await write(store, "one")
    await store.change_status(ALICE, memory_id, "disputed", actor="t", reason="doubt")
    if status == "forgotten":
        await store.forget(ALICE, [memory_id], actor="t", reason="r")
    else:
        assert status in ("superseded", "archived")
        await store.change_status(ALICE, memory_id, status, actor="t", reason="r")
    restored = await store.restore(ALICE, memory_id, actor="t", reason="r")
    assert restored.status == "disputed"
    with pytest.raises(InputError, match="nothing to restore"):
        await store.restore(ALICE, memory_id, actor="t", reason="r")


async def test_restoring_goes_back_step_by_step(store: Store) -> None:
    memory_id = await write(store, "one")
    await store.change_status(ALICE, memory_id, "archived", actor="t", reason="r")
    await store.forget(ALICE, [memory_id], actor="t", reason="r")
    assert (await store.restore(ALICE, memory_id, actor="t", reason="r")).status == "archived"
    assert (await store.restore(ALICE, memory_id, actor="t", reason="r")).status == "active"


async def test_what_was_written_again_meanwhile_is_not_restored_beside_it(store: Store) -> None:
    memory_id = await write(store, "one")
    await store.forget(ALICE, [memory_id], actor="t", reason="r")
    again = await write(store, "One.")
    with pytest.raises(InputError, match=f"written again as {again}"):
        await store.restore(ALICE, memory_id, actor="t", reason="r")


async def test_a_restored_pending_memory_is_checked_for_conflicts_again(store: Store) -> None:
    (result,) = await store.add(ALICE, [new_memory("one", status="pending")], actor="t")
    await store.forget(ALICE, [result.memory.memory_id], actor="t", reason="r")
    await store.restore(ALICE, result.memory.memory_id, actor="t", reason="r")
    (job,) = await store.jobs(ALICE)
    assert (job.kind, job.subject_id) == ("conflict", result.memory.memory_id)


async def test_an_operation_counts_a_verification_once(store: Store) -> None:
    memory_id = await write(store, "one")
    for _ in range(3):
        await store.verify(ALICE, memory_id, actor="t", reason="r", operation_id="op-1")
    memory = await store.memory(ALICE, memory_id)
    assert memory.confidence == pytest.approx(4 / 5)
    await store.verify(ALICE, memory_id, actor="t", reason="r", operation_id="op-2")
    assert len(await store.history(ALICE, memory_id)) == 3


async def test_an_operation_is_found_by_its_id_in_its_own_scope(store: Store) -> None:
    new = new_memory("one", operation_id="op\x00-caf\u00e9")
    (first,) = await store.add(ALICE, [new], actor="t")
    found = await store.written_by(ALICE, "op-cafe\u0301")
    assert found == first.memory
    assert await store.written_by(Scope("bob"), "op-caf\u00e9") is None
    assert await store.written_by(Scope("alice", "cook"), "op-caf\u00e9") is None
