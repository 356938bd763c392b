"""The retrieval log: write, read, label."""

from collections.abc import Sequence
from datetime import datetime

from sqlmodel import Session

from agentkit.errors import InputError
from agentkit.records import Retrieval, Scope, Verdict
from agentkit.store.doors.room import Room
from agentkit.store.offload import offload
from agentkit.store.rows import episodes, retrievals
from agentkit.store.tables import PolicyVersionRow

# Few enough that no writer waits long for the lock.
DROP_BATCH = 500


class RetrievalDoor(Room):
    """What can be done with the recalls of one scope."""

    async def log_retrieval(self, retrieval: Retrieval) -> None:
        """Write a record of the log, and count the recall of what was returned.

        Counts are no change of the memories: no event, no new revision. Writing a record again
        changes nothing, except that a late result replaces the empty one of a timed-out recall.

        Args:
            retrieval: The record; the hits of its result are not kept.
        """
        await self.log_retrievals([retrieval])

    async def log_retrievals(self, given: Sequence[Retrieval]) -> None:
        """Write records of the log, in one transaction; see `log_retrieval`.

        Args:
            given: The records, in the order of asking; of any scopes.
        """
        packed = await offload(lambda: [retrievals.pack_retrieval(one) for one in given])
        await self._database.write(
            lambda session: retrievals.log_retrievals(session, given, packed=packed)
        )

    async def retrieval(self, scope: Scope, retrieval_id: str) -> Retrieval:
        """Return a record of the log.

        Raises:
            NotFoundError: If this scope has no such recall.
        """
        return await self._database.read(
            lambda session: retrievals.to_retrievals(
                [retrievals.find_retrieval(session, scope, retrieval_id)]
            )[0]
        )

    async def retrievals(
        self,
        scope: Scope,
        *,
        limit: int = 50,
        session_id: str | None = None,
        episode_id: str | None = None,
    ) -> tuple[Retrieval, ...]:
        """Return records of the log, the last asked first, ties by id.

        Args:
            scope: Whose recalls.
            limit: Most records wanted, at least 1.
            session_id: Session that they served, or None for all.
            episode_id: Episode that they served, or None for all.

        Raises:
            InputError: If the limit is out of range.
        """
        return await self._database.read(
            lambda session: retrievals.list_retrievals(
                session, scope, limit=limit, session_id=session_id, episode_id=episode_id
            )
        )

    async def attach_retrievals(
        self, scope: Scope, retrieval_ids: Sequence[str], episode_id: str
    ) -> None:
        """Say which episode recalls served; ids that are not of this scope are left alone.

        Raises:
            NotFoundError: If this scope has no such episode.
        """

        def work(session: Session) -> None:
            row = episodes.find_episode(session, scope, episode_id)
            retrievals.attach(session, scope, retrieval_ids, row.id)

        await self._database.write(work)

    async def label(
        self, scope: Scope, retrieval_id: str, verdicts: Sequence[Verdict], *, actor: str = "person"
    ) -> None:
        """Append verdicts to a recall, and let each move the belief in its memory.

        A verdict of the same kind on the same memory from the same source counts once a recall.

        Args:
            scope: Whose recall.
            retrieval_id: The recall.
            verdicts: What is said of memories in its pool.
            actor: Who says it, for the memories' history.

        Raises:
            NotFoundError: If this scope has no such recall.
            InputError: If a memory was not in its pool; then nothing is written.
        """

        def work(session: Session) -> None:
            row = retrievals.find_retrieval(session, scope, retrieval_id)
            change = self._change(session, scope)
            strange = retrievals.label(change, scope, [row], verdicts, actor=actor)
            if strange:
                raise InputError(
                    f"memory {strange[0].memory_id!r} was not among what this recall looked at; "
                    "name one that it returned"
                )

        await self._database.write(work)

    async def drop_old_retrievals(self, *, before: datetime) -> int:
        """Delete the records of the log from before a time, of all users; return how many.

        Records of a task that is open, or of an episode that waits for reflection, stay. What was
        counted and believed of memories stays as it is.

        Args:
            before: Records asked earlier than this go, aware.
        """
        dropped = 0
        while True:
            some = await self._database.write(
                lambda session: retrievals.drop_old(session, before=before, limit=DROP_BATCH)
            )
            dropped += some
            if some < DROP_BATCH:
                return dropped

    async def save_policy(self, fingerprint: str, content: str) -> None:
        """Keep the content of a policy that recalls name by its fingerprint; once is enough.

        Args:
            fingerprint: Fingerprint of the policy.
            content: The policy as text.
        """

        def work(session: Session) -> None:
            if session.get(PolicyVersionRow, fingerprint) is None:
                session.add(
                    PolicyVersionRow(
                        fingerprint=fingerprint, content=content, first_used_at=self._clock()
                    )
                )

        await self._database.write(work)

    async def policy(self, fingerprint: str) -> str | None:
        """Return the content of a policy by its fingerprint, or None."""

        def work(session: Session) -> str | None:
            row = session.get(PolicyVersionRow, fingerprint)
            return None if row is None else row.content

        return await self._database.read(work)
