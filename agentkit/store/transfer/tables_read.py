"""Records out of the tables, a page at a time."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

from sqlalchemy import Column, ColumnElement, Connection, RowMapping, false, func, select, tuple_

from agentkit.store.tables import PolicyVersionRow, PurgeMarkRow, RetrievalRow
from agentkit.store.transfer.kinds import (
    KINDS,
    Key,
    Kind,
    Part,
    Record,
    Values,
    columns_of,
    table_of,
)

# Records that are held at once. A memory with three vectors of 512 numbers takes about 10 kB.
PAGE_RECORDS = 200


def count_records(connection: Connection, *, user_id: str | None) -> dict[str, int]:
    """Return how many records of each kind there are.

    Args:
        connection: One snapshot.
        user_id: Whose, or None for those of all users.
    """
    counts: dict[str, int] = {}
    for kind in KINDS:
        query = select(func.count()).select_from(table_of(kind.table))
        counts[kind.name] = connection.execute(query.where(*_of_user(kind, user_id))).scalar_one()
    return counts


def read_records(connection: Connection, *, user_id: str | None) -> Iterator[Record]:
    """Yield every record, kind by kind and by key, trajectories left out.

    Args:
        connection: One snapshot, for as long as records are taken.
        user_id: Whose, or None for those of all users; for one user, of the policies only those
            that the user's own recalls name, and no marks of purges.
    """
    for kind in KINDS:
        key = _key_columns(kind)
        query = select(table_of(kind.table)).where(*_of_user(kind, user_id)).order_by(*key)
        # One long cursor: pages by key would sort a user's rows anew for each page.
        result = connection.execute(query, execution_options={"yield_per": PAGE_RECORDS})
        for page in result.mappings().partitions(PAGE_RECORDS):
            yield from _with_parts(connection, kind, page, parts=kind.parts)


def load_records(
    connection: Connection, kind: Kind, keys: Sequence[Key], *, parts: Iterable[Part]
) -> Mapping[Key, Record]:
    """Return the records with these keys, whosever they are, by key.

    Args:
        connection: Open connection.
        kind: Their kind.
        keys: At most a page of them.
        parts: What is to come along.
    """
    query = select(table_of(kind.table)).where(_one_of(_key_columns(kind), keys))
    page = connection.execute(query).mappings().all()
    return {record.key: record for record in _with_parts(connection, kind, page, parts=parts)}


def _of_user(kind: Kind, user_id: str | None) -> list[ColumnElement[bool]]:
    """Return the conditions on what belongs to a user; none for all users."""
    if user_id is None:
        return []
    if kind.has_user:
        return [columns_of(kind.table)["user_id"] == user_id]
    if kind.table is PurgeMarkRow:
        # Nobody can tell whose they are, which is meant.
        return [false()]
    # Policies are nobody's: those count that the user's own recalls name.
    recalls = columns_of(RetrievalRow)
    used = select(recalls["policy_fingerprint"]).where(recalls["user_id"] == user_id)
    return [columns_of(PolicyVersionRow)["fingerprint"].in_(used)]


def _key_columns(kind: Kind) -> list[Column[object]]:
    return [columns_of(kind.table)[name] for name in kind.key]


def _one_of(columns: Sequence[Column[object]], keys: Sequence[Key]) -> ColumnElement[bool]:
    if len(columns) == 1:
        return columns[0].in_([key[0] for key in keys])
    return tuple_(*columns).in_(keys)


def _with_parts(
    connection: Connection, kind: Kind, page: Sequence[RowMapping], *, parts: Iterable[Part]
) -> Iterator[Record]:
    own = [cast("Values", dict(row)) for row in page]
    keys = [tuple(values[name] for name in kind.key) for values in own]
    held = {part.name: _part_rows(connection, part, keys) for part in parts} if keys else {}
    for values, key in zip(own, keys, strict=True):
        yield Record(
            kind=kind,
            values=values,
            parts={name: rows.get(key, []) for name, rows in held.items()},
        )


def _part_rows(connection: Connection, part: Part, keys: Sequence[Key]) -> dict[Key, list[Values]]:
    columns = columns_of(part.table)
    owner = [columns[name] for name in part.owner]
    order = [columns[name] for name in (*part.owner, *part.order)]
    query = select(table_of(part.table)).where(_one_of(owner, keys)).order_by(*order)
    rows: dict[Key, list[Values]] = defaultdict(list)
    for row in connection.execute(query).mappings():
        rows[tuple(row[name] for name in part.owner)].append(cast("Values", dict(row)))
    return rows
