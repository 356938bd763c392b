"""Going over to another embedder: nothing is mixed, nothing is lost, everybody works on (ST-08)."""

import signal
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from agentkit.errors import EmbedderError, InputError
from agentkit.ports import Embedder, EmbedderIdentity, EmbedKind, IndexItem
from agentkit.records import Float32Array, Scope
from agentkit.store import FolderBlobs, MemoryEdit, Store
from agentkit.store.qdrant import QdrantIndex
from agentkit.store.trials import compare_trials
from agentkit.testing import FixedClock, HashEmbedder, MemoryVectorIndex, new_memory
from tests.project_process import run_script

ALICE, BOB = Scope("alice"), Scope("bob")
NOW = datetime(2026, 11, 30, 9, 30, tzinfo=UTC)
OLD, NEW = "old", "new"

FILL = """
import asyncio, os, signal, sys
from datetime import UTC, datetime
from pathlib import Path
from agentkit.store import FolderBlobs, Store
from agentkit.testing import HashEmbedder

class Mortal(HashEmbedder):
    calls = 0

    async def embed(self, texts, *, kind):
        self.calls += 1
        if self.calls == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        print(len(texts), flush=True)
        return await super().embed(texts, kind=kind)

store = Store.open(
    database_url=sys.argv[1], blobs=FolderBlobs(Path(sys.argv[2])), index_path=None,
    embedder=HashEmbedder(8, name="old"), clock=lambda: datetime.now(UTC),
)
asyncio.run(store.fill(Mortal(16, name="new")))
"""


class Counting(HashEmbedder):
    """Counts the texts that it embeds, and lets something happen before each batch."""

    def __init__(
        self,
        dim: int = 16,
        *,
        name: str = NEW,
        before: Callable[[int], Awaitable[None]] | None = None,
    ) -> None:
        super().__init__(dim, name=name)
        self.texts = 0
        self.calls = 0
        self._before = before

    async def embed(self, texts: Sequence[str], *, kind: EmbedKind) -> Float32Array:
        self.calls += 1
        if self._before is not None:
            await self._before(self.calls)
        self.texts += len(texts)
        return await super().embed(texts, kind=kind)


class Unnamed:
    """An embedder of somebody's own, which says what it is only when it is asked."""

    def __init__(self, inner: HashEmbedder) -> None:
        self._inner = inner

    async def identity(self) -> EmbedderIdentity:
        return await self._inner.identity()

    async def load(self) -> None:
        await self._inner.load()

    async def embed(self, texts: Sequence[str], *, kind: EmbedKind) -> Float32Array:
        return await self._inner.embed(texts, kind=kind)


class Place:
    """A database that several stores open."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url

    @asynccontextmanager
    async def opened(
        self, embedder: Embedder | None, *, chroma: bool = False
    ) -> AsyncGenerator[Store]:
        store = Store.open(
            database_url=self.url,
            blobs=FolderBlobs(self.folder / "blobs"),
            index_path=self.folder / "index" if chroma else None,
            embedder=embedder,
            clock=FixedClock(NOW),
        )
        try:
            yield store
        finally:
            await store.close()


@pytest.fixture
def place(tmp_path: Path, database_url: str) -> Place:
    return Place(tmp_path, database_url)


@pytest.fixture
def local(tmp_path: Path) -> Place:
    return Place(tmp_path, f"sqlite:///{tmp_path / 'agentkit.db'}")


def old_embedder() -> HashEmbedder:
    return HashEmbedder(8, name=OLD)


async def written(store: Store, *texts: str, scope: Scope = ALICE) -> list[str]:
    results = await store.add(scope, [new_memory(text) for text in texts], actor="t")
    return [one.memory.memory_id for one in results]


async def lived_in(store: Store, number: int = 3) -> list[str]:
    ids = await written(store, *(f"memory number {place}" for place in range(number)))
    assert (await store.settle()).problem == ""
    return ids


async def dims(store: Store, scope: Scope = ALICE) -> list[int | None]:
    """Length of the vector of each key as recall gets it; None for none."""
    found = await store.changes(scope, since=0)
    return [
        None if key.vector is None else len(key.vector)
        for entry in found.entries
        for key in entry.keys
    ]


async def kept(store: Store) -> dict[str, int]:
    return {one.fingerprint: one.vectors for one in await store.kept_vectors()}


async def test_filling_leaves_recall_and_its_caches_as_they_are(place: Place) -> None:
    async with place.opened(old_embedder()) as store:
        await lived_in(store)
        await written(store, "bob's own", scope=BOB)
        await store.settle()
        revision = await store.revision(ALICE)
        told: list[tuple[int, int]] = []
        report = await store.fill(
            Counting(), progress=lambda done, total: told.append((done, total))
        )
        assert (report.embedder, report.embedded, report.keys) == ("new@16", 4, 4)
        assert (told[0], told[-1]) == ((0, 4), (4, 4))
        assert await kept(store) == {"new@16": 4, "old@8": 4}
        assert await store.revision(ALICE) == revision
        assert await dims(store) == [8, 8, 8]


async def test_what_is_filled_already_is_not_embedded_again(place: Place) -> None:
    async def fails(call: int) -> None:
        if call == 2:
            raise EmbedderError("the provider is down")

    async with place.opened(old_embedder()) as store:
        await lived_in(store, 150)
        with pytest.raises(EmbedderError, match="provider is down"):
            await store.fill(Counting(before=fails))
        assert (await kept(store))["new@16"] == 64
        again = Counting()
        assert (await store.fill(again)).embedded == 86
        assert again.texts == 86
        assert (await store.fill(again)).embedded == 0
        assert again.texts == 86


async def test_a_fill_killed_half_way_is_gone_on_with(place: Place, repository: Path) -> None:
    async with place.opened(old_embedder()) as store:
        await lived_in(store, 160)
        done = run_script(FILL, place.url, str(place.folder / "blobs"), folder=repository)
        assert done.returncode == -signal.SIGKILL, done.stderr
        assert done.stdout.split() == ["64", "64"]
        assert await dims(store) == [8] * 160
        again = Counting()
        report = await store.switch(again)
        assert (report.embedded, again.texts) == (160 - 128, 160 - 128)
        assert await kept(store) == {"new@16": 160, "old@8": 160}


async def test_the_switch_is_one_step_after_which_only_the_new_vectors_are_read(
    place: Place,
) -> None:
    async with place.opened(old_embedder()) as store:
        await lived_in(store)
        before = await store.changes(ALICE, since=0)
        report = await store.switch(Counting())
        assert (report.old, report.new, report.embedded) == ("old@8", "new@16", 3)
    async with place.opened(Counting()) as after:
        found = await after.changes(ALICE, since=before.revision)
        assert found.complete
        assert await dims(after) == [16, 16, 16]
        assert await kept(after) == {"new@16": 3, "old@8": 3}
        (used,) = [one for one in await after.kept_vectors() if one.in_use]
        assert (used.fingerprint, used.nbytes) == ("new@16", 3 * 16 * 4)
        assert (await after.settle()).waiting == 0


async def test_what_is_written_while_it_fills_is_caught_up_with_before_the_switch(
    place: Place,
) -> None:
    async with place.opened(old_embedder()) as other, place.opened(old_embedder()) as store:
        ids = await lived_in(store, 70)

        async def writes(call: int) -> None:
            if call < 4:
                await written(other, f"written during call {call}")
                await other.settle()
                await other.edit(
                    ALICE, ids[call], MemoryEdit(content=f"edited in call {call}"), actor="t"
                )
                assert set(await dims(other)) <= {8, None}

        report = await store.switch(Counting(before=writes))
        assert report.embedded >= 73
        async with place.opened(Counting()) as after:
            assert await dims(after) == [16] * 73
            assert (await after.settle()).embedded == 0


async def test_writers_that_are_faster_for_ever_stop_the_switch_and_nothing_changed(
    local: Place,
) -> None:
    async with local.opened(old_embedder()) as store:

        async def writes(call: int) -> None:
            await written(store, f"written during call {call}")

        await lived_in(store)
        with pytest.raises(EmbedderError, match="faster than new"):
            await store.switch(Counting(before=writes))
        assert set(await dims(store)) <= {8, None}
        assert [one.fingerprint for one in await store.kept_vectors() if one.in_use] == ["old@8"]


async def test_a_store_that_was_open_at_the_switch_never_mixes(place: Place) -> None:
    async with place.opened(old_embedder()) as stale, place.opened(Unnamed(old_embedder())) as own:
        await lived_in(stale)
        since = (await own.changes(ALICE, since=0)).revision
        async with place.opened(None) as operator:
            await operator.switch(Counting(8))
        for store in (stale, own):
            found = await store.changes(ALICE, since=since)
            assert "of embedder new (8 dimensions), and old" in found.refused
            assert found.complete
            assert set(await dims(store)) == {None}
            vectors = await old_embedder().embed(["a late one"], kind="document")
            late = new_memory(f"a late one {store is own}")
            late = type(late)(lesson=late.lesson, trust=0.8, vectors=vectors)
            (result,) = await store.add(ALICE, [late], actor="t")
            assert not result.duplicate
            assert "agentkit reindex --embedder old --switch" in (await store.settle()).problem
        async with place.opened(Counting(8)) as fresh:
            assert await dims(fresh) == [8, 8, 8, None, None]
            assert (await fresh.settle()).embedded == 2
            assert await kept(fresh) == {"new@8": 5, "old@8": 3}


async def test_switching_back_embeds_only_what_was_written_since(place: Place) -> None:
    async with place.opened(old_embedder()) as store:
        await lived_in(store)
        await store.switch(Counting())
    async with place.opened(Counting()) as store:
        await written(store, "written since")
        await store.settle()
        back = Counting(8, name=OLD)
        assert (await store.switch(back)).embedded == 1
        assert back.texts == 1
    async with place.opened(old_embedder()) as store:
        assert await dims(store) == [8] * 4


async def test_vectors_in_use_cannot_be_dropped_and_others_can(place: Place) -> None:
    async with place.opened(old_embedder()) as store:
        await lived_in(store)
        await store.fill(Counting())
        await store.fill(Counting(4))
        with pytest.raises(InputError, match="old@8"):
            await store.drop_vectors(OLD)
        assert [one.fingerprint for one in await store.drop_vectors("new@4")] == ["new@4"]
        assert await kept(store) == {"new@16": 3, "old@8": 3}
        assert [one.vectors for one in await store.drop_vectors(NEW)] == [3]
        assert await store.drop_vectors(NEW) == ()
        assert await kept(store) == {"old@8": 3}
        assert await dims(store) == [8, 8, 8]


async def test_a_purge_erases_the_vectors_of_both(place: Place) -> None:
    async with place.opened(old_embedder()) as store:
        ids = await lived_in(store)
        await written(store, "bob's own", scope=BOB)
        await store.settle()
        await store.fill(Counting())
        await store.purge_memories(ALICE, [ids[0]])
        assert await kept(store) == {"new@16": 3, "old@8": 3}
        await store.purge_user(ALICE)
        assert await kept(store) == {"new@16": 1, "old@8": 1}


async def test_an_export_carries_both_and_the_copy_can_switch_without_embedding(
    place: Place, tmp_path: Path
) -> None:
    file = tmp_path / "all.jsonl"
    async with place.opened(old_embedder()) as store:
        await lived_in(store)
        await store.fill(Counting())
        await store.export_to(file, scope=None)
    other = Place(tmp_path / "copy", f"sqlite:///{tmp_path / 'copy.db'}")
    async with other.opened(old_embedder()) as copy:
        report = await copy.restore_from(file, scope=None, as_scope=None)
        assert report.embedder_note == ""
        assert await kept(copy) == {"new@16": 3, "old@8": 3}
        assert await dims(copy) == [8, 8, 8]
        assert (await copy.switch(Counting())).embedded == 0
        assert (await copy.prove()).ok
    async with other.opened(Counting()) as copy:
        assert (await copy.settle()).embedded == 0
        assert await dims(copy) == [16, 16, 16]


async def test_a_memory_that_was_forgotten_gets_its_new_vector_when_it_comes_back(
    place: Place,
) -> None:
    async with place.opened(old_embedder()) as store:
        ids = await lived_in(store)
        await store.forget(ALICE, [ids[0]], actor="person", reason="not now")
        assert (await store.switch(Counting())).embedded == 2
    async with place.opened(Counting()) as store:
        await store.restore(ALICE, ids[0], actor="person", reason="needed")
        assert (await store.settle()).embedded == 1
        assert await dims(store) == [16, 16, 16]


async def test_the_proof_and_the_doctor_stay_right_with_two_kinds_of_vectors(local: Place) -> None:
    async with local.opened(old_embedder(), chroma=True) as store:
        await lived_in(store)
        await store.fill(Counting())
        assert (await store.prove()).ok
        checks = {check.name: check for check in await store.check()}
        assert checks["other vectors"].ok
        assert "3 of new@16 are kept (192 bytes)" in checks["other vectors"].detail
        assert checks["index"].detail == "3 keys, 0 missing, 0 too many"
        report = await store.switch(Counting())
        assert (report.index.indexed, report.index.waiting, report.index.problem) == (3, 0, "")
    async with local.opened(Counting(), chroma=True) as store:
        found = await store.prove()
        assert (found.ok, found.indexed) == (True, 3)
        checks = {check.name: check for check in await store.check()}
        assert all(check.ok for check in checks.values())
        assert "3 of old@8 are kept" in checks["other vectors"].detail


async def test_the_owner_of_the_index_follows_a_switch_by_another_process(local: Place) -> None:
    async with local.opened(old_embedder(), chroma=True) as owner:
        await lived_in(owner)
        async with local.opened(None, chroma=True) as operator:
            report = await operator.switch(Counting())
            assert (report.index.indexed, report.index.waiting) == (0, 3)
            assert "owns the index" in report.index.problem
        settled = await owner.settle()
        assert (settled.indexed, settled.waiting) == (3, 0)
        found = await owner.prove()
        assert (found.ok, found.indexed) == (True, 3)


async def test_a_switch_broken_off_before_the_index_was_filled_is_finished_by_the_next(
    local: Place,
) -> None:
    async with local.opened(old_embedder(), chroma=True) as store:
        await lived_in(store)
    # Without an index at hand, the keys would wait as they do after a crash at this point.
    async with local.opened(old_embedder()) as store:
        await store.switch(Counting())
    async with local.opened(None, chroma=True) as store:
        again = await store.switch(Counting())
        assert (again.old, again.embedded, again.index.problem) == ("new@16", 0, "")
        found = await store.prove()
        assert (found.ok, found.indexed) == (True, 3)


async def test_a_qdrant_folder_holds_the_collection_of_the_one_in_use_alone(tmp_path: Path) -> None:
    first = QdrantIndex(tmp_path, identity=EmbedderIdentity(OLD, 8))
    first.close()
    second = QdrantIndex(tmp_path, identity=EmbedderIdentity(NEW, 16))
    second.drop_others()
    assert second.ids() == set()
    second.close()
    assert len(list((tmp_path / "collection").iterdir())) == 1


async def test_without_a_logged_query_there_is_nothing_to_compare(place: Place) -> None:
    async with place.opened(old_embedder()) as store:
        await lived_in(store)
        await store.fill(Counting())
        log = await store.try_log(old_embedder(), Counting(), limit=10, prepare=str)
        found = compare_trials([log])
        assert (found.logged, found.overall.queries, found.languages) == (0, 0, {})
        with pytest.raises(InputError, match="limit"):
            await store.try_log(old_embedder(), Counting(), limit=0, prepare=str)


async def test_vectors_handed_over_are_those_of_the_embedder_that_made_them(place: Place) -> None:
    async with place.opened(old_embedder()) as store:
        (memory_id,) = await written(store, "old words")
        await store.settle()
        await store.switch(Counting())
        await store.edit(
            ALICE,
            memory_id,
            MemoryEdit(content="fresh words", vectors={"fresh words": np.ones(8, np.float32)}),
            actor="t",
        )
    async with place.opened(Counting()) as store:
        assert await dims(store) == [None]
        assert (await store.settle()).embedded == 1
        assert await kept(store) == {"new@16": 1}


def test_a_vector_index_of_a_test_keeps_its_own_when_it_drops_others() -> None:
    index = MemoryVectorIndex()
    own = IndexItem(
        key_id="m:0",
        user_id="alice",
        agent_id=None,
        memory_id="m",
        memory_type="semantic",
        vector=np.ones(1, dtype=np.float32),
    )
    index.upsert([own])
    index.drop_others()
    assert index.get(["m:0"]) == [own]
