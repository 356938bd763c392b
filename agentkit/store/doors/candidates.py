"""Candidates for recall in a scope that is too large to be scanned."""

from collections.abc import Collection
from datetime import datetime

from sqlmodel import Session

from agentkit.errors import StoreError
from agentkit.records import Float32Array, Query, Scope, ScopeChanges
from agentkit.store.doors.snapshot import SnapshotDoor
from agentkit.store.offload import offload
from agentkit.store.rows import candidates, changes, overlaps
from agentkit.store.rows.pinned import get_pinned
from agentkit.store.values import KeptOverlap, NearMemories

# The index is written in pieces of about a second; a recall has two and waits for part of one.
INDEX_WAIT_S = 0.3
# Some ten megabytes of vectors.
PIECE_KEYS = 4_000


class CandidateDoor(SnapshotDoor):
    """What the approximate plan reads: the index names, SQL decides."""

    async def holds_more(self, scope: Scope, *, than: int) -> bool:
        """Return whether a user has more memories than a number, of whatever status."""
        return await self._database.read(
            lambda session: candidates.holds_more(session, scope, than=than)
        )

    async def waiting(self, scope: Scope, *, limit: int) -> tuple[str, ...]:
        """Return memories of a user on which index and SQL may differ, at most so many."""
        return await self._database.read(
            lambda session: candidates.waiting_ids(session, scope, limit=limit)
        )

    async def passing(
        self, scope: Scope, query: Query, *, now: datetime, limit: int
    ) -> tuple[str, ...]:
        """Return memories that pass the filter of a query, at most so many, in no order.

        Args:
            scope: Whose memories, as recall sees them.
            query: Its filters.
            now: Current time, UTC.
            limit: Most ids wanted.
        """
        return await self._database.read(
            lambda session: candidates.passing_ids(session, scope, query, now=now, limit=limit)
        )

    async def nearest_passing(
        self,
        scope: Scope,
        query: Query,
        vector: Float32Array,
        *,
        now: datetime,
        limit: int,
        piece_keys: int = PIECE_KEYS,
    ) -> NearMemories:
        """Return the most similar of the memories that pass the filter of a query, out of SQL.

        Args:
            scope: Whose memories, as recall sees them.
            query: Its filters.
            vector: shape (dim,), float32, L2-normalised, of the embedder in use.
            now: Current time, UTC.
            limit: Most keys wanted, at least 1.
            piece_keys: Keys held in memory at a time, at least 1.

        Returns:
            What was found, or why the vector cannot be compared.
        """
        maker = await self._named()

        def work(session: Session) -> NearMemories:
            usable, refused = self._vectors_of(session, maker)
            if usable is None:
                return NearMemories(problem=refused or "there are no vectors")
            found = candidates.nearest_passing(
                session,
                scope,
                query,
                vector,
                fingerprint=usable,
                now=now,
                limit=limit,
                piece_keys=piece_keys,
            )
            return NearMemories(memory_ids=found, keys=limit)

        return await self._database.read(work)

    async def near(self, scope: Scope, vector: Float32Array, *, limit: int) -> NearMemories:
        """Return the memories that the vector index names as nearest; no error ever.

        Args:
            scope: Whose memories; those of all agents of the user come along.
            vector: shape (dim,), float32, L2-normalised, of the embedder in use.
            limit: Most keys wanted, at least 1.

        Returns:
            What it names, or why it cannot be asked.
        """
        return await offload(lambda: self._near(scope, vector, limit=limit))

    async def entries(
        self, scope: Scope, memory_ids: Collection[str], *, neighbours: bool = False
    ) -> ScopeChanges:
        """Return some memories of a user for an index of their own, read in one snapshot.

        Args:
            scope: Whose memories; those of all agents of the user come along.
            memory_ids: The memories; what recall may not return, or another user has, is left out.
            neighbours: Whether those come along that stand beside them in their episodes.

        Returns:
            The memories, as a whole scope; without vectors where `changes` would have none.
        """
        maker = await self._named()

        def work(session: Session) -> ScopeChanges:
            usable, refused = self._vectors_of(session, maker)
            found = changes.get_entries(session, scope, memory_ids, fingerprint=usable)
            if neighbours:
                beside = candidates.neighbour_ids(session, scope, found)
                more = changes.get_entries(session, scope, beside, fingerprint=usable)
                found = tuple(sorted((*found, *more), key=lambda entry: entry.memory_id))
            revision = changes.get_revision(session, scope)
            return ScopeChanges(revision=revision, complete=True, entries=found, refused=refused)

        return await self._database.read(work)

    async def overlap(self, scope: Scope) -> KeptOverlap | None:
        """Return how much of the exact scan the approximate plan found when last measured."""
        return await self._database.read(lambda session: overlaps.get_overlap(session, scope))

    async def keep_overlap(self, scope: Scope, *, overlap: float, queries: int) -> None:
        """Keep how much of the exact scan the approximate plan found.

        Args:
            scope: Whose recalls; all agents of the user share one figure.
            overlap: Mean share of the exact ten best, in [0, 1].
            queries: Queries that it is a mean over, at least 1.
        """
        await self._database.write(
            lambda session: overlaps.keep_overlap(
                session, scope, overlap=overlap, queries=queries, now=self._clock()
            )
        )

    def _near(self, scope: Scope, vector: Float32Array, *, limit: int) -> NearMemories:
        if not self._index.wanted:
            return NearMemories(problem="there is no vector index")
        if not self._indexing.acquire(timeout=INDEX_WAIT_S):
            return NearMemories(problem="the vector index is being written")
        try:
            pinned = self._database.read_now(get_pinned)
            index = None if pinned is None else self._index.owned(pinned)
            if index is None:
                return NearMemories(problem="the vector index is not this process's to ask")
            if index.is_building():
                return NearMemories(problem="the vector index is being rebuilt")
            pairs = index.query(vector, user_id=scope.user_id, limit=limit)
        except StoreError as error:
            return NearMemories(problem=str(error))
        finally:
            self._indexing.release()
        return NearMemories(
            memory_ids=candidates.key_owners([name for name, _ in pairs]), keys=len(pairs)
        )
