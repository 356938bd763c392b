"""What of a file is wanted, as records in pages of one kind."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from agentkit.errors import ArchiveError, InputError
from agentkit.records import Scope
from agentkit.store.transfer.archive import Entry
from agentkit.store.transfer.codec import decode
from agentkit.store.transfer.kinds import Key, Record
from agentkit.store.transfer.tables_read import PAGE_RECORDS

# Few trajectories are as long as this; a page of them would else be as long as all of them.
PAGE_BYTES = 4_000_000
# More than these are counted, not named: a wrong file would fill the screen.
NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What of a file is wanted.

    Attributes:
        user_id: The user whose records alone are wanted, or None for all.
        as_user_id: The name that this user gets here, or None to keep it.
    """

    user_id: str | None = None
    as_user_id: str | None = None

    def take(self, record: Record) -> Record | None:
        """Return a record as it is wanted, or None where it is not; policies are nobody's."""
        if self.user_id is None or record.user_id is None:
            return record
        if record.user_id != self.user_id:
            return None
        return record if self.as_user_id is None else _owned_by(record, self.as_user_id)


def _owned_by(record: Record, user_id: str) -> Record:
    own: dict[str, object] = {"user_id": user_id}
    parts = {name: [row | own for row in rows] for name, rows in record.parts.items()}
    return replace(record, values=record.values | own, parts=parts)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Line:
    """A wanted record and where it stands.

    Attributes:
        number: Its line, from 1.
        size_bytes: Length of that line.
        record: The record.
    """

    number: int
    size_bytes: int
    record: Record


class Named:
    """Things that are all counted, and the first few of them named."""

    def __init__(self) -> None:
        """Hold nothing yet."""
        self.count = 0
        self._names: list[str] = []

    def add(self, name: str) -> None:
        """Count one."""
        self.count += 1
        if len(self._names) < NAMED:
            self._names.append(name)

    def __str__(self) -> str:
        """Return the first few, and how many more there are."""
        more = self.count - len(self._names)
        return "; ".join(self._names) + (f"; and {more} more" if more else "")


class Sieve:
    """Turns the lines of a file into wanted records, and keeps what was wrong with others.

    Attributes:
        damaged: Lines that hold no record.
    """

    def __init__(self, selection: Selection) -> None:
        """Take what is wanted."""
        self._selection = selection
        self.damaged = Named()
        self._users: set[str] = set()
        self._taken = 0

    def pages(self, entries: Iterable[Entry]) -> Iterator[list[Line]]:
        """Yield the wanted records in pages of one kind, in the order of the file."""
        page: dict[Key, Line] = {}
        size_bytes = 0
        for line in self._lines(entries):
            other = bool(page) and next(iter(page.values())).record.kind is not line.record.kind
            if other or len(page) == PAGE_RECORDS or size_bytes > PAGE_BYTES:
                yield list(page.values())
                page, size_bytes = {}, 0
            first = page.setdefault(line.record.key, line)
            size_bytes += line.size_bytes
            if first is not line:
                self.damaged.add(f"line {line.number} repeats line {first.number}")
        if page:
            yield list(page.values())

    def refuse_empty(self, file: Path) -> None:
        """Refuse a file that holds nothing of the wanted user.

        Raises:
            InputError: Naming some of the users that it does hold.
        """
        if self._selection.user_id is None or self._taken:
            return
        names = ", ".join(repr(name) for name in sorted(self._users)[:NAMED])
        raise InputError(
            f"{file} holds nothing of user {self._selection.user_id!r}; "
            f"it holds {names or 'nobody'}{' and others' if len(self._users) > NAMED else ''}"
        )

    def refuse_damaged(self, file: Path) -> None:
        """Refuse a file in which a line holds no record.

        Raises:
            ArchiveError: Naming the first such lines.
        """
        if self.damaged.count:
            raise ArchiveError(f"is damaged, nothing was written: {self.damaged}", file=file)

    def _lines(self, entries: Iterable[Entry]) -> Iterator[Line]:
        for entry in entries:
            try:
                record = None if entry.document is None else decode(entry.document)
                self._note_user(record)
            except (ValueError, InputError) as error:
                self.damaged.add(f"line {entry.number}: {error}")
                continue
            if record is None:
                self.damaged.add(f"line {entry.number} {entry.problem}")
                continue
            wanted = self._selection.take(record)
            if wanted is not None:
                self._taken += wanted.user_id is not None
                yield Line(number=entry.number, size_bytes=entry.size_bytes, record=wanted)

    def _note_user(self, record: Record | None) -> None:
        """Refuse a name that cannot be a user, and keep the first few for a message."""
        user_id = None if record is None else record.user_id
        if user_id is not None and user_id not in self._users:
            Scope(user_id)
            if len(self._users) <= NAMED:
                self._users.add(user_id)
