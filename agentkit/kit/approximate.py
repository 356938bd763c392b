"""The approximate plan: the vector index names candidates, and an index of these is ranked."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from agentkit.policy.recall import RecallPolicy
from agentkit.recall import (
    Filter,
    PlanChoice,
    RankQuery,
    ScopeIndex,
    count_matching,
    first_fetch,
    fits,
    next_fetch,
    wanted,
)
from agentkit.records import Approximation, Float32Array, Query, Scope
from agentkit.store import Store, Stores, offload


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """One way in which a question may be searched.

    Attributes:
        query: The query with its filters.
        vector: shape (dim,), float32, L2-normalised embedding of what is searched with.
    """

    query: Query
    vector: Float32Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Planned:
    """What the plan came to.

    Attributes:
        index: The candidates, or None: the scope is to be scanned.
        approximate: How they were found, or None.
        reason: Why a scope is scanned that is larger than it should be, or "".
    """

    index: ScopeIndex | None = None
    approximate: Approximation | None = None
    reason: str = ""


EXACT = Planned()


class Planner:
    """Decides how a scope is searched, and finds candidates where it is too large to be scanned.

    What goes wrong on the way is a reason to scan after all, never an error.
    """

    def __init__(self, policy: RecallPolicy, *, stores: Stores) -> None:
        """Hold both.

        Args:
            policy: When a scope is too large, and how many candidates are asked for.
            stores: Where the memories are.
        """
        self._policy = policy
        self._stores = stores

    async def too_large(
        self, scope: Scope, *, held: int | None, choice: PlanChoice = "auto"
    ) -> bool:
        """Return whether a scope is to be searched by candidates.

        Args:
            scope: Whose memories.
            held: Memories of the user that are held in memory, or None: then the database counts.
            choice: What the caller decided already.

        Raises:
            StoreError: If the database cannot be read.
        """
        if choice != "auto":
            return choice == "approximate"
        small = fits(held, policy=self._policy)
        if small is None:
            store = await self._stores.seen(scope)
            return await store.holds_more(scope, than=self._policy.plan.exact_up_to)
        return not small

    async def alone(self, memory_id: str, *, scope: Scope) -> ScopeIndex:
        """Return an index that holds one memory, for its vector.

        Args:
            memory_id: The memory.
            scope: Whose it is.

        Raises:
            StoreError: If the database cannot be read.
        """
        store = await self._stores.seen(scope)
        changes = await store.entries(scope, (memory_id,))
        index = ScopeIndex()
        index.apply(changes)
        return index

    async def plan(
        self,
        searches: Sequence[Search],
        *,
        scope: Scope,
        now: datetime,
        held: int | None,
        choice: PlanChoice = "auto",
    ) -> Planned:
        """Return the candidates for a question, or that its scope is to be scanned.

        Args:
            searches: The ways in which it may be searched; none where there is no vector.
            scope: Whose memories.
            now: Current time, UTC.
            held: Memories of the user that are held in memory, or None.
            choice: What the caller decided already.

        Raises:
            StoreError: If the database cannot be read.
        """
        if not await self.too_large(scope, held=held, choice=choice):
            return EXACT
        if not searches:
            return _scanned("the question has no vector")
        store = await self._stores.seen(scope)
        found = _Candidates(store, self._policy, scope=scope, now=now)
        problem = await found.start(searches)
        for search in searches:
            problem = problem or await found.add(search)
        if problem or found.index is None:
            return _scanned(problem)
        kept = await store.overlap(scope)
        return Planned(
            index=found.index,
            approximate=Approximation(
                candidates=len(found.index),
                overlap=None if kept is None else kept.overlap,
                measured_at=None if kept is None else kept.at,
            ),
        )


class _Candidates:
    """The candidates of one question while they are gathered."""

    def __init__(self, store: Store, policy: RecallPolicy, *, scope: Scope, now: datetime) -> None:
        self.index: ScopeIndex | None = None
        self._store = store
        self._policy = policy
        self._scope = scope
        self._now = now
        self._ids: set[str] = set()

    async def start(self, searches: Sequence[Search]) -> str:
        """Take in what the index may not know yet; return why that is too much, or ""."""
        most = max(self._fetch(search) for search in searches)
        # Before the index is asked: what is brought level in between is in either of them.
        waiting = await self._store.waiting(self._scope, limit=most + 1)
        if len(waiting) > most:
            return f"the vector index lacks more than {most} memories"
        self._ids.update(waiting)
        return ""

    async def add(self, search: Search) -> str:
        """Take in the candidates of a search; return why there are none, or ""."""
        fetch: int | None = self._fetch(search)
        most = fetch or 1
        passing = await self._store.passing(
            self._scope, search.query, now=self._now, limit=most + 1
        )
        few = len(passing) <= most
        if few:
            self._ids.update(passing)
        while fetch is not None:
            near = await self._store.near(self._scope, search.vector, limit=fetch)
            if near.problem:
                return near.problem
            self._ids |= near.memory_ids
            problem = await self._load()
            if problem or few or near.keys < fetch or self._enough(search):
                return problem
            fetch = next_fetch(fetch, policy=self._policy)
        return await self._scan_passing(search)

    def _fetch(self, search: Search) -> int:
        return first_fetch(search.query.top_k, policy=self._policy)

    def _enough(self, search: Search) -> bool:
        if self.index is None:
            return False
        asked = RankQuery.of(search.query, text="", vector=None, agent_id=self._scope.agent_id)
        found = count_matching(self.index, Filter.of(asked), now_s=self._now.timestamp())
        return found >= wanted(search.query.top_k, policy=self._policy)

    async def _scan_passing(self, search: Search) -> str:
        """Take in the nearest of what passes, read from SQL: the nearest of all hid them."""
        near = await self._store.nearest_passing(
            self._scope, search.query, search.vector, now=self._now, limit=self._fetch(search)
        )
        self._ids |= near.memory_ids
        return near.problem or await self._load()

    async def _load(self) -> str:
        """Read the candidates, with those beside them in their episodes, into an index."""
        beside = self._policy.neighbours
        changes = await self._store.entries(
            self._scope, self._ids, neighbours=bool(beside.next or beside.second)
        )
        if changes.refused:
            return changes.refused
        index = ScopeIndex()
        await offload(lambda: index.apply(changes))
        self.index = index
        return ""


def _scanned(reason: str) -> Planned:
    return Planned(reason=f"scanned whole, though large: {reason}")
