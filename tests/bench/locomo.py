"""LoCoMo, every question: the fusion is fitted on all conversations but the one it is asked of.

    python -m tests.bench.locomo --data ../shared/data --cache /tmp/vectors

Beside it stands the best fixed fusion of single turns: the one weight, of 21, that is best over
all questions, chosen with the answers in hand. Neighbours have the shares of the shipped policy.
"""

import argparse
import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from agentkit.errors import EmbedderError
from agentkit.evaluation.arms import Material, minmax
from agentkit.evaluation.embedding import VectorCache
from agentkit.evaluation.intervals import draw, interval
from agentkit.evaluation.lexical import Bm25
from agentkit.evaluation.recall_arm import build_index
from agentkit.evaluation.suites import RetrievalSuite, load_suite
from agentkit.policy.recall import LexicalPolicy, NeighbourPolicy
from tests.bench.fit_recall import GRID, Float64Array, arms, dense_weights, embed, fit, fitting

KS = (5, 10)
SEEDS = 3
EMBEDDERS = ("local", "minilm")


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """Recall of the questions of one conversation.

    Attributes:
        fixed: shape (21, questions, 2), float64: recall@5 and @10 at each weight of the grid.
        ours: shape (questions, 2), float64: the same with weights fitted elsewhere.
    """

    fixed: Float64Array
    ours: Float64Array


def measure(materials: Sequence[Material]) -> list[Asked]:
    """Ask every conversation with what the others taught."""
    lexical, neighbours = LexicalPolicy(), NeighbourPolicy()
    fits = [
        fitting(one.group.user_id, [one], lexical=lexical, neighbours=neighbours)
        for one in materials
    ]
    asked: list[Asked] = []
    for place, material in enumerate(materials):
        others = [one for at, one in enumerate(fits) if at != place]
        coefficients = fit(others, seed=0)
        weights = dense_weights(fits[place], coefficients)
        asked.append(Asked(fixed_recall(material), own_recall(material, weights)))
    return asked


def fixed_recall(material: Material) -> Float64Array:
    """Return what one weight for all finds among single turns."""
    bm25 = Bm25([document.text for document in material.group.documents])
    assert material.document_vectors is not None
    assert material.query_vectors is not None
    cosines = material.query_vectors.astype(np.float64) @ material.document_vectors.T
    found = [
        [
            recall(material, question, weight * minmax(cosine) + (1.0 - weight) * words)
            for question, cosine, words in (
                (at, cosines[at], minmax(bm25.scores(material.group.queries[at].text)))
                for at in answerable(material)
            )
        ]
        for weight in GRID
    ]
    return np.array(found, dtype=np.float64)


def own_recall(material: Material, weights: Float64Array) -> Float64Array:
    """Return what the two arms of the recall room find at the weights of the questions."""
    index = build_index(material, ages="equal")
    lexical, neighbours = LexicalPolicy(), NeighbourPolicy()
    found: list[tuple[float, ...]] = []
    assert material.query_vectors is not None
    for at, weight in zip(answerable(material), weights.tolist(), strict=True):
        text, vector = material.group.queries[at].text, material.query_vectors[at]
        _, dense, words = arms(index, text, vector, lexical=lexical, neighbours=neighbours)
        found.append(recall(material, at, weight * dense + (1.0 - weight) * words))
    return np.array(found, dtype=np.float64)


def answerable(material: Material) -> list[int]:
    """Return the places of the questions that have an answer in the dialog."""
    return [at for at, query in enumerate(material.group.queries) if query.gold]


def recall(material: Material, question: int, scores: Float64Array) -> tuple[float, ...]:
    """Return recall@5 and recall@10 of one question; later turns first among equals."""
    gold = material.group.queries[question].gold
    order: list[int] = np.lexsort((-np.arange(len(scores)), -scores)).tolist()
    ranked = [material.group.documents[at].doc_id for at in order[: max(KS)]]
    return tuple(sum(doc_id in gold for doc_id in ranked[:k]) / len(gold) for k in KS)


def summary(asked: Sequence[Asked], materials: Sequence[Material]) -> dict[str, Any]:
    """Return the figures, with the paired interval of the gain over questions."""
    fixed = np.concatenate([one.fixed for one in asked], axis=1)
    ours = np.concatenate([one.ours for one in asked])
    best = int(np.argmax(fixed[:, :, KS.index(10)].mean(axis=1)))
    resamples = draw([str(at) for at in range(len(ours))])
    figures: dict[str, Any] = {"questions": len(ours), "best_fixed_weight": float(GRID[best])}
    for at, k in enumerate(KS):
        gain = interval(ours[:, at] - fixed[best, :, at], resamples=resamples)
        figures[f"recall@{k}"] = {
            "best_fixed": round(float(fixed[best, :, at].mean()), 4),
            "agentkit": round(float(ours[:, at].mean()), 4),
            "gain": round(gain.mean, 4),
            "interval": [round(gain.low, 4), round(gain.high, 4)],
        }
    figures["recall@10 by conversation"] = {
        material.group.user_id: round(float(one.ours[:, KS.index(10)].mean()), 4)
        for material, one in zip(materials, asked, strict=True)
    }
    return figures


async def write_locomo(suite: RetrievalSuite, data: Path, *, cache: Path, folder: Path) -> None:
    """Measure with every embedder whose files are here, and write `locomo-loco.json`.

    Args:
        suite: The LoCoMo suite that ships.
        data: Folder of the data sets.
        cache: Folder for embeddings.
        folder: Where the figures go.
    """
    figures: dict[str, Any] = {}
    for name in EMBEDDERS:
        try:
            materials = await embed(
                suite, data, cache=VectorCache(cache), half="all", embedder_name=name
            )
        except EmbedderError:
            figures[name] = {"skipped": "the files of the model are not on this machine"}
            continue
        figures[name] = summary(measure(materials), materials)
        print(f"locomo, leave one conversation out, {name}: {figures[name]}")
    text = json.dumps(figures, indent=2, ensure_ascii=False)
    (folder / "locomo-loco.json").write_text(text + "\n", encoding="utf-8")


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("evals/baselines"))
    given = parser.parse_args()
    suite = load_suite(Path("evals/suites/locomo.yaml"))
    assert isinstance(suite, RetrievalSuite)
    asyncio.run(write_locomo(suite, given.data, cache=given.cache, folder=given.out))


if __name__ == "__main__":
    main()
