"""Four processes write into one SQLite project while a fifth recalls."""

import asyncio
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from agentkit.kit import Kit
from agentkit.testing import HashEmbedder
from tests.project_process import ProjectProcess

WRITERS = ("north", "south", "east", "west")
MEMORIES_EACH = 500


def contend(project: Path, *, repository: Path) -> dict[str, object]:
    """Let them write, and return how long a write took each of them.

    Args:
        project: Folder of the project; it is made.
        repository: The checkout.
    """
    return asyncio.run(_contend(project, repository=repository))


async def _contend(project: Path, *, repository: Path) -> dict[str, object]:
    (project / "memory").mkdir(parents=True)
    (project / "memory" / "recall.yaml").write_text("timeout_s: 60\n", encoding="utf-8")
    kit = Kit.open(project, embedder=HashEmbedder(), worker="external")
    recalls_ms: list[float] = []
    with ExitStack() as stack:
        writers = [
            stack.enter_context(ProjectProcess(project, repository=repository)) for _ in WRITERS
        ]
        for writer in writers:
            assert writer.ask("recall", "warm up") == []
        started = time.perf_counter()
        for name, writer in zip(WRITERS, writers, strict=True):
            writer.order("time writes", name, MEMORIES_EACH)
        answers = asyncio.gather(*(asyncio.to_thread(writer.answer) for writer in writers))
        while not answers.done():
            asked = time.perf_counter()
            await kit.recall("who keeps entry 3 in drawer 21?", scope=kit.scope("alice"))
            recalls_ms.append((time.perf_counter() - asked) * 1_000)
        spent_ms: list[list[float]] = await answers
        wall_s = time.perf_counter() - started
    held = await kit.memories(scope=kit.scope("alice"), limit=10_000)
    await kit.aclose()
    assert len({memory.content for memory in held}) == len(WRITERS) * MEMORIES_EACH == len(held)
    return {
        "writers": len(WRITERS),
        "memories_each": MEMORIES_EACH,
        "kept": len(held),
        "writes_per_s": round(len(held) / wall_s, 1),
        **_percentiles("write", [spent for each in spent_ms for spent in each]),
        "recalls_meanwhile": len(recalls_ms),
        **_percentiles("recall", recalls_ms),
    }


def _percentiles(name: str, spent_ms: list[float]) -> dict[str, Any]:
    p50, p99 = np.percentile(spent_ms, [50, 99])
    return {
        f"{name}_p50_ms": round(float(p50), 1),
        f"{name}_p99_ms": round(float(p99), 1),
        f"{name}_max_ms": round(max(spent_ms), 1),
    }
