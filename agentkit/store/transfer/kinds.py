"""Which records a store is made of, and which tables each of them spans.

Everything else about a record is read off the tables, so a column that is added to one travels
without a change here. A table that is in neither list is found by a test.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from sqlalchemy import Column, Table

from agentkit.store.tables import (
    EmbeddingRow,
    EpisodeRow,
    JobRow,
    MemoryEventRow,
    MemoryEvidenceRow,
    MemoryKeyRow,
    MemoryLinkRow,
    MemoryRow,
    MemoryTagRow,
    PolicyVersionRow,
    PurgeMarkRow,
    RetrievalRow,
    Row,
    ScopeRevisionRow,
    SessionRow,
    TaskStepRow,
)

RecordName = Literal[
    "policy_version",
    "session",
    "episode",
    "memory",
    "link",
    "job",
    "retrieval",
    "purge_mark",
    "scope",
]
# Columns of one row, by name; the names are those of its table.
Values = dict[str, object]
Key = tuple[object, ...]

# Tables that do not travel: what they hold follows from the records and from the header.
NOT_MOVED = frozenset({"outbox", "pinned_embedder", "store_owner"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Rows that belong to a record and are written inside it.

    Attributes:
        name: Field of the record that holds them, as a list.
        table: Where they are.
        owner: Columns that name the record, in the order of its key.
        order: Columns that they are ordered by.
        left_out: Columns that are made anew when they are restored.
    """

    name: str
    table: type[Row]
    owner: tuple[str, ...]
    order: tuple[str, ...]
    left_out: frozenset[str] = frozenset()

    @property
    def implied(self) -> frozenset[str]:
        """Columns that follow from the record they stand in."""
        return frozenset(self.owner) | {"user_id"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of record.

    Attributes:
        name: How it is named in the file.
        table: Its own row.
        key: Columns that tell it from the others of its kind.
        parts: Rows that belong to it.
        left_out: Columns that are written in another form, or made anew when it is restored.
        extra: Fields of the record that are no columns.
    """

    name: RecordName
    table: type[Row]
    key: tuple[str, ...]
    parts: tuple[Part, ...] = ()
    left_out: frozenset[str] = frozenset()
    extra: frozenset[str] = frozenset()

    @property
    def has_user(self) -> bool:
        """Whether it belongs to a user."""
        return "user_id" in columns_of(self.table)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Record:
    """A record as rows.

    Attributes:
        kind: What it is.
        values: Its own row.
        parts: Rows that belong to it, by the name of the part; empty lists may be left out.
        trajectory: Content of an episode's trajectory, or None where it has none to show.
    """

    kind: Kind
    values: Values
    parts: Mapping[str, Sequence[Values]] = field(default_factory=dict[str, Sequence[Values]])
    trajectory: bytes | None = None

    @property
    def key(self) -> Key:
        """What tells it from the others of its kind."""
        return tuple(self.values[name] for name in self.kind.key)

    @property
    def user_id(self) -> str | None:
        """Whose it is, or None for what belongs to nobody."""
        user_id = self.values.get("user_id")
        return None if user_id is None else str(user_id)


def table_of(row: type[Row]) -> Table:
    """Return the table of a row class."""
    return Row.metadata.tables[str(row.__tablename__)]


def columns_of(row: type[Row]) -> Mapping[str, Column[object]]:
    """Return the columns of a row class by name."""
    return {column.name: column for column in table_of(row).columns}


def _of_memory(name: str, table: type[Row], *order: str, left_out: str = "") -> Part:
    return Part(
        name=name,
        table=table,
        owner=("memory_id",),
        order=order,
        left_out=frozenset({left_out} if left_out else ()),
    )


# In the order of the file: what others refer to comes first; a user's revision comes last, when it
# is known whether anything of that user was new.
KINDS: tuple[Kind, ...] = (
    Kind(name="policy_version", table=PolicyVersionRow, key=("fingerprint",)),
    Kind(
        name="session",
        table=SessionRow,
        key=("user_id", "agent_key", "session_id"),
        parts=(
            Part(
                name="steps",
                table=TaskStepRow,
                owner=("user_id", "agent_key", "session_id"),
                order=("ordinal",),
            ),
        ),
    ),
    Kind(
        name="episode",
        table=EpisodeRow,
        key=("id",),
        extra=frozenset({"trajectory"}),
    ),
    Kind(
        name="memory",
        table=MemoryRow,
        key=("id",),
        parts=(
            _of_memory("keys", MemoryKeyRow, "ordinal", left_out="terms"),
            _of_memory("vectors", EmbeddingRow, "ordinal", "fingerprint"),
            _of_memory("tags", MemoryTagRow, "facet", "value"),
            _of_memory("evidence", MemoryEvidenceRow, "ordinal"),
            _of_memory("events", MemoryEventRow, "id", left_out="id"),
        ),
    ),
    Kind(name="link", table=MemoryLinkRow, key=("from_id", "to_id", "relation")),
    Kind(name="job", table=JobRow, key=("id",)),
    Kind(
        name="retrieval",
        table=RetrievalRow,
        key=("id",),
        left_out=frozenset({"packed"}),
        extra=frozenset({"recall"}),
    ),
    Kind(name="purge_mark", table=PurgeMarkRow, key=("mark",)),
    Kind(name="scope", table=ScopeRevisionRow, key=("user_id",)),
)
KIND_BY_NAME: Mapping[str, Kind] = {kind.name: kind for kind in KINDS}
