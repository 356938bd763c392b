"""When the exact scan stops to pay: `python -m tests.bench.plan [--scale 1.0]`.

One user, ever more memories with vectors as long as the bundled embedder's, in an embedded Chroma.
Each question is made of a memory: half of its words, and a vector near its own. It is answered by
the exact scan over the whole scope held in memory, and by the approximate plan; what is timed is
everything but the embedding. With `--data` the training requests of CLINC150 are asked with its
test requests as well, by both plans, with the bundled embedder. The figures go to
`evals/baselines/recall-plan.json`. Takes about fifteen minutes and 2 GB at scale 1.
"""

import argparse
import asyncio
import json
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator, default_rng

from agentkit.evaluation.corpora.clinc150 import read_clinc150
from agentkit.kit.background import Background
from agentkit.kit.opening import open_parts
from agentkit.kit.recalling import BYTES_PER_MB, Recaller
from agentkit.policy.recall import RecallPolicy
from agentkit.ports import EmbedderIdentity, EmbedKind
from agentkit.recall import PlanChoice, ScopeIndex, overlap
from agentkit.records import Float32Array, Query, RecallResult, Scope, Tag
from agentkit.store import NewMemory, Store, open_embedder
from agentkit.testing import new_memory
from tests.bench.recall import Corpus as Words
from tests.bench.recall import percentiles

ROOT = Path(__file__).resolve().parent.parent.parent
# The bundled embedder's.
DIM = 512
SIZES = (10_000, 50_000, 100_000, 200_000)
TOP = 10
SEED = 20261202
CENTRES = 1_000
# Noise of the length of 0.6 around a centre of length 1, as in tests/bench/index.py.
SPREAD = 0.6
ADDED_AT_ONCE = 500
QUERIES = 60
LABELLED_QUERIES = 150
# All that the training part has: 15,000 memories.
PER_INTENT = 100
OVER_FETCHES = (4, 20, 100)
SHOWN = 5
OWNER = Scope("owner")


class Given:
    """Hands out the vector that was set, whatever the text."""

    name = "given"

    def __init__(self) -> None:
        """Start with a vector of zeros."""
        self.vector: Float32Array = np.zeros(DIM, dtype=np.float32)

    async def identity(self) -> EmbedderIdentity:
        """Return name and dimension."""
        return EmbedderIdentity(self.name, DIM)

    async def load(self) -> None:
        """Nothing is to be loaded."""

    async def embed(self, texts: Sequence[str], *, kind: EmbedKind) -> Float32Array:
        """Return the vector once for each text."""
        return np.tile(self.vector, (len(texts), 1))


@dataclass(frozen=True, slots=True)
class Question:
    """A question that has an answer.

    Attributes:
        text: Half the words of a memory.
        vector: shape (DIM,), float32, unit: near the memory's own.
    """

    text: str
    vector: Float32Array


class Corpus:
    """Memories of Zipf's words with clustered vectors, and questions made of them."""

    def __init__(self, rng: Generator) -> None:
        """Draw what all share."""
        self._rng = rng
        self._words = Words(rng)
        self._centres = _unit(rng.standard_normal((CENTRES, DIM)))

    def block(self, number: int) -> tuple[list[NewMemory], list[Question]]:
        """Return so many memories, and a question for the first of them."""
        at = self._rng.integers(0, CENTRES, number)
        rows = _unit(self._centres[at] + self._noise(number))
        texts = [self._words.text() for _ in range(number)]
        new = [
            replace(new_memory(text), vectors=row[None])
            for text, row in zip(texts, rows, strict=True)
        ]
        half = texts[0].split()[::2]
        near = _unit(rows[:1] + self._noise(1))[0]
        return new, [Question(" ".join(half), near)]

    def _noise(self, number: int) -> "np.ndarray[Any, Any]":
        return self._rng.standard_normal((number, DIM)) * (SPREAD / DIM**0.5)


def _unit(rows: "np.ndarray[Any, Any]") -> Float32Array:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


async def _nothing() -> None:
    return None


async def measure(folder: Path, sizes: Sequence[int]) -> list[dict[str, Any]]:
    """Fill a scope step by step, and ask it at each size."""
    given, corpus = Given(), Corpus(default_rng(SEED))
    overrides = {"index": "chroma", "worker": "external"}
    parts = open_parts(folder, clock=None, embedder=given, overrides=overrides)
    store = await parts.store(OWNER)
    recaller = Recaller(parts, background=Background(exit_work=_nothing))
    rows: list[dict[str, Any]] = []
    questions: list[Question] = []
    held = 0
    for size in sizes:
        while held < size:
            new, asked = corpus.block(min(ADDED_AT_ONCE, size - held))
            await store.add(OWNER, new, actor="bench")
            questions += asked
            held += len(new)
        started = time.perf_counter()
        settled = await store.settle()
        row: dict[str, Any] = {"memories": size, "problem": settled.problem}
        row["index_per_s"] = round(settled.indexed / (time.perf_counter() - started))
        rows.append(row | await ask(recaller, store, given, questions))
        print(json.dumps(rows[-1]))
    await parts.stores.close()
    return rows


async def ask(
    recaller: Recaller, store: Store, given: Given, questions: Sequence[Question]
) -> dict[str, Any]:
    """Answer the questions with both plans."""
    last = len(questions) - 1
    chosen = [questions[place * last // (QUERIES - 1)] for place in range(QUERIES)]
    given.vector = chosen[0].vector
    query = Query(text=chosen[0].text, top_k=TOP)
    cold = await recaller.try_plan(query, scope=OWNER, choice="exact")
    first = await recaller.try_plan(query, scope=OWNER, choice="approximate")
    exact_ms: list[float] = []
    approximate_ms: list[float] = []
    shares: list[float] = []
    candidates: list[int] = []
    for question in chosen:
        given.vector = question.vector
        query = Query(text=question.text, top_k=TOP)
        exact = await recaller.try_plan(query, scope=OWNER, choice="exact")
        found = await recaller.try_plan(query, scope=OWNER, choice="approximate")
        exact_ms.append(_spent_ms(exact))
        approximate_ms.append(_spent_ms(found))
        shares.append(overlap(_ids(exact), _ids(found)) or 0.0)
        candidates.append(0 if found.approximate is None else found.approximate.candidates)
    counted = await _counting_ms(store)
    return {
        "exact": percentiles(exact_ms),
        "exact_cold_ms": round(_spent_ms(cold), 1),
        "approximate": percentiles(approximate_ms),
        "approximate_cold_ms": round(_spent_ms(first), 1),
        "candidates": round(float(np.mean(candidates))),
        "overlap_at_10": round(float(np.mean(shares)), 4),
        "counting_ms": round(counted, 3),
        "bytes_per_memory": await _bytes_per_memory(store),
    }


async def _counting_ms(store: Store) -> float:
    started = time.perf_counter()
    await store.holds_more(OWNER, than=RecallPolicy().plan.exact_up_to)
    return (time.perf_counter() - started) * 1_000


async def _bytes_per_memory(store: Store) -> int:
    index = ScopeIndex()
    index.apply(await store.changes(OWNER, since=0))
    return round(index.nbytes / len(index))


def _ids(result: RecallResult) -> list[str]:
    return [hit.memory.memory_id for hit in result.hits]


def _spent_ms(result: RecallResult) -> float:
    return sum(spent for stage, spent in result.latency_ms.items() if stage != "embed")


async def measure_labelled(folder: Path, data: Path) -> list[dict[str, Any]]:
    """Ask CLINC150 by both plans, with more and more candidates."""
    (group,) = read_clinc150(data, per_intent=PER_INTENT).groups
    embedder = open_embedder("local")
    assert embedder is not None
    overrides = {"index": "chroma", "worker": "external"}
    parts = open_parts(folder, clock=None, embedder=embedder, overrides=overrides)
    store = await parts.store(OWNER)
    tag_of: dict[str, Tag] = {}
    for start in range(0, len(group.documents), ADDED_AT_ONCE):
        batch = group.documents[start : start + ADDED_AT_ONCE]
        vectors = await embedder.embed([one.text for one in batch], kind="document")
        written = await store.add(
            OWNER,
            [
                replace(new_memory(one.text, tags=(str(one.tags[0]),)), vectors=row[None])
                for one, row in zip(batch, vectors, strict=True)
            ],
            actor="bench",
        )
        pairs = zip(written, batch, strict=True)
        tag_of.update((one.memory.memory_id, doc.tags[0]) for one, doc in pairs)
    await store.settle()
    asked = [one for one in group.queries if one.gold][:: len(group.queries) // LABELLED_QUERIES]
    rows: list[dict[str, Any]] = []
    for over_fetch in OVER_FETCHES:
        plan = parts.policy.recall.plan.model_copy(update={"over_fetch": over_fetch})
        recall = parts.policy.recall.model_copy(update={"plan": plan})
        policy = replace(parts.policy, recall=recall)
        recaller = Recaller(
            replace(parts, policy=policy), background=Background(exit_work=_nothing)
        )
        await recaller.intent.prepare()
        shares: list[float] = []
        right: dict[PlanChoice, list[float]] = {"exact": [], "approximate": []}
        for one in asked:
            found: dict[PlanChoice, list[str]] = {}
            for choice, hits in right.items():
                query = Query(text=one.text, top_k=TOP)
                found[choice] = _ids(await recaller.try_plan(query, scope=OWNER, choice=choice))
                first = found[choice][:SHOWN]
                hits.append(sum(tag_of[name] == one.tags[0] for name in first) / SHOWN)
            shares.append(overlap(found["exact"], found["approximate"]) or 0.0)
        rows.append(
            {
                "over_fetch": over_fetch,
                "queries": len(asked),
                "overlap_at_10": round(float(np.mean(shares)), 4),
                "precision_at_5": {name: round(float(np.mean(v)), 4) for name, v in right.items()},
            }
        )
        print(json.dumps(rows[-1]))
    await parts.stores.close()
    return rows


async def write_recall_plan(folder: Path, *, scale: float = 1.0, data: Path | None = None) -> None:
    """Measure, and write the figures into a folder."""
    sizes = [max(round(size * scale), 100) for size in SIZES]
    with tempfile.TemporaryDirectory(prefix="agentkit-bench-") as scratch:
        rows = await measure(Path(scratch), sizes)
    labelled: list[dict[str, Any]] = []
    if data is not None:
        with tempfile.TemporaryDirectory(prefix="agentkit-bench-") as scratch:
            labelled = await measure_labelled(Path(scratch), data)
    budget = RecallPolicy().cache_mb * BYTES_PER_MB
    most = max(row["bytes_per_memory"] for row in rows)
    figures: dict[str, Any] = {
        "command": "python -m tests.bench.plan",
        "measured_at": str(datetime.now(UTC).date()),
        "cores": os.cpu_count(),
        "dim": DIM,
        "scale": scale,
        "queries": QUERIES,
        "sizes": rows,
        "clinc150": labelled,
        "cache_budget_bytes": budget,
        "memories_in_the_budget": budget // most,
    }
    text = json.dumps(figures, indent=2)
    (folder / "recall-plan.json").write_text(text + "\n", encoding="utf-8")


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.plan", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the sizes, for a try")
    parser.add_argument("--out", type=Path, default=ROOT / "evals" / "baselines")
    parser.add_argument("--data", type=Path, help="folder of the labelled data sets")
    given = parser.parse_args()
    asyncio.run(write_recall_plan(given.out, scale=given.scale, data=given.data))


if __name__ == "__main__":
    main()
