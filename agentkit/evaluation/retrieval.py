"""Asks a labelled corpus through every arm and measures what came back."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agentkit.errors import InputError
from agentkit.evaluation.arms import ArmName, ArmRankings, Material, rank_baselines
from agentkit.evaluation.corpora.corpus import Corpus, take
from agentkit.evaluation.embedding import VectorCache
from agentkit.evaluation.intervals import Resamples, draw, interval
from agentkit.evaluation.metrics import Metric, QueryScores, score_rankings
from agentkit.evaluation.recall_arm import TagSource, rank_agentkit, tag_memories
from agentkit.evaluation.report import ArmResult, EvalReport, Gain, LabelResult
from agentkit.evaluation.suites import RetrievalSuite
from agentkit.policy.policy import Policy
from agentkit.ports import Embedder
from agentkit.recall.intent import AliasTable, TagExamples
from agentkit.records import Tag

Stage = Literal["embedding", "ranking"]
_Ranking = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an evaluation has come.

    Attributes:
        stage: `embedding` counts texts, `ranking` counts questions.
        done: Number done.
        total: Number in all.
    """

    stage: Stage
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the scoring needs of a question."""

    user_id: str
    gold: frozenset[str]
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scored:
    """The scores of some questions by arm, with the resamples drawn for them."""

    scores: Mapping[ArmName, QueryScores]
    resamples: Resamples

    def rows(self) -> tuple[ArmResult, ...]:
        """Return one row an arm."""
        return tuple(
            ArmResult(
                arm=arm,
                metrics={
                    str(metric): interval(found.values[:, column], resamples=self.resamples)
                    for column, metric in enumerate(found.metrics)
                },
                abstained=found.abstained,
            )
            for arm, found in self.scores.items()
        )


async def evaluate(
    suite: RetrievalSuite,
    data: Path,
    *,
    embedder: Embedder | None,
    policy: Policy,
    limit: int | None = None,
    cache: Path | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> EvalReport:
    """Return the figures of a retrieval suite.

    Nothing is stored: memories are built in memory, and no count or log of a project changes.

    Args:
        suite: The suite.
        data: File or folder with the corpus.
        embedder: Who embeds, or None: then only the words count and `dense` and `fixed` are
            missing.
        policy: Policy that agentkit's own recall follows.
        limit: Ask at most this many questions, spread evenly; None for all.
        cache: Folder that keeps vectors between runs, or None.
        progress: Told how far it has come.

    Raises:
        InputError: If the data is missing or of another format, or has no question left.
        EmbedderError: If the embedder fails.
    """
    tell = progress or _tell_nobody
    corpus = take(suite.corpus.read(data), half=suite.half, limit=limit)
    if not corpus.groups:
        raise InputError(f"{data}: no question left to ask in the {suite.half} half")
    if suite.tag_memories:
        corpus = tag_memories(corpus, aliases=AliasTable(policy.taxonomy.aliases()))
    vectors = VectorCache(cache)
    materials = await _embed(corpus, embedder=embedder, cache=vectors, tell=tell)
    tags = await _tag_source(policy, embedder=embedder, cache=vectors) if suite.infer_tags else None
    identity = None if embedder is None else await embedder.identity()
    floor = None if identity is None else policy.recall.floor.least(identity.name)
    runs = tuple(_rank(materials, suite=suite, policy=policy, tags=tags, floor=floor, tell=tell))
    fingerprint = "none" if identity is None else identity.fingerprint
    return build_report(
        suite, corpus, runs=runs, data=str(data), embedder=fingerprint, policy=policy.fingerprint
    )


def build_report(
    suite: RetrievalSuite,
    corpus: Corpus,
    *,
    runs: Sequence[Sequence[ArmRankings]],
    data: str,
    embedder: str,
    policy: str,
) -> EvalReport:
    """Return the report over the rankings of all groups. Pure.

    Args:
        suite: The suite.
        corpus: The questions that were asked.
        runs: For each group in order, the rankings of each arm; the same arms everywhere.
        data: Where the data came from, for the head.
        embedder: Fingerprint of the embedder, or "none".
        policy: Fingerprint of the policy.
    """
    metrics = suite.measured()
    asked = [
        _Asked(group.user_id, query.gold, query.label)
        for group in corpus.groups
        for query in group.queries
    ]
    ranked: dict[ArmName, list[_Ranking]] = {
        run.arm: [ranking for group_runs in runs for ranking in group_runs[column].ranked]
        for column, run in enumerate(runs[0])
    }
    every = _score(metrics, asked=asked, ranked=ranked)
    undefined = sum(not one.gold for one in asked)
    return EvalReport(
        suite=suite.name,
        title=suite.title,
        data=data,
        half=suite.half,
        arms=every.rows(),
        gains=tuple(_gains(metrics, scored=every)),
        n_queries=len(asked) - undefined,
        undefined=undefined,
        n_memories=sum(len(group.documents) for group in corpus.groups),
        n_groups=len(corpus.groups),
        resampled_by="user" if every.resamples.by_group else "query",
        embedder=embedder,
        policy_fingerprint=policy,
        flags=tuple(_flags(metrics, corpus=corpus)),
        notes=suite.notes,
        labels=tuple(_labels(metrics, asked=asked, ranked=ranked)) if suite.by_label else (),
    )


async def _embed(
    corpus: Corpus,
    *,
    embedder: Embedder | None,
    cache: VectorCache,
    tell: Callable[[Progress], None],
) -> tuple[Material, ...]:
    if embedder is None:
        return tuple(
            Material(group=group, document_vectors=None, query_vectors=None)
            for group in corpus.groups
        )
    documents = [document.text for group in corpus.groups for document in group.documents]
    queries = [query.text for group in corpus.groups for query in group.queries]
    total = len(documents) + len(queries)
    document_vectors = await cache.embed(
        documents,
        kind="document",
        embedder=embedder,
        progress=lambda done: tell(Progress("embedding", done, total)),
    )
    query_vectors = await cache.embed(
        queries,
        kind="query",
        embedder=embedder,
        progress=lambda done: tell(Progress("embedding", len(documents) + done, total)),
    )
    materials: list[Material] = []
    told = asked = 0
    for group in corpus.groups:
        until_told, until_asked = told + len(group.documents), asked + len(group.queries)
        materials.append(
            Material(
                group=group,
                document_vectors=document_vectors[told:until_told],
                query_vectors=query_vectors[asked:until_asked],
            )
        )
        told, asked = until_told, until_asked
    return tuple(materials)


async def _tag_source(
    policy: Policy, *, embedder: Embedder | None, cache: VectorCache
) -> TagSource:
    """What the taxonomy says of tags, embedded where it can be."""
    aliases = AliasTable(policy.taxonomy.aliases())
    examples = policy.taxonomy.examples()
    if embedder is None or not examples:
        return TagSource(aliases=aliases)
    vectors = await cache.embed(
        [example.text for example in examples],
        kind="document",
        embedder=embedder,
        progress=lambda done: None,
    )
    rows: dict[Tag, list[int]] = defaultdict(list)
    for row, example in enumerate(examples):
        rows[example.tag].append(row)
    return TagSource(
        aliases=aliases,
        examples=tuple(TagExamples.of(tag, vectors[found]) for tag, found in rows.items()),
    )


def _rank(
    materials: Sequence[Material],
    *,
    suite: RetrievalSuite,
    policy: Policy,
    tags: TagSource | None,
    floor: float | None,
    tell: Callable[[Progress], None],
) -> Iterator[tuple[ArmRankings, ...]]:
    depth = max(metric.k for metric in suite.measured())
    total = sum(len(material.group.queries) for material in materials)
    done = 0
    for material in materials:
        own = rank_agentkit(
            material, policy=policy, depth=depth, ages=suite.ages, tags=tags, floor=floor
        )
        yield (*rank_baselines(material, depth=depth), own)
        done += len(material.group.queries)
        tell(Progress("ranking", done, total))


def _score(
    metrics: Sequence[Metric],
    *,
    asked: Sequence[_Asked],
    ranked: Mapping[ArmName, Sequence[_Ranking]],
) -> _Scored:
    gold = [one.gold for one in asked]
    return _Scored(
        scores={
            arm: score_rankings(metrics, gold=gold, ranked=found) for arm, found in ranked.items()
        },
        resamples=draw([one.user_id for one in asked if one.gold]),
    )


def _labels(
    metrics: Sequence[Metric],
    *,
    asked: Sequence[_Asked],
    ranked: Mapping[ArmName, Sequence[_Ranking]],
) -> Iterator[LabelResult]:
    """Score the questions of each kind as if no other had been asked."""
    for label in sorted({one.label for one in asked}):
        places = [place for place, one in enumerate(asked) if one.label == label]
        of_label = [asked[place] for place in places]
        scored = _score(
            metrics,
            asked=of_label,
            ranked={arm: [found[place] for place in places] for arm, found in ranked.items()},
        )
        yield LabelResult(
            label=label, arms=scored.rows(), n_queries=sum(bool(one.gold) for one in of_label)
        )


def _gains(metrics: Sequence[Metric], *, scored: _Scored) -> Iterator[Gain]:
    *others, own = scored.scores
    for column, metric in enumerate(metrics):
        values = {arm: found.values[:, column] for arm, found in scored.scores.items()}
        if not others or not len(values[own]):
            continue
        best = max(others, key=lambda arm: float(values[arm].mean()))
        yield Gain(
            metric=str(metric),
            arm=own,
            against=best,
            difference=interval(values[own] - values[best], resamples=scored.resamples),
        )


def _flags(metrics: Sequence[Metric], *, corpus: Corpus) -> Iterator[str]:
    total = sum(len(group.queries) for group in corpus.groups)
    for k in sorted({metric.k for metric in metrics if metric.kind != "MRR"}):
        covered = sum(len(group.queries) for group in corpus.groups if k >= len(group.documents))
        if covered:
            yield (
                f"k >= store size: at k = {k} the whole store fits for {covered} of {total} "
                "questions, so that nothing can be missed there"
            )


def _tell_nobody(progress: Progress) -> None:
    """Take no notice."""
