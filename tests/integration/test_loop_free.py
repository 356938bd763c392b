"""Blocking work never blocks the event loop.

Each operation is held in the middle of its blocking work: a statement of the database, a call of
the blob store, a computation of the embedder. Held on a worker thread, the loop goes on; on the
loop's own thread it would be noted. No time is measured.
"""

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine, event

from agentkit import Kit
from agentkit.errors import AgentkitError
from agentkit.evaluation.importers import read_recordings
from agentkit.records import Float32Array, Scope
from agentkit.store import FolderBlobs, Store
from agentkit.store.embedders.threaded import ThreadedEmbedder
from agentkit.testing import FixedClock, HashEmbedder, new_episode, new_memory
from tests.lived_in import NOW, SESSIONS

ALICE = Scope("alice")
TICKS = 200
LIMIT_S = 60.0
# What a file is opened, locked, moved or removed by; `time.sleep` too.
WATCHED = frozenset({"open", "fcntl.flock", "os.remove", "os.rename", "os.listdir", "time.sleep"})


class Gate:
    """Where blocking work is held once it was armed, and noted where the loop itself does it."""

    def __init__(self) -> None:
        self._loop_thread = threading.get_ident()
        self._armed = False
        self.reached, self.go_on = threading.Event(), threading.Event()
        self.on_loop: list[str] = []

    def pass_through(self, what: str) -> None:
        if threading.get_ident() == self._loop_thread:
            self.on_loop.append(what)
        elif self._armed:
            self.reached.set()
            assert self.go_on.wait(LIMIT_S), "nobody let it on: the loop stands still"

    async def hold(self, operation: Awaitable[object]) -> list[str]:
        """Hold an operation, see that the loop goes on meanwhile, and let it end.

        Returns:
            What the loop's own thread did of it, which should be nothing.
        """
        self._armed = True
        self.on_loop.clear()
        task = asyncio.ensure_future(operation)
        try:
            assert await asyncio.to_thread(self.reached.wait, LIMIT_S), "it never got there"
            for _ in range(TICKS):
                await asyncio.sleep(0)
            assert not task.done(), "it ended while its blocking work was held"
        finally:
            self.go_on.set()
        await task
        self._armed = False
        return self.on_loop


@pytest.fixture
async def gate() -> Gate:
    return Gate()


class _Audit:
    """An audit hook cannot be taken away again, so there is one, which is told what to watch."""

    def __init__(self) -> None:
        self.gate: Gate | None = None
        self.folder = ""

    def __call__(self, name: str, arguments: tuple[object, ...]) -> None:
        if self.gate is None or name not in WATCHED:
            return
        of_project = name in ("time.sleep", "fcntl.flock") or self.folder in str(arguments[0])
        if of_project and threading.get_ident() == self.gate._loop_thread:  # pyright: ignore[reportPrivateUsage]
            self.gate.on_loop.append(f"{name} {arguments[:1]}")


_AUDIT = _Audit()


@pytest.fixture(scope="module", autouse=True)
def _audited() -> None:
    sys.addaudithook(_AUDIT)


@pytest.fixture
def watched(gate: Gate, tmp_path: Path) -> Iterator[Gate]:
    """Every statement passes the gate; file work of the loop in the project's folder is noted."""

    def before(*arguments: object) -> None:
        gate.pass_through(f"SQL {arguments[2]}")

    event.listen(Engine, "before_cursor_execute", before)
    _AUDIT.gate, _AUDIT.folder = gate, str(tmp_path)
    yield gate
    _AUDIT.gate = None
    event.remove(Engine, "before_cursor_execute", before)


def held_embedder(gate: Gate | None) -> ThreadedEmbedder:
    """The embedder of this package that computes on worker threads, held while it computes."""

    def encode(texts: list[str]) -> Float32Array:
        if gate is not None:
            gate.pass_through("embedding")
        # Letters in place of meaning: which vectors they are does not matter here.
        counted = [np.bincount([ord(char) % 64 for char in text], minlength=64) for text in texts]
        vectors = np.array(counted, dtype=np.float32).reshape(len(texts), 64)
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)

    return ThreadedEmbedder(name="hash", dim=64, load=lambda: encode)


def open_kit(root: Path, gate: Gate | None = None, *, index: str = "none") -> Kit:
    (root / "memory").mkdir(parents=True, exist_ok=True)
    (root / "memory" / "recall.yaml").write_text("timeout_s: 60\n", encoding="utf-8")
    return Kit.open(
        root, clock=FixedClock(NOW), embedder=held_embedder(gate), worker="external", index=index
    )


async def fill(kit: Kit, file: Path) -> None:
    await kit.import_recordings(read_recordings(SESSIONS).recordings[:2], scope=ALICE)
    await kit.remember("Invoices are archived on the third floor", scope=ALICE)
    await kit.recall("where are invoices?", scope=ALICE)
    await kit.background.join()
    await kit.settle()
    await kit.export_to(file, scope=None)


async def _import(kit: Kit, _file: Path) -> object:
    recordings = read_recordings(SESSIONS).recordings[2:3]
    return await kit.import_recordings(recordings, scope=ALICE)


async def _purge_memory(kit: Kit, _file: Path) -> object:
    (memory,) = await kit.memories(scope=ALICE, memory_type="semantic", limit=1)
    return await kit.purge_memory(memory.memory_id, scope=ALICE)


async def _mend(kit: Kit, _file: Path) -> object:
    return await kit.mend(await kit.prove())


OPERATIONS: dict[str, Callable[[Kit, Path], Awaitable[object]]] = {
    "recall": lambda kit, _: kit.recall("where do invoices go?", scope=ALICE),
    "brief": lambda kit, _: kit.brief("where do invoices go?", scope=ALICE),
    "remember": lambda kit, _: kit.remember("Reports go out on Fridays", scope=ALICE),
    "seal": _import,
    "reflect": lambda kit, _: kit.reflect(),
    "export": lambda kit, file: kit.export_to(file.with_name("more.jsonl"), scope=ALICE),
    "restore": lambda kit, file: kit.restore_from(file),
    "purge a memory": _purge_memory,
    "purge a user": lambda kit, _: kit.purge_user(scope=ALICE),
    "reindex": lambda kit, _: kit.reindex(),
    "doctor": lambda kit, _: kit.doctor(),
    "prove": lambda kit, _: kit.prove(),
    "mend": _mend,
}


@pytest.mark.parametrize("name", OPERATIONS)
async def test_a_slow_database_does_not_hold_up_the_loop(
    watched: Gate, tmp_path: Path, name: str
) -> None:
    file = tmp_path / "all.jsonl"
    index = "chroma" if name in ("reindex", "doctor", "prove", "mend") else "none"
    async with open_kit(tmp_path, index=index) as kit:
        await fill(kit, file)
        assert await watched.hold(OPERATIONS[name](kit, file)) == []
        await kit.background.join()


@pytest.mark.parametrize("name", ["recall", "brief", "remember", "reflect"])
async def test_a_slow_embedder_does_not_hold_up_the_loop(
    gate: Gate, tmp_path: Path, name: str
) -> None:
    file = tmp_path / "all.jsonl"
    async with open_kit(tmp_path, gate) as kit:
        await fill(kit, file)
        assert await gate.hold(OPERATIONS[name](kit, file)) == []


class HeldBlobs(FolderBlobs):
    """A folder on a slow disk."""

    def __init__(self, root: Path, gate: Gate) -> None:
        super().__init__(root)
        self._gate = gate

    def put(self, name: str, data: bytes) -> str:
        self._gate.pass_through("put")
        return super().put(name, data)

    def get(self, uri: str) -> bytes:
        self._gate.pass_through("get")
        return super().get(uri)

    def delete(self, uri: str) -> None:
        self._gate.pass_through("delete")
        super().delete(uri)

    def uris(self) -> set[str]:
        self._gate.pass_through("uris")
        return super().uris()


async def _purge_episode(store: Store, _file: Path) -> object:
    (episode, *_) = await store.episodes(ALICE)
    return await store.purge_episode(ALICE, episode.episode_id)


async def _read_trajectory(store: Store, _file: Path) -> object:
    (episode, *_) = await store.episodes(ALICE)
    return await store.trajectory(ALICE, episode.episode_id)


async def _restore_anew(store: Store, file: Path) -> object:
    await store.purge_user(ALICE)
    return await store.restore_from(file, with_purged=True)


BLOB_OPERATIONS: dict[str, Callable[[Store, Path], Awaitable[object]]] = {
    "seal": lambda store, _: store.seal(ALICE, new_episode("three", at=NOW), episodic=None),
    "trajectory": _read_trajectory,
    "export": lambda store, file: store.export_to(file.with_name("more.jsonl"), scope=None),
    "restore": lambda store, file: store.restore_from(file),
    "restore anew": _restore_anew,
    "purge an episode": _purge_episode,
    "purge a user": lambda store, _: store.purge_user(ALICE),
    "doctor": lambda store, _: store.check(),
    "prove": lambda store, _: store.prove(),
}


@pytest.mark.parametrize("name", BLOB_OPERATIONS)
async def test_a_slow_disk_does_not_hold_up_the_loop(gate: Gate, tmp_path: Path, name: str) -> None:
    store = Store.open(
        database_url=f"sqlite:///{tmp_path / 'agentkit.db'}",
        blobs=HeldBlobs(tmp_path / "blobs", gate),
        index_path=None,
        embedder=HashEmbedder(),
        clock=FixedClock(NOW),
    )
    file = tmp_path / "all.jsonl"
    await store.add(ALICE, [new_memory("Invoices are on floor three")], actor="t")
    for goal in ("one", "two"):
        await store.seal(ALICE, new_episode(goal, at=NOW), episodic=None)
    await store.export_to(file, scope=None)
    assert await gate.hold(BLOB_OPERATIONS[name](store, file)) == []
    await store.close()


async def test_the_gate_notes_what_the_loop_does_itself(watched: Gate, tmp_path: Path) -> None:
    """The other tests say little if blocking work on the loop went unnoticed."""
    blobs = HeldBlobs(tmp_path / "blobs", watched)
    blobs.put("a", b"1")
    assert any("put" in noted for noted in watched.on_loop)
    assert any(noted.startswith("open") for noted in watched.on_loop)
    with pytest.raises(AgentkitError):
        blobs.get("blob:b")
