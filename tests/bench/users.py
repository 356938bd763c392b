"""How many users share one process: bytes held, cold recalls, and who waits for whom.

    python -m tests.bench.users [--scale 1.0]

A thousand users of two hundred memories each in one store. The query's vector is given, as in
`tests/bench/recall.py`. The figures go to `evals/baselines/recall-users.json`. Takes about six
minutes.
"""

import argparse
import asyncio
import json
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from numpy.random import default_rng

from agentkit import Kit
from agentkit.kit.recalling import BYTES_PER_MB
from agentkit.recall import IndexCache
from agentkit.records import Scope
from tests.bench.recall import (
    ADDED_AT_ONCE,
    DIM,
    ROOT,
    SEED,
    TOP,
    Corpus,
    Given,
    Scene,
    percentiles,
)

USERS, EACH = 1_000, 200
# The shipped budget, which holds half of them, and one that holds a few dozen.
BUDGETS_MB = (512, 40)
LATER = 1_000
# How much oftener the busiest users ask than the others: their places as Zipf's words.
ZIPF = 1.2
BESIDE, STEADY = 8, 50


class Bench:
    """One open project with a cache of some size, and the users in it."""

    def __init__(self, kit: Kit, scene: Scene, *, corpus: Corpus, given: Given) -> None:
        """Hold the parts."""
        self._kit = kit
        self._scene = scene
        self._corpus = corpus
        self._given = given
        self.most_bytes = 0

    @property
    def cache(self) -> IndexCache:
        """What the process holds."""
        return self._kit._recaller._cache  # pyright: ignore[reportPrivateUsage] - has no door

    async def ask(self, user: int) -> float:
        """Ask one user something, and return the milliseconds that it took."""
        self._given.vector = self._corpus.vectors(1)[0]
        query = self._kit.query(self._corpus.text(8), top_k=TOP)
        started = time.perf_counter()
        result = await self._kit.recall(query, scope=self._scene.scope(user))
        spent = (time.perf_counter() - started) * 1_000
        if len(result.hits) != TOP:
            raise RuntimeError(f"user {user} got {len(result.hits)} hits where {TOP} are wanted")
        self.most_bytes = max(self.most_bytes, self.cache.nbytes)
        return spent

    async def everybody(self) -> dict[str, Any]:
        """Ask each user once, none of whom is held, in no order."""
        order = default_rng(SEED).permutation(self._scene.users).tolist()
        before_mb = resident_mb()
        figures: dict[str, Any] = percentiles([await self.ask(user) for user in order])
        return figures | {
            "users_held": len(self.cache),
            "counted_mb": round(self.cache.nbytes / BYTES_PER_MB, 1),
            "resident_grew_mb": round(resident_mb() - before_mb, 1),
        }

    async def later(self) -> dict[str, Any]:
        """Ask users as often as they come, a few far oftener than the others."""
        rng = default_rng(SEED + 1)
        found, missed = list[float](), list[float]()
        for place in (rng.zipf(ZIPF, LATER) - 1).tolist():
            user = int(place) % self._scene.users
            held = self._scene.scope(user).user_id in self.cache.users
            (found if held else missed).append(await self.ask(user))
        figures: dict[str, Any] = {"share_held": round(len(found) / LATER, 3)}
        for name, spent in (("held", found), ("not_held", missed)):
            if spent:
                figures[name] = percentiles(spent)
        return figures

    async def beside(self) -> dict[str, Any]:
        """Ask one user steadily, alone and beside others who are all read from the database."""
        await self.ask(0)
        alone = [await self.ask(0) for _ in range(STEADY)]
        stopped = asyncio.Event()

        async def others(first: int) -> int:
            asked = 0
            while not stopped.is_set():
                user = 1 + (first + asked * BESIDE) % (self._scene.users - 1)
                self._kit._recaller.drop(self._scene.scope(user).user_id)  # pyright: ignore[reportPrivateUsage] - as after a purge
                await self.ask(user)
                asked += 1
            return asked

        tasks = [asyncio.create_task(others(first)) for first in range(BESIDE)]
        shared = [await self.ask(0) for _ in range(STEADY)]
        stopped.set()
        asked = sum(await asyncio.gather(*tasks))
        return {
            "alone": percentiles(alone),
            "shared": percentiles(shared) | {"max_ms": round(max(shared), 3)},
            "others_at_once": BESIDE,
            "others_refreshed": asked,
        }


def resident_mb() -> float:
    """Return the memory that this process has in use, 0.0 where the system does not say."""
    status = Path("/proc/self/status")
    lines = status.read_text(encoding="ascii").splitlines() if status.is_file() else []
    sizes = [int(line.split()[1]) for line in lines if line.startswith("VmRSS:")]
    return sizes[0] / 1_024 if sizes else 0.0


def open_kit(folder: Path, given: Given, *, cache_mb: int) -> Kit:
    """Open the project with a cache of a size, and time enough to measure what is slow."""
    (folder / "memory").mkdir(parents=True, exist_ok=True)
    policy = f"timeout_s: 60\ncache_mb: {cache_mb}\n"
    (folder / "memory" / "recall.yaml").write_text(policy, encoding="utf-8")
    return Kit.open(folder, embedder=given, index="none", worker="external")


async def fill(folder: Path, scene: Scene, *, corpus: Corpus) -> float:
    """Write the memories of everybody, and return the seconds that it took."""
    started = time.perf_counter()
    async with open_kit(folder, Given(), cache_mb=1) as kit:
        store = await kit._parts.store(Scope("bench"))  # pyright: ignore[reportPrivateUsage] - bulk writing has no door
        for user in range(scene.users):
            new = corpus.memories(corpus.vectors(scene.each))
            for start in range(0, scene.each, ADDED_AT_ONCE):
                part = new[start : start + ADDED_AT_ONCE]
                await store.add(scene.scope(user), part, actor="bench")
    return time.perf_counter() - started


async def write_recall_users(folder: Path, *, scale: float = 1.0) -> None:
    """Measure, and write the figures into a folder."""
    scene = Scene(name="users", users=max(int(USERS * scale), BESIDE + 2), each=EACH)
    figures: dict[str, Any] = {
        "command": "python -m tests.bench.users",
        "measured_at": str(datetime.now(UTC).date()),
        "dim": DIM,
        "scale": scale,
        "users": scene.users,
        "each": scene.each,
    }
    with tempfile.TemporaryDirectory(prefix="agentkit-bench-") as scratch:
        corpus = Corpus(default_rng(SEED))
        figures["filled_in_s"] = round(await fill(Path(scratch), scene, corpus=corpus), 1)
        for budget_mb in BUDGETS_MB:
            cache_mb = max(int(budget_mb * scale), 1)
            given = Given()
            async with open_kit(Path(scratch), given, cache_mb=cache_mb) as kit:
                bench = Bench(kit, scene, corpus=corpus, given=given)
                found: dict[str, Any] = {"budget_mb": cache_mb}
                found["cold"] = await bench.everybody()
                found["later"] = await bench.later()
                found["beside"] = await bench.beside()
                found["most_counted_mb"] = round(bench.most_bytes / BYTES_PER_MB, 2)
                found["stayed_within"] = bench.most_bytes <= cache_mb * BYTES_PER_MB
            figures[f"cache_{budget_mb}_mb"] = found
            print(budget_mb, json.dumps(found))
    text = json.dumps(figures, indent=2)
    (folder / "recall-users.json").write_text(text + "\n", encoding="utf-8")


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.users", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the users, for a try")
    parser.add_argument("--out", type=Path, default=ROOT / "evals" / "baselines")
    given = parser.parse_args()
    asyncio.run(write_recall_users(given.out, scale=given.scale))


if __name__ == "__main__":
    main()
