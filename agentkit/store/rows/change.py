"""One transaction's changes of the memories of one user: revision, events, outbox."""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime

from sqlalchemy import insert
from sqlmodel import Session

from agentkit.records import EventKind
from agentkit.store.names import stored_name
from agentkit.store.tables import MemoryEventRow, MemoryRow, OutboxRow, ScopeRevisionRow
from agentkit.text import normalise

# No user can be called that.
NOBODY = ""

FieldValue = str | int | float | bool | None | list[str]


class Change:
    """Gives every row that a transaction changes the same new revision of its user."""

    def __init__(self, session: Session, *, user_id: str, now: datetime) -> None:
        """Take the user's revision row, so that two writers of one user queue.

        Args:
            session: Session that holds the write lock.
            user_id: Whose memories are changed.
            now: Current time, UTC.
        """
        self.session = session
        self.user_id = user_id
        self.now = now
        self._scope = _scope_row(session, user_id)
        self._bumped = False

    @property
    def revision(self) -> int:
        """The revision that this transaction brings the user to; asking for it makes it."""
        if not self._bumped:
            self._scope.revision += 1
            self._bumped = True
        return self._scope.revision

    def mark_purged(self) -> None:
        """Make every cache of this user start anew: something was erased."""
        self._scope.purged_revision = self.revision

    def drop_scope(self) -> None:
        """Erase the user's own revision, in a way that caches of before still find out.

        One row of nobody says how far purged users had come; whoever comes later starts there.
        """
        floor = self.session.get(ScopeRevisionRow, NOBODY)
        if floor is None:
            floor = ScopeRevisionRow(user_id=NOBODY)
            self.session.add(floor)
        floor.revision = floor.purged_revision = max(floor.revision, self.revision + 1)
        self.session.delete(self._scope)

    def record(
        self,
        row: MemoryRow,
        kind: EventKind,
        *,
        actor: str,
        reason: str = "",
        old: Mapping[str, FieldValue] | None = None,
        new: Mapping[str, FieldValue] | None = None,
    ) -> None:
        """Stamp a changed memory with the revision and append the event that says why.

        Args:
            row: The memory, changed already.
            kind: What happened.
            actor: Who did it.
            reason: Why, in words.
            old: The changed fields before.
            new: The changed fields after.
        """
        row.revision = self.revision
        values = self.event_values(row, kind, actor=actor, reason=reason, old=old, new=new)
        self.session.connection().execute(insert(MemoryEventRow), [values])

    def event_values(
        self,
        row: MemoryRow,
        kind: EventKind,
        *,
        actor: str,
        reason: str = "",
        old: Mapping[str, FieldValue] | None = None,
        new: Mapping[str, FieldValue] | None = None,
    ) -> dict[str, object]:
        """Return the columns of an event, for writers of many at once; as in `record`."""
        return {
            "memory_id": row.id,
            "user_id": self.user_id,
            "kind": kind,
            "at": self.now,
            "actor": stored_name(actor, what="actor"),
            "reason": normalise(reason),
            "old": _json(old),
            "new": _json(new),
        }

    def queue(self, memory_id: str, ordinals: Iterable[int]) -> None:
        """Say that the index may differ from SQL on keys of a memory."""
        values = [
            {"user_id": self.user_id, "memory_id": memory_id, "ordinal": ordinal}
            for ordinal in ordinals
        ]
        self.session.connection().execute(insert(OutboxRow), values)


def _scope_row(session: Session, user_id: str) -> ScopeRevisionRow:
    row = session.get(ScopeRevisionRow, user_id, with_for_update=True)
    if row is None:
        floor = session.get(ScopeRevisionRow, NOBODY)
        start = 0 if floor is None else floor.revision
        row = ScopeRevisionRow(user_id=user_id, revision=start, purged_revision=start)
        session.add(row)
        session.flush()
    return row


def _json(fields: Mapping[str, FieldValue] | None) -> str | None:
    if fields is None:
        return None
    return json.dumps(fields, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
