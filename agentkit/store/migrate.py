"""Bringing a database to the schema of this release, or refusing it untouched."""

import sqlite3
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, inspect
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from agentkit.errors import DISTRIBUTION, SchemaError, StoreError
from agentkit.store.engine import is_server, row_writer, writer
from agentkit.store.locks import locked
from agentkit.store.migrations import LOCATION, REVISIONS
from agentkit.store.postgres import check_encoding, is_outage, sqlstate, words

# Advisory lock of PostgreSQL under which one process at a time changes the schema: "agentkit".
_LOCK_KEY = int.from_bytes(b"agentkit", "big", signed=True)


@dataclass(frozen=True, slots=True)
class SchemaPlan:
    """Which revisions there are, and where Alembic finds them.

    Attributes:
        location: Folder with `env.py` and `versions/`.
        revisions: Revision ids, oldest first, at least one.
    """

    location: Path = LOCATION
    revisions: tuple[str, ...] = REVISIONS

    @property
    def head(self) -> str:
        """The newest revision."""
        return self.revisions[-1]


def migrate(engine: Engine, *, file: Path | None, now: datetime, plan: SchemaPlan) -> None:
    """Bring a database to the newest revision of a plan.

    An existing older file is copied beside itself first; on a server the whole upgrade is one
    transaction, under a lock that other processes wait for. A database of a revision that the
    plan does not know is left as it is.

    Args:
        engine: Engine of the database.
        file: Its file, or None for one in memory and for a server.
        now: Current time, UTC, for the name of the copy.
        plan: The revisions of this release.

    Raises:
        SchemaError: If the database was written by a newer release.
        StoreError: If the file is no database, or the database cannot be reached or changed.
    """
    if is_server(engine):
        _migrate_server(engine, plan=plan)
        return
    if file is None:
        _upgrade(engine, plan=plan, backup=None)
        return
    if _read_revision(file, plan=plan) == plan.head:
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    with locked(file.with_name(f"{file.name}.lock")):
        found = _read_revision(file, plan=plan)
        if found == plan.head:
            return
        backup = _backup(file, revision=found, now=now) if _has_tables(file) else None
        _use_wal(file)
        _upgrade(engine, plan=plan, backup=backup)


def head_revision(connection: Connection) -> str | None:
    """Return the revision that a database is at, or None when it was never migrated."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    row = connection.exec_driver_sql("SELECT version_num FROM alembic_version").first()
    return None if row is None else str(row[0])


def alembic_config(connection: Connection, *, plan: SchemaPlan) -> Any:
    """Return an Alembic `Config` that uses an open connection and the plan's files."""
    from alembic.config import Config

    # By default it keeps the output stream of the moment in which it was imported.
    config = Config(stdout=sys.stdout)
    config.set_main_option("script_location", str(plan.location).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config


def _migrate_server(engine: Engine, *, plan: SchemaPlan) -> None:
    try:
        with row_writer(engine).begin() as connection:
            check_encoding(connection)
            if _known_revision(connection, plan=plan) == plan.head:
                return
            # Let go of with the transaction; who waited here finds the work done.
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK_KEY})")
            if _known_revision(connection, plan=plan) != plan.head:
                with _told("; it is as it was"):
                    _run_upgrade(connection, plan=plan)
    except DBAPIError as error:
        # There is a code only once a server was reached and has answered.
        retryable = is_outage(error) or sqlstate(error) is None
        raise StoreError(
            f"database {engine.url.render_as_string(hide_password=True)} cannot be opened: "
            f"{words(error)}; see that the server runs and that database_url is right",
            retryable=retryable,
        ) from error


def _known_revision(connection: Connection, *, plan: SchemaPlan) -> str | None:
    revision = head_revision(connection)
    return _checked(revision, plan=plan, where=f"database {connection.engine.url.database!r}")


def _checked(revision: str | None, *, plan: SchemaPlan, where: str) -> str | None:
    """Return the revision, or refuse one that the plan does not know."""
    if revision is not None and revision not in plan.revisions:
        raise SchemaError(
            f"{where} has schema {revision}, this release knows up to {plan.head}; it was left "
            f"untouched: upgrade with pip install -U {DISTRIBUTION}"
        )
    return revision


def _upgrade(engine: Engine, *, plan: SchemaPlan, backup: Path | None) -> None:
    kept = f"; a copy from before is {backup}" if backup else ""
    with _told(kept), writer(engine).begin() as connection:
        _run_upgrade(connection, plan=plan)


def _run_upgrade(connection: Connection, *, plan: SchemaPlan) -> None:
    # Importing Alembic takes as long as opening the store: only when there is something to do.
    from alembic import command

    command.upgrade(alembic_config(connection, plan=plan), plan.head)


@contextmanager
def _told(kept: str) -> Generator[None]:
    """Say of a failed upgrade what is left."""
    from alembic.util import CommandError

    try:
        yield
    except (CommandError, SQLAlchemyError) as error:
        raise StoreError(f"the database could not be upgraded: {words(error)}{kept}") from error


def _read_revision(file: Path, *, plan: SchemaPlan) -> str | None:
    """Return the revision of a file without changing a byte of it.

    Raises:
        SchemaError: If the plan does not know the revision.
        StoreError: If the file is no database.
    """
    if not file.exists():
        return None
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            connection.execute("PRAGMA busy_timeout = 5000")
            if not _table_exists(connection, "alembic_version"):
                return None
            row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{file} cannot be read as a database: {error}") from error
    return _checked(None if row is None else str(row[0]), plan=plan, where=str(file))


def _has_tables(file: Path) -> bool:
    if not file.exists():
        return False
    with closing(sqlite3.connect(file)) as connection:
        row = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return bool(row[0])


def _table_exists(connection: sqlite3.Connection, name: str) -> bool:
    query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    return connection.execute(query, (name,)).fetchone() is not None


def _backup(file: Path, *, revision: str | None, now: datetime) -> Path:
    target = file.with_name(f"{file.name}.{revision or 'none'}-{now:%Y%m%dT%H%M%S%f}.backup")
    with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(target)) as copy:
        source.backup(copy)
    return target


def _use_wal(file: Path) -> None:
    """Switch the file to write-ahead logging, so that readers and a writer do not block."""
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA busy_timeout = 30000")
        connection.execute("PRAGMA journal_mode = WAL")
