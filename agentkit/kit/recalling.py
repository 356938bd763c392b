"""The recall path: embed, refresh, rank, check against SQL, explain, log; within a hard limit."""

import asyncio
import concurrent.futures
import logging
import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from agentkit.kit.approximate import Planned, Planner, Search
from agentkit.kit.background import Background
from agentkit.kit.embedding import try_embed, warm
from agentkit.kit.intent import IntentFinder
from agentkit.kit.logbook import Asked, Logbook
from agentkit.kit.looking import Look, Looked, Stages, no_intent
from agentkit.kit.parts import Parts
from agentkit.kit.period import Period
from agentkit.recall import IndexCache, PlanChoice, ScopeIndex, focus
from agentkit.records import (
    Float32Array,
    Memory,
    Neighbour,
    Query,
    RecallResult,
    Scope,
)
from agentkit.store import Snapshot, Store, new_id, offload

logger = logging.getLogger("agentkit")

BYTES_PER_MB = 1 << 20
# The bundled embedder loads in 1.3 s on an idle machine; a loaded one takes a few times that.
WARM_LIMIT_S = 10.0
TOO_LATE = "the answer came after the time limit"


class Recaller:
    """Answers queries over the memories of one user at a time."""

    def __init__(self, parts: Parts, *, background: Background) -> None:
        """Start with an empty cache; indexes are built when a user first asks."""
        self._parts = parts
        self._background = background
        self._cache = IndexCache(max_bytes=parts.policy.recall.cache_mb * BYTES_PER_MB)
        self._planner = Planner(parts.policy.recall, stores=parts.stores)
        self.intent = IntentFinder(parts, aliases=parts.aliases)
        self._logbook = Logbook(parts, background=background, written=self._count)
        self._is_warm = False
        self._lock = threading.Lock()
        self._loading: dict[str, concurrent.futures.Future[None]] = {}

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
        if not self._is_warm:
            self._is_warm = await warm(self._parts.embedder, limit_s=WARM_LIMIT_S)
        asked_at = self._parts.clock()
        asked = Asked(query=query, scope=scope, at=asked_at, session_id=session_id)
        retrieval_id = new_id(asked_at)
        stages = Stages()
        answer = asyncio.ensure_future(self._answer(query, scope, retrieval_id, stages))
        limit_s = self._parts.policy.recall.timeout_s
        done, _ = await asyncio.wait({answer}, timeout=limit_s)
        if done:
            result = answer.result()
            self._logbook.add(result, asked)
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
        plan = await self._planned((Search(asked, vector),), scope)
        store = await self._parts.seen(scope)
        index = await self._loaded(store, scope) if plan.index is None else plan.index

        def work(snapshot: Snapshot) -> tuple[Neighbour, ...]:
            with index.lock:
                if plan.index is None and self._refresh(index, snapshot, user_id=scope.user_id):
                    return ()
                near = index.nearest(vector, limit=limit, agent_id=scope.agent_id)
            cosines = {one.memory_id: one.cosine for one in near}
            found = snapshot.memories(list(cosines))
            by_nearness = sorted(found, key=lambda memory: -cosines[memory.memory_id])
            return tuple(
                Neighbour(memory=one, cosine=cosines[one.memory_id]) for one in by_nearness
            )

        return await store.snapshot(scope, work)

    async def rivals(self, memory: Memory, *, scope: Scope, limit: int) -> tuple[Neighbour, ...]:
        """Return the other stored memories most similar to one, by the vector it is stored with.

        Args:
            memory: A stored memory.
            scope: Whose memories.
            limit: Most entries wanted.

        Returns:
            Most similar first; empty while the memory has no vector.
        """
        vector = await self._vector(memory.memory_id, scope)
        near = await self.neighbours(vector, scope=scope, limit=limit + 1)
        return tuple(one for one in near if one.memory.memory_id != memory.memory_id)[:limit]

    async def _vector(self, memory_id: str, scope: Scope) -> Float32Array | None:
        """The vector of a memory's content, or None while it has none."""
        if await self._planner.too_large(scope, held=self.held(scope)):
            alone = await self._planner.alone(memory_id, scope=scope)
            return alone.content_vector(memory_id)
        store = await self._parts.seen(scope)
        index = await self._loaded(store, scope)

        def work(snapshot: Snapshot) -> Float32Array | None:
            self._refresh(index, snapshot, user_id=scope.user_id)
            return index.content_vector(memory_id)

        return await store.snapshot(scope, work)

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
        now = query.as_of or self._parts.clock()
        # What was pasted speaks of times of its own, and reading a megabyte for them takes minutes.
        said = focus(query.text, limit_chars=self._parts.policy.recall.focus_chars)
        period = Period.of(replace(query, text=said), now=now, zone=self._parts.settings.zone())
        texts = period.texts
        with stages.stage("embed"):
            vectors, degraded = await try_embed(self._parts.embedder, texts, kind="query")
            if vectors is not None:
                await self.intent.ready()
        look = Look(
            query=query,
            scope=scope,
            period=period,
            texts=texts,
            vectors=vectors,
            floor=None if vectors is None else await self._floor(),
            now=now,
        )
        if query.as_of is None:
            looked, found = await self._look_now(look, stages, choice=choice)
        else:
            looked, found = await self._look_back(look, query.as_of, stages)
        return looked.result(found, retrieval_id=retrieval_id, degraded=degraded, stages=stages)

    async def _floor(self) -> float | None:
        """The least cosine that the policy names for the embedder, once that has embedded."""
        embedder = self._parts.embedder
        if embedder is None:
            return None
        return self._parts.policy.recall.floor.least((await embedder.identity()).name)

    async def _look_now(
        self, look: Look, stages: Stages, *, choice: PlanChoice
    ) -> tuple[Looked, tuple[Memory, ...]]:
        """Rank the memories of now, and read what is returned: one snapshot, one thread."""
        scope = look.scope
        with stages.stage("refresh"):
            store = await self._parts.seen(scope)
            plan = await self._planned(look.searches(), scope, choice=choice)
            index = await self._loaded(store, scope) if plan.index is None else plan.index
        whole = plan.index is None

        def work(snapshot: Snapshot) -> tuple[Looked, tuple[Memory, ...]]:
            refused = ""
            # Held throughout, or another thread could bring in what this snapshot cannot see.
            with index.lock:
                with stages.stage("refresh"):
                    if whole:
                        refused = self._refresh(index, snapshot, user_id=scope.user_id)
                looked = look.rank(
                    index,
                    policy=self._parts.policy,
                    refused=refused,
                    find_intent=lambda query, text, vector: self.intent.find(
                        query, text=text, vector=vector, scope=scope, index=index, whole=whole
                    ),
                    stages=stages,
                )
            with stages.stage("check"):
                found = snapshot.memories(looked.ranking.memory_ids)
            return replace(looked, plan=plan), found

        return await store.snapshot(scope, work)

    async def _planned(
        self, searches: Sequence[Search], scope: Scope, *, choice: PlanChoice = "auto"
    ) -> Planned:
        """How a scope is searched: whole, or by candidates where it is too large to be scanned."""
        held = self.held(scope)
        plan = await self._planner.plan(
            searches, scope=scope, now=self._parts.clock(), held=held, choice=choice
        )
        if plan.index is not None and choice == "auto" and held is not None:
            # It grew over the limit: what it takes belongs to other scopes now.
            with self._lock:
                self._cache.drop(scope.user_id)
        return plan

    def held(self, scope: Scope) -> int | None:
        """Return how many memories of a user are held in memory, or None.

        Args:
            scope: Whose.
        """
        with self._lock:
            return self._cache.size(scope.user_id)

    async def _look_back(
        self, look: Look, at: datetime, stages: Stages
    ) -> tuple[Looked, tuple[Memory, ...]]:
        """Rank the memories as they stood at an instant, in an index of their own."""
        with stages.stage("refresh"):
            store = await self._parts.seen(look.scope)
            past = await store.as_of(look.scope, at)

        def work() -> Looked:
            index = ScopeIndex()
            index.apply(past.changes)
            return look.rank(
                index,
                policy=self._parts.policy,
                refused=past.changes.refused,
                find_intent=no_intent,
                stages=stages,
            )

        return await offload(work), past.memories

    async def _loaded(self, store: Store, scope: Scope) -> ScopeIndex:
        """The user's index, read whole where it is new: once, however many ask meanwhile."""
        user_id = scope.user_id
        while True:
            with self._lock:
                index = self._cache.get(user_id)
                if index.is_loaded:
                    return index
                loading = self._loading.get(user_id)
                mine = loading is None
                if loading is None:
                    loading = self._loading[user_id] = concurrent.futures.Future[None]()
            if mine:
                await self._load(store, scope, index)
                return index
            # They wait in the loop: no thread is taken from other users.
            await asyncio.wait([asyncio.wrap_future(loading)])

    async def _load(self, store: Store, scope: Scope, index: ScopeIndex) -> None:
        def work(snapshot: Snapshot) -> None:
            self._refresh(index, snapshot, user_id=scope.user_id)

        try:
            await store.snapshot(scope, work)
        finally:
            # Whoever waits looks for himself whether that went well.
            with self._lock:
                self._loading.pop(scope.user_id).set_result(None)

    def _refresh(self, index: ScopeIndex, snapshot: Snapshot, *, user_id: str) -> str:
        """Bring an index to a snapshot; return why it has no vectors to compare, or ""."""
        changes = snapshot.changes(since=index.revision)
        if changes.complete or changes.revision > index.revision:
            index.apply(changes)
            with self._lock:
                self._cache.resized(user_id)
        return changes.refused

    async def _log_late(
        self, answer: asyncio.Future[RecallResult], late: RecallResult, asked: Asked
    ) -> None:
        """Log that the limit was reached, and the answer that came too late where one did."""
        self._logbook.add(late, asked)
        if answer.get_loop() is asyncio.get_running_loop():
            await asyncio.wait({answer})
        if answer.done() and not answer.cancelled():
            self._logbook.add(_too_late(answer.result(), late), asked)

    async def _count(self, written: Sequence[tuple[RecallResult, Asked]]) -> None:
        """Keep the counts of this process's indexes level with those that were just written."""

        def work() -> None:
            for result, asked in written:
                with self._lock:
                    index = self._cache.held(asked.scope.user_id)
                if index is not None and asked.query.as_of is None:
                    returned = [one.memory_id for one in result.pool if one.returned]
                    index.count_recalled(returned, at_s=asked.at.timestamp())

        await offload(work)


def _too_late(answer: RecallResult, late: RecallResult) -> RecallResult:
    """Return an answer that nobody saw as the log keeps it: it says at which stage time was up."""
    return replace(
        answer,
        timed_out=True,
        degraded="; ".join(filter(None, (late.degraded, answer.degraded))),
        pool=tuple(
            replace(one, returned=False, why_not=one.why_not or TOO_LATE) for one in answer.pool
        ),
    )
