"""A restore that is killed leaves nothing, and can be done again; memory stays bounded."""

import asyncio
import signal
import threading
import tracemalloc
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from agentkit.records import Scope
from agentkit.store import Store
from agentkit.testing import FixedClock, HashEmbedder, memory_store, new_episode, new_memory
from tests.lived_in import NOW, store_at
from tests.project_process import run_script

ALICE = Scope("alice")
EPISODES, MEMORIES = 60, 400

# Kills itself when so much is done; the records are counted once while they are checked, the
# trajectories once while they are stored, and the records again while they are written.
CHILD = """
import asyncio, os, signal, sys
from pathlib import Path
from tests.lived_in import store_at

root, file, limit = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])

def killing(done: int, total: int) -> None:
    if done >= limit:
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(store_at(root).restore_from(file, progress=killing))
"""


async def export_many(file: Path, *, memories: int, episodes: int) -> None:
    store = memory_store(clock=FixedClock(NOW), embedder=HashEmbedder())
    for number in range(episodes):
        new = new_episode(f"Clean table {number}", "Done", at=NOW, session_id=f"s{number}")
        await store.seal(ALICE, new, episodic=None)
    for start in range(0, memories, 200):
        texts = [f"Lesson {number} of {memories}" for number in range(start, start + 200)]
        await store.add(ALICE, [new_memory(text, cues=("a cue",)) for text in texts], actor="t")
    await store.settle()
    await store.export_to(file, scope=ALICE)
    await store.close()


def lines(file: Path) -> list[bytes]:
    """What is in an export besides when it was made."""
    return file.read_bytes().splitlines()[1:-1]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("scene") / "export.jsonl"
    asyncio.run(export_many(file, memories=MEMORIES, episodes=EPISODES))
    return file


@pytest.mark.parametrize(
    "phase",
    [
        "checking",
        "storing trajectories",
        "writing",
        pytest.param("the last page", marks=pytest.mark.slow),
    ],
)
async def test_a_restore_that_was_killed_left_nothing_and_is_done_again(
    exported: Path, tmp_path: Path, repository: Path, phase: str
) -> None:
    file = exported
    records = len(lines(file))
    limit = {
        "checking": records // 2,
        "storing trajectories": records + EPISODES,
        "writing": records + EPISODES + records // 2,
        "the last page": 2 * records + EPISODES,
    }[phase]
    root = tmp_path / "target"
    done = run_script(CHILD, str(root), str(file), str(limit), folder=repository)
    assert done.returncode == -signal.SIGKILL, done.stderr
    store = store_at(root)
    assert await store.count(ALICE) == {}
    assert await store.episodes(ALICE) == ()
    assert await store.jobs() == ()
    report = await store.restore_from(file)
    assert (report.added["memory"], report.added["episode"]) == (MEMORIES, EPISODES)
    await store.export_to(tmp_path / "again.jsonl", scope=None)
    assert lines(tmp_path / "again.jsonl") == lines(file)
    await store.settle()
    assert all(check.ok for check in await store.check())
    await store.close()


async def peak_bytes(work: Callable[[], Awaitable[object]]) -> int:
    tracemalloc.start()
    try:
        await work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
async def test_memory_does_not_grow_with_the_size_of_the_store(tmp_path: Path) -> None:
    peaks: list[tuple[int, int]] = []
    for number in (400, 1_200):
        file = tmp_path / f"{number}.jsonl.gz"
        await export_many(file, memories=number, episodes=number // 20)
        store: Store = store_at(tmp_path / f"target-{number}")
        restoring = await peak_bytes(lambda store=store, file=file: store.restore_from(file))
        exporting = await peak_bytes(
            lambda store=store, file=file: store.export_to(file, scope=None)
        )
        peaks.append((restoring, exporting))
        await store.close()
    small, large = peaks
    assert large[0] < 1.2 * small[0]
    assert large[1] < 1.2 * small[1]


async def test_an_export_whose_caller_gives_up_stops_and_leaves_no_file(tmp_path: Path) -> None:
    store = memory_store(clock=FixedClock(NOW), embedder=None)
    await store.add(ALICE, [new_memory(f"memory {number}") for number in range(400)], actor="t")
    loop, begun, given_up = asyncio.get_running_loop(), asyncio.Event(), threading.Event()
    ticks: list[int] = []

    def told(done: int, total: int) -> None:
        del total
        ticks.append(done)
        loop.call_soon_threadsafe(begun.set)
        assert given_up.wait(timeout=60)

    task = asyncio.create_task(store.export_to(tmp_path / "x.jsonl", scope=ALICE, progress=told))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    given_up.set()
    await loop.shutdown_default_executor()
    assert ticks == [50]
    assert list(tmp_path.iterdir()) == []
    await store.close()
