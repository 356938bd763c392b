"""One look at a user's memories: the time, the tags, the ranking; no effects, on any thread."""

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from agentkit.kit.approximate import EXACT, Planned, Search
from agentkit.kit.period import Period
from agentkit.policy import Policy
from agentkit.recall import Ranking, RankQuery, ScopeIndex, explanation, rank
from agentkit.records import (
    Candidate,
    Float32Array,
    Hit,
    IntentTag,
    Memory,
    Query,
    RecallResult,
    Scope,
)

DISPUTED_NOTE = "disputed: another memory contradicts it"

FindIntent = Callable[[Query, str, Float32Array | None], tuple[IntentTag, ...]]


def no_intent(query: Query, text: str, vector: Float32Array | None) -> tuple[IntentTag, ...]:
    """Find no tags: prototypes are kept for the memories of now alone."""
    del query, text, vector
    return ()


@dataclass(slots=True)
class Stages:
    """Milliseconds spent in each stage of one recall.

    Attributes:
        spent_ms: Finished stages, in order.
        current: Stage that is running, or "".
    """

    spent_ms: dict[str, float] = field(default_factory=dict[str, float])
    current: str = ""

    @contextmanager
    def stage(self, name: str) -> Generator[None]:
        """Time one stage; what a stage of the same name took before is added."""
        self.current = name
        started = time.perf_counter()
        try:
            yield
        finally:
            spent = (time.perf_counter() - started) * 1_000
            self.spent_ms[name] = self.spent_ms.get(name, 0.0) + spent
        self.current = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Look:
    """A query as it is put to an index.

    Attributes:
        query: What was asked.
        scope: Whose memories.
        period: What the words say of a time.
        texts: What to search with, for each of the period's texts.
        vectors: Shape (texts, dim), float32, or None where nothing could be embedded.
        floor: Least cosine that the policy names for the embedder, or None.
        now: The time that counts as now.
    """

    query: Query
    scope: Scope
    period: Period
    texts: Sequence[str]
    vectors: Float32Array | None
    floor: float | None
    now: datetime

    def searches(self) -> tuple[Search, ...]:
        """Return the ways in which the query may be searched; none without a vector."""
        return () if self.vectors is None else self.period.searches(self.query, self.vectors)

    def rank(
        self,
        index: ScopeIndex,
        *,
        policy: Policy,
        refused: str,
        find_intent: FindIntent,
        stages: Stages,
    ) -> "Looked":
        """Return the ranked memories of an index.

        Args:
            index: The memories.
            policy: Weights and the forgetting curve.
            refused: Why no vector may be compared, or "".
            find_intent: Finds the tags of a query, given its words and vector.
            stages: Where the time goes.
        """
        agent_id = self.scope.agent_id
        chosen = self.period.choose(
            self.query, index=index, agent_id=agent_id, now=self.now, policy=policy.recall
        )
        text = self.texts[chosen.place]
        vector = None if self.vectors is None or refused else self.vectors[chosen.place]
        with stages.stage("intent"):
            intent = find_intent(chosen.query, text, vector)
        asked = RankQuery.of(
            chosen.query,
            text=text,
            vector=vector,
            agent_id=agent_id,
            intent=intent,
            floor=None if vector is None else self.floor,
        )
        with stages.stage("rank"):
            ranking = rank(
                index,
                asked,
                policy=policy.recall,
                decay=policy.decay,
                now_s=self.now.timestamp(),
            )
        not_compared = f"words alone were searched: {refused}"
        return Looked(
            query=chosen.query,
            relaxations=(*chosen.relaxations, *ranking.relaxations),
            ranking=ranking,
            degraded=not_compared if refused and self.vectors is not None else ranking.degraded,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Looked:
    """What a look found.

    Attributes:
        query: The query as it was put, its time included.
        relaxations: Filters that were dropped, in order, in words.
        ranking: The ranked memories.
        degraded: Which arm said nothing and why, or "".
        plan: How the scope was searched.
    """

    query: Query
    relaxations: tuple[str, ...]
    ranking: Ranking
    degraded: str
    plan: Planned = EXACT

    def result(
        self, found: Sequence[Memory], *, retrieval_id: str, degraded: str, stages: Stages
    ) -> RecallResult:
        """Return the answer.

        Args:
            found: What SQL shows of the ranked memories: an index is never believed alone.
            retrieval_id: Name of the recall.
            degraded: Why there is no vector of the query, or "".
            stages: Where the time went.
        """
        return RecallResult(
            retrieval_id=retrieval_id,
            hits=_hits(self.ranking, found),
            pool=self.ranking.pool,
            intent=self.ranking.intent,
            relaxations=self.relaxations,
            normalisers=self.ranking.normalisers,
            latency_ms=dict(stages.spent_ms),
            approximate=self.plan.approximate,
            degraded="; ".join(filter(None, (degraded or self.degraded, self.plan.reason))),
            within=self.query.within,
        )


def _hits(ranking: Ranking, found: Sequence[Memory]) -> tuple[Hit, ...]:
    by_id = {memory.memory_id: memory for memory in found}
    wanted = set(ranking.memory_ids)
    candidates: dict[str, Candidate] = {}
    for candidate in ranking.pool:
        # They come early, and the others are put together for the log alone.
        if len(candidates) == len(wanted):
            break
        if candidate.memory_id in wanted:
            candidates[candidate.memory_id] = candidate
    return tuple(
        _hit(by_id[memory_id], candidates[memory_id], ranking.intent)
        for memory_id in ranking.memory_ids
        if memory_id in by_id
    )


def _hit(memory: Memory, candidate: Candidate, intent: tuple[IntentTag, ...]) -> Hit:
    return Hit(
        memory=memory,
        score=candidate.score,
        similarity=candidate.features.cosine,
        factors=candidate.factors,
        explanation=explanation(candidate, intent=intent),
        note=DISPUTED_NOTE if memory.status == "disputed" else "",
    )
