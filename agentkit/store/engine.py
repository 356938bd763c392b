"""Opening a database so that nothing acknowledged is lost and no update overwrites another.

SQLite is opened here, PostgreSQL in `postgres`; the rest of the store sees engines only.
"""

import sqlite3
from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool

from agentkit.errors import StoreError
from agentkit.store import postgres

# A writer waits this long for another process's transaction; those take milliseconds.
BUSY_TIMEOUT_S = 30.0
# Threads of one process that may read at once: the default pool of asyncio has at most 32.
READER_CONNECTIONS = 32


def database_address(database_url: str) -> URL:
    """Return the parsed address of a database that a store can be kept in.

    Args:
        database_url: Such as `sqlite:////home/me/agentkit.db`, `sqlite://` (in memory), or
            `postgresql://agent@db.internal/memory`.

    Raises:
        StoreError: If it is no address, or one of another kind of database.
    """
    url = _parsed(database_url)
    if url.get_backend_name() in ("postgresql", "postgres"):
        return postgres.postgres_url(url)
    return _sqlite(url)


def sqlite_url(database_url: str) -> URL:
    """Return the parsed address of a SQLite database.

    Args:
        database_url: Such as `sqlite:////home/me/agentkit.db`; `sqlite://` is kept in memory;
            `?timeout=5` waits at most 5 s for another process's transaction in place of 30.

    Raises:
        StoreError: If it is no address, or not one of SQLite.
    """
    return _sqlite(_parsed(database_url))


def _parsed(database_url: str) -> URL:
    try:
        return make_url(database_url)
    except (ArgumentError, ValueError) as error:
        # It is not repeated: there may be a password in it.
        raise StoreError(
            "database_url is no database address; write sqlite:///<path> or "
            "postgresql://<user>@<host>/<database>"
        ) from error


def _sqlite(url: URL) -> URL:
    if url.get_backend_name() != "sqlite":
        raise StoreError(
            f"database_url names {url.get_backend_name()}; this release stores in SQLite and "
            "PostgreSQL: write sqlite:///<path> or postgresql://<user>@<host>/<database>"
        )
    return url.set(drivername="sqlite+pysqlite")


def database_file(url: URL) -> Path | None:
    """Return the file of a SQLite address; None for one in memory and for a server."""
    if url.get_backend_name() != "sqlite":
        return None
    return Path(url.database) if url.database and url.database != ":memory:" else None


def open_engine(url: URL) -> Engine:
    """Return an engine for `reader` and `writer`; nothing is connected yet.

    Args:
        url: As `database_address` returns it; SQLite in memory has one connection that all share.

    Raises:
        MissingExtraError: If the database's driver is not installed.
    """
    return _open_sqlite(url) if url.get_backend_name() == "sqlite" else postgres.open_postgres(url)


def reader(engine: Engine) -> Engine:
    """Return the same engine, each transaction reading from one snapshot."""
    return postgres.reader(engine) if is_server(engine) else engine


def writer(engine: Engine) -> Engine:
    """Return the same engine, no transaction of which loses another's update.

    On SQLite each begins with the write lock in hand. Reading first and writing later in a
    deferred transaction loses updates: with three processes 159 of 450 were kept, with the lock
    taken at the beginning all 450.
    """
    if is_server(engine):
        return postgres.writer(engine)
    return engine.execution_options(sqlite_begin="IMMEDIATE")


def row_writer(engine: Engine) -> Engine:
    """Return the same engine, for transactions that decide only on rows that they lock first."""
    return postgres.row_writer(engine) if is_server(engine) else writer(engine)


def is_server(engine: Engine) -> bool:
    """Whether the database is a server, in place of a file of ours."""
    return engine.dialect.name != "sqlite"


def product_of(connection: Connection) -> str:
    """Return the name and version of the database that a connection leads to."""
    version = ".".join(map(str, connection.dialect.server_version_info or ()))
    return f"{'PostgreSQL' if is_server(connection.engine) else 'SQLite'} {version}"


def _open_sqlite(url: URL) -> Engine:
    file = database_file(url)
    arguments: dict[str, bool | float] = {"check_same_thread": False}
    if "timeout" not in url.query:
        arguments["timeout"] = BUSY_TIMEOUT_S
    engine = create_engine(
        url,
        poolclass=QueuePool,
        pool_size=READER_CONNECTIONS if file else 1,
        max_overflow=0,
        connect_args=arguments,
    )
    event.listen(engine, "connect", _on_connect)
    event.listen(engine, "begin", _on_begin)
    return engine


def _on_connect(connection: sqlite3.Connection, _entry: ConnectionPoolEntry) -> None:
    # The driver's own transaction handling begins too late; ours is `_on_begin`.
    connection.isolation_level = None
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = FULL")
    # What is deleted is overwritten at once, so that `purge` has little left to find.
    connection.execute("PRAGMA secure_delete = ON")


def _on_begin(connection: Connection) -> None:
    mode = connection.get_execution_options().get("sqlite_begin", "DEFERRED")
    connection.exec_driver_sql(f"BEGIN {mode}")
