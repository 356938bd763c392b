"""How fast the memory layer recalls and writes, beside raw Chroma and brute force in numpy.

    python -m tests.bench.recall [--scale 1.0]

Everything is measured in one run, on the same vectors, so read the ratios. The query's vector is
given: what is timed is everything else, from the first SQL statement to the log. The figures go to
`evals/baselines/recall-speed.json`. Takes about fifteen minutes.
"""

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator, default_rng

from agentkit import Kit
from agentkit.policy.decay import DecayPolicy
from agentkit.ports import EmbedderIdentity, EmbedKind
from agentkit.recall import RankQuery, ScopeIndex, rank
from agentkit.records import Float32Array, Query, Scope
from agentkit.store import NewMemory, Store
from agentkit.testing import new_memory

ROOT = Path(__file__).resolve().parent.parent.parent
# What the all-MiniLM family gives.
DIM = 384
TOP = 5
SEED = 20261201
WORDS = 20_000
WORDS_EACH = 14
CENTRES = 500
SPREAD = 0.6
ADDED_AT_ONCE = 500
QUERIES = 120
TYPES = ("semantic", "procedural", "episodic")


class Given:
    """Hands out the vector that was set, whatever the text."""

    def __init__(self) -> None:
        """Start with a vector of zeros."""
        self.vector: Float32Array = np.zeros(DIM, dtype=np.float32)

    @property
    def name(self) -> str:
        """Name that vectors are pinned to."""
        return "given"

    async def identity(self) -> EmbedderIdentity:
        """Return name and dimension."""
        return EmbedderIdentity("given", DIM)

    async def load(self) -> None:
        """Nothing is to be loaded."""

    async def embed(self, texts: Sequence[str], *, kind: EmbedKind) -> Float32Array:
        """Return the vector once for each text."""
        return np.tile(self.vector, (len(texts), 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Some users with as many memories each."""

    name: str
    users: int
    each: int

    def scope(self, user: int) -> Scope:
        """Return the scope of a user."""
        return Scope(f"user-{user:05d}")


class Corpus:
    """Texts of Zipf's words and clustered vectors, drawn as they are needed."""

    def __init__(self, rng: Generator) -> None:
        """Draw what all share."""
        self._rng = rng
        weights = 1.0 / np.arange(1, WORDS + 1)
        self._weights = weights / weights.sum()
        self._centres = unit(rng.standard_normal((CENTRES, DIM)))

    def text(self, words: int = WORDS_EACH) -> str:
        """Return so many words."""
        chosen = self._rng.choice(WORDS, size=words, p=self._weights)
        return " ".join(f"w{word}" for word in chosen.tolist())

    def vectors(self, number: int) -> Float32Array:
        """Return so many unit rows."""
        noise = self._rng.standard_normal((number, DIM)) * (SPREAD / DIM**0.5)
        return unit(self._centres[self._rng.integers(0, CENTRES, number)] + noise)

    def memories(self, vectors: Float32Array) -> list[NewMemory]:
        """Return a memory a vector."""
        return [
            replace(
                new_memory(self.text(), memory_type=TYPES[place % len(TYPES)]),
                vectors=vector[None],
            )
            for place, vector in enumerate(vectors)
        ]


def unit(rows: "np.ndarray[Any, np.dtype[np.float64]]") -> Float32Array:
    """Return the rows scaled to length 1."""
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def percentiles(spent_ms: Sequence[float]) -> dict[str, float]:
    """Return the median and the 95th percentile."""
    return {
        "p50_ms": round(statistics.median(spent_ms), 3),
        "p95_ms": round(float(np.percentile(spent_ms, 95)), 3),
    }


def timed(call: Callable[[], object], times: int) -> list[float]:
    """Return milliseconds of each call."""
    spent: list[float] = []
    for _ in range(times):
        started = time.perf_counter()
        call()
        spent.append((time.perf_counter() - started) * 1_000)
    return spent


async def measure(scene: Scene, *, corpus: Corpus, folder: Path) -> dict[str, Any]:
    """Fill a project and a Chroma with the same vectors, and ask both."""
    given, asked = Given(), min(scene.users, 10)
    kit = Kit.open(folder / scene.name, embedder=given, index="none", worker="external")
    store: Store = await kit._parts.store(scene.scope(0))  # pyright: ignore[reportPrivateUsage] - bulk writing has no door
    held: list[Float32Array] = []
    writing_s = 0.0
    for user in range(scene.users):
        vectors = corpus.vectors(scene.each)
        if user < asked:
            held.append(vectors)
        for start in range(0, scene.each, ADDED_AT_ONCE):
            new = corpus.memories(vectors[start : start + ADDED_AT_ONCE])
            started = time.perf_counter()
            await store.add(scene.scope(user), new, actor="bench")
            writing_s += time.perf_counter() - started
    rate = scene.users * scene.each / writing_s
    figures: dict[str, Any] = {"memories": scene.users * scene.each, "each": scene.each}
    figures["bulk_per_s"] = round(rate)
    cold, warm, same = await ask(kit, scene, given=given, corpus=corpus, asked=asked)
    figures["agentkit"] = percentiles(warm)
    figures["cold"] = percentiles(cold)
    figures["overlap_with_brute_force"] = same
    figures["single_write"] = percentiles(await write_singly(store, scene, corpus=corpus))
    await kit.aclose()
    queries = corpus.vectors(QUERIES)
    figures["numpy"] = percentiles(
        [one for query in queries for one in timed(lambda q=query: brute(held[0], q), 1)]
    )
    figures["ratio_to_numpy"] = round(figures["agentkit"]["p50_ms"] / figures["numpy"]["p50_ms"], 2)
    return figures


async def ask(
    kit: Kit, scene: Scene, *, given: Given, corpus: Corpus, asked: int
) -> tuple[list[float], list[float], float]:
    """Return milliseconds of first and later recalls, and how exact the ranking is."""
    cold: list[float] = []
    warm: list[float] = []
    exact: list[float] = []
    for number in range(asked + QUERIES):
        scope = scene.scope(number % asked)
        given.vector = corpus.vectors(1)[0]
        query = kit.query(corpus.text(8), top_k=TOP)
        started = time.perf_counter()
        result = await kit.recall(query, scope=scope)
        spent = (time.perf_counter() - started) * 1_000
        (cold if number < asked else warm).append(spent)
        if number >= asked and number % 10 == 0:
            found = [hit.memory.memory_id for hit in result.hits]
            wanted = await brute_force(kit, query, given.vector, scope=scope)
            exact.append(len(set(found) & set(wanted)) / max(len(wanted), 1))
    return cold, warm, round(statistics.mean(exact), 4)


async def brute_force(
    kit: Kit, query: Query, vector: Float32Array, *, scope: Scope
) -> tuple[str, ...]:
    """Rank a scope that was read anew, whole, with nothing cached."""
    store = await kit._parts.store(scope)  # pyright: ignore[reportPrivateUsage] - has no door
    index = ScopeIndex()
    index.apply(await store.changes(scope, since=0))
    everything = RankQuery.of(
        replace(query, top_k=len(index)), text=query.text, vector=vector, agent_id=None
    )
    ranked = rank(
        index,
        everything,
        policy=kit.policy.recall.model_copy(update={"pool_final": len(index)}),
        decay=DecayPolicy(),
        now_s=datetime.now(UTC).timestamp(),
    )
    by_score = sorted(ranked.pool, key=lambda one: -one.score)
    return tuple(candidate.memory_id for candidate in by_score[:TOP])


async def write_singly(store: Store, scene: Scene, *, corpus: Corpus) -> list[float]:
    """Return milliseconds of single writes."""
    spent: list[float] = []
    for memory in corpus.memories(corpus.vectors(60)):
        started = time.perf_counter()
        await store.add(scene.scope(0), [memory], actor="bench")
        spent.append((time.perf_counter() - started) * 1_000)
    return spent


def brute(rows: Float32Array, query: Float32Array) -> "np.ndarray[Any, Any]":
    """Return the best five rows."""
    scores = rows @ query
    return np.argpartition(scores, -TOP)[-TOP:]


def chroma(scene: Scene, *, corpus: Corpus, folder: Path) -> dict[str, Any]:
    """Ask one raw Chroma collection with a `where` on the user, and write to it singly."""
    import chromadb
    from chromadb.config import Settings

    client = chromadb.PersistentClient(
        str(folder / f"chroma-{scene.name}"), settings=Settings(anonymized_telemetry=False)
    )
    # Its types know neither plain rows nor plain dictionaries.
    collection: Any = client.create_collection(
        "shared", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
    )
    for user in range(scene.users):
        vectors = corpus.vectors(scene.each)
        for start in range(0, scene.each, 2_000):
            part = vectors[start : start + 2_000]
            collection.add(
                ids=[f"{user}-{start + place}" for place in range(len(part))],
                embeddings=list(part),
                metadatas=[{"user": f"user-{user:05d}"}] * len(part),
            )
    asked = min(scene.users, 10)
    queries = corpus.vectors(40)
    spent = [
        one
        for number, query in enumerate(queries)
        for one in timed(
            lambda q=query, user=number % asked: collection.query(
                query_embeddings=[q], n_results=TOP, where={"user": f"user-{user:05d}"}
            ),
            1,
        )
    ]
    singles = [
        one
        for number, vector in enumerate(corpus.vectors(30))
        for one in timed(
            lambda v=vector, n=number: collection.upsert(
                ids=[f"new-{n}"], embeddings=[v], metadatas=[{"user": "user-00000"}]
            ),
            1,
        )
    ]
    return {"where": percentiles(spent), "single_upsert": percentiles(singles)}


def scenes(scale: float) -> tuple[Scene, ...]:
    """Return what is measured; at scale 1 as in the table of the README there."""
    each = max(int(2_000 * scale), 50)
    return (
        Scene(name="1k", users=1, each=each // 2),
        Scene(name="2k", users=1, each=each),
        Scene(name="10k", users=5, each=each),
        Scene(name="100k", users=50, each=each),
        Scene(name="one-100k", users=1, each=50 * each),
    )


async def write_recall_speed(folder: Path, *, scale: float = 1.0) -> None:
    """Measure, and write the figures into a folder."""
    figures: dict[str, Any] = {
        "command": "python -m tests.bench.recall",
        "measured_at": str(datetime.now(UTC).date()),
        "dim": DIM,
        "scale": scale,
    }
    with tempfile.TemporaryDirectory(prefix="agentkit-bench-") as scratch:
        for scene in scenes(scale):
            corpus = Corpus(default_rng(SEED))
            found = await measure(scene, corpus=corpus, folder=Path(scratch))
            if scene.name in ("10k", "100k"):
                found["chroma"] = chroma(scene, corpus=corpus, folder=Path(scratch))
                found["share_of_chroma"] = round(
                    found["agentkit"]["p50_ms"] / found["chroma"]["where"]["p50_ms"], 3
                )
                found["write_share_of_chroma"] = round(
                    found["single_write"]["p50_ms"] / found["chroma"]["single_upsert"]["p50_ms"], 3
                )
            figures[scene.name] = found
            print(scene.name, json.dumps(found))
    figures["growth_2k_to_100k"] = round(
        figures["100k"]["agentkit"]["p50_ms"] / figures["2k"]["agentkit"]["p50_ms"], 2
    )
    text = json.dumps(figures, indent=2)
    (folder / "recall-speed.json").write_text(text + "\n", encoding="utf-8")


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.recall", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the sizes, for a try")
    parser.add_argument("--out", type=Path, default=ROOT / "evals" / "baselines")
    given = parser.parse_args()
    asyncio.run(write_recall_speed(given.out, scale=given.scale))


if __name__ == "__main__":
    main()
