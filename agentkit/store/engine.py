"""Opening SQLite so that nothing acknowledged is lost and no update overwrites another."""

import sqlite3
from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool

from agentkit.errors import StoreError

# A writer waits this long for another process's transaction; those take milliseconds.
BUSY_TIMEOUT_S = 30.0
# Threads of one process that may read at once: the default pool of asyncio has at most 32.
READER_CONNECTIONS = 32


def sqlite_url(database_url: str) -> URL:
    """Return the parsed address of a SQLite database.

    Args:
        database_url: Such as `sqlite:////home/me/agentkit.db`; `sqlite://` is kept in memory;
            `?timeout=5` waits at most 5 s for another process's transaction in place of 30.

    Raises:
        StoreError: If it is no address, or not one of SQLite.
    """
    try:
        url = make_url(database_url)
    except ArgumentError as error:
        raise StoreError(
            f"database_url {database_url!r} is no database address; write sqlite:///<path>"
        ) from error
    if url.get_backend_name() != "sqlite":
        raise StoreError(
            f"database_url names {url.get_backend_name()}; this release stores in SQLite: "
            "write sqlite:///<path>"
        )
    return url.set(drivername="sqlite+pysqlite")


def database_file(url: URL) -> Path | None:
    """Return the file of a SQLite address, or None for one in memory."""
    return Path(url.database) if url.database and url.database != ":memory:" else None


def open_engine(url: URL) -> Engine:
    """Return an engine whose plain transactions read and whose `writer` writes.

    Args:
        url: Address of a SQLite database; in memory it has one connection that all share.
    """
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


def writer(engine: Engine) -> Engine:
    """Return the same engine, beginning each transaction with the write lock in hand.

    Reading first and writing later in a deferred transaction loses updates: with three processes
    159 of 450 were kept, with the lock taken at the beginning all 450.
    """
    return engine.execution_options(sqlite_begin="IMMEDIATE")


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
