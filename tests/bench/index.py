"""How well and how fast the vector index finds: `python -m tests.bench.index`.

Recall@10 of embedded Chroma, through our adapter, against brute force; and the speed of a rebuild
from SQL. The figures go to `evals/baselines/index.json`. Takes about ten minutes.
"""

import argparse
import asyncio
import json
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.random import Generator, default_rng

from agentkit.ports import EmbedderIdentity, IndexItem
from agentkit.records import Float32Array, Scope
from agentkit.store import FolderBlobs, Store
from agentkit.store.chroma import EF_CONSTRUCTION, EF_SEARCH, MAX_NEIGHBORS, ChromaIndex
from agentkit.testing import HashEmbedder, new_memory

ROOT = Path(__file__).resolve().parent.parent.parent
# The bundled embedder's.
DIM = 512
TOP = 10
CLUSTERS = 1_000
# Noise of the length of 0.6 around a centre of length 1: neighbours have a cosine of about 0.74.
SPREAD = 0.6
# One user in a hundred rows, as in a store of many users.
SMALL_SHARE = 100
ADDED_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Corpus:
    """Vectors to find and queries.

    Attributes:
        rows: shape (n, DIM), float32, unit rows.
        queries: By name: `clustered` come out of the clusters, `hard` from anywhere.
    """

    rows: Float32Array
    queries: dict[str, Float32Array]


def unit(rows: "np.ndarray[tuple[int, ...], np.dtype[np.float64]]") -> Float32Array:
    """Return the rows scaled to length 1."""
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def clustered(number: int, queries: int, *, rng: Generator) -> Corpus:
    """Return rows in clusters, with queries of the same clusters and of none."""
    centres = unit(rng.standard_normal((CLUSTERS, DIM)))
    noise = rng.standard_normal((number + queries, DIM)) * (SPREAD / DIM**0.5)
    drawn = unit(centres[rng.integers(0, CLUSTERS, number + queries)] + noise)
    hard = unit(rng.standard_normal((queries, DIM)))
    return Corpus(drawn[:number], {"clustered": drawn[number:], "hard": hard})


def scattered(number: int, queries: int, *, rng: Generator) -> Corpus:
    """Return rows without any structure: no neighbour is much nearer than any other."""
    drawn = unit(rng.standard_normal((number + queries, DIM)))
    return Corpus(drawn[:number], {"scattered": drawn[number:]})


def measure(corpus: Corpus) -> dict[str, object]:
    """Fill an index, open it again, and ask."""
    owners = np.where(np.arange(len(corpus.rows)) % SMALL_SHARE == 0, "small", "large")
    identity = EmbedderIdentity("bench", DIM)
    with tempfile.TemporaryDirectory(prefix="agentkit-bench-") as folder:
        index = ChromaIndex(Path(folder), identity=identity)
        started = time.perf_counter()
        index.upsert(
            [
                IndexItem(
                    key_id=str(place),
                    user_id=str(owner),
                    agent_id=None,
                    memory_id=str(place),
                    memory_type="semantic",
                    vector=row,
                )
                for place, (row, owner) in enumerate(zip(corpus.rows, owners, strict=True))
            ]
        )
        figures: dict[str, object] = {
            "rows": len(corpus.rows),
            "upsert_rows_per_s": round(len(corpus.rows) / (time.perf_counter() - started)),
        }
        index.close()
        index = ChromaIndex(Path(folder), identity=identity)
        for name, queries in corpus.queries.items():
            for owner in ("large", "small"):
                places = np.flatnonzero(owners == owner)
                figures[f"{name}, {owner} user"] = ask(
                    index, queries, rows=corpus.rows[places], places=places, user_id=owner
                )
        index.close()
    return figures


def ask(
    index: ChromaIndex,
    queries: Float32Array,
    *,
    rows: Float32Array,
    places: "np.ndarray[tuple[int, ...], np.dtype[np.int64]]",
    user_id: str,
) -> dict[str, object]:
    """Return recall@10 against brute force, and the median time of a query."""
    found, spent_ms = 0, list[float]()
    for query in queries:
        nearest = set(places[np.argsort(-(rows @ query))[:TOP]].tolist())
        started = time.perf_counter()
        answer = index.query(query, user_id=user_id, limit=TOP)
        spent_ms.append((time.perf_counter() - started) * 1_000)
        found += len({int(key) for key, _ in answer} & nearest)
    return {
        "user_rows": len(rows),
        "recall_at_10": round(found / (TOP * len(queries)), 4),
        "query_p50_ms": round(float(np.median(spent_ms)), 1),
    }


async def rebuild(number: int) -> dict[str, object]:
    """Return how fast an index is built anew from SQL, and how fast everything is compared."""
    with tempfile.TemporaryDirectory(prefix="agentkit-bench-") as name:
        folder = Path(name)
        store = Store.open(
            database_url=f"sqlite:///{folder / 'agentkit.db'}",
            blobs=FolderBlobs(folder / "blobs"),
            index_path=folder / "index",
            embedder=HashEmbedder(DIM),
            clock=lambda: datetime.now(UTC),
        )
        for start in range(0, number, ADDED_AT_ONCE):
            new = [new_memory(f"bench memory {start + place}") for place in range(ADDED_AT_ONCE)]
            await store.add(Scope("bench"), new, actor="bench")
        await store.settle()
        started = time.perf_counter()
        report = await store.reindex()
        rebuilt_s = time.perf_counter() - started
        started = time.perf_counter()
        found = await store.prove()
        proven_s = time.perf_counter() - started
        await store.close()
    assert (report.indexed, found.ok) == (number, True), (report, found)
    return {
        "keys": number,
        "reindex_keys_per_s": round(number / rebuilt_s),
        "prove_keys_per_s": round(number / proven_s),
    }


def main() -> None:
    """Measure, and write the figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.index", description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000, help="vectors of the large index")
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--out", type=Path, default=ROOT / "evals" / "baselines" / "index.json")
    given = parser.parse_args()
    rng = default_rng(20261130)
    small = max(given.rows // 5, CLUSTERS)
    figures = {
        "command": "python -m tests.bench.index",
        "measured_at": str(datetime.now(UTC).date()),
        "dim": DIM,
        "hnsw": {
            "ef_search": EF_SEARCH,
            "ef_construction": EF_CONSTRUCTION,
            "max_neighbors": MAX_NEIGHBORS,
        },
        "clusters": measure(clustered(given.rows, given.queries, rng=rng)),
        "no structure": measure(scattered(small, given.queries, rng=rng)),
        "rebuild": asyncio.run(rebuild(small)),
    }
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
