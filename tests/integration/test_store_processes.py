"""Several processes on one project: no lost update, no lock error, one owner of the index."""

import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agentkit.errors import StoreError
from agentkit.ports import IndexItem
from agentkit.records import Scope
from agentkit.store import FolderBlobs, Store
from agentkit.testing import FixedClock, HashEmbedder, MemoryVectorIndex, new_memory

ALICE = Scope("alice")
NOW = datetime(2026, 11, 30, 9, 30, tzinfo=UTC)

WRITER = """
import asyncio, sys
from datetime import UTC, datetime
from pathlib import Path
from agentkit.records import Scope
from agentkit.store import FolderBlobs, Store
from agentkit.testing import HashEmbedder, new_memory

folder, name, number = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
store = Store.open(
    database_url=f"sqlite:///{folder / 'agentkit.db'}", blobs=FolderBlobs(folder / "blobs"),
    index_path=folder / "index", embedder=HashEmbedder(), clock=lambda: datetime.now(UTC),
)

async def main() -> None:
    for n in range(number):
        await store.add(Scope("alice"), [new_memory(f"{name} writes {n}")], actor=name)
    print((await store.settle()).problem, end="")
    await store.close()

asyncio.run(main())
"""


def opened(folder: Path, *, index: MemoryVectorIndex | None = None, query: str = "") -> Store:
    return Store.open(
        database_url=f"sqlite:///{folder / 'agentkit.db'}{query}",
        blobs=FolderBlobs(folder / "blobs"),
        index_path=folder / "index",
        embedder=HashEmbedder(),
        clock=FixedClock(NOW),
        index=index,
    )


async def test_two_writers_and_a_reader_get_along(tmp_path: Path, repository: Path) -> None:
    number = 40
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), name, str(number)],
            cwd=repository,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in ("server", "worker")
    ]
    store = opened(tmp_path)
    revision = 0
    while any(writer.poll() is None for writer in writers):
        revision = (await store.changes(ALICE, since=revision)).revision
    for writer in writers:
        said, failed = writer.communicate(timeout=60)
        assert (writer.returncode, said, failed) == (0, "", "")
    report = await store.settle()
    assert (report.waiting, report.problem) == (0, "")
    changes = await store.changes(ALICE, since=0)
    assert len(changes.entries) == 2 * number
    assert changes.revision >= 2 * number
    assert all(key.vector is not None for entry in changes.entries for key in entry.keys)
    assert [check for check in await store.check() if not check.ok] == []
    await store.close()


async def test_a_second_opener_works_and_leaves_the_index_to_the_owner(tmp_path: Path) -> None:
    owner, other = opened(tmp_path), opened(tmp_path)
    await owner.add(ALICE, [new_memory("one")], actor="t")
    assert (await owner.settle()).indexed == 1
    await other.add(ALICE, [new_memory("two")], actor="t")
    report = await other.settle()
    assert (report.embedded, report.indexed, report.waiting) == (1, 0, 1)
    seen = await other.changes(ALICE, since=0)
    assert all(key.vector is not None for entry in seen.entries for key in entry.keys)
    index = {check.name: check for check in await other.check()}["index"]
    assert index.ok
    assert "owns it" in index.detail
    assert (await owner.settle()).indexed == 1
    await owner.close()
    await other.add(ALICE, [new_memory("three")], actor="t")
    assert (await other.settle()).indexed == 1
    await other.close()


async def test_a_forgotten_memory_leaves_the_index_however_late(tmp_path: Path) -> None:
    class Flaky(MemoryVectorIndex):
        broken = False

        def delete(self, key_ids: Sequence[str]) -> None:
            if self.broken and key_ids:
                raise StoreError("index is down", retryable=True)
            super().delete(key_ids)

    index = Flaky()
    store = opened(tmp_path, index=index)
    (result,) = await store.add(ALICE, [new_memory("Door code", cues=("the code",))], actor="t")
    await store.settle()
    assert len(index.ids()) == 2
    index.broken = True
    await store.forget(ALICE, [result.memory.memory_id], actor="t", reason="asked")
    report = await store.settle()
    assert (report.waiting, report.problem) == (2, "index is down")
    assert (await store.changes(ALICE, since=0)).entries == ()
    index.broken = False
    assert (await store.settle()).waiting == 0
    assert index.ids() == set()
    await store.restore(ALICE, result.memory.memory_id, actor="t", reason="undo")
    await store.settle()
    assert len(index.ids()) == 2
    await store.close()


async def test_settling_twice_is_harmless_and_strange_keys_are_noticed(tmp_path: Path) -> None:
    index = MemoryVectorIndex()
    store = opened(tmp_path, index=index)
    await store.add(ALICE, [new_memory("one"), new_memory("two")], actor="t")
    assert (await store.settle()).indexed == 2
    assert (await store.settle()).indexed == 0
    vector = (await HashEmbedder().embed(["x"], kind="document"))[0]
    index.upsert(
        [
            IndexItem(
                key_id="ghost:0",
                user_id="alice",
                agent_id=None,
                memory_id="ghost",
                memory_type="semantic",
                vector=vector,
            )
        ]
    )
    check = {item.name: item for item in await store.check()}["index"]
    assert (check.ok, "1 too many" in check.detail) == (False, True)
    await store.reindex()
    assert {item.name: item for item in await store.check()}["index"].ok
    await store.close()


async def test_a_deleted_index_folder_is_rebuilt_without_embedding_again(tmp_path: Path) -> None:
    store = opened(tmp_path)
    await store.add(ALICE, [new_memory("one"), new_memory("two")], actor="t")
    await store.settle()
    await store.close()
    for path in sorted((tmp_path / "index").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    again = opened(tmp_path)
    assert len((await again.changes(ALICE, since=0)).entries) == 2
    assert not {item.name: item for item in await again.check()}["index"].ok
    report = await again.reindex()
    assert (report.embedded, report.indexed, report.waiting) == (0, 2, 0)
    await again.close()


async def test_a_lock_that_cannot_be_had_is_a_typed_error_and_nothing_is_half_written(
    tmp_path: Path,
) -> None:
    short = opened(tmp_path, query="?timeout=0.1")
    await short.add(ALICE, [new_memory("one")], actor="t")
    holder = sqlite3.connect(tmp_path / "agentkit.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="try again") as caught:
        await short.add(ALICE, [new_memory("two")], actor="t")
    assert caught.value.retryable
    assert len(await short.memories(ALICE)) == 1
    holder.execute("ROLLBACK")
    holder.close()
    await short.add(ALICE, [new_memory("two")], actor="t")
    assert len(await short.memories(ALICE)) == 2
    await short.close()
