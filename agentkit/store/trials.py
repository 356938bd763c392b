"""How far two embedders agree on queries that were asked: pure, over cosines that are given."""

from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from agentkit.ports import EmbedderIdentity
from agentkit.records import Float32Array

# What a briefing and a page of results hold.
TOP = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTrial:
    """One logged query, ranked by both.

    Attributes:
        language: Language of the query.
        overlap: Share of the best 10 that both have in common, in [0, 1]; None where there are
            no more than 10 to choose from, so that it would be 1 whatever the embedder.
        old_ranks: Rank of each helpful memory with the old embedder, from 1.
        new_ranks: Rank of the same memories with the new one.
    """

    language: str
    overlap: float | None
    old_ranks: tuple[int, ...]
    new_ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Two embedders over a number of queries.

    Attributes:
        queries: Queries that were ranked.
        telling: Those that had more than 10 memories to choose from.
        overlap: Mean overlap@10 of the telling ones, in [0, 1], or None without one.
        helpful: Memories with the verdict `helpful` that were ranked.
        old_mrr: Mean reciprocal rank of those with the old embedder, in (0, 1], or None.
        new_mrr: The same with the new one.
        old_rank: Mean rank of those with the old embedder, at least 1, or None.
        new_rank: The same with the new one.
    """

    queries: int
    telling: int
    overlap: float | None
    helpful: int
    old_mrr: float | None
    new_mrr: float | None
    old_rank: float | None
    new_rank: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What the log says about another embedder.

    Attributes:
        old: The embedder in use.
        new: The other one.
        logged: Records of the log that were looked at.
        overall: All queries.
        languages: The queries of each language, by its name.
    """

    old: EmbedderIdentity
    new: EmbedderIdentity
    logged: int
    overall: Agreement
    languages: dict[str, Agreement]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogTrial:
    """The log of one store, ranked by both.

    Attributes:
        old: The embedder in use.
        new: The other one.
        logged: Records of the log that were looked at.
        queries: One entry a query that could be ranked.
    """

    old: EmbedderIdentity
    new: EmbedderIdentity
    logged: int
    queries: tuple[QueryTrial, ...]


def compare_trials(trials: Sequence[LogTrial]) -> Comparison:
    """Return what the logs of all stores together say.

    Args:
        trials: One entry a store, at least one, all of the same two embedders.
    """
    queries = [query for trial in trials for query in trial.queries]
    return Comparison(
        old=trials[0].old,
        new=trials[0].new,
        logged=sum(trial.logged for trial in trials),
        overall=summarise(queries),
        languages=by_language(queries),
    )


def try_query(
    memory_ids: Sequence[str],
    *,
    old: Float32Array,
    new: Float32Array,
    helpful: Collection[str],
    language: str,
) -> QueryTrial:
    """Return how both embedders rank the memories of one scope for one query.

    Args:
        memory_ids: The memories, each once and sorted: ties go by id.
        old: shape (len(memory_ids),), float32: cosine of the best key, with the old embedder.
        new: The same with the new one.
        helpful: Memories that were judged helpful; those not among `memory_ids` are left out.
        language: Language of the query.
    """
    old_order, new_order = np.argsort(-old, kind="stable"), np.argsort(-new, kind="stable")
    places = [place for one in sorted(helpful) if (place := _place(memory_ids, one)) is not None]
    common = len(set(old_order[:TOP].tolist()) & set(new_order[:TOP].tolist()))
    return QueryTrial(
        language=language,
        overlap=common / TOP if len(memory_ids) > TOP else None,
        old_ranks=_ranks(old_order, places),
        new_ranks=_ranks(new_order, places),
    )


def summarise(trials: Sequence[QueryTrial]) -> Agreement:
    """Return the means over queries; a mean over nothing is None."""
    overlaps = [trial.overlap for trial in trials if trial.overlap is not None]
    old = [rank for trial in trials for rank in trial.old_ranks]
    new = [rank for trial in trials for rank in trial.new_ranks]
    return Agreement(
        queries=len(trials),
        telling=len(overlaps),
        overlap=_mean(overlaps),
        helpful=len(old),
        old_mrr=_mean([1.0 / rank for rank in old]),
        new_mrr=_mean([1.0 / rank for rank in new]),
        old_rank=_mean(old),
        new_rank=_mean(new),
    )


def by_language(trials: Sequence[QueryTrial]) -> dict[str, Agreement]:
    """Return the means of each language, in the order of their names."""
    return {
        language: summarise([trial for trial in trials if trial.language == language])
        for language in sorted({trial.language for trial in trials})
    }


def _place(memory_ids: Sequence[str], wanted: str) -> int | None:
    place = bisect_left(memory_ids, wanted)
    return place if place < len(memory_ids) and memory_ids[place] == wanted else None


def _ranks(order: np.ndarray[tuple[int], np.dtype[np.intp]], places: list[int]) -> tuple[int, ...]:
    rank_of = np.empty(len(order), dtype=np.intp)
    rank_of[order] = np.arange(1, len(order) + 1)
    return tuple(int(rank_of[place]) for place in places)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
