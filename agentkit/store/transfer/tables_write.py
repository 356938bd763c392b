"""Records into the tables."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, insert, select, update

from agentkit.store.tables import EpisodeRow, OutboxRow, Row, ScopeRevisionRow
from agentkit.store.transfer.kinds import Record, Values, columns_of, table_of
from agentkit.text import pack_terms, term_counts


class RecordWriter:
    """Writes records in one transaction, and brings the revisions of their users level."""

    def __init__(self, connection: Connection) -> None:
        """Take a connection that holds the write lock."""
        self._connection = connection
        # The highest revision of the new memories of each user.
        self._grown: dict[str, int] = {}

    def write(self, records: Sequence[Record]) -> None:
        """Insert records of one kind that are not here yet; `scope` records have `write_scope`."""
        rows: dict[type[Row], list[Values]] = defaultdict(list)
        for record in records:
            rows[record.kind.table].append(record.values)
            for part in record.kind.parts:
                own = record.parts.get(part.name, ())
                rows[part.table].extend(map(_with_terms, own) if "terms" in part.left_out else own)
            if record.kind.name == "memory":
                self._note_memory(record, rows[OutboxRow])
        for table, values in rows.items():
            if values:
                self._connection.execute(insert(table_of(table)), values)

    def write_scope(self, record: Record, *, held: Record | None) -> None:
        """Write how far the memories of a user have changed.

        Where the user was here before and got memories, caches of running processes must read
        all of them anew: new memories may carry older revisions than these caches have.

        Args:
            record: As the file has it.
            held: As it is here, or None.
        """
        user_id = str(record.values["user_id"])
        grown = self._grown.pop(user_id, None)
        if held is None:
            self._connection.execute(insert(table_of(ScopeRevisionRow)), [record.values])
        elif grown is not None:
            self._bump(user_id, _revision(held.values), _revision(record.values), grown)

    def write_addresses(self, episodes: Sequence[Record]) -> None:
        """Say where the trajectories of episodes are that were here before."""
        for record in episodes:
            self._connection.execute(
                update(table_of(EpisodeRow))
                .where(columns_of(EpisodeRow)["id"] == record.values["id"])
                .values(trajectory_uri=record.values["trajectory_uri"])
            )

    def finish(self) -> None:
        """Do for the users of whom the file names no revision what `write_scope` does."""
        table, columns = table_of(ScopeRevisionRow), columns_of(ScopeRevisionRow)
        for user_id, grown in sorted(self._grown.items()):
            own = select(columns["revision"]).where(columns["user_id"] == user_id)
            held = self._connection.execute(own).scalar_one_or_none()
            if held is None:
                values = {"user_id": user_id, "revision": grown, "purged_revision": 0}
                self._connection.execute(insert(table), [values])
            else:
                self._bump(user_id, int(str(held)), grown)
        self._grown.clear()

    def _note_memory(self, record: Record, queue: list[Values]) -> None:
        user_id = str(record.values["user_id"])
        self._grown[user_id] = max(self._grown.get(user_id, 0), _revision(record.values))
        queue.extend(
            {"user_id": user_id, "memory_id": row["memory_id"], "ordinal": row["ordinal"]}
            for row in record.parts.get("keys", ())
        )

    def _bump(self, user_id: str, *revisions: int) -> None:
        revision = max(revisions) + 1
        columns = columns_of(ScopeRevisionRow)
        self._connection.execute(
            update(table_of(ScopeRevisionRow))
            .where(columns["user_id"] == user_id)
            .values(revision=revision, purged_revision=revision)
        )


def _with_terms(key: Values) -> Values:
    return key | {"terms": pack_terms(term_counts(str(key["text"])))}


def _revision(values: Mapping[str, object]) -> int:
    return int(str(values["revision"]))
