"""Building the vector index anew from the vectors in SQL."""

from collections.abc import Sequence
from dataclasses import dataclass

from agentkit.ports import EmbedderIdentity
from agentkit.store.doors.upkeep import UpkeepDoor
from agentkit.store.offload import offload
from agentkit.store.points import Point
from agentkit.store.progress import Progress
from agentkit.store.rows import levels, outbox
from agentkit.store.rows.pinned import get_pinned
from agentkit.store.values import SettleReport

# One transaction: other writers wait some tens of milliseconds for it.
QUEUE_BATCH_KEYS = 5_000


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a rebuild has to do.

    Attributes:
        total: Keys that the index must hold in the end.
        missing: Those that it does not hold yet.
        owner_pid: Process that owns the index, or None when this one may write it.
    """

    total: int
    missing: tuple[str, ...]
    owner_pid: int | None = None


class RebuildDoor(UpkeepDoor):
    """The index is a copy: it can be thrown away and made again."""

    async def reindex(self, *, progress: Progress | None = None) -> SettleReport:
        """Build the vector index anew from the vectors in SQL, without one embedding call.

        The index itself says that a rebuild is begun, so one that was broken off is gone on with.
        Recall works all the while: it scores from SQL. Where another process owns an embedded
        index, every key is queued for it; after a purge by this process, the next one builds it.

        Args:
            progress: Told the number of keys that the index holds anew, and of all.

        Returns:
            What was done; `problem` says why the index is not whole, or is "".

        Raises:
            StoreError: If the index cannot be opened or written.
        """
        if not self._index.wanted:
            return SettleReport(problem="index is none: recall scores exactly from SQL")
        pinned = await self._database.read(get_pinned)
        if pinned is None:
            return SettleReport()
        if self._index.retired:
            return await self._left_to_next()
        plan = await offload(lambda: self._begin(pinned))
        await self._queue(plan.missing)
        if plan.owner_pid is not None:
            return await self._left_to(plan.owner_pid)
        indexed = await self._fill(plan, progress)
        return await offload(lambda: self._finish(pinned, indexed=indexed))

    def _begin(self, pinned: EmbedderIdentity) -> _Plan:
        with self._indexing:
            index = self._index.owned(pinned)
            held: set[str] = set()
            if index is not None:
                if not index.is_building():
                    index.clear()
                    self._reached(Point.INDEX_CLEARED)
                    index.set_building(True)
                    self._reached(Point.REBUILD_MARKED)
                held = index.ids()
            wanted = self._wanted(pinned)
            owner_pid = self._index.owner_pid if index is None else None
            return _Plan(len(wanted), tuple(sorted(wanted - held)), owner_pid)

    def _begin_anew(self, pinned: EmbedderIdentity) -> _Plan:
        """Take up the index after the embedder changed: what is not of the new one goes."""
        with self._indexing:
            index = self._index.owned(pinned)
            if index is None:
                return _Plan(len(self._wanted(pinned)), (), self._index.owner_pid)
            index.drop_others()
            # In this order, what another process adds meanwhile is not taken for a stranger.
            held = index.ids()
            wanted = self._wanted(pinned)
            index.delete(sorted(held - wanted))
            return _Plan(len(wanted), tuple(sorted(wanted - held)))

    def _wanted(self, pinned: EmbedderIdentity) -> set[str]:
        return self._database.read_now(
            lambda session: outbox.indexable_ids(session, fingerprint=pinned.fingerprint)
        )

    async def _queue(self, key_ids: Sequence[str]) -> None:
        for start in range(0, len(key_ids), QUEUE_BATCH_KEYS):
            batch = key_ids[start : start + QUEUE_BATCH_KEYS]
            await self._database.write(
                lambda session, batch=batch: outbox.queue_keys(session, batch)
            )

    async def _left_to_next(self) -> SettleReport:
        waiting = await self._database.read(outbox.count_waiting)
        return SettleReport(
            waiting=waiting,
            problem=f"the index was emptied by a purge: {waiting} keys are queued for the next "
            "process that opens the project",
        )

    async def _left_to(self, owner_pid: int) -> SettleReport:
        waiting = await self._database.read(outbox.count_waiting)
        return SettleReport(
            waiting=waiting,
            problem=f"process {owner_pid} owns the index: {waiting} keys are queued for it and "
            "are done at its next write; to rebuild from the ground, stop it and try again",
        )

    async def _fill(self, plan: _Plan, progress: Progress | None) -> int:
        ready, indexed = plan.total - len(plan.missing), 0
        while True:
            if progress is not None:
                progress(min(ready + indexed, plan.total), plan.total)
            done = await offload(self._apply_next)
            if done is None:
                return indexed
            indexed += done

    def _finish(self, pinned: EmbedderIdentity, *, indexed: int) -> SettleReport:
        with self._indexing:
            index = self._index.owned(pinned)
            held = set[str]() if index is None else index.ids()
            if index is not None:
                index.drop_others()
            # What waits in the outbox is done by whoever settles next, as always.
            lacking = self._wanted(pinned) - held - self._database.read_now(levels.read_outbox)
            if index is not None and not lacking:
                self._reached(Point.REBUILD_FILLED)
                index.set_building(False)
        waiting = self._database.read_now(outbox.count_waiting)
        problem = f"{len(lacking)} keys are not in the index; try again" if lacking else ""
        return SettleReport(indexed=indexed, waiting=waiting, problem=problem)
