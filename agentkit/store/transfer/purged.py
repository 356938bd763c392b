"""What of a file was erased here for good since: it is left out, unless it is wanted back."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

from sqlalchemy import Connection

from agentkit.store.rows.marks import MARKED, known_marks, mark_of, unset_marks
from agentkit.store.tables import EpisodeRow, MemoryRow
from agentkit.store.transfer.codec import unpacked
from agentkit.store.transfer.kinds import Key, Record


class PurgedSince:
    """Sorts records of a file by whether a purge erased them here.

    Attributes:
        users: Users of whom the file holds something that was erased: it is from before a purge of
            theirs, which also took words out of what it left.
        skipped: Records that were left out, by kind.
    """

    def __init__(self, *, with_purged: bool) -> None:
        """Know nothing yet.

        Args:
            with_purged: Whether what was erased is to be written again.
        """
        self._with_purged = with_purged
        self.users: set[str] = set()
        self.skipped: Counter[str] = Counter()

    def gone(self, connection: Connection, records: Sequence[Record]) -> set[Key]:
        """Return the keys of those records that were erased, or that tell of what was.

        Args:
            connection: Open connection.
            records: Records of one kind that are not here.
        """
        named = {record.key: set(_marks(record)) for record in records}
        known = known_marks(connection, {mark for marks in named.values() for mark in marks})
        gone = {record.key for record in records if named[record.key] & known}
        self.users |= {str(record.user_id) for record in records if record.key in gone}
        return gone

    def sift(
        self, connection: Connection, records: Sequence[Record], *, look: bool = False
    ) -> list[Record]:
        """Return what is to be written of records that are not here, and count the rest.

        Args:
            connection: Holds the write lock, unless it only looks.
            records: Records of one kind.
            look: Whether marks of what is brought back stay.
        """
        gone = self.gone(connection, records)
        if self._with_purged:
            own = [mark for record in records for mark in _own_mark(record)]
            if not look:
                unset_marks(connection, own)
            return list(records)
        for record in records:
            self.skipped[record.kind.name] += record.key in gone
        kept = [record for record in records if record.key not in gone]
        return _detached(connection, kept)


def _own_mark(record: Record) -> Iterator[str]:
    names = MARKED.get(record.kind.table)
    if names is not None:
        yield mark_of(record.kind.table, *(record.values[name] for name in names))


def _marks(record: Record) -> Iterator[str]:
    """Yield the marks under which a record goes: its own, and those of what it is about."""
    yield from _own_mark(record)
    values = record.values
    if record.kind.name == "link":
        yield from _memories([values["from_id"], values["to_id"]])
    elif record.kind.name == "job":
        yield from _memories([values["subject_id"]])
        yield mark_of(EpisodeRow, values["subject_id"])
    elif record.kind.name == "retrieval":
        yield mark_of(EpisodeRow, values["episode_id"])
        yield from _memories(_recalled(values["packed"]))


def _memories(ids: Iterable[object]) -> Iterator[str]:
    return (mark_of(MemoryRow, memory_id) for memory_id in ids)


def _recalled(packed: object) -> list[object]:
    """Return the ids of the memories that a recall compared."""
    held = cast("Mapping[str, Mapping[str, Sequence[Mapping[str, object]]]]", unpacked(packed))
    return [one.get("memory_id") for one in held.get("result", {}).get("pool", ())]


def _detached(connection: Connection, records: list[Record]) -> list[Record]:
    """Take out of memories what they would hold of erased ones, as a purge does."""
    if not records or records[0].kind.name != "memory":
        return records
    episodes = {str(record.values["episode_id"]) for record in records}
    replaced = {str(record.values["superseded_by"]) for record in records}
    marks = {mark_of(EpisodeRow, name): name for name in episodes}
    marks |= {mark_of(MemoryRow, name): name for name in replaced}
    gone = {marks[mark] for mark in known_marks(connection, marks)}
    return [_without(record, gone) if gone else record for record in records]


def _without(record: Record, gone: set[str]) -> Record:
    values, parts = dict(record.values), dict(record.parts)
    if values["superseded_by"] in gone:
        values["superseded_by"] = None
    if values["episode_id"] in gone:
        values |= {"episode_id": None, "position": -1}
        parts["evidence"] = []
    return replace(record, values=values, parts=parts)
