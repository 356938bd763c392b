"""Keeping apart who stores trajectories ahead of their rows, and who sweeps away unused ones.

A restore stores every trajectory before any row points there. Whoever deletes what no row points
at would take them away, so it waits, or is refused, while a restore is going on.
"""

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from agentkit.errors import StoreError
from agentkit.store.engine import database_file, is_server
from agentkit.store.locks import FileLock
from agentkit.store.offload import offload
from agentkit.store.postgres import words

# Advisory lock of PostgreSQL; its number must only differ from other ones: "agentswp".
_LOCK_KEY = int.from_bytes(b"agentswp", "big", signed=True)
_PAUSE_S = 0.05


class SweepLock:
    """A lock of one database: many may store at once, and one alone may sweep."""

    def __init__(self, engine: Engine) -> None:
        """Take nothing yet.

        Args:
            engine: The database; one in memory belongs to a single process and needs no lock.
        """
        self._engine = engine

    @contextmanager
    def storing(self) -> Generator[None]:
        """Hold off whoever would sweep, waiting first for one who does."""
        with self._held(_Wish(shared=True)):
            yield

    @contextmanager
    def sweeping(self, *, what: str, patience_s: float) -> Generator[None]:
        """Hold off whoever would store ahead of rows.

        Args:
            what: What wants to sweep, for the message.
            patience_s: Longest wait in seconds, at least 0.

        Raises:
            StoreError: If a restore, or another sweep, is still going on after that.
        """
        with self._held(_Wish(what=what, patience_s=patience_s)):
            yield

    @asynccontextmanager
    async def aside(self, *, what: str, patience_s: float) -> AsyncGenerator[None]:
        """Do what `sweeping` does, waiting on a worker thread.

        Args:
            what: What wants to sweep, for the message.
            patience_s: Longest wait in seconds, at least 0.

        Raises:
            StoreError: If a restore, or another sweep, is still going on after that.
        """
        wish = _Wish(what=what, patience_s=patience_s)
        turn, closing = ExitStack(), threading.Lock()

        def close() -> None:
            with closing:
                turn.close()

        def enter() -> None:
            turn.enter_context(self._held(wish))
            if wish.gave_up.is_set():
                # Its caller was cancelled while this thread waited, and may be gone altogether.
                close()

        entering = asyncio.ensure_future(offload(enter))
        try:
            await asyncio.shield(entering)
            yield
        finally:
            wish.gave_up.set()
            # A thread that waits still sees it at its next try.
            await asyncio.wait([entering])
            await offload(close)

    @contextmanager
    def _held(self, wish: "_Wish") -> Generator[None]:
        file = database_file(self._engine.url)
        if is_server(self._engine):
            turn = self._on_server(wish)
        elif file is not None:
            turn = _on_file(file, wish)
        else:
            yield
            return
        with turn:
            yield

    @contextmanager
    def _on_server(self, wish: "_Wish") -> Generator[None]:
        suffix = "_shared" if wish.shared else ""
        with ExitStack() as connected:
            try:
                engine = self._engine.execution_options(isolation_level="AUTOCOMMIT")
                connection = connected.enter_context(engine.connect())
                asked = f"SELECT pg_try_advisory_lock{suffix}({_LOCK_KEY})"
                wish.wait(lambda: bool(connection.exec_driver_sql(asked).scalar_one()))
            except SQLAlchemyError as error:
                raise StoreError(
                    f"the database cannot do it now: {words(error)}; "
                    "nothing was changed, try again",
                    retryable=True,
                ) from error
            try:
                yield
            finally:
                # A connection that has died has let go of it.
                with suppress(SQLAlchemyError):
                    connection.exec_driver_sql(f"SELECT pg_advisory_unlock{suffix}({_LOCK_KEY})")


@contextmanager
def _on_file(file: Path, wish: "_Wish") -> Generator[None]:
    lock = FileLock(file.with_name(f"{file.name}.sweep.lock"))
    wish.wait(lambda: lock.acquire(wait=False, shared=wish.shared))
    try:
        yield
    finally:
        lock.release()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Wish:
    """Who wants the lock, and for how long.

    Attributes:
        shared: Whether others may hold it too.
        what: What wants it, for the message.
        patience_s: Longest wait in seconds, or None for any.
        gave_up: Set when nobody wants it any more.
    """

    shared: bool = False
    what: str = ""
    patience_s: float | None = None
    gave_up: threading.Event = field(default_factory=threading.Event)

    def wait(self, try_once: Callable[[], bool]) -> None:
        """Try until it is there.

        Raises:
            StoreError: If it was not to be had for so long.
        """
        until = None if self.patience_s is None else time.monotonic() + self.patience_s
        while not try_once():
            late = until is not None and time.monotonic() >= until
            if late or self.gave_up.is_set():
                raise StoreError(
                    f"{self.what} has to wait: a restore or another sweep of trajectories is going "
                    "on in this store; nothing was changed, try again when it is done",
                    retryable=True,
                )
            time.sleep(_PAUSE_S)
