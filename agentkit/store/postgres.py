"""Opening PostgreSQL so that nothing acknowledged is lost and no update overwrites another.

A write runs SERIALIZABLE: it ends as if it had been alone, or PostgreSQL stops it and `Database`
runs it anew. So code that reads and then writes is right here as it is under SQLite's write lock,
whatever it reads first. A read is one snapshot (REPEATABLE READ), which waits for nobody.
"""

from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from agentkit.errors import MissingExtraError, StoreError

if TYPE_CHECKING:
    from psycopg import Error as DriverError

DRIVER = "postgresql+psycopg"
EXTRA = "postgres"
# A server takes 100 connections by default (`max_connections`): nine such processes fit.
CONNECTIONS = 10
CONNECT_TIMEOUT_S = 10
# A writer waits this long for a row that another process holds, as long as SQLite's does.
LOCK_TIMEOUT_MS = 30_000
# What is said of a connection lost while COMMIT was under way: nobody knows what became of it.
UNCERTAIN = (
    "the connection was lost while the database was committing, so this may be written or not; "
    "look before you write it again"
)

# Source: appendix A of PostgreSQL's manual, "PostgreSQL Error Codes".
_SERIALIZATION_FAILURE = "40001"
_DEADLOCK = "40P01"
_UNIQUE_VIOLATION = "23505"


def postgres_url(url: URL) -> URL:
    """Return the address of a PostgreSQL database with the driver that is used here.

    Args:
        url: Such as `postgresql://agent@db.internal/memory`.

    Raises:
        StoreError: If it asks for another driver.
    """
    if url.drivername not in ("postgres", "postgresql", DRIVER):
        raise StoreError(
            f"database_url asks for {url.drivername}; this release speaks through psycopg: "
            f"write {DRIVER}://<user>@<host>/<database>"
        )
    return url.set(drivername=DRIVER)


def open_postgres(url: URL) -> Engine:
    """Return an engine of a PostgreSQL database; no connection is made yet.

    Args:
        url: As `postgres_url` returns it; its `?connect_timeout=` and `?options=` are kept.

    Raises:
        MissingExtraError: If psycopg is not installed.
    """
    try:
        import psycopg  # noqa: F401 # pyright: ignore[reportUnusedImport] - is it there at all?
    except ImportError as error:
        raise MissingExtraError("a database in PostgreSQL", extra=EXTRA) from error
    ours = f"-c timezone=UTC -c lock_timeout={LOCK_TIMEOUT_MS}"
    asked = url.query.get("options", "")
    theirs = " ".join(asked) if isinstance(asked, tuple) else asked
    arguments: dict[str, str | int] = {"options": f"{ours} {theirs}".strip()}
    if "connect_timeout" not in url.query:
        arguments["connect_timeout"] = CONNECT_TIMEOUT_S
    return create_engine(
        url,
        pool_size=CONNECTIONS,
        max_overflow=0,
        # A server that was started anew is met by a new connection, not by an error.
        pool_pre_ping=True,
        connect_args=arguments,
        # Times, vectors and texts of people stay out of error messages.
        hide_parameters=True,
    )


def in_schema(database_url: str, schema: str) -> str:
    """Return the address under which everything is looked for, and made, in one schema.

    Args:
        database_url: Address of the database.
        schema: Its name, of plain lower-case characters.
    """
    url = make_url(database_url)
    asked = url.query.get("options", "")
    options = " ".join(asked) if isinstance(asked, tuple) else asked
    placed = url.update_query_dict({"options": f"{options} -c search_path={schema}".strip()})
    return placed.render_as_string(hide_password=False)


def make_schema(database_url: str, schema: str) -> None:
    """Make a schema; having it already is harmless.

    Args:
        database_url: Address of the database.
        schema: Its name, of plain lower-case characters.

    Raises:
        StoreError: If the server refuses or cannot be reached.
    """
    if schema not in list_schemas(database_url, prefix=schema):
        _ask(database_url, f'CREATE SCHEMA IF NOT EXISTS "{schema}"')


def list_schemas(database_url: str, *, prefix: str) -> list[str]:
    """Return the names of the schemas that begin so.

    Args:
        database_url: Address of the database.
        prefix: Plain lower-case characters, `_` among them.

    Raises:
        StoreError: If the server refuses or cannot be reached.
    """
    found = _ask(database_url, "SELECT nspname FROM pg_namespace")
    return [name for name in found if name.startswith(prefix)]


def has_table(database_url: str, name: str) -> bool:
    """Whether a table is found where the address looks first.

    Args:
        database_url: Address of the database.
        name: Name of the table, of plain lower-case characters.

    Raises:
        StoreError: If the server refuses or cannot be reached.
    """
    return _ask(database_url, f"SELECT to_regclass('{name}')::text") not in ([], [None])


def has_rows(database_url: str, table: str) -> bool:
    """Whether a table that is there holds anything.

    Args:
        database_url: Address of the database.
        table: Its name, of plain lower-case characters.

    Raises:
        StoreError: If the server refuses or cannot be reached.
    """
    return bool(_ask(database_url, f"SELECT 1 FROM {table} LIMIT 1"))


def _ask(database_url: str, statement: str) -> list[Any]:
    """Run one statement on a connection of its own, and return the first column."""
    engine = open_postgres(postgres_url(make_url(database_url)))
    try:
        with engine.begin() as connection:
            result = connection.exec_driver_sql(statement)
            return [row[0] for row in result] if result.returns_rows else []
    except DBAPIError as error:
        raise StoreError(
            f"the database cannot be asked: {words(error)}; see that the server runs and that "
            "database_url is right",
            retryable=is_outage(error) or sqlstate(error) is None,
        ) from error
    finally:
        engine.dispose()


def reader(engine: Engine) -> Engine:
    """Return the same engine, each transaction reading from one snapshot."""
    return engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)


def writer(engine: Engine) -> Engine:
    """Return the same engine, each transaction ending as if it had been alone, or stopped."""
    return engine.execution_options(isolation_level="SERIALIZABLE")


def row_writer(engine: Engine) -> Engine:
    """Return the same engine, for transactions that decide only on rows that they lock first."""
    return engine.execution_options(isolation_level="READ COMMITTED")


def is_conflict(error: DBAPIError) -> bool:
    """Whether another transaction was in the way: run anew, this one may well succeed.

    A unique violation is one too: an id looked for and not found was written by another in the
    meantime, and the next run finds it.
    """
    return sqlstate(error) in (_SERIALIZATION_FAILURE, _DEADLOCK, _UNIQUE_VIOLATION)


def is_unique_violation(error: DBAPIError) -> bool:
    """Whether a key was there already; that can also be so for good."""
    return sqlstate(error) == _UNIQUE_VIOLATION


def is_outage(error: Exception) -> bool:
    """Whether the server, or the way to it, failed: later it may work."""
    if isinstance(error, PoolTimeoutError):
        return True
    return isinstance(error, DBAPIError) and error.connection_invalidated


def sqlstate(error: DBAPIError) -> str | None:
    """Return PostgreSQL's code of an error, or None where the server gave none."""
    driver: DriverError | BaseException | None = error.orig
    code: object = getattr(driver, "sqlstate", None)
    return code if isinstance(code, str) else None


def words(error: Exception) -> str:
    """Return what a database said, in one line and without our statement."""
    said = error.orig if isinstance(error, DBAPIError) else error
    return " ".join(str(said).split())


def check_encoding(connection: Connection) -> None:
    """Refuse a database that cannot hold every text.

    Raises:
        StoreError: If its encoding is not UTF8.
    """
    encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
    if encoding != "UTF8":
        raise StoreError(
            f"database {connection.engine.url.database!r} is encoded in {encoding}; "
            "memories need UTF8: CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0"
        )
