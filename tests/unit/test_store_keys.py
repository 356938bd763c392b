"""Keys that every database can hold: SQLite and PostgreSQL now, MySQL without moving a table."""

from collections.abc import Iterable

import pytest
from sqlalchemy import Column, String, Table
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.engine import Dialect
from sqlalchemy.schema import CreateTable

from agentkit.store.keys import key
from agentkit.store.tables import Row

TABLES = Row.metadata.sorted_tables
# InnoDB's limit on an index, with 4 bytes a character (utf8mb4). Source: MySQL's manual, 17.22.
MOST_INDEX_BYTES = 3_072
BYTES_PER_CHAR = 4
MOST_FIXED_BYTES = 8


@pytest.mark.parametrize(
    ("dialect", "said"),
    [
        (sqlite.dialect(), "VARCHAR(36)"),
        (postgresql.dialect(), 'VARCHAR(36) COLLATE "C"'),
        (mysql.dialect(), "VARCHAR(36) COLLATE utf8mb4_bin"),
    ],
    ids=["sqlite", "postgresql", "mysql"],
)
def test_a_key_is_compared_byte_for_byte(dialect: Dialect, said: str) -> None:
    assert key(36).dialect_impl(dialect).compile(dialect=dialect) == said


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_index_is_short_enough_for_mysql(table: Table) -> None:
    assert "CREATE TABLE" in str(CreateTable(table).compile(dialect=mysql.dialect()))
    for index in (*table.indexes, table.primary_key):
        assert index_bytes(index.columns) <= MOST_INDEX_BYTES, index.name


def index_bytes(columns: Iterable[Column[object]]) -> int:
    total = 0
    for column in columns:
        if isinstance(column.type, String):
            assert column.type.length is not None, f"{column} is a key without a length"
            total += BYTES_PER_CHAR * column.type.length
        else:
            total += MOST_FIXED_BYTES
    return total
