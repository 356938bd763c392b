"""Reading a user's memories for recall: what changed, as they stood once, several in one look."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from sqlmodel import Session

from agentkit.ports import Clock, EmbedderIdentity
from agentkit.records import Memory, Scope, ScopeChanges
from agentkit.store.doors.room import Named, Room
from agentkit.store.rows import changes, memories, past
from agentkit.store.rows.pinned import read_pinned
from agentkit.store.values import VISIBLE, PastScope

Result = TypeVar("Result")


class Snapshot:
    """A user's memories in one transaction, read on the thread that it was opened on.

    What it returns is of one moment, so a memory that `changes` tells of is found by `memories`.
    """

    def __init__(
        self, session: Session, scope: Scope, *, vectors_of: str | None, refused: str, clock: Clock
    ) -> None:
        """Hold an open transaction; nothing is read yet.

        Args:
            session: Open session.
            scope: Whose memories; with an agent, `memories` finds those that it sees.
            vectors_of: Fingerprint of the embedder whose vectors are read, or None for none.
            refused: Why there are none, or "".
            clock: Says what has expired.
        """
        self._session = session
        self._scope = scope
        self._vectors_of = vectors_of
        self._refused = refused
        self._clock = clock

    def changes(self, *, since: int) -> ScopeChanges:
        """Return what `Store.changes` does.

        Args:
            since: Revision that the reader holds, or 0 for everything.
        """
        found = changes.get_changes(
            self._session, self._scope, since=since, fingerprint=self._vectors_of
        )
        return replace(found, refused=self._refused)

    def memories(self, ids: Sequence[str]) -> tuple[Memory, ...]:
        """Return those memories that recall may show, newest first, ties by id.

        Args:
            ids: Ids wanted; those of other scopes are left out.
        """
        return memories.get_shown(
            self._session, self._scope, ids, now=self._clock(), statuses=VISIBLE
        )


class SnapshotDoor(Room):
    """What recall reads."""

    async def snapshot(self, scope: Scope, work: Callable[[Snapshot], Result]) -> Result:
        """Return what a function makes of a user's memories as they are now.

        It runs on one worker thread: reading, ranking and reading again cost one change of
        threads in place of three, each of which waits for whoever holds the interpreter.

        Args:
            scope: Whose memories.
            work: Gets the snapshot and keeps nothing of it.

        Raises:
            StoreError: If the database refuses.
        """
        maker = await self._named()

        def within(session: Session) -> Result:
            vectors_of, refused = self._vectors_of(session, maker)
            return work(
                Snapshot(session, scope, vectors_of=vectors_of, refused=refused, clock=self._clock)
            )

        return await self._database.read(within)

    async def changes(self, scope: Scope, *, since: int) -> ScopeChanges:
        """Return what changed in a user's memories since a revision, for recall's index.

        Args:
            scope: Whose memories; those of all agents of the user come along.
            since: Revision that the reader holds, or 0 for everything.

        Returns:
            The changes; without vectors, and with the reason, where this store's embedder is
            another than the one in use: their cosines would mean nothing.
        """
        return await self.snapshot(scope, lambda snapshot: snapshot.changes(since=since))

    async def as_of(self, scope: Scope, at: datetime) -> PastScope:
        """Return the memories of a user as they stood at an instant; what was purged stays gone.

        Args:
            scope: Whose memories; with an agent, those that it sees.
            at: The instant, aware.

        Returns:
            The memories; without vectors where `changes` would have none.
        """
        maker = await self._named()

        def work(session: Session) -> PastScope:
            usable, refused = self._vectors_of(session, maker)
            found = past.get_past(session, scope, at=at, fingerprint=usable)
            return replace(found, changes=replace(found.changes, refused=refused))

        return await self._database.read(work)

    async def revision(self, scope: Scope) -> int:
        """Return the revision of a user's memories; 0 for a user that has none."""
        return await self._database.read(lambda session: changes.get_revision(session, scope))

    async def _named(self) -> EmbedderIdentity | None:
        """Who would make a reader's vectors, where only asking tells."""
        unnamed = self._embedder is not None and not isinstance(self._embedder, Named)
        return await self._maker(needed=unnamed)

    def _vectors_of(
        self, session: Session, maker: EmbedderIdentity | None
    ) -> tuple[str | None, str]:
        """Fingerprint of the vectors to read, or None and why there is none."""
        pinned = None if self._embedder is None else read_pinned(session)
        if pinned is None:
            return None, ""
        refused = self._refusal(pinned, maker)
        return (None if refused else pinned.fingerprint), refused
