"""The vector index is thrown away and made again, from SQL alone."""

import asyncio
import json
import shutil
import signal
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agentkit.cli.edge import EXIT_FAILED, run
from agentkit.errors import EmbedderError
from agentkit.ports import EmbedKind
from agentkit.records import Float32Array, Scope
from agentkit.store import FolderBlobs, Store
from agentkit.testing import FixedClock, HashEmbedder, MemoryVectorIndex, new_memory
from tests.project_process import run_script

ALICE = Scope("alice")
NOW = datetime(2026, 11, 30, 9, 30, tzinfo=UTC)
# More than one batch of the index.
MANY = 2_600

CHILD = """
import asyncio, os, signal, sys
from datetime import UTC, datetime
from pathlib import Path
from agentkit.store import FolderBlobs, Store
from agentkit.testing import HashEmbedder

folder = Path(sys.argv[1])
store = Store.open(
    database_url=f"sqlite:///{folder / 'agentkit.db'}", blobs=FolderBlobs(folder / "blobs"),
    index_path=folder / "index", embedder=HashEmbedder(8), clock=lambda: datetime.now(UTC),
)

def told(done: int, total: int) -> None:
    print(done, total, flush=True)
    if done:
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(store.reindex(progress=told))
"""


class Silent(HashEmbedder):
    """Refuses to embed anything."""

    async def embed(self, texts: Sequence[str], *, kind: EmbedKind) -> Float32Array:
        raise EmbedderError(f"{len(texts)} texts were to be embedded")


def opened(
    folder: Path, *, embedder: HashEmbedder | None = None, index: MemoryVectorIndex | None = None
) -> Store:
    return Store.open(
        database_url=f"sqlite:///{folder / 'agentkit.db'}",
        blobs=FolderBlobs(folder / "blobs"),
        index_path=folder / "index",
        embedder=embedder or HashEmbedder(8),
        clock=FixedClock(NOW),
        index=index,
    )


async def filled(store: Store, number: int) -> None:
    new = [new_memory(f"memory number {place}") for place in range(number)]
    await store.add(ALICE, new, actor="t")
    await store.settle()


async def test_a_rebuild_makes_no_embedding_call_and_tells_its_progress(tmp_path: Path) -> None:
    store = opened(tmp_path, index=MemoryVectorIndex())
    await filled(store, 30)
    await store.close()
    index = MemoryVectorIndex()
    again = opened(tmp_path, embedder=Silent(8), index=index)
    told: list[tuple[int, int]] = []
    report = await again.reindex(progress=lambda done, total: told.append((done, total)))
    assert (report.indexed, report.waiting, report.problem) == (30, 0, "")
    assert told == [(0, 30), (30, 30)]
    assert len(index.ids()) == 30
    assert (await again.prove()).ok
    await again.close()


@pytest.mark.slow
async def test_a_rebuild_killed_half_way_is_gone_on_with(tmp_path: Path, repository: Path) -> None:
    store = opened(tmp_path)
    await filled(store, MANY)
    await store.close()
    done = run_script(CHILD, str(tmp_path), folder=repository)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert done.stdout.split() == ["0", str(MANY), "2000", str(MANY)]
    again = opened(tmp_path, embedder=Silent(8))
    assert [item.kind for item in (await again.prove()).disagreements] == [
        "rebuild unfinished",
        "outbox waiting",
    ]
    told: list[int] = []
    report = await again.reindex(progress=lambda ready, _total: told.append(ready))
    assert told == [2_000, MANY]
    assert (report.indexed, report.waiting, report.problem) == (MANY - 2_000, 0, "")
    assert (await again.prove()).ok
    await again.close()


async def test_a_rebuild_that_died_before_queueing_is_gone_on_with_too(tmp_path: Path) -> None:
    index = MemoryVectorIndex()
    store = opened(tmp_path, index=index)
    await filled(store, 5)
    index.clear()
    index.set_building(True)
    assert (await store.settle()).indexed == 0
    assert (await store.reindex()).indexed == 5
    assert (await store.prove()).ok
    await store.close()


@pytest.mark.slow
async def test_recall_and_writing_go_on_while_the_index_is_rebuilt(tmp_path: Path) -> None:
    store = opened(tmp_path)
    await filled(store, MANY)
    rebuilding = asyncio.create_task(store.reindex())
    rounds = 0
    while not rebuilding.done():
        await store.add(ALICE, [new_memory(f"written meanwhile {rounds}")], actor="t")
        rounds += 1
        entries = (await store.changes(ALICE, since=0)).entries
        assert len(entries) == MANY + rounds
        assert sum(key.vector is not None for entry in entries for key in entry.keys) >= MANY
    assert (await rebuilding).problem == ""
    await store.settle()
    found = await store.prove()
    assert (found.ok, found.indexed) == (True, MANY + rounds)
    await store.close()


async def test_what_another_process_owns_is_left_to_it(tmp_path: Path) -> None:
    owner, other = opened(tmp_path), opened(tmp_path)
    await filled(owner, 3)
    report = await other.reindex()
    assert "owns the index: 3 keys are queued for it" in report.problem
    assert report.waiting == 3
    assert [item.kind for item in (await other.prove()).disagreements] == [
        "index unproven",
        "outbox waiting",
    ]
    assert (await owner.settle()).indexed == 3
    assert (await owner.prove()).ok
    await owner.close()
    await other.close()


async def test_a_store_without_an_index_or_without_vectors_says_so(tmp_path: Path) -> None:
    def opened_bare() -> Store:
        return Store.open(
            database_url=f"sqlite:///{tmp_path / 'agentkit.db'}",
            blobs=FolderBlobs(tmp_path / "blobs"),
            index_path=None,
            embedder=None,
            clock=FixedClock(NOW),
        )

    bare = opened_bare()
    await bare.add(ALICE, [new_memory("found by its words")], actor="t")
    assert "index is none" in (await bare.reindex()).problem
    assert (await bare.prove()).ok
    await bare.close()
    fresh = opened(tmp_path, index=MemoryVectorIndex())
    assert (await fresh.reindex()).problem == ""
    assert {item.kind for item in (await fresh.prove()).disagreements} == {
        "key without vector",
        "outbox waiting",
    }
    await fresh.mend(await fresh.prove())
    assert (await fresh.prove()).ok
    await fresh.close()


def test_the_command_rebuilds_and_its_exit_code_is_true(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = str(tmp_path)
    assert run(["remember", "Reports go out on Fridays.", "--user", "a", "--project", project]) == 0
    capsys.readouterr()
    assert run(["reindex", "--project", project, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["ok"], told["indexed"] >= 1, told["waiting"]) == (True, True, 0)
    assert run(["doctor", "--consistency", "--project", project, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["disagreements"] == []
    (tmp_path / "agentkit.yaml").write_text("index: none\n", encoding="utf-8")
    assert run(["reindex", "--project", project]) == EXIT_FAILED
    assert "index is none" in capsys.readouterr().err


def test_with_the_index_folder_deleted_recall_answers_the_same_and_a_rebuild_brings_it_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--project", str(tmp_path)]
    as_user = ["--user", "a", *where]

    def answer() -> list[tuple[str, float]]:
        capsys.readouterr()
        assert run(["recall", "when do reports go out?", "--json", *as_user]) == 0
        hits = json.loads(capsys.readouterr().out)["hits"]
        return [(hit["memory_id"], hit["similarity"]) for hit in hits]

    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "recall.yaml").write_text("timeout_s: 60\n", encoding="utf-8")
    for text in ("Reports go out on Fridays.", "The printer is on floor two."):
        assert run(["remember", text, *as_user]) == 0
    assert run(["reindex", *where]) == 0
    before = answer()
    assert len(before) >= 1
    shutil.rmtree(tmp_path / ".agentkit" / "chroma")
    assert answer() == before
    assert run(["doctor", "--consistency", *where]) == EXIT_FAILED
    capsys.readouterr()
    assert run(["reindex", "--json", *where]) == 0
    assert json.loads(capsys.readouterr().out)["indexed"] >= len(before)
    assert run(["doctor", "--consistency", *where]) == 0
