"""A process that dies between the SQL commit and the index write loses nothing."""

import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from agentkit.records import Reflection, Scope
from agentkit.store import FolderBlobs, Store
from agentkit.testing import FixedClock, HashEmbedder, new_episode, new_memory

ALICE = Scope("alice")
NOW = datetime(2026, 11, 30, 9, 30, tzinfo=UTC)

CHILD = """
import asyncio, os, signal, sys
from datetime import UTC, datetime
from pathlib import Path
from agentkit.records import Reflection, Scope
from agentkit.store import FolderBlobs, Store
from agentkit.testing import HashEmbedder, new_episode, new_memory

folder, when = Path(sys.argv[1]), sys.argv[2]
now = datetime(2026, 11, 30, 9, 30, tzinfo=UTC)
store = Store.open(
    database_url=f"sqlite:///{folder / 'agentkit.db'}", blobs=FolderBlobs(folder / "blobs"),
    index_path=folder / "index", embedder=HashEmbedder(), clock=lambda: now,
)

async def main() -> None:
    if when == "before settling":
        await store.add(Scope("alice"), [new_memory("Door code is blue-falcon")], actor="t")
    else:
        await store.seal(Scope("alice"), new_episode("Clean it", at=now), episodic=None)
        job = await store.claim(kinds=["reflect"], lease_s=60)
        assert job is not None
        if when == "after committing":
            await store.finish_reflection(
                job, reflection=Reflection(summary="", outcome="success", critic="rules"),
                new=[new_memory(f"Lesson {n}", status="pending") for n in range(3)],
                verified=[], verdicts=[],
            )
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


def opened(folder: Path, clock: FixedClock) -> Store:
    return Store.open(
        database_url=f"sqlite:///{folder / 'agentkit.db'}",
        blobs=FolderBlobs(folder / "blobs"),
        index_path=folder / "index",
        embedder=HashEmbedder(),
        clock=clock,
    )


def killed_child(folder: Path, repository: Path, when: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(folder), when],
        cwd=repository,
        capture_output=True,
        check=False,
        text=True,
        timeout=60,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr


async def test_what_was_committed_is_found_and_the_index_is_brought_level(
    tmp_path: Path, repository: Path
) -> None:
    killed_child(tmp_path, repository, "before settling")
    store = opened(tmp_path, FixedClock(NOW))
    (entry,) = (await store.changes(ALICE, since=0)).entries
    assert entry.keys[0].vector is None
    report = await store.settle()
    assert (report.embedded, report.indexed, report.waiting) == (1, 1, 0)
    (entry,) = (await store.changes(ALICE, since=0)).entries
    assert entry.keys[0].vector is not None
    assert all(check.ok for check in await store.check())
    await store.close()


async def test_a_worker_killed_half_way_leaves_every_lesson_once(
    tmp_path: Path, repository: Path
) -> None:
    for when in ("before committing", "after committing"):
        folder = tmp_path / when.replace(" ", "-")
        folder.mkdir()
        killed_child(folder, repository, when)
        clock = FixedClock(NOW)
        store = opened(folder, clock)
        clock.advance(minutes=2)
        job = await store.claim(kinds=["reflect"], lease_s=60)
        assert (job is None) == (when == "after committing")
        if job is not None:
            new = [new_memory(f"Lesson {number}", status="pending") for number in range(3)]
            await store.finish_reflection(
                job,
                reflection=Reflection(summary="", outcome="success", critic="rules"),
                new=new,
                verified=[],
                verdicts=[],
            )
        assert len(await store.memories(ALICE)) == 3
        assert await store.jobs(states=["running"]) == ()
        await store.close()


async def test_an_episode_whose_row_was_not_written_leaves_only_an_unused_blob(
    tmp_path: Path,
) -> None:
    FolderBlobs(tmp_path / "blobs").put("trajectories/x/orphan.jsonl.gz", b"left by a crash")
    store = opened(tmp_path, FixedClock(NOW))
    await store.seal(ALICE, new_episode("Clean it", at=NOW), episodic=None)
    checks = {check.name: check for check in await store.check()}
    assert checks["blobs"].ok
    await store.close()
