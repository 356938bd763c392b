"""Marks of what was erased for good: hashes of ids, from which nothing can be read back.

An id is made at random, so its hash tells only those who have the id, from an export of before.
"""

import hashlib
from collections.abc import Collection, Mapping
from datetime import UTC, datetime

from sqlalchemy import Column, ColumnElement, Connection, insert, select
from sqlmodel import col, delete

from agentkit.store.rows.scoping import chunks
from agentkit.store.tables import (
    EpisodeRow,
    JobRow,
    MemoryRow,
    PurgeMarkRow,
    RetrievalRow,
    Row,
    SessionRow,
)

# What tells a thing from others of its table, the user left out: a name could be guessed.
MARKED: Mapping[type[Row], tuple[str, ...]] = {
    SessionRow: ("agent_key", "session_id", "opened_at"),
    EpisodeRow: ("id",),
    MemoryRow: ("id",),
    JobRow: ("id",),
    RetrievalRow: ("id",),
}


def mark_of(table: type[Row], *key: object) -> str:
    """Return the mark of a thing.

    Args:
        table: Where it is, one of `MARKED`.
        key: Its values of the columns that `MARKED` names.
    """
    words = [str(table.__tablename__), *map(_word, key)]
    return hashlib.sha256("\0".join(words).encode("utf-8", "surrogatepass")).hexdigest()


def marks_of(connection: Connection, table: type[Row], condition: ColumnElement[bool]) -> list[str]:
    """Return the marks of the rows that a condition picks; none for a table of parts."""
    names = MARKED.get(table)
    if names is None:
        return []
    held = Row.metadata.tables[str(table.__tablename__)].columns
    columns: list[Column[object]] = [held[name] for name in names]
    return [mark_of(table, *row) for row in connection.execute(select(*columns).where(condition))]


def known_marks(connection: Connection, marks: Collection[str]) -> set[str]:
    """Return those of the marks that are set."""
    found: set[str] = set()
    for chunk in chunks(sorted(marks)):
        query = select(col(PurgeMarkRow.mark)).where(col(PurgeMarkRow.mark).in_(chunk))
        found.update(connection.execute(query).scalars())
    return found


def set_marks(connection: Connection, marks: Collection[str]) -> None:
    """Set marks; one that is set already stays."""
    new = sorted(set(marks) - known_marks(connection, marks))
    if new:
        connection.execute(insert(PurgeMarkRow), [{"mark": mark} for mark in new])


def unset_marks(connection: Connection, marks: Collection[str]) -> None:
    """Take marks away: what they stood for was brought back on purpose."""
    for chunk in chunks(sorted(marks)):
        connection.execute(delete(PurgeMarkRow).where(col(PurgeMarkRow.mark).in_(chunk)))


def _word(value: object) -> str:
    return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else str(value)
