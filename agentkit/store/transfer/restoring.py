"""From a file into the tables: all of it is proven first, then written in one transaction.

Three readings, each in constant memory: every line is checked, and compared with what is here
already; then the trajectories are stored, where a crash leaves nothing but unused objects; then the
rows. So a restore is there as a whole or not at all, and no worker sees half of it.
"""

import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import IO

from sqlmodel import Session

from agentkit.errors import ArchiveError, StoreError
from agentkit.ports import BlobStore
from agentkit.store.blobs import user_folder
from agentkit.store.database import Database
from agentkit.store.ids import new_id
from agentkit.store.progress import Counted, Progress
from agentkit.store.trajectories import pack_content, unpack_content
from agentkit.store.transfer.archive import ArchiveReader
from agentkit.store.transfer.comparing import Conflicts, difference
from agentkit.store.transfer.kinds import Key, Record
from agentkit.store.transfer.purged import PurgedSince
from agentkit.store.transfer.selecting import Line, Selection, Sieve
from agentkit.store.transfer.tables_read import load_records
from agentkit.store.transfer.tables_write import RecordWriter

# In place of the address of a trajectory that is left out.
_NOWHERE = "-"
_NOT_COMPARED = frozenset({"vectors"})


@dataclass(slots=True, kw_only=True)
class Restored:
    """Records of each kind that were written, were here already, or had been erased here.

    Those that were kept are in another state here than in the file.
    """

    added: Counter[str] = field(default_factory=Counter[str])
    known: Counter[str] = field(default_factory=Counter[str])
    purged: Counter[str] = field(default_factory=Counter[str])
    kept: int = 0
    users: set[str | None] = field(default_factory=set[str | None])


class Restoring:
    """One restore of one file."""

    def __init__(
        self,
        reader: ArchiveReader,
        *,
        selection: Selection,
        database: Database,
        blobs: BlobStore,
        progress: Progress,
        now: datetime,
        with_purged: bool = False,
    ) -> None:
        """Touch nothing yet.

        Args:
            reader: The export.
            selection: What of it is wanted.
            database: Where the rows go.
            blobs: Where the trajectories go.
            progress: Told how much is done; a record counts twice, a trajectory once more.
            now: Current time, UTC.
            with_purged: Whether what a purge erased here is to be written again.
        """
        self._reader = reader
        self._selection = selection
        self._database = database
        self._blobs = blobs
        self._with_purged = with_purged
        # Users of whom the file holds something that was erased here since; `check` finds them.
        self._purged_users = frozenset[str]()
        counts = reader.header.counts
        self._now = now
        self._counted = Counted(progress, total=2 * sum(counts.values()) + counts.get("episode", 0))

    def check(self) -> None:
        """Read every line, and compare what is wanted with what is here.

        Raises:
            ArchiveError: If the file is damaged, or does not go with what is here.
            InputError: If the file holds nothing of the wanted user.
        """
        self._database.read_now(self._check)

    def store_trajectories(self, addresses: IO[str]) -> None:
        """Store the trajectories and note the address of each, in the order of the file.

        Raises:
            StoreError: If the disk refuses.
        """
        sieve = Sieve(self._selection)
        for page in sieve.pages(self._reader.entries(only="episode")):
            if page[0].record.kind.name == "episode":
                self._store_page(page, addresses)
                self._counted.add(len(page))
        sieve.refuse_damaged(self._reader.file)

    def write(self, session: Session, addresses: IO[str]) -> Restored:
        """Write what is not here yet, and return what was.

        Args:
            session: Holds the write lock.
            addresses: As `store_trajectories` noted them.

        Raises:
            ArchiveError: If the file, or what is here, was changed since it was checked.
        """
        restored, purged = Restored(), PurgedSince(with_purged=self._with_purged)
        writer = RecordWriter(session.connection())
        sieve = Sieve(self._selection)
        for page in sieve.pages(self._reader.entries()):
            held = _held(session, page)
            new = purged.sift(session.connection(), self._new(page, held, restored))
            if page[0].record.kind.name == "scope":
                new = [record for record in new if self._has_scope(record, restored)]
            restored.added[page[0].record.kind.name] += len(new)
            if page[0].record.kind.name == "episode":
                found = self._addresses(page, addresses)
                new = [_addressed(record, found[record.key]) for record in new]
                moved = [key for key in held if held[key].values["trajectory_uri"] != found[key]]
                writer.write_addresses([_addressed(held[key], found[key]) for key in moved])
            if page[0].record.kind.name == "scope":
                known = [line.record for line in page if line.record.key in held]
                for record in (*new, *known):
                    writer.write_scope(record, held=held.get(record.key))
            else:
                restored.users |= {record.user_id for record in new}
                writer.write(new)
            self._counted.add(len(page))
        sieve.refuse_damaged(self._reader.file)
        writer.finish()
        restored.purged = purged.skipped
        return restored

    def _store_page(self, page: Sequence[Line], addresses: IO[str]) -> None:
        def look(session: Session) -> tuple[Mapping[Key, Record], set[Key]]:
            held, purged = _held(session, page), PurgedSince(with_purged=self._with_purged)
            absent = _absent(page, held)
            kept = {record.key for record in purged.sift(session.connection(), absent, look=True)}
            return held, {record.key for record in absent} - kept

        held, gone = self._database.read_now(look)
        for line in page:
            address = _NOWHERE
            if line.record.key not in gone:
                known = held.get(line.record.key)
                address = _store_trajectory(self._blobs, line.record, held=known, now=self._now)
            addresses.write(address + "\n")

    def _has_scope(self, record: Record, restored: Restored) -> bool:
        """Whether anything of a user came along; where all was purged, no name comes back."""
        user_id = record.user_id
        return user_id not in self._purged_users or user_id in restored.users

    def _check(self, session: Session) -> None:
        sieve, conflicts, file = Sieve(self._selection), Conflicts(), self._reader.file
        purged = PurgedSince(with_purged=self._with_purged)
        try:
            for page in sieve.pages(self._reader.entries()):
                held = _held(session, page)
                purged.gone(session.connection(), _absent(page, held))
                for line in page:
                    here = held.get(line.record.key)
                    if here is not None and (found := difference(here, line.record)):
                        conflicts.add(f"{_name(line)}: {found}", here=here, given=line.record)
                self._counted.add(len(page))
        except ArchiveError:
            # A damaged line changes the hash too, and says more than the hash.
            sieve.refuse_damaged(file)
            raise
        sieve.refuse_damaged(file)
        sieve.refuse_empty(file)
        self._purged_users = frozenset(purged.users)
        conflicts.refuse(file, besides=self._purged_users)

    def _new(
        self, page: Sequence[Line], held: Mapping[Key, Record], restored: Restored
    ) -> list[Record]:
        """Return what of a page is not here; another process may have written some meanwhile."""
        new: list[Record] = []
        for line in page:
            here = held.get(line.record.key)
            if here is None:
                new.append(line.record)
            elif not (found := difference(here, line.record)):
                restored.known[line.record.kind.name] += 1
            elif here.user_id == line.record.user_id in self._purged_users:
                restored.kept += 1
            else:
                raise ArchiveError(
                    f"{_name(line)} was changed here meanwhile: {found}; nothing was written",
                    file=self._reader.file,
                )
        return new

    def _addresses(self, page: Sequence[Line], addresses: IO[str]) -> Mapping[Key, str]:
        """Return the address of the trajectory of each episode of a page."""
        found = {line.record.key: addresses.readline().rstrip("\n") for line in page}
        if not all(found.values()):
            raise ArchiveError(
                "an episode has no address for its trajectory", file=self._reader.file
            )
        return found


def _absent(page: Sequence[Line], held: Mapping[Key, Record]) -> list[Record]:
    return [line.record for line in page if line.record.key not in held]


def _held(session: Session, page: Sequence[Line]) -> Mapping[Key, Record]:
    """Return what is here of the records of a page, as far as it is compared."""
    kind = page[0].record.kind
    parts = [part for part in kind.parts if part.name not in _NOT_COMPARED]
    keys = [line.record.key for line in page]
    return load_records(session.connection(), kind, keys, parts=parts)


def _name(line: Line) -> str:
    record = line.record
    return f"{record.kind.name} {' '.join(map(str, record.key))} (line {line.number})"


def _addressed(record: Record, address: str) -> Record:
    return replace(record, values=record.values | {"trajectory_uri": address})


def _store_trajectory(
    blobs: BlobStore, record: Record, *, held: Record | None, now: datetime
) -> str:
    """Store the trajectory of an episode and return its address; mend one that is damaged.

    An episode that was exported without its trajectory keeps the address that it had.
    """
    own = record if held is None else held
    uri, sha256 = str(own.values["trajectory_uri"]), str(own.values["trajectory_sha256"])
    if sha256 != record.values["trajectory_sha256"]:
        # A purge took words out of the one that is here.
        return uri
    if record.trajectory is None or (held is not None and _is_whole(blobs, uri, sha256=sha256)):
        return uri
    folder = user_folder(str(record.user_id))
    # The second id says when this object was made: see `ConsistencyDoor`.
    name = f"trajectories/{folder}/{record.values['id']}.{new_id(now)}.jsonl.gz"
    if held is not None:
        # It is damaged, or gone; the new one has another name.
        blobs.delete(uri)
    return blobs.put(name, pack_content(record.trajectory))


def _is_whole(blobs: BlobStore, uri: str, *, sha256: str) -> bool:
    try:
        unpack_content(blobs.get(uri), sha256=sha256)
    except StoreError as error:
        if error.retryable:
            raise
        return False
    return True


def address_notes() -> IO[str]:
    """Return a temporary file for the addresses of trajectories: there may be very many."""
    return tempfile.TemporaryFile("w+", encoding="utf-8")
