"""Transactions off the event loop, with the database's errors translated once."""

import sqlite3
import threading
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from typing import Any, TypeVar

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError
from sqlmodel import Session

from agentkit.errors import StoreError
from agentkit.store.engine import writer
from agentkit.store.offload import offload

Result = TypeVar("Result")


class Database:
    """Runs functions of a session as one transaction each, on a worker thread."""

    def __init__(self, engine: Engine) -> None:
        """Wrap an engine whose schema is up to date."""
        self._engine = engine
        self._writer = writer(engine)
        # SQLite's busy wait is unfair and sleeps; threads of one process queue here instead.
        self._write_lock = threading.Lock()

    async def read(self, work: Callable[[Session], Result]) -> Result:
        """Return what `work` reads, from one snapshot.

        Args:
            work: Gets a session; must not write.

        Raises:
            StoreError: If the database refuses.
        """
        return await offload(lambda: self.read_now(work))

    async def write(self, work: Callable[[Session], Result]) -> Result:
        """Return what `work` returns once everything it wrote is durable.

        Args:
            work: Gets a session that holds the write lock; all of it is kept, or nothing.

        Raises:
            StoreError: If the database refuses; nothing was written then.
        """
        return await offload(lambda: self.write_now(work))

    def read_now(self, work: Callable[[Session], Result]) -> Result:
        """Do what `read` does on the calling thread."""
        with _translated(), Session(self._engine) as session:
            return work(session)

    def write_now(self, work: Callable[[Session], Result]) -> Result:
        """Do what `write` does on the calling thread."""
        with _translated(), self._write_lock, Session(self._writer) as session, session.begin():
            return work(session)

    def compact_now(self) -> bool:
        """Write the database anew without what was deleted, on the calling thread.

        Returns:
            False where the files of the database may still hold deleted content: it is not
            SQLite, or another process kept reading an older state for too long.

        Raises:
            StoreError: If the database refuses.
        """
        if self._engine.dialect.name != "sqlite":
            return False
        with self._write_lock, closing(self._engine.raw_connection()) as connection:
            driver: Any = connection.driver_connection
            try:
                driver.execute("VACUUM")
                busy = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            except sqlite3.OperationalError as error:
                raise StoreError(
                    f"the database was not written anew: {error}; try again", retryable=True
                ) from error
        return busy == 0

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()


@contextmanager
def _translated() -> Generator[None]:
    try:
        yield
    except OperationalError as error:
        raise StoreError(
            f"the database cannot do it now: {error.orig}; nothing was written, try again",
            retryable=True,
        ) from error
    except DBAPIError as error:
        raise StoreError(f"the database refused: {error.orig}; nothing was written") from error
    except SQLAlchemyError as error:
        raise StoreError(f"the database layer failed: {error}; nothing was written") from error
