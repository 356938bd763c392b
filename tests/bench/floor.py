"""How well the floor tells questions that no memory answers, and what it costs the others.

    python -m tests.bench.floor --data ../shared/data --cache /tmp/vectors

With `--fit` it prints what the default of `floor.least_similarity` in `memory/recall.yaml` should
be: the greatest cosine of `FLOORS` that costs no suite more than `MOST_LOST` of its headline on its
fit half. What is written to `evals/baselines/clinc150-oos.json` is measured on the report halves.
No text is written anywhere. Either takes about four minutes on two cores.
"""

import argparse
import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from agentkit.evaluation.arms import Material
from agentkit.evaluation.corpora.clinc150 import read_clinc150
from agentkit.evaluation.corpora.corpus import Corpus, Half
from agentkit.evaluation.embedding import VectorCache
from agentkit.evaluation.intervals import SEED
from agentkit.evaluation.metrics import parse_metric, score_rankings
from agentkit.evaluation.recall_arm import TagSource, build_index, rank_agentkit
from agentkit.evaluation.suites import RetrievalSuite, load_suite
from agentkit.policy import Policy, load_policy
from agentkit.project import Project
from agentkit.recall import AliasTable
from agentkit.recall.arms import measure_arms
from agentkit.text import query_term_counts
from tests.bench.fit_recall import SUITES, embed, embed_corpus

Float64Array = npt.NDArray[np.float64]

ROOT = Path(__file__).resolve().parent.parent.parent
EMBEDDER = "local"
SUITE = "clinc150"
FLOORS = (0.16, 0.17, 0.18, 0.19, 0.2, 0.21, 0.22, 0.24)
# What a project of one kind of question could set: for the table, not for the default.
HIGHER = (0.35, 0.4, 0.45, 0.5, 0.55, 0.6)
# Half of what a change may cost a suite, so that the report half stays within it as well.
MOST_LOST = 0.001
RESAMPLES = 1_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Asked:
    """The questions of one suite, ready to be ranked.

    Attributes:
        suite: The suite.
        materials: Documents and questions with their vectors.
        policy: The policy in force.
    """

    suite: RetrievalSuite
    materials: tuple[Material, ...]
    policy: Policy

    def ranked(self, floor: float | None) -> list[tuple[str, ...]]:
        """Return what comes back for each question, as deep as the headline looks."""
        depth = parse_metric(self.suite.headline).k
        tags = TagSource(aliases=AliasTable()) if self.suite.infer_tags else None
        return [
            ranking
            for material in self.materials
            for ranking in rank_agentkit(
                material,
                policy=self.policy,
                depth=depth,
                ages=self.suite.ages,
                tags=tags,
                floor=floor,
            ).ranked
        ]

    def gold(self) -> list[frozenset[str]]:
        """Return the gold of each question; empty for one that nothing answers."""
        return [query.gold for material in self.materials for query in material.group.queries]

    def headline(self, floor: float | None) -> float:
        """Return the mean of the headline metric over the questions that have an answer."""
        found = score_rankings(
            [parse_metric(self.suite.headline)], gold=self.gold(), ranked=self.ranked(floor)
        )
        return float(found.values.mean())


def nearest(asked: Asked, *, spared: bool) -> Float64Array:
    """Return the greatest similarity of each question.

    Args:
        asked: The questions.
        spared: Whether a memory that holds enough of the words to need no cosine counts as 1.
    """
    policy = asked.policy.recall
    found: list[float] = []
    for material in asked.materials:
        index = build_index(material, ages="equal")
        assert material.query_vectors is not None
        for query, vector in zip(material.group.queries, material.query_vectors, strict=True):
            arms = measure_arms(
                index,
                query_term_counts(query.text),
                vector,
                seen=np.ones(index.slots, dtype=np.bool_),
                lexical=policy.lexical,
                neighbours=policy.neighbours,
            )
            cosine = np.maximum(arms.cosine, arms.context_cosine)
            if spared:
                cosine = np.where(arms.matched >= policy.floor.least_matched, 1.0, cosine)
            found.append(float(cosine.max()))
    return np.array(found, dtype=np.float64)


def auroc(inside: Float64Array, outside: Float64Array) -> float:
    """Return how often a question inside has the greater value than one outside; ties are half."""
    both = np.concatenate([inside, outside])
    _, place, counts = np.unique(both, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2.0)[place]
    n, m = len(inside), len(outside)
    return float((ranks[:n].sum() - n * (n + 1) / 2.0) / (n * m))


def auroc_interval(inside: Float64Array, outside: Float64Array) -> dict[str, object]:
    """Return the AUROC with its 95 % bootstrap interval over questions."""
    draws = np.random.default_rng(SEED)
    drawn = [
        auroc(draws.choice(inside, len(inside)), draws.choice(outside, len(outside)))
        for _ in range(RESAMPLES)
    ]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return {
        "auroc": round(auroc(inside, outside), 4),
        "auroc_ci": [round(float(low), 4), round(float(high), 4)],
    }


def operating_point(asked: Asked, *, floor: float | None) -> dict[str, object]:
    """Return what a floor refuses of both kinds of question, and the headline with it."""
    ranked, gold = asked.ranked(floor), asked.gold()
    empty = np.array([not ranking for ranking in ranked])
    inside = np.array([bool(answers) for answers in gold])
    metric = parse_metric(asked.suite.headline)
    found = score_rankings([metric], gold=gold, ranked=ranked)
    return {
        "out_of_scope_refused": round(float(empty[~inside].mean()), 4),
        "in_scope_refused": round(float(empty[inside].mean()), 4),
        str(metric): round(float(found.values.mean()), 4),
    }


def best_floor(suites: Sequence[Asked]) -> float:
    """Return the greatest floor that costs no suite more than is allowed, and print all."""
    lost: dict[float, float] = dict.fromkeys(FLOORS, 0.0)
    for asked in suites:
        without = asked.headline(None)
        costs = {floor: without - asked.headline(floor) for floor in FLOORS}
        lost = {floor: max(lost[floor], costs[floor]) for floor in FLOORS}
        shown = " ".join(f"{floor}: {cost:+.4f}" for floor, cost in costs.items())
        print(f"{asked.suite.name:12} {asked.suite.headline} {without:.4f}, lost at {shown}")
    return max((floor for floor in FLOORS if lost[floor] <= MOST_LOST), default=min(FLOORS))


async def read(name: str, data: Path, *, cache: VectorCache, half: Half, policy: Policy) -> Asked:
    """Read one half of a suite."""
    suite = suite_of(name)
    return Asked(
        suite=suite,
        materials=await embed(suite, data, cache=cache, half=half, embedder_name=EMBEDDER),
        policy=policy,
    )


async def read_out_of_scope(data: Path, *, cache: VectorCache, half: Half, policy: Policy) -> Asked:
    """Read one half of CLINC150 with the requests that mean none of its intents."""
    corpus: Corpus = read_clinc150(data, out_of_scope=True)
    materials = await embed_corpus(corpus, cache=cache, half=half, embedder_name=EMBEDDER)
    return Asked(suite=suite_of(SUITE), materials=materials, policy=policy)


def suite_of(name: str) -> RetrievalSuite:
    """Load a suite that ships."""
    suite = load_suite(ROOT / "evals" / "suites" / f"{name}.yaml")
    assert isinstance(suite, RetrievalSuite)
    return suite


async def report(
    data: Path, *, cache: VectorCache, policy: Policy, floor: float
) -> dict[str, object]:
    """Measure the floor on the report halves."""
    asked = await read_out_of_scope(data, cache=cache, half="report", policy=policy)
    inside = np.array([bool(answers) for answers in asked.gold()])
    alone, spared = nearest(asked, spared=False), nearest(asked, spared=True)
    costs: dict[str, object] = {}
    for name in SUITES:
        other = await read(name, data, cache=cache, half="report", policy=policy)
        without = other.headline(None)
        costs[name] = {
            "metric": other.suite.headline,
            "without": round(without, 4),
            "with": round(other.headline(floor), 4),
        }
    return {
        "suite": f"{SUITE}-oos",
        "command": "python -m tests.bench.floor --data ../shared/data",
        "half": "report",
        "embedder": EMBEDDER,
        "policy": policy.fingerprint,
        "in_scope": int(inside.sum()),
        "out_of_scope": int((~inside).sum()),
        "best_similarity": auroc_interval(alone[inside], alone[~inside]),
        "best_similarity_words_spared": auroc_interval(spared[inside], spared[~inside]),
        "default": floor,
        "by_floor": {f"{one:g}": operating_point(asked, floor=one) for one in (floor, *HIGHER)},
        "cost_of_the_default": costs,
    }


async def write_floor(data: Path, *, cache: VectorCache, policy: Policy, folder: Path) -> None:
    """Measure the default floor, write the figures to a folder and print them."""
    floor = policy.recall.floor.least(EMBEDDER)
    assert floor is not None
    text = json.dumps(await report(data, cache=cache, policy=policy, floor=floor), indent=2)
    (folder / f"{SUITE}-oos.json").write_text(text + "\n", encoding="utf-8")
    print(text)


async def main() -> None:
    """Choose on the fit halves, report on the others."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--fit", action="store_true", help="choose the default anew, print it only")
    given = parser.parse_args()
    cache, policy = VectorCache(given.cache), load_policy(Project(None).find)
    if given.fit:
        suites = [
            await read(name, given.data, cache=cache, half="fit", policy=policy) for name in SUITES
        ]
        print(f"least_similarity of {EMBEDDER}: {best_floor(suites)}")
        return
    await write_floor(given.data, cache=cache, policy=policy, folder=ROOT / "evals" / "baselines")


if __name__ == "__main__":
    asyncio.run(main())
