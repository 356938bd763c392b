"""How many records a second export and restore move, and how much memory they take.

Run `python -m tests.bench.transfer --memories 20000`. Each step runs in a process of its own, so
that its peak memory is its own.
"""

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from agentkit.records import Scope
from agentkit.store import FolderBlobs, Store
from agentkit.testing import FixedClock, HashEmbedder, new_episode, new_memory

NOW = datetime(2026, 11, 30, 9, 30, tzinfo=UTC)
ALICE = Scope("alice")
# The dimension of the bundled embedder.
DIM = 512
BATCH = 500
STEPS = ("fill", "export", "restore", "again")


def opened(root: Path) -> Store:
    """Open a store below a folder."""
    return Store.open(
        database_url=f"sqlite:///{root / 'agentkit.db'}",
        blobs=FolderBlobs(root / "blobs"),
        index_path=None,
        embedder=HashEmbedder(dim=DIM),
        clock=FixedClock(NOW),
    )


async def fill(store: Store, *, memories: int) -> None:
    """Write memories of three keys each, and an episode of ten steps for every twentieth."""
    for start in range(0, memories, BATCH):
        new = [
            new_memory(
                f"Lesson {number}: the column {number % 97} holds text, use the median",
                cues=(f"gaps in column {number % 97}", f"mean fails {number}"),
                tags=("tool:csv", "task_type:data_cleaning"),
            )
            for number in range(start, min(start + BATCH, memories))
        ]
        await store.add(ALICE, new, actor="bench")
    for number in range(memories // 20):
        said = [f"turn {turn} of task {number}: " + "words " * 40 for turn in range(10)]
        episode = new_episode(*said, at=NOW, session_id=f"s{number}")
        await store.seal(ALICE, episode, episodic=None)
    await store.settle()


async def step(name: str, folder: Path, *, memories: int, packed: bool) -> dict[str, float]:
    """Do one step and return its figures."""
    file = folder / ("export.jsonl.gz" if packed else "export.jsonl")
    root = folder / ("source" if name in ("fill", "export") else "target")
    root.mkdir(exist_ok=True)
    store = opened(root)
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started, cpu_started_s = time.perf_counter(), time.process_time()
    records = 0
    if name == "fill":
        await fill(store, memories=memories)
    elif name == "export":
        records = sum((await store.export_to(file, scope=None)).counts.values())
    else:
        report = await store.restore_from(file)
        records = sum(report.added.values()) + sum(report.known.values())
    spent_s, cpu_s = time.perf_counter() - started, time.process_time() - cpu_started_s
    await store.close()
    grown_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb
    return {
        "seconds": round(spent_s, 2),
        "cpu_seconds": round(cpu_s, 2),
        "records": records,
        "records_per_s": round(records / spent_s),
        "records_per_cpu_s": round(records / cpu_s),
        "memory_grown_mb": round(grown_kb / 1024, 1),
        "file_mb": round(file.stat().st_size / 1e6, 1) if file.exists() else 0.0,
    }


def main() -> None:
    """Measure, one process a step, and print the figures as JSON."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.transfer", description=__doc__)
    parser.add_argument("--memories", type=int, default=20_000)
    parser.add_argument("--gzip", action="store_true", help="compress the file")
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.step is not None:
        work = step(given.step, given.folder, memories=given.memories, packed=given.gzip)
        print(json.dumps(asyncio.run(work)))
        return
    with tempfile.TemporaryDirectory(prefix="agentkit-bench-") as folder:
        command = " ".join(["python -m tests.bench.transfer", *sys.argv[1:]])
        figures: dict[str, object] = {"command": command}
        for name in STEPS:
            words = [*sys.argv[1:], "--step", name, "--folder", folder]
            done = subprocess.run(
                [sys.executable, "-m", "tests.bench.transfer", *words],
                check=True,
                capture_output=True,
                text=True,
            )
            figures[name] = json.loads(done.stdout)
        print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
