"""Ranking metrics per question, from a library, with the undefined cases kept apart."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import numpy.typing as npt
from pydantic import AfterValidator

if TYPE_CHECKING:
    from ir_measures.measures.base import Measure

MetricKind = Literal["recall", "any-hit", "nDCG", "P", "MRR"]
Float64Array = npt.NDArray[np.float64]

_NAME = re.compile(r"(recall|any-hit|nDCG|P)@([1-9]\d{0,3})|(MRR)")
# Deep enough for MRR: a first hit below would count less than 0.01.
MRR_DEPTH = 100


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric over one ranking; all of them rise with quality and lie in [0, 1].

    Attributes:
        kind: `recall` (share of the gold found), `any-hit` (1 if any gold was found), `nDCG`,
            `P` (share of the k that is gold) or `MRR` (1 / rank of the first gold).
        k: Depth, at least 1; for `MRR` the depth to which it looks.
    """

    kind: MetricKind
    k: int

    def __str__(self) -> str:
        """Return the name as written in suites and reports, such as `recall@10`."""
        return self.kind if self.kind == "MRR" else f"{self.kind}@{self.k}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QueryScores:
    """Metrics of one arm, question by question.

    Attributes:
        metrics: The metrics, in the order of the columns.
        values: shape (questions with gold, metrics), float64 in [0, 1].
        abstained: Questions without gold for which nothing came back.
        undefined: Questions without gold; they are in no mean.
    """

    metrics: tuple[Metric, ...]
    values: Float64Array
    abstained: int
    undefined: int


def parse_metric(name: str) -> Metric:
    """Return the metric of a name.

    Args:
        name: `recall@k`, `any-hit@k`, `nDCG@k`, `P@k` with k from 1 to 9999, or `MRR`.

    Raises:
        ValueError: If it is no such name.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        raise ValueError(f"{name!r} is no metric; use recall@k, any-hit@k, nDCG@k, P@k or MRR")
    if match[3]:
        return Metric("MRR", MRR_DEPTH)
    return Metric(_KINDS[match[1]], int(match[2]))


def _check_name(name: str) -> str:
    return str(parse_metric(name))


MetricName = Annotated[str, AfterValidator(_check_name)]
_KINDS: Mapping[str, MetricKind] = {
    "recall": "recall",
    "any-hit": "any-hit",
    "nDCG": "nDCG",
    "P": "P",
}


def score_rankings(
    metrics: Sequence[Metric],
    *,
    gold: Sequence[frozenset[str]],
    ranked: Sequence[Sequence[str]],
) -> QueryScores:
    """Return the metrics of every question that has an answer.

    Args:
        metrics: What to measure.
        gold: Right ids, one set a question; empty where nothing is right.
        ranked: Ids that came back, best first, one ranking a question; an empty ranking counts 0.

    Returns:
        Rows in the order of the questions, those without gold left out.
    """
    defined = [place for place, right in enumerate(gold) if right]
    empty = [ranking for right, ranking in zip(gold, ranked, strict=True) if not right]
    row_of = {str(place): row for row, place in enumerate(defined)}
    values = np.zeros((len(defined), len(metrics)), dtype=np.float64)
    measured = _measure(
        metrics,
        gold={str(place): gold[place] for place in defined},
        ranked={str(place): ranked[place] for place in defined},
    )
    for question, column, value in measured:
        values[row_of[question], column] = value
    return QueryScores(
        metrics=tuple(metrics),
        values=values,
        abstained=sum(not ranking for ranking in empty),
        undefined=len(empty),
    )


def _measure(
    metrics: Sequence[Metric],
    *,
    gold: Mapping[str, frozenset[str]],
    ranked: Mapping[str, Sequence[str]],
) -> Iterator[tuple[str, int, float]]:
    """Yield (question, column, value) for each pair that the library measured."""
    import ir_measures

    if not gold:
        return
    columns = {_measure_of(metric): column for column, metric in enumerate(metrics)}
    # Falling whole numbers: the library breaks ties and tiny gaps differently per measure.
    runs = {
        question: {doc_id: float(len(ids) - rank) for rank, doc_id in enumerate(ids)}
        for question, ids in ranked.items()
        if ids
    }
    qrels = {question: dict.fromkeys(right, 1) for question, right in gold.items()}
    measured = ir_measures.iter_calc(  # pyright: ignore[reportUnknownMemberType] - pandas forms
        list(columns), qrels, runs
    )
    for found in measured:
        yield found.query_id, columns[found.measure], float(found.value)


def _measure_of(metric: Metric) -> "Measure":
    import ir_measures

    match metric.kind:
        case "recall":
            return ir_measures.R @ metric.k
        case "any-hit":
            return ir_measures.Success @ metric.k
        case "nDCG":
            return ir_measures.nDCG @ metric.k
        case "P":
            return ir_measures.P @ metric.k
        case "MRR":
            return ir_measures.RR @ metric.k
