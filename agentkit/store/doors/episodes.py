"""Episodes: seal, read; and the hot steps of tasks that are still open."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlmodel import Session

from agentkit.ports import EmbedderIdentity
from agentkit.records import Episode, Scope, Step, Trajectory
from agentkit.store.blobs import user_folder
from agentkit.store.doors.room import Room
from agentkit.store.drafts import Draft
from agentkit.store.ids import new_id
from agentkit.store.offload import offload
from agentkit.store.processes import this_process
from agentkit.store.rows import episodes, retrievals, sessions
from agentkit.store.rows.jobs import add_job
from agentkit.store.rows.session_list import list_sessions
from agentkit.store.rows.writing import add_memories
from agentkit.store.trajectories import pack_trajectory, unpack_trajectory
from agentkit.store.values import (
    NewEpisode,
    NewMemory,
    OpenTask,
    SealResult,
    SessionSummary,
    StoredReflection,
)

ACTOR = "sealing"


class EpisodeDoor(Room):
    """What can be done with the episodes and open tasks of one scope."""

    async def seal(
        self,
        scope: Scope,
        new: NewEpisode,
        *,
        episodic: NewMemory | None,
        reflect: bool = True,
        payload: str = "{}",
        retrieval_ids: Sequence[str] = (),
    ) -> SealResult:
        """Store a finished task: its blob first, then everything else in one transaction.

        Sealing what was sealed before, by its source id or the id given, writes nothing. In the
        same transaction the hot steps of a live session are removed, and its recalls that served
        no episode yet are counted to this one; an import has neither.

        Args:
            scope: Whose it is.
            new: The task.
            episodic: The memory of it, or None; it gets the episode's id.
            reflect: Whether a reflection job is to be written.
            payload: JSON text for that job.
            retrieval_ids: Recalls that served it.

        Raises:
            InputError: If the episodic memory cannot be stored.
            StoreError: If the blob cannot be written; then there is no row either.
        """
        known = await self._database.read(lambda session: _sealed(session, scope, new))
        if known is not None:
            return known
        episode_id = new.episode_id or new_id(self._clock())
        own = [] if episodic is None else [replace(episodic, episode_id=episode_id)]
        drafts, identity = await self._drafts(own)
        packed = await offload(lambda: pack_trajectory(new.trajectory))
        name = f"trajectories/{user_folder(scope.user_id)}/{episode_id}.jsonl.gz"
        uri = await offload(lambda: self._blobs.put(name, packed.data))
        task = _SealedTask(
            scope=scope,
            new=new,
            episode_id=episode_id,
            uri=uri,
            sha256=packed.sha256,
            drafts=drafts,
            identity=identity,
            retrieval_ids=tuple(retrieval_ids),
            payload=payload if reflect else None,
        )
        result = await self._database.write(lambda session: self._write_sealed(session, task))
        if result.duplicate and result.episode.trajectory_uri != uri:
            await offload(lambda: self._blobs.delete(uri))
        return result

    async def episode(self, scope: Scope, episode_id: str) -> Episode:
        """Return an episode.

        Raises:
            NotFoundError: If this scope has no such episode.
        """
        return await self._database.read(
            lambda session: episodes.to_episodes(
                [episodes.find_episode(session, scope, episode_id)]
            )[0]
        )

    async def episodes(
        self,
        scope: Scope,
        *,
        limit: int = 50,
        offset: int = 0,
        reflected: bool | None = None,
        session_id: str | None = None,
    ) -> tuple[Episode, ...]:
        """Return episodes, the last ended first, ties by id.

        Args:
            scope: Whose episodes.
            limit: Size of the page, at least 1.
            offset: Episodes to skip, at least 0.
            reflected: Whether their reflection must be committed, must not, or None for either.
            session_id: Only those of this session, or None for all.

        Raises:
            InputError: If limit or offset is out of range.
        """
        return await self._database.read(
            lambda session: episodes.list_episodes(
                session,
                scope,
                limit=limit,
                offset=offset,
                reflected=reflected,
                session_id=session_id,
            )
        )

    async def trajectory(self, scope: Scope, episode_id: str) -> Trajectory:
        """Return the steps of an episode, proven by their hash.

        Raises:
            NotFoundError: If this scope has no such episode.
            StoreError: If the blob is missing, damaged or changed.
        """
        episode = await self.episode(scope, episode_id)
        return await offload(
            lambda: unpack_trajectory(
                self._blobs.get(episode.trajectory_uri), sha256=episode.trajectory_sha256
            )
        )

    async def reflection(self, scope: Scope, episode_id: str) -> StoredReflection | None:
        """Return the reflection committed for an episode, or None while there is none.

        Raises:
            NotFoundError: If this scope has no such episode.
        """
        return await self._database.read(
            lambda session: episodes.load_reflection(
                episodes.find_episode(session, scope, episode_id)
            )
        )

    async def recalled(self, scope: Scope, episode_id: str) -> tuple[str, ...]:
        """Return the ids of the memories that were recalled during an episode, first seen first.

        Raises:
            NotFoundError: If this scope has no such episode.
        """

        def work(session: Session) -> tuple[str, ...]:
            row = episodes.find_episode(session, scope, episode_id)
            return retrievals.recalled_ids(retrievals.rows_of_episode(session, scope, row.id))

        return await self._database.read(work)

    async def append_steps(
        self,
        scope: Scope,
        session_id: str,
        steps: Sequence[Step],
        *,
        instructions: str = "",
        model: str | None = None,
    ) -> None:
        """Write steps of an open task as they happen; writing one again changes nothing.

        Args:
            scope: Whose session.
            session_id: The session; another user or agent may use the same name.
            steps: In the order in which they happened.
            instructions: Rendered system text of the last request; "" leaves what is known.
            model: Model string of the run; None leaves what is known.
        """
        await self._database.write(
            lambda session: sessions.append_steps(
                session,
                scope,
                session_id,
                steps,
                instructions=instructions,
                model=model,
                owner=this_process(),
                now=self._clock(),
            )
        )

    async def open_steps(self, scope: Scope, session_id: str) -> tuple[Step, ...]:
        """Return the steps of a session's open task, in order; empty when it has none."""
        task = await self.open_task(scope, session_id)
        return () if task is None else task.steps

    async def open_task(self, scope: Scope, session_id: str) -> OpenTask | None:
        """Return the open task of a session, or None when it has none."""
        return await self._database.read(
            lambda session: sessions.get_open_task(session, scope, session_id)
        )

    async def clear_steps(self, scope: Scope, session_id: str) -> None:
        """Drop the open task of a session without sealing it."""
        await self._database.write(lambda session: sessions.clear_steps(session, scope, session_id))

    async def open_tasks(self, scope: Scope | None = None) -> tuple[OpenTask, ...]:
        """Return the tasks that were never sealed, the longest untouched first.

        Args:
            scope: Whose, or None for those of all users: recovery at the next start.
        """
        return await self._database.read(lambda session: sessions.list_open_tasks(session, scope))

    async def sessions(
        self, scope: Scope, *, limit: int = 50, offset: int = 0
    ) -> tuple[SessionSummary, ...]:
        """Return sessions, the last used first, ties by name.

        Args:
            scope: Whose; with an agent, that agent's own.
            limit: Size of the page, at least 1.
            offset: Sessions to skip, at least 0.

        Raises:
            InputError: If limit or offset is out of range.
        """
        return await self._database.read(
            lambda session: list_sessions(session, scope, limit=limit, offset=offset)
        )

    def _write_sealed(self, session: Session, task: "_SealedTask") -> SealResult:
        """Write everything about a task whose blob is written already."""
        scope, now = task.scope, self._clock()
        known = _sealed(session, scope, task.new)
        if known is not None:
            return known
        usable = self._usable(session, task.identity)
        row = episodes.episode_row(
            scope, task.new, episode_id=task.episode_id, uri=task.uri, sha256=task.sha256, now=now
        )
        session.add(row)
        session.flush()
        retrievals.attach(session, scope, task.retrieval_ids, row.id)
        if row.source_id is None:
            retrievals.attach_session(session, scope, row.session_id, row.id)
            sessions.clear_steps(session, scope, row.session_id)
        if task.payload is not None:
            add_job(
                session, scope, kind="reflect", subject_id=row.id, payload=task.payload, now=now
            )
        memory = None
        if task.drafts:
            change = self._change(session, scope)
            (written,) = add_memories(change, scope, task.drafts, actor=ACTOR, embedder=usable)
            memory = written.memory
        return SealResult(episode=episodes.to_episodes([row])[0], duplicate=False, memory=memory)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _SealedTask:
    """A finished task on its way into one transaction."""

    scope: Scope
    new: NewEpisode
    episode_id: str
    uri: str
    sha256: str
    drafts: tuple[Draft, ...]
    identity: EmbedderIdentity | None
    retrieval_ids: tuple[str, ...]
    payload: str | None


def _sealed(session: Session, scope: Scope, new: NewEpisode) -> SealResult | None:
    row = episodes.find_sealed(session, scope, new)
    if row is None:
        return None
    return SealResult(episode=episodes.to_episodes([row])[0], duplicate=True)
