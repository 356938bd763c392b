"""How much of the exact scan the approximate plan finds, on the queries that a user asked."""

from dataclasses import dataclass, replace
from statistics import mean, median

from agentkit.kit.running import Running
from agentkit.recall import TOP, overlap
from agentkit.records import Query, RecallResult, Scope
from agentkit.store import Progress

# Enough for a mean within a few hundredths, and some seconds of work.
LOGGED_QUERIES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlapReport:
    """What a measurement found.

    Attributes:
        logged: Records of the log that were looked at.
        queries: Different queries that both plans answered.
        overlap: Mean share of the exact ten best that the approximate plan found, in [0, 1], or
            None where no query could be compared: then nothing is kept.
        approximate_ms: Median time of the approximate plan, in milliseconds, without embedding.
        exact_ms: The same of the exact scan, which holds the whole scope in memory.
        problem: Why the approximate plan could not be had, or "".
    """

    logged: int
    queries: int
    overlap: float | None = None
    approximate_ms: float | None = None
    exact_ms: float | None = None
    problem: str = ""


class Overlapping(Running):
    """What an operator does to know what the approximate plan is worth."""

    async def measure_overlap(
        self, *, scope: Scope, queries: int = LOGGED_QUERIES, progress: Progress | None = None
    ) -> OverlapReport:
        """Answer the last logged queries of a user with both plans, and keep their overlap.

        The exact scan holds all memories of the user, however many. Nothing is logged, and no
        memory counts as recalled.

        Args:
            scope: Whose queries and memories.
            queries: Most records of the log to look at, at least 1.
            progress: Told the number of queries answered, and of all.

        Raises:
            InputError: If `queries` is out of range.
            StoreError: If the database cannot be read or written.
        """
        store = await self._parts.seen(scope)
        logged = await store.retrievals(scope, limit=queries)
        asked = dict.fromkeys(_wide(one.query) for one in logged if one.query.as_of is None)
        trials: list[_Trial] = []
        problem = ""
        for done, query in enumerate(asked):
            if progress is not None:
                progress(done, len(asked))
            found = await self._recaller.try_plan(query, scope=scope, choice="approximate")
            if found.approximate is None:
                problem = found.degraded
                break
            exact = await self._recaller.try_plan(query, scope=scope, choice="exact")
            common = overlap(_ids(exact), _ids(found))
            if common is not None:
                trials.append(_Trial(common, _spent_ms(found), _spent_ms(exact)))
        if problem or not trials:
            return OverlapReport(logged=len(logged), queries=0, problem=problem)
        share = mean([trial.overlap for trial in trials])
        await store.keep_overlap(scope, overlap=share, queries=len(trials))
        return OverlapReport(
            logged=len(logged),
            queries=len(trials),
            overlap=share,
            approximate_ms=median([trial.approximate_ms for trial in trials]),
            exact_ms=median([trial.exact_ms for trial in trials]),
        )


@dataclass(frozen=True, slots=True)
class _Trial:
    """One query, answered by both plans."""

    overlap: float
    approximate_ms: float
    exact_ms: float


def _wide(query: Query) -> Query:
    """As it was asked, with at least as many hits as are compared."""
    return replace(query, top_k=max(query.top_k, TOP))


def _ids(result: RecallResult) -> list[str]:
    return [hit.memory.memory_id for hit in result.hits]


def _spent_ms(result: RecallResult) -> float:
    return sum(spent for stage, spent in result.latency_ms.items() if stage != "embed")
