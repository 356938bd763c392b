"""Fits the fusion parameters of `memory/recall.yaml` on the fit halves of the labelled corpora.

    python tests/bench/fit_recall.py --data ../shared/data --cache /tmp/vectors

It prints the `fusion` block to put into `memory/recall.yaml`, and figures of the fit half only:
what is reported comes from `agentkit eval`, on the other half of the questions. Each corpus counts
the same, however many questions it has. No text of a corpus is written anywhere.
"""

import argparse
import asyncio
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import numpy as np
import numpy.typing as npt

from agentkit.evaluation.arms import Material
from agentkit.evaluation.corpora.corpus import Corpus, CorpusQuery, Half, take
from agentkit.evaluation.embedding import VectorCache
from agentkit.evaluation.recall_arm import build_index
from agentkit.evaluation.suites import RetrievalSuite, load_suite
from agentkit.policy.decay import DecayPolicy
from agentkit.policy.recall import (
    FusionPolicy,
    LexicalPolicy,
    NeighbourPolicy,
    RecallPolicy,
    TagPolicy,
)
from agentkit.recall import AliasTable, Prototypes, RankQuery, ScopeIndex, infer_tags, rank
from agentkit.recall.arms import measure_arms
from agentkit.recall.signals import measure
from agentkit.records import Float32Array, Normalisers, QuerySignals
from agentkit.store import open_embedder
from agentkit.text import cjk_share, query_term_counts

Float64Array = npt.NDArray[np.float64]

SUITES = ("locomo", "clinc150", "memdaily", "xquad-zh-zh", "xquad-zh-en", "xquad-en-zh")
GRID = np.linspace(0.0, 1.0, 21)
SPAN = 0.2
SIGNALS = tuple(field.name for field in fields(QuerySignals))
# Strength of the pull towards 0, so that a signal that hardly helps gets no weight.
RIDGE = 2e-4
STEPS = 3_000
NEIGHBOURS = tuple(
    NeighbourPolicy(next=first, second=first * ratio)
    for first in (0.0, 0.3, 0.4, 0.5, 0.6, 0.8)
    for ratio in ((0.5, 0.75, 1.0) if first else (0.0,))
)
TAGS = tuple(
    TagPolicy(prototype_weight=weight, softness_cosine=softness, least_share=share)
    for weight in (0.5, 0.8, 1.2)
    for softness in (0.02, 0.03, 0.05)
    for share in (0.2, 0.3)
)
TAG_QUERIES = 1_000
# Below what a thousand questions can tell apart.
TAG_TOLERANCE = 0.001


@dataclass(frozen=True, slots=True, eq=False)
class Fitting:
    """The questions of one corpus, ready to be fitted on.

    Attributes:
        name: Name of the suite.
        signals: shape (queries, 8), float64: what each query's own score lists say.
        gains: shape (queries, 21), float64 in [0, 1]: how good the ranking is at each weight of
            the dense arm in `GRID`.
    """

    name: str
    signals: Float64Array
    gains: Float64Array


async def embed(
    suite: RetrievalSuite,
    data: Path,
    *,
    cache: VectorCache,
    half: Half = "fit",
    embedder_name: str = "local",
) -> tuple[Material, ...]:
    """Read the fit half of a suite's corpus, or more of it, with its vectors."""
    return await embed_corpus(
        suite.corpus.read(data), cache=cache, half=half, embedder_name=embedder_name
    )


async def embed_corpus(
    corpus: Corpus, *, cache: VectorCache, half: Half, embedder_name: str
) -> tuple[Material, ...]:
    """Return one half of a corpus, or all of it, with its vectors."""
    embedder = open_embedder(embedder_name)
    assert embedder is not None
    materials: list[Material] = []
    for group in take(corpus, half=half).groups:
        vectors: list[Float32Array] = []
        for kind, texts in (
            ("document", [document.text for document in group.documents]),
            ("query", [query.text for query in group.queries]),
        ):
            vectors.append(
                await cache.embed(
                    texts,
                    kind="query" if kind == "query" else "document",
                    embedder=embedder,
                    progress=lambda done: None,
                )
            )
        materials.append(
            Material(group=group, document_vectors=vectors[0], query_vectors=vectors[1])
        )
    return tuple(materials)


def fitting(
    name: str,
    materials: Sequence[Material],
    *,
    lexical: LexicalPolicy,
    neighbours: NeighbourPolicy,
) -> Fitting:
    """Score every question at every weight."""
    signals: list[tuple[float, ...]] = []
    gains: list[Float64Array] = []
    for material in materials:
        index = build_index(material, ages="equal")
        assert material.query_vectors is not None
        for query, vector in zip(material.group.queries, material.query_vectors, strict=True):
            if not query.gold:
                continue
            found, dense, words = arms(
                index, query.text, vector, lexical=lexical, neighbours=neighbours
            )
            signals.append(astuple(found.signals))
            scores = np.stack([weight * dense + (1.0 - weight) * words for weight in GRID])
            gains.append(goodness(index, query, scores, intents=name == "clinc150"))
    return Fitting(name, np.array(signals, dtype=np.float64), np.stack(gains))


def arms(
    index: ScopeIndex,
    text: str,
    vector: Float32Array,
    *,
    lexical: LexicalPolicy,
    neighbours: NeighbourPolicy,
) -> tuple[Normalisers, Float64Array, Float64Array]:
    """Return ranges and signals of a query, and its two normalised score lists."""
    terms = query_term_counts(text)
    everything = np.ones(index.slots, dtype=np.bool_)
    raw = measure_arms(
        index, terms, vector, seen=everything, lexical=lexical, neighbours=neighbours
    )
    found = measure(
        raw.context_cosine,
        raw.has_vector,
        raw.context_bm25,
        raw.matched,
        known=raw.known,
        term_count=len(terms.terms),
        cjk=cjk_share(text),
        least_cosine_span=SPAN,
    )
    dense = (raw.context_cosine - found.cosine_low) / (found.cosine_high - found.cosine_low)
    return found, dense, raw.context_bm25 / (found.bm25_high or 1.0)


def goodness(
    index: ScopeIndex, query: CorpusQuery, scores: Float64Array, *, intents: bool
) -> Float64Array:
    """Return the mean of recall@5, recall@10 and nDCG@10 (P@5 for intents), a value a weight."""
    gold = np.array([memory_id in query.gold for memory_id in index.ids])
    # Later memories first among equals, as everywhere.
    newest_first = -np.arange(len(gold))
    order: npt.NDArray[np.int64] = np.lexsort(
        (np.broadcast_to(newest_first, scores.shape), -scores), axis=1
    )
    top = order[:, :10]
    hit = gold[top].astype(np.float64)
    if intents:
        return hit[:, :5].mean(axis=1)
    places = np.arange(2, hit.shape[1] + 2, dtype=np.float64)
    discount: Float64Array = 1.0 / np.log2(places)
    ideal = discount[: int(gold.sum())].sum()
    recall = (hit[:, :5].sum(axis=1) + hit.sum(axis=1)) / gold.sum()
    return (recall + (hit * discount).sum(axis=1) / ideal) / 3.0


def fit(corpora: Sequence[Fitting], *, seed: int) -> Float64Array:
    """Climb to coefficients (bias first) under which the questions come out best.

    The gain at a weight between two of the grid is interpolated, which gives a gradient.
    """
    generator = np.random.default_rng(seed)
    held = generator.normal(0.0, 0.3, 1 + len(SIGNALS))
    momentum, variance = np.zeros_like(held), np.zeros_like(held)
    best, best_value = held.copy(), -np.inf
    for step in range(1, STEPS + 1):
        slope = -2.0 * RIDGE * np.concatenate([[0.0], held[1:]])
        value = -RIDGE * float((held[1:] ** 2).sum())
        for corpus in corpora:
            mean, gradient = climb(corpus, held)
            value += mean / len(corpora)
            slope += gradient / len(corpora)
        if value > best_value:
            best, best_value = held.copy(), value
        momentum = 0.9 * momentum + 0.1 * slope
        variance = 0.999 * variance + 0.001 * slope**2
        corrected = momentum / (1 - 0.9**step) / (np.sqrt(variance / (1 - 0.999**step)) + 1e-8)
        held = held + 0.02 * (1.0 - step / STEPS) * corrected
    return best


def climb(corpus: Fitting, coefficients: Float64Array) -> tuple[float, Float64Array]:
    """Return the mean gain of a corpus under some coefficients, and its gradient."""
    weight = dense_weights(corpus, coefficients)
    at = np.minimum((weight * (len(GRID) - 1)).astype(np.int64), len(GRID) - 2)
    rows = np.arange(len(weight))
    smooth = smoothed(corpus.gains)
    low, high = smooth[rows, at], smooth[rows, at + 1]
    width = GRID[1] - GRID[0]
    gain = low + (high - low) * (weight - GRID[at]) / width
    slope = (high - low) / width * weight * (1.0 - weight)
    with_bias = np.concatenate([np.ones((len(weight), 1)), corpus.signals], axis=1)
    return float(gain.mean()), (slope[:, None] * with_bias).mean(axis=0)


def smoothed(gains: Float64Array) -> Float64Array:
    """Average each gain with those at the weights beside it, so that single ranks do not rule."""
    padded = np.pad(gains, ((0, 0), (1, 1)), mode="edge")
    return (padded[:, :-2] + 2.0 * padded[:, 1:-1] + padded[:, 2:]) / 4.0


def dense_weights(corpus: Fitting, coefficients: Float64Array) -> Float64Array:
    """Return the share of the dense arm for each question."""
    return 1.0 / (1.0 + np.exp(-(coefficients[0] + corpus.signals @ coefficients[1:])))


def gain_at(corpus: Fitting, weights: Float64Array) -> float:
    """Return the mean gain with a weight for each question, the nearest of the grid."""
    at = np.rint(weights * (len(GRID) - 1)).astype(np.int64)
    return float(corpus.gains[np.arange(len(at)), at].mean())


def show(corpora: Sequence[Fitting], coefficients: Float64Array) -> None:
    """Print how the fit does on the fit half, beside one fixed weight for all."""
    print(f"{'fit half':12} lexical   fixed   dense  fitted  (best single weight, mean weight)")
    for corpus in corpora:
        ones = np.ones(len(corpus.gains))
        fixed = [gain_at(corpus, weight * ones) for weight in GRID]
        weights = dense_weights(corpus, coefficients)
        print(
            f"{corpus.name:12} {fixed[0]:7.3f} {fixed[10]:7.3f} {fixed[-1]:7.3f} "
            f"{gain_at(corpus, weights):7.3f}  ({max(fixed):.3f} at "
            f"{GRID[int(np.argmax(fixed))]:.2f}, {weights.mean():.2f})"
        )


def best_neighbours(materials: Sequence[Material], *, lexical: LexicalPolicy) -> NeighbourPolicy:
    """Return what lends best where there are episodes, at the best single weight of the arms."""
    found = [
        (float(fitting("locomo", materials, lexical=lexical, neighbours=one).gains.mean(0).max()))
        for one in NEIGHBOURS
    ]
    for one, value in zip(NEIGHBOURS, found, strict=True):
        print(f"neighbours {one.next} {one.second}: {value:.4f}")
    return NEIGHBOURS[int(np.argmax(found))]


def best_tags(
    materials: Sequence[Material], *, fusion: FusionPolicy, neighbours: NeighbourPolicy
) -> TagPolicy:
    """Return the lightest way to count inferred tags that is as good as any: P@5 on intents."""
    values: list[float] = []
    for tags in TAGS:
        policy = RecallPolicy(fusion=fusion, neighbours=neighbours, tags=tags)
        found = [precision(material, limit=TAG_QUERIES, policy=policy) for material in materials]
        values.append(float(np.mean(found)))
        print(
            f"tags weight {tags.prototype_weight} softness {tags.softness_cosine} "
            f"least share {tags.least_share}: P@5 {values[-1]:.4f}"
        )
    good = max(values) - TAG_TOLERANCE
    return next(tags for tags, value in zip(TAGS, values, strict=True) if value >= good)


def precision(material: Material, *, limit: int, policy: RecallPolicy) -> float:
    """Return the mean P@5 of the first questions of a group, with tags inferred."""
    index = build_index(material, ages="equal")
    prototypes = Prototypes(index.tag_examples(), least_examples=policy.tags.least_examples)
    lean = policy.model_copy(update={"pool_final": 1, "pool_arm": 0})
    assert material.query_vectors is not None
    found: list[float] = []
    for query, vector in zip(
        material.group.queries[:limit], material.query_vectors[:limit], strict=True
    ):
        intent = infer_tags(
            query.text,
            vector=vector,
            aliases=AliasTable(),
            prototypes=prototypes,
            policy=policy.tags,
        )
        asked = RankQuery(text=query.text, vector=vector, top_k=5, intent=intent)
        ranking = rank(index, asked, policy=lean, decay=DecayPolicy(), now_s=0.0)
        found.append(sum(memory_id in query.gold for memory_id in ranking.memory_ids) / 5)
    return float(np.mean(found))


async def main() -> None:
    """Read, fit, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--suites", type=Path, default=Path("evals/suites"))
    given = parser.parse_args()
    cache, lexical = VectorCache(given.cache), LexicalPolicy()
    read: dict[str, tuple[Material, ...]] = {}
    for name in SUITES:
        suite = load_suite(given.suites / f"{name}.yaml")
        assert isinstance(suite, RetrievalSuite)
        read[name] = await embed(suite, given.data, cache=cache)
    neighbours = best_neighbours(read["locomo"], lexical=lexical)
    corpora = [
        fitting(name, materials, lexical=lexical, neighbours=neighbours)
        for name, materials in read.items()
    ]
    starts = [fit(corpora, seed=seed) for seed in range(3)]
    values = [sum(climb(corpus, one)[0] for corpus in corpora) for one in starts]
    coefficients = np.round(starts[int(np.argmax(values))], 2)
    show(corpora, coefficients)
    print(f"neighbours: {neighbours.model_dump()}")
    fusion = FusionPolicy(**dict(zip(("bias", *SIGNALS), coefficients.tolist(), strict=True)))
    tags = best_tags(read["clinc150"], fusion=fusion, neighbours=neighbours)
    print(f"tags: {tags.model_dump()}")
    for name, value in fusion:
        print(f"  {name}: {value}")


if __name__ == "__main__":
    asyncio.run(main())
