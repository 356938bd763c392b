"""Transactions off the event loop, with the database's errors translated once."""

import random
import sqlite3
import threading
import time
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from typing import Any, TypeVar

from sqlalchemy import Engine, event
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.orm import sessionmaker
from sqlmodel import Session

from agentkit.errors import InputError, StoreError
from agentkit.store.engine import BUSY_TIMEOUT_S, reader, row_writer, writer
from agentkit.store.offload import offload
from agentkit.store.points import Point, Reached, go_on
from agentkit.store.postgres import UNCERTAIN, is_conflict, is_outage, is_unique_violation, words
from agentkit.store.sweeping import SweepLock

Result = TypeVar("Result")

# Whoever was in the way is done by the next try, or holds a row on which that try waits.
_FIRST_PAUSE_S = 0.002
_LONGEST_PAUSE_S = 0.1
# A race for a new key is over after one more run; more says that the key is there for good.
_MOST_UNIQUE_VIOLATIONS = 5


class Database:
    """Runs functions of a session as one transaction each, on a worker thread."""

    def __init__(self, engine: Engine, *, reached: Reached = go_on) -> None:
        """Wrap an engine whose schema is up to date.

        Args:
            engine: As `open_engine` returns it.
            reached: Told each point of a write, on the thread that writes.
        """
        self._engine = engine
        self._reached = reached
        self._sessions = sessionmaker(class_=Session)
        event.listen(self._sessions, "after_flush", lambda *_: reached(Point.ROWS_PARTLY))
        self._reader = reader(engine)
        self._writer = writer(engine)
        self._row_writer = row_writer(engine)
        # Waiting for another connection's write is unfair; threads of one process queue here.
        self._write_lock = threading.Lock()
        self._sweep_lock = SweepLock(engine)

    @property
    def sweep_lock(self) -> SweepLock:
        """Keeps restores apart from whoever deletes trajectories that no row points at."""
        return self._sweep_lock

    async def read(self, work: Callable[[Session], Result]) -> Result:
        """Return what `work` reads, from one snapshot.

        Args:
            work: Gets a session; must not write.

        Raises:
            StoreError: If the database refuses.
        """
        return await offload(lambda: self.read_now(work))

    async def write(self, work: Callable[[Session], Result], *, locks_rows: bool = False) -> Result:
        """Return what `work` returns once everything it wrote is durable.

        Args:
            work: Gets a session and may count on no other's write coming between what it reads
                and what it writes. It may be run more than once, so it changes nothing else.
            locks_rows: Whether all that `work` decides on are rows that it locks as it reads
                them: then workers do not stop each other.

        Raises:
            StoreError: If the database refuses; nothing was written then, unless it says that
                nobody knows.
        """
        return await offload(lambda: self.write_now(work, locks_rows=locks_rows))

    def read_now(self, work: Callable[[Session], Result]) -> Result:
        """Do what `read` does on the calling thread."""
        with _translated(), Session(self._reader) as session:
            return work(session)

    def write_now(self, work: Callable[[Session], Result], *, locks_rows: bool = False) -> Result:
        """Do what `write` does on the calling thread."""
        engine = self._row_writer if locks_rows else self._writer
        with _translated(), self._write_lock:
            patience = _Patience()
            while True:
                try:
                    return self._run(engine, work)
                except DBAPIError as error:
                    if not patience.waits_after(error):
                        raise

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
                self._reached(Point.DATABASE_COMPACTED)
                busy = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            except sqlite3.OperationalError as error:
                raise StoreError(
                    f"the database was not written anew: {error}; try again", retryable=True
                ) from error
        return busy == 0

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()

    def _run(self, engine: Engine, work: Callable[[Session], Result]) -> Result:
        with self._sessions(bind=engine) as session:
            session.connection()
            self._reached(Point.ROWS_BEGUN)
            result = work(session)
            session.flush()
            self._reached(Point.ROWS_WRITTEN)
            try:
                session.commit()
            except DBAPIError as error:
                if is_outage(error):
                    raise StoreError(UNCERTAIN, retryable=True) from error
                raise
            self._reached(Point.ROWS_COMMITTED)
            return result


class _Patience:
    """How often, and how long, a transaction that others stopped is run anew."""

    def __init__(self) -> None:
        self._until = time.monotonic() + BUSY_TIMEOUT_S
        self._pause_s = _FIRST_PAUSE_S
        self._unique_violations = 0

    def waits_after(self, error: DBAPIError) -> bool:
        """Wait a little and return True when another run may help, else return False."""
        self._unique_violations += is_unique_violation(error)
        tired = time.monotonic() > self._until or self._unique_violations > _MOST_UNIQUE_VIOLATIONS
        if tired or not is_conflict(error):
            return False
        # Different for each, so that those who met do not meet again.
        time.sleep(self._pause_s * random.uniform(0.5, 1.0))
        self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)
        return True


@contextmanager
def _translated() -> Generator[None]:
    try:
        yield
    except (OperationalError, PoolTimeoutError) as error:
        raise _not_now(error) from error
    except DBAPIError as error:
        if is_outage(error):
            raise _not_now(error) from error
        raise StoreError(f"the database refused: {words(error)}; nothing was written") from error
    except SQLAlchemyError as error:
        raise StoreError(f"the database layer failed: {error}; nothing was written") from error
    except UnicodeEncodeError as error:
        raise InputError(
            f"a text holds {error.object[error.start : error.end]!r}, which no database can keep; "
            "nothing was written: leave it out"
        ) from error


def _not_now(error: OperationalError | DBAPIError | PoolTimeoutError) -> StoreError:
    said = words(error) if isinstance(error, DBAPIError) else "all its connections are in use"
    return StoreError(
        f"the database cannot do it now: {said}; nothing was written, try again", retryable=True
    )
