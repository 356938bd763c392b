"""What was purged is in no export, and an export of before does not bring it back."""

import asyncio
import gzip
import threading
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest

from agentkit import Kit
from agentkit.errors import ArchiveError, StoreError
from agentkit.evaluation.importers import read_recordings
from agentkit.records import Memory, Scope
from agentkit.store import FolderBlobs, MemoryEdit, Store
from agentkit.testing import FixedClock, HashEmbedder
from tests.lived_in import NOW, SESSIONS, kit_at, live_in, store_at

ALICE, BOB = Scope("alice-marked"), Scope("bob")
MARK = "blue-falcon"


def text_of(file: Path) -> str:
    return gzip.decompress(file.read_bytes()).decode()


async def written(kit: Kit, text: str, scope: Scope) -> Memory:
    report = await kit.remember(text, scope=scope)
    assert report.memory is not None
    return report.memory


async def test_a_whole_export_after_a_purge_holds_nothing_of_what_was_purged(
    tmp_path: Path,
) -> None:
    root = tmp_path / "p"
    await live_in(root, ALICE.user_id, mark=MARK)
    await live_in(root, BOB.user_id, mark="kept")
    file = tmp_path / "all.jsonl.gz"
    async with kit_at(root) as kit:
        await kit.export_to(file, scope=None)
        assert MARK in text_of(file)
        await kit.purge_user(scope=ALICE)
        await kit.export_to(file, scope=None)
    assert MARK not in text_of(file)
    assert ALICE.user_id not in text_of(file)
    assert "kept" in text_of(file)


async def test_an_older_export_does_not_bring_a_purged_user_back(tmp_path: Path) -> None:
    root = tmp_path / "p"
    await live_in(root, ALICE.user_id, mark=MARK)
    await live_in(root, BOB.user_id, mark="kept")
    file, before, after = (tmp_path / f"{name}.jsonl.gz" for name in ("old", "before", "after"))
    async with kit_at(root) as kit:
        exported = await kit.export_to(file, scope=ALICE)
        await kit.export_to(tmp_path / "all.jsonl.gz", scope=None)
        await kit.purge_user(scope=ALICE)
        await kit.export_to(before, scope=None)
        for name in (file, tmp_path / "all.jsonl.gz"):
            report = await kit.restore_from(name)
            assert report.added == {}
            assert report.purged["memory"] == exported.counts["memory"]
            assert report.purged["episode"] == exported.counts["episode"]
            assert report.purged["retrieval"] == exported.counts["retrieval"]
            assert report.purged["session"] == exported.counts["session"]
        assert (await kit.prove()).ok
        await kit.export_to(after, scope=None)
        assert text_of(after).splitlines()[1:] == text_of(before).splitlines()[1:]

        renamed = await kit.restore_from(file, scope=ALICE, as_scope=Scope("carol"))
        assert renamed.purged["memory"] == exported.counts["memory"]
        assert await kit.memories(scope=Scope("carol")) == ()


async def test_it_comes_back_where_that_is_asked_for(tmp_path: Path) -> None:
    root, file = tmp_path / "p", tmp_path / "old.jsonl.gz"
    await live_in(root, ALICE.user_id, mark=MARK)
    async with kit_at(root) as kit:
        exported = await kit.export_to(file, scope=ALICE)
        await kit.purge_user(scope=ALICE)
        report = await kit.restore_from(file, with_purged=True)
        assert (report.purged, report.kept) == ({}, 0)
        assert report.added["memory"] == exported.counts["memory"]
        await kit.settle()
        assert (await kit.prove()).ok
    # It is here again, and nothing says that it was not.
    async with kit_at(root) as kit:
        again = await kit.restore_from(file)
        assert (again.added, again.purged) == ({}, {})
    async with kit_at(root) as kit:
        await kit.export_to(tmp_path / "again.jsonl.gz", scope=ALICE)
    assert text_of(tmp_path / "again.jsonl.gz") == text_of(file)


async def test_what_a_purge_left_of_a_user_stays_as_the_purge_left_it(tmp_path: Path) -> None:
    root, file = tmp_path / "p", tmp_path / "old.jsonl.gz"
    async with kit_at(root) as kit:
        await kit.import_recordings(read_recordings(SESSIONS).recordings[:2], scope=ALICE)
        secret = await written(kit, f"The door code is {MARK}", ALICE)
        other = await written(kit, "Invoices are archived on the third floor", ALICE)
        await kit.recall(f"is it true that the door code is {MARK}?", scope=ALICE)
        await kit.background.join()
        await kit.edit(other.memory_id, scope=ALICE, cues=["third floor"], reason="x")
        await kit.recall("door", scope=ALICE)
        await kit.background.join()
        await kit.export_to(file, scope=None)
        await kit.purge_memory(secret.memory_id, scope=ALICE)
        later = await written(kit, "Reports go out on Fridays", ALICE)
        report = await kit.restore_from(file)
        assert report.purged["memory"] == 1
        assert report.kept >= 1
        assert {memory.memory_id for memory in await kit.memories(scope=ALICE)} >= {
            other.memory_id,
            later.memory_id,
        }
        after = tmp_path / "after.jsonl.gz"
        await kit.export_to(after, scope=None)
        assert MARK not in text_of(after)
        assert secret.memory_id not in text_of(after)
        assert (await kit.settle()).problem == ""
        assert (await kit.prove()).ok


async def test_marks_move_along_to_another_project(tmp_path: Path, postgres_url: str) -> None:
    root, old, new = tmp_path / "p", tmp_path / "old.jsonl.gz", tmp_path / "new.jsonl.gz"
    async with kit_at(root) as kit:
        secret = await written(kit, f"The door code is {MARK}", ALICE)
        await written(kit, "The gate opens at nine", BOB)
        await kit.export_to(old, scope=None)
        await kit.purge_memory(secret.memory_id, scope=ALICE)
        await kit.export_to(new, scope=None)
    store = Store.open(
        database_url=postgres_url,
        blobs=FolderBlobs(tmp_path / "blobs"),
        index_path=None,
        embedder=HashEmbedder(),
        clock=FixedClock(NOW),
    )
    await store.restore_from(new)
    report = await store.restore_from(old)
    assert (report.purged, report.added) == ({"memory": 1}, {})
    await store.close()


async def test_a_real_conflict_is_still_refused_where_nothing_was_purged(tmp_path: Path) -> None:
    root, file = tmp_path / "p", tmp_path / "old.jsonl.gz"
    async with kit_at(root) as kit:
        await written(kit, f"The door code is {MARK}", ALICE)
        gate = await written(kit, "The gate opens at nine", BOB)
        await kit.edit(gate.memory_id, scope=BOB, cues=["gate"])
        await kit.export_to(file, scope=None)
    async with kit_at(tmp_path / "q") as kit:
        await kit.restore_from(file)
        await kit.edit(gate.memory_id, scope=BOB, cues=["other"])
        await kit.export_to(file, scope=None)
    async with kit_at(root) as kit:
        await kit.edit(gate.memory_id, scope=BOB, cues=["door"])
        await kit.purge_user(scope=ALICE)
        with pytest.raises(ArchiveError, match="1 of its records are here in another state"):
            await kit.restore_from(file)
        assert await kit.memories(scope=ALICE) == ()


class _GatedBlobs(FolderBlobs):
    """Stores one object, then waits to be let on."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.stored, self.go_on = threading.Event(), threading.Event()

    def put(self, name: str, data: bytes) -> str:
        uri = super().put(name, data)
        self.stored.set()
        assert self.go_on.wait(timeout=60)
        return uri


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
async def test_nothing_is_swept_away_in_the_middle_of_a_restore(
    tmp_path: Path, request: pytest.FixtureRequest, kind: str
) -> None:
    root, file = tmp_path / "source", tmp_path / "all.jsonl"
    clock = FixedClock(NOW)
    async with kit_at(root, clock=clock) as kit:
        await kit.import_recordings(read_recordings(SESSIONS).recordings[:2], scope=ALICE)
        await kit.export_to(file, scope=None)
    # Ids may be later than this clock says: other tests in this process made some.
    clock.advance(days=400)
    url = f"sqlite:///{tmp_path / 'target.db'}"
    if kind == "postgresql":
        url = request.getfixturevalue("postgres_url")

    def opened(blobs: FolderBlobs) -> Store:
        return Store.open(
            database_url=url,
            blobs=blobs,
            index_path=None,
            embedder=HashEmbedder(),
            clock=clock,
        )

    gated = _GatedBlobs(tmp_path / "blobs")
    store, other = opened(gated), opened(FolderBlobs(tmp_path / "blobs"))
    restoring = asyncio.ensure_future(store.restore_from(file))
    await asyncio.to_thread(gated.stored.wait, 60)
    # What is young may be of a restore that is going on; what is old is swept away.
    clock.advance(days=max((_last_made(gated.uris()) - clock()).days, 0) + 3)
    try:
        found = await other.prove()
        assert [item.kind for item in found.disagreements] == ["blob orphaned"]
        with pytest.raises(StoreError, match="a restore or another sweep") as caught:
            await other.mend(found)
        assert caught.value.retryable
    finally:
        gated.go_on.set()
        report = await restoring
    assert report.added["episode"] == 2
    await other.mend(found)
    await other.settle()
    assert (await other.prove()).ok
    await store.close()
    await other.close()


def _last_made(uris: set[str]) -> datetime:
    """When the latest of these was stored: ids never go back, whatever the clock says."""
    ids = [UUID(part) for uri in uris for part in uri.rpartition("/")[2].split(".")[:2]]
    return max(datetime.fromtimestamp((one.int >> 80) / 1_000, tz=UTC) for one in ids)


async def test_a_memory_that_was_edited_since_is_left_as_it_is_here(tmp_path: Path) -> None:
    root, file = tmp_path / "p", tmp_path / "old.jsonl"
    store = store_at(root)
    async with kit_at(root) as kit:
        memory = await written(kit, "The gate opens at nine", ALICE)
    await store.export_to(file, scope=None)
    await store.edit(ALICE, memory.memory_id, MemoryEdit(cues=("gate",)), actor="t")
    report = await store.restore_from(file)
    assert (report.purged, report.kept) == ({}, 0)
    assert (await store.memory(ALICE, memory.memory_id)).cues == ("gate",)
    await store.close()
