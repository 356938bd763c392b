"""Several processes on one PostgreSQL database: no lost update, no shared job, one schema."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agentkit.records import Scope
from agentkit.store import Store
from agentkit.testing import FixedClock, HashEmbedder, MemoryBlobs, new_episode, new_memory
from tests.databases import PostgresServer

ALICE = Scope("alice")
NOW = datetime(2026, 11, 30, 9, 30, tzinfo=UTC)
PROCESSES = 4
WRITES = 15
JOBS = 24

CHILD = """
import asyncio, json, os, signal, sys, time
from datetime import UTC, datetime
from pathlib import Path
from agentkit.records import Query, RecallResult, Retrieval, Scope, Verdict
from agentkit.store import FolderBlobs, Store
from agentkit.testing import HashEmbedder, new_episode, new_memory

url, folder, name, start, writes, jobs = sys.argv[1:]
now = datetime(2026, 11, 30, 9, 30, tzinfo=UTC)
alice = Scope("alice")
time.sleep(max(0.0, float(start) - time.time()))
store = Store.open(
    database_url=url, blobs=FolderBlobs(Path(folder)), index_path=None,
    embedder=HashEmbedder(), clock=lambda: now,
)

async def main() -> None:
    for number in range(int(jobs)):
        task = new_episode(f"Task {number}", at=now, source_id=f"task-{number}")
        await store.seal(alice, task, episodic=None)
    for number in range(int(writes)):
        await store.add(alice, [new_memory(f"{name} writes {number}")], actor=name)
        (shared,) = await store.add(
            alice, [new_memory("Shared", tags=(f"tool:{name}-{number}",))], actor=name
        )
        await store.settle()
    claimed = []
    while (job := await store.claim(kinds=["reflect"], lease_s=600)) is not None:
        claimed.append(job.job_id)
        await store.finish_job(job)
    await store.close()
    print(json.dumps({"claimed": claimed, "shared": shared.memory.memory_id}))

asyncio.run(main())
"""


@dataclass(frozen=True, slots=True)
class Crowd:
    """What processes did that all began at once on an empty database.

    Attributes:
        url: The database.
        claimed: Ids of the jobs that each of them claimed.
        shared: Id of the memory that all of them wrote, as each of them was told.
    """

    url: str
    claimed: tuple[tuple[str, ...], ...]
    shared: frozenset[str]


@pytest.fixture(scope="module")
def crowd(
    postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Crowd]:
    name = postgres_server.create(template="template0")
    url = postgres_server.address(name)
    blobs = tmp_path_factory.mktemp("blobs")
    start_s = datetime.now(UTC).timestamp() + 1
    told = [child(url, blobs, f"p{number}", start_s) for number in range(PROCESSES)]
    answers: list[dict[str, object]] = []
    for process in told:
        said, failed = process.communicate(timeout=240)
        assert (process.returncode, failed) == (0, "")
        answers.append(json.loads(said))
    yield Crowd(
        url,
        tuple(tuple(map(str, answer["claimed"])) for answer in answers),  # pyright: ignore[reportArgumentType] - a list of the child's
        frozenset(str(answer["shared"]) for answer in answers),
    )
    postgres_server.drop(name)


def child(url: str, blobs: Path, name: str, start_s: float) -> subprocess.Popen[str]:
    arguments = [url, str(blobs), name, str(start_s), str(WRITES), str(JOBS)]
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", CHILD, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def opened(url: str) -> Store:
    return Store.open(
        database_url=url,
        blobs=MemoryBlobs(),
        index_path=None,
        embedder=HashEmbedder(),
        clock=FixedClock(NOW),
    )


@pytest.mark.slow
async def test_writers_of_one_user_lose_no_update(crowd: Crowd) -> None:
    store = opened(crowd.url)
    changes = await store.changes(ALICE, since=0)
    assert len(changes.entries) == PROCESSES * WRITES + 1
    assert all(key.vector is not None for entry in changes.entries for key in entry.keys)
    (shared,) = crowd.shared
    memory = await store.memory(ALICE, shared)
    wanted = {f"p{process}-{n}" for process in range(PROCESSES) for n in range(WRITES)}
    assert {tag.value for tag in memory.tags} == wanted
    told = [
        json.loads(event.new or "{}").get("tags") for event in await store.history(ALICE, shared)
    ]
    grown = [len(tags) for tags in told if tags is not None]
    assert grown == sorted(set(grown)), "each event starts from what the one before left"
    await store.close()


@pytest.mark.slow
async def test_a_task_that_several_import_at_once_is_one_episode(crowd: Crowd) -> None:
    store = opened(crowd.url)
    episodes = await store.episodes(ALICE, limit=1_000)
    assert sorted(str(episode.source_id) for episode in episodes) == sorted(
        f"task-{number}" for number in range(JOBS)
    )
    await store.close()


@pytest.mark.slow
def test_no_job_is_claimed_by_two_and_none_is_left(crowd: Crowd) -> None:
    claimed = [job_id for ids in crowd.claimed for job_id in ids]
    assert len(claimed) == JOBS
    assert len(set(claimed)) == JOBS


@pytest.mark.slow
async def test_the_schema_that_several_made_at_once_is_whole(crowd: Crowd) -> None:
    store = opened(crowd.url)
    assert {check.name: check for check in await store.check()}["schema"].ok
    await store.close()


HOLDER = """
import os, signal, sys
from agentkit.store.database import Database
from agentkit.store.engine import database_address, open_engine
from agentkit.store.tables import ScopeRevisionRow

def work(session):
    row = session.get(ScopeRevisionRow, "alice", with_for_update=True)
    row.revision += 1000
    session.flush()
    os.kill(os.getpid(), signal.SIGKILL)

Database(open_engine(database_address(sys.argv[1]))).write_now(work)
"""


async def test_a_writer_that_is_killed_holds_nobody_up_and_leaves_nothing(
    postgres_url: str,
) -> None:
    store = opened(postgres_url)
    await store.add(ALICE, [new_memory("one")], actor="t")
    done = subprocess.run(
        [sys.executable, "-c", HOLDER, postgres_url],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    await store.add(ALICE, [new_memory("two")], actor="t")
    await store.seal(ALICE, new_episode("Hello", at=NOW), episodic=None)
    assert await store.revision(ALICE) == 2
    await store.close()
