"""Purge: erase for good, everywhere, and say what was erased.

The order is what makes a purge that dies in the middle one that can be repeated: first the other
trajectories lose the words, then all rows go in one transaction, and what no row points at any more
goes last. The outbox says which objects these are, and tells the owner of the index to build it
anew, so that a crash, or another process, only delays that. An embedded Chroma is
emptied, and the next process builds it anew, see `IndexSlot`: this one knew what was purged.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import select, update
from sqlmodel import Session, col

from agentkit.errors import InputError, StoreError
from agentkit.records import Scope, Trajectory
from agentkit.store.blobs import episode_of, user_folder
from agentkit.store.doors.upkeep import UpkeepDoor
from agentkit.store.engine import BUSY_TIMEOUT_S
from agentkit.store.erasing import Eraser
from agentkit.store.ids import new_id
from agentkit.store.offload import offload
from agentkit.store.points import Point
from agentkit.store.purges import PurgeReport, PurgeTarget
from agentkit.store.rows import outbox, purging
from agentkit.store.rows.pinned import get_pinned
from agentkit.store.rows.redacting import rationales_of, redact_others
from agentkit.store.tables import EpisodeRow
from agentkit.store.trajectories import pack_trajectory, unpack_trajectory

FindTarget = Callable[[Session], PurgeTarget]


@dataclass(frozen=True, slots=True)
class _Blob:
    """Where the trajectory of an episode is, and its digest."""

    episode_id: str
    uri: str
    sha256: str


class PurgeDoor(UpkeepDoor):
    """What is erased for good: there is no way back."""

    async def purge_memories(
        self,
        scope: Scope,
        memory_ids: Sequence[str],
        *,
        with_episodes: bool = True,
        rehearse: bool = False,
    ) -> PurgeReport:
        """Erase memories, and every trace of what they say or ever said.

        The episodes that they came out of go too, for their trajectories hold the words, and with
        those the memories that rest on nothing else. Out of the user's other trajectories, logs
        and histories, their contents are taken word by word.

        Args:
            scope: Whose; without an agent, for it is the user who owns all of it.
            memory_ids: At least one id, whatever the status of the memory.
            with_episodes: Whether their episodes go; else the words that they were drawn from
                stay in those.
            rehearse: Whether to erase nothing and only say what would be.

        Raises:
            NotFoundError: If this scope lacks one of them; then nothing was erased.
            InputError: If no id is given, or the scope is an agent's.
            StoreError: If database, blobs or index refuse; the same call again goes on from there.
        """
        if not memory_ids:
            raise InputError("no memory id was given; nothing was erased: name at least one")

        def find(session: Session) -> PurgeTarget:
            return purging.of_memories(session, scope, memory_ids, with_episodes=with_episodes)

        return await self._purge(scope, find, rehearse=rehearse)

    async def purge_episode(
        self, scope: Scope, episode_id: str, *, rehearse: bool = False
    ) -> PurgeReport:
        """Erase an episode, its trajectory and recalls, and the memories that rest on it alone.

        Args:
            scope: Whose; without an agent.
            episode_id: The episode.
            rehearse: Whether to erase nothing and only say what would be.

        Raises:
            NotFoundError: If this scope has no such episode.
            InputError: If the scope is an agent's.
            StoreError: If database, blobs or index refuse; the same call again goes on from there.
        """

        def find(session: Session) -> PurgeTarget:
            return purging.of_episode(session, scope, episode_id)

        return await self._purge(scope, find, rehearse=rehearse)

    async def purge_user(self, scope: Scope, *, rehearse: bool = False) -> PurgeReport:
        """Erase everything of a user, the name included; a user without anything is no error.

        Args:
            scope: Whose; without an agent.
            rehearse: Whether to erase nothing and only say what would be.

        Raises:
            InputError: If the scope is an agent's.
            StoreError: If database, blobs or index refuse; the same call again goes on from there.
        """
        return await self._purge(
            scope, lambda session: purging.of_user(session, scope), rehearse=rehearse
        )

    async def _purge(self, scope: Scope, find: FindTarget, *, rehearse: bool) -> PurgeReport:
        if scope.agent_id is not None:
            raise InputError("only the user can purge, not an agent; give a scope without one")

        def plan(session: Session) -> tuple[PurgeTarget, dict[str, int], set[str]]:
            target = find(session)
            counts = purging.count(session, scope, target)
            # Where all of a user goes, nothing stays out of which words were to be taken.
            said = set[str]() if target.everything else purging.contents(session, scope, target)
            return target, counts, said

        target, counts, contents = await self._database.read(plan)
        doomed, others = await self._blobs_of(scope, target)
        counts |= {"trajectories": len(doomed)} if doomed else {}
        counts.pop("outbox", None)
        if rehearse:
            return PurgeReport(target=target, erased=counts)
        cleaned = 0
        # A restore that is going on has stored trajectories that no row names yet.
        async with self._database.sweep_lock.aside(what="purging", patience_s=BUSY_TIMEOUT_S):
            if not target.everything:
                eraser = Eraser(texts=contents, ids=target.memory_ids)
                cleaned = await offload(lambda: self._clean_blobs(scope, others, eraser))
            self._reached(Point.PURGE_CLEANED)
            report = await self._database.write(lambda session: self._erase(session, scope, find))
            self._reached(Point.PURGE_ERASED)
            await offload(lambda: self._sweep_blobs(scope, report.target))
            await offload(self._sweep_stale)
            self._reached(Point.PURGE_SWEPT)
        rewritten = Counter(report.rewritten) + Counter(trajectories=cleaned)
        erased = {**report.erased, **{kind: counts[kind] for kind in counts.keys() & _FILES}}
        left = await offload(self._finish_files)
        return replace(report, erased=erased, rewritten=dict(rewritten), left=left)

    def _erase(self, session: Session, scope: Scope, find: FindTarget) -> PurgeReport:
        """Erase rows, and take what they said out of those that stay."""
        target = find(session)
        counts = purging.count(session, scope, target)
        counts.pop("outbox", None)
        change = self._change(session, scope)
        outbox.queue_objects(session, target.episode_ids)
        if target.everything:
            purging.erase(change, scope, target)
            return PurgeReport(target=target, erased=counts)
        eraser = Eraser(
            texts=purging.contents(session, scope, target),
            ids=(*target.memory_ids, *target.episode_ids),
        )
        rationales = rationales_of(session, scope, target)
        purging.erase(change, scope, target)
        detached = purging.detach(change, scope, target)
        # Deleting went past the session: nothing that it holds is to be believed any more.
        session.flush()
        session.expire_all()
        rewritten = redact_others(change, scope, eraser, rationales=rationales)
        return PurgeReport(
            target=target,
            erased=counts,
            rewritten=Counter(rewritten) + Counter(memories=detached),
        )

    async def _blobs_of(
        self, scope: Scope, target: PurgeTarget
    ) -> tuple[tuple[_Blob, ...], tuple[_Blob, ...]]:
        """Return the trajectories that go, and those of the user's other episodes."""
        held = await self._database.read(lambda session: _held_blobs(session, scope))
        gone = frozenset(target.episode_ids)
        return (
            tuple(blob for blob in held if blob.episode_id in gone),
            tuple(blob for blob in held if blob.episode_id not in gone),
        )

    def _clean_blobs(self, scope: Scope, blobs: Sequence[_Blob], eraser: Eraser) -> int:
        """Write anew the trajectories in which something of what goes stands."""
        present = self._blobs.uris()
        number = 0
        for blob in blobs:
            # A lost one is for `doctor` to tell; it holds nothing any more.
            if blob.uri not in present:
                continue
            before = unpack_trajectory(self._blobs.get(blob.uri), sha256=blob.sha256)
            after = _cleaned(before, eraser)
            if after != before:
                self._replace_blob(scope, blob, after)
                number += 1
        return number

    def _replace_blob(self, scope: Scope, blob: _Blob, trajectory: Trajectory) -> None:
        packed = pack_trajectory(trajectory)
        folder = user_folder(scope.user_id)
        # The second id says when this object was made: see `ConsistencyDoor`.
        name = f"trajectories/{folder}/{blob.episode_id}.{new_id(self._clock())}.jsonl.gz"
        uri = self._blobs.put(name, packed.data)

        def work(session: Session) -> None:
            session.connection().execute(
                update(EpisodeRow)
                .where(col(EpisodeRow.id) == blob.episode_id)
                .values(trajectory_uri=uri, trajectory_sha256=packed.sha256)
            )
            outbox.queue_objects(session, [blob.episode_id])

        self._database.write_now(work)
        self._blobs.delete(blob.uri)

    def _sweep_blobs(self, scope: Scope, target: PurgeTarget) -> None:
        """Delete what a purge that died, or one that raced with a seal, left behind.

        A blob of an episode that is not there yet may be of a task that is just being sealed.
        """
        held = {
            blob.episode_id: blob.uri
            for blob in self._database.read_now(lambda session: _held_blobs(session, scope))
        }
        gone = frozenset(target.episode_ids)
        own = f"/{user_folder(scope.user_id)}/"
        for uri in self._blobs.uris():
            if own not in uri:
                continue
            episode_id = episode_of(uri)
            stale = episode_id in held and uri != held[episode_id]
            if stale or target.everything or episode_id in gone:
                self._blobs.delete(uri)

    def _finish_files(self) -> tuple[str, ...]:
        """Write index and database anew without what is gone, and say what could not be."""
        left: list[str] = []
        purged = self._database.read_now(outbox.purged_seqs)
        try:
            self._apply_outbox()
            if purged and self._index_keeps_deleted():
                left.append(
                    "the index server finds ids and vectors no more, but may hold them in its "
                    "files until whoever runs it vacuums them"
                )
        except StoreError as error:
            left.append(f"the vector index still holds ids and vectors: {error}")
        if not left and self._database.read_now(outbox.purged_seqs):
            owner = self._index.owner_pid
            left.append(
                f"the vector index is owned by process {owner}, which erases ids and vectors "
                "there when it settles next"
            )
        if not self._database.compact_now():
            left.append(
                "the database files may hold deleted content until the database itself is "
                "vacuumed; with SQLite, purge again when no other process is reading"
            )
        return tuple(left)

    def _index_keeps_deleted(self) -> bool:
        pinned = self._database.read_now(get_pinned)
        index = None if pinned is None else self._index.owned(pinned)
        return index is not None and index.keeps_deleted


# What is counted in the plan alone, for it is no row.
_FILES = frozenset({"trajectories"})


def _held_blobs(session: Session, scope: Scope) -> tuple[_Blob, ...]:
    rows = session.connection().execute(
        select(
            col(EpisodeRow.id), col(EpisodeRow.trajectory_uri), col(EpisodeRow.trajectory_sha256)
        ).where(col(EpisodeRow.user_id) == scope.user_id)
    )
    return tuple(_Blob(row[0], row[1], row[2]) for row in rows)


def _cleaned(trajectory: Trajectory, eraser: Eraser) -> Trajectory:
    return replace(
        trajectory,
        instructions=eraser.text(trajectory.instructions),
        steps=tuple(replace(step, text=eraser.text(step.text)) for step in trajectory.steps),
    )
