"""Keeping apart who stores trajectories ahead of their rows, and who sweeps away unused ones.

A restore stores every trajectory before any row points there. Whoever deletes what no row points
at would take them away, so it waits, or is refused, while a restore is going on.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path

from sqlalchemy import Engine

from agentkit.errors import StoreError
from agentkit.store.engine import database_file, is_server
from agentkit.store.locks import FileLock
from agentkit.store.offload import offload

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
        with self._held(shared=True, patience_s=None, what=""):
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
        with self._held(shared=False, patience_s=patience_s, what=what):
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
        turn = ExitStack()
        entered = asyncio.ensure_future(
            offload(lambda: turn.enter_context(self.sweeping(what=what, patience_s=patience_s)))
        )
        try:
            await asyncio.shield(entered)
            yield
        finally:
            if entered.done():
                await offload(turn.close)
            else:
                # Its caller gave up: the thread that still waits lets go of what it gets.
                entered.add_done_callback(lambda done: _let_go(turn, done))

    @contextmanager
    def _held(self, *, shared: bool, patience_s: float | None, what: str) -> Generator[None]:
        file = database_file(self._engine.url)
        if is_server(self._engine):
            turn = self._on_server(shared=shared, patience_s=patience_s, what=what)
        elif file is not None:
            turn = _on_file(file, shared=shared, patience_s=patience_s, what=what)
        else:
            yield
            return
        with turn:
            yield

    @contextmanager
    def _on_server(self, *, shared: bool, patience_s: float | None, what: str) -> Generator[None]:
        suffix = "_shared" if shared else ""
        engine = self._engine.execution_options(isolation_level="AUTOCOMMIT")
        # A connection that dies lets go of it.
        with engine.connect() as connection:

            def try_once() -> bool:
                asked = f"SELECT pg_try_advisory_lock{suffix}({_LOCK_KEY})"
                return bool(connection.exec_driver_sql(asked).scalar_one())

            _wait(try_once, patience_s=patience_s, what=what)
            try:
                yield
            finally:
                connection.exec_driver_sql(f"SELECT pg_advisory_unlock{suffix}({_LOCK_KEY})")


def _let_go(turn: ExitStack, entered: "asyncio.Future[None]") -> None:
    turn.close()
    if not entered.cancelled():
        # That it had to wait in vain is told to nobody any more.
        entered.exception()


@contextmanager
def _on_file(file: Path, *, shared: bool, patience_s: float | None, what: str) -> Generator[None]:
    lock = FileLock(file.with_name(f"{file.name}.sweep.lock"))
    _wait(lambda: lock.acquire(wait=False, shared=shared), patience_s=patience_s, what=what)
    try:
        yield
    finally:
        lock.release()


def _wait(try_once: Callable[[], bool], *, patience_s: float | None, what: str) -> None:
    until = None if patience_s is None else time.monotonic() + patience_s
    while not try_once():
        if until is not None and time.monotonic() >= until:
            raise StoreError(
                f"{what} has to wait: a restore or another sweep of trajectories is going on in "
                "this store; nothing was changed, try again when it is done",
                retryable=True,
            )
        time.sleep(_PAUSE_S)
