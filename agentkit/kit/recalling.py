"""The recall path: embed, refresh, rank, check against SQL, explain, log; within a hard limit."""

import asyncio
import json
import logging
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from weakref import WeakSet

from agentkit.kit.approximate import Fresh, Planner, Search
from agentkit.kit.background import Background
from agentkit.kit.embedding import try_embed, warm
from agentkit.kit.intent import IntentFinder
from agentkit.kit.parts import Parts
from agentkit.kit.period import Period
from agentkit.recall import (
    IndexCache,
    PlanChoice,
    Ranking,
    RankQuery,
    ScopeIndex,
    explanation,
    focus,
    rank,
)
from agentkit.records import (
    Candidate,
    Float32Array,
    Hit,
    IntentTag,
    Memory,
    MemoryStatus,
    Neighbour,
    Query,
    RecallResult,
    Retrieval,
    Scope,
)
from agentkit.reflection import redact
from agentkit.store import Store, new_id, offload

logger = logging.getLogger("agentkit")

BYTES_PER_MB = 1 << 20
# The bundled embedder loads in 1.3 s on an idle machine; a loaded one takes a few times that.
WARM_LIMIT_S = 10.0
DISPUTED_NOTE = "disputed: another memory contradicts it"
VISIBLE: tuple[MemoryStatus, ...] = ("pending", "active", "disputed", "archived")


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
        """Time one stage."""
        self.current = name
        started = time.perf_counter()
        try:
            yield
        finally:
            self.spent_ms[name] = (time.perf_counter() - started) * 1_000
        self.current = ""


class Recaller:
    """Answers queries over the memories of one user at a time."""

    def __init__(self, parts: Parts, *, background: Background) -> None:
        """Start with an empty cache; indexes are built when a user first asks."""
        self._parts = parts
        self._background = background
        self._cache = IndexCache(max_bytes=parts.policy.recall.cache_mb * BYTES_PER_MB)
        self._planner = Planner(parts.policy.recall, stores=parts.stores)
        self.intent = IntentFinder(parts, aliases=parts.aliases)
        self._lock = threading.Lock()
        # Each store that this process wrote its policy into.
        self._policy_kept = WeakSet[Store]()

    async def recall(
        self, query: Query, *, scope: Scope, session_id: str | None = None
    ) -> RecallResult:
        """Return ranked memories within the time limit, and log the recall.

        The first recall of a process waits for the embedder to load before the limit begins.
        Over the limit the answer is empty and says so; the late one goes to the log only.

        Args:
            query: What is asked.
            scope: Whose memory.
            session_id: Session it serves, for the log.

        Raises:
            StoreError: If the database cannot be read.
        """
        await warm(self._parts.embedder, limit_s=WARM_LIMIT_S)
        asked_at = self._parts.clock()
        retrieval_id = new_id(asked_at)
        stages = Stages()
        answer = asyncio.ensure_future(self._answer(query, scope, retrieval_id, stages))
        limit_s = self._parts.policy.recall.timeout_s
        done, _ = await asyncio.wait({answer}, timeout=limit_s)
        asked = Asked(query=query, scope=scope, at=asked_at, session_id=session_id)
        if done:
            result = answer.result()
            self._background.spawn(
                "log recall",
                lambda: self._log(result, asked),
                lane="log",
                subject=(scope, session_id),
            )
            return result
        logger.warning("recall took over %.1f s, in stage %r", limit_s, stages.current)
        late = RecallResult(
            retrieval_id=retrieval_id,
            timed_out=True,
            latency_ms=dict(stages.spent_ms),
            degraded=f"over the limit of {limit_s:g} s in stage {stages.current or 'start'}",
        )
        # Nothing was shown, so nothing that waits for the log has to wait for this.
        self._background.spawn(
            "log late recall", lambda: self._log_late(answer, late, asked), lane="work"
        )
        return late

    async def neighbours(
        self, vector: Float32Array | None, *, scope: Scope, limit: int
    ) -> tuple[Neighbour, ...]:
        """Return the stored memories whose content is most similar to a vector.

        Args:
            vector: shape (dim,), float32, or None where nothing could be embedded.
            scope: Whose memories.
            limit: Most entries wanted.

        Returns:
            Most similar first; empty without a vector.
        """
        if vector is None:
            return ()
        asked = Query(text="", top_k=limit, include_archived=True)
        fresh = await self._planned((Search(asked, vector),), scope)
        if fresh.refused:
            return ()
        index = fresh.index
        near = index.nearest(vector, limit=limit, agent_id=scope.agent_id)
        cosines = {one.memory_id: one.cosine for one in near}
        store = await self._parts.seen(scope)
        found = await store.memories(
            scope, ids=list(cosines), statuses=VISIBLE, limit=max(len(cosines), 1)
        )
        by_nearness = sorted(found, key=lambda memory: -cosines[memory.memory_id])
        return tuple(Neighbour(memory=one, cosine=cosines[one.memory_id]) for one in by_nearness)

    async def rivals(self, memory: Memory, *, scope: Scope, limit: int) -> tuple[Neighbour, ...]:
        """Return the other stored memories most similar to one, by the vector it is stored with.

        Args:
            memory: A stored memory.
            scope: Whose memories.
            limit: Most entries wanted.

        Returns:
            Most similar first; empty while the memory has no vector.
        """
        fresh = await self._holding(memory, scope)
        vector = fresh.index.content_vector(memory.memory_id)
        near = await self.neighbours(vector, scope=scope, limit=limit + 1)
        return tuple(one for one in near if one.memory.memory_id != memory.memory_id)[:limit]

    def drop(self, user_id: str) -> None:
        """Let go of everything held of a user, as after a purge.

        Args:
            user_id: Whose.
        """
        with self._lock:
            self._cache.drop(user_id)
        self.intent.drop(user_id)

    async def try_plan(self, query: Query, *, scope: Scope, choice: PlanChoice) -> RecallResult:
        """Return what a plan answers to a query: without a time limit, and without a log.

        Args:
            query: What is asked.
            scope: Whose memory.
            choice: The plan; one that cannot be had gives the answer of the other.

        Raises:
            StoreError: If the database cannot be read.
        """
        return await self._answer(query, scope, "", Stages(), choice=choice)

    async def _answer(
        self,
        query: Query,
        scope: Scope,
        retrieval_id: str,
        stages: Stages,
        *,
        choice: PlanChoice = "auto",
    ) -> RecallResult:
        """Everything that counts against the time limit."""
        policy = self._parts.policy
        now = query.as_of or self._parts.clock()
        period = Period.of(query, now=now, zone=self._parts.settings.zone())
        texts = [focus(said, limit_chars=policy.recall.focus_chars) for said in period.texts]
        with stages.stage("embed"):
            vectors, degraded = await try_embed(self._parts.embedder, texts, kind="query")
        with stages.stage("refresh"):
            searches = () if vectors is None else period.searches(query, vectors)
            fresh, then = await self._index(query, scope, searches, choice=choice)
        index = fresh.index
        chosen = period.choose(
            query, index=index, agent_id=scope.agent_id, now=now, policy=policy.recall
        )
        query, text = chosen.query, texts[chosen.place]
        vector = None if vectors is None else vectors[chosen.place]
        if vector is not None and fresh.refused:
            vector, degraded = None, f"words alone were searched: {fresh.refused}"
        with stages.stage("intent"):
            # Prototypes are kept for the memories of now alone.
            intent = (
                ()
                if then is not None
                else await self.intent.find(
                    query, text=text, vector=vector, scope=scope, index=index, whole=fresh.whole
                )
            )
        asked = RankQuery.of(
            query, text=text, vector=vector, agent_id=scope.agent_id, intent=intent
        )
        now_s = now.timestamp()
        with stages.stage("rank"):
            ranking = await offload(
                lambda: rank(index, asked, policy=policy.recall, decay=policy.decay, now_s=now_s)
            )
        with stages.stage("check"):
            found = await self._found(ranking, scope) if then is None else then
            hits = _hits(ranking, found)
        return RecallResult(
            retrieval_id=retrieval_id,
            hits=hits,
            pool=ranking.pool,
            intent=ranking.intent,
            relaxations=(*chosen.relaxations, *ranking.relaxations),
            normalisers=ranking.normalisers,
            latency_ms=dict(stages.spent_ms),
            approximate=fresh.approximate,
            degraded="; ".join(filter(None, (degraded or ranking.degraded, fresh.reason))),
            within=query.within,
        )

    async def _refreshed(self, scope: Scope) -> Fresh:
        """The user's index, brought to the revision that the database is at."""
        with self._lock:
            index = self._cache.get(scope.user_id)
        store = await self._parts.seen(scope)
        changes = await store.changes(scope, since=index.revision)
        if changes.complete:
            # A whole scope takes a while: neither the loop nor another user waits for it.
            await offload(lambda: index.apply(changes))
        elif changes.revision > index.revision:
            index.apply(changes)
        else:
            return Fresh(index=index, refused=changes.refused)
        with self._lock:
            self._cache.resized(scope.user_id)
        return Fresh(index=index, refused=changes.refused)

    async def _planned(
        self, searches: Sequence[Search], scope: Scope, *, choice: PlanChoice = "auto"
    ) -> Fresh:
        """The user's index, or one of candidates where the scope is too large to be scanned."""
        held = self.held(scope)
        now = self._parts.clock()
        plan = await self._planner.plan(searches, scope=scope, now=now, held=held, choice=choice)
        if plan.index is None:
            return replace(await self._refreshed(scope), reason=plan.reason)
        if choice == "auto" and held is not None:
            # It grew over the limit: what it takes belongs to other scopes now.
            with self._lock:
                self._cache.drop(scope.user_id)
        return Fresh(index=plan.index, refused="", approximate=plan.approximate)

    async def _holding(self, memory: Memory, scope: Scope) -> Fresh:
        """An index that holds a memory: the user's, or one of its own in a large scope."""
        if not await self._planner.too_large(scope, held=self.held(scope)):
            return await self._refreshed(scope)
        return await self._planner.alone(memory.memory_id, scope=scope)

    def held(self, scope: Scope) -> int | None:
        """Return how many memories of a user are held in memory, or None."""
        with self._lock:
            return self._cache.size(scope.user_id)

    async def _index(
        self, query: Query, scope: Scope, searches: Sequence[Search], *, choice: PlanChoice
    ) -> tuple[Fresh, tuple[Memory, ...] | None]:
        """The user's index; for a time in the past one of its own, with the memories of then."""
        if query.as_of is None:
            return await self._planned(searches, scope, choice=choice), None
        store = await self._parts.seen(scope)
        past = await store.as_of(scope, query.as_of)
        index = ScopeIndex()
        await offload(lambda: index.apply(past.changes))
        return Fresh(index=index, refused=past.changes.refused), past.memories

    async def _found(self, ranking: Ranking, scope: Scope) -> tuple[Memory, ...]:
        """What SQL still shows of the ranked memories: an index is never believed alone."""
        if not ranking.memory_ids:
            return ()
        store = await self._parts.seen(scope)
        return await store.memories(
            scope, ids=ranking.memory_ids, statuses=VISIBLE, limit=len(ranking.memory_ids)
        )

    async def _log_late(
        self, answer: asyncio.Future[RecallResult], late: RecallResult, asked: "Asked"
    ) -> None:
        """Log the answer that came too late, or that there was none before its loop ended."""
        if answer.get_loop() is asyncio.get_running_loop():
            await asyncio.wait({answer})
        if answer.done() and not answer.cancelled():
            late = replace(answer.result(), timed_out=True)
        await self._log(late, asked)

    async def _log(self, result: RecallResult, asked: "Asked") -> None:
        if not await self._parts.stores.has(asked.scope):
            # Asking makes no store for a name that nobody ever used.
            return
        text = redact(asked.query.text).text
        store = await self._parts.store(asked.scope)
        if store not in self._policy_kept:
            policy = self._parts.policy
            content = json.dumps(policy.to_json(), ensure_ascii=False, sort_keys=True)
            await store.save_policy(policy.fingerprint, content)
            self._policy_kept.add(store)
        await store.log_retrieval(
            Retrieval(
                retrieval_id=result.retrieval_id,
                scope=asked.scope,
                session_id=asked.session_id,
                query=replace(asked.query, text=text),
                asked_at=asked.at,
                policy_fingerprint=self._parts.policy.fingerprint,
                result=replace(result, hits=()),
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A recall as it goes into the log.

    Attributes:
        query: What was asked.
        scope: Whose memory.
        at: When, UTC.
        session_id: Session it served, or None.
    """

    query: Query
    scope: Scope
    at: datetime
    session_id: str | None


def _hits(ranking: Ranking, found: Sequence[Memory]) -> tuple[Hit, ...]:
    by_id = {memory.memory_id: memory for memory in found}
    pool = {candidate.memory_id: candidate for candidate in ranking.pool}
    return tuple(
        _hit(by_id[memory_id], pool[memory_id], ranking.intent)
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
