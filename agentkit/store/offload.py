"""The one place where blocking calls leave the event loop."""

import asyncio
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TypeVar

Result = TypeVar("Result")


class Gate:
    """What every blocking call passes, so that none is going on at the moment of a fork.

    A fork copies locks in the state in which they are. OpenBLAS waits for ever when it is used
    while the process forks, and a child forked in the middle of a SQLite transaction finds the
    database locked by itself.
    """

    def __init__(self) -> None:
        """Stand open."""
        self._changed = threading.Condition()
        self._passing = 0
        self._shut = False

    @contextmanager
    def passing(self) -> Generator[None]:
        """Make one call, waiting first where the gate is shut."""
        with self._changed:
            self._changed.wait_for(lambda: not self._shut)
            self._passing += 1
        try:
            yield
        finally:
            with self._changed:
                self._passing -= 1
                self._changed.notify_all()

    def shut(self, *, timeout_s: float) -> bool:
        """Let no further call begin, and wait for those that are going on.

        Args:
            timeout_s: Longest wait in seconds.

        Returns:
            Whether none is going on.
        """
        with self._changed:
            self._shut = True
            return self._changed.wait_for(lambda: self._passing == 0, timeout=timeout_s)

    def reopen(self) -> None:
        """Let calls begin again."""
        with self._changed:
            self._shut = False
            self._changed.notify_all()

    def renew(self) -> None:
        """Stand open in a forked child, in which no call of the parent is going on."""
        self._changed = threading.Condition()
        self._passing = 0
        self._shut = False


GATE = Gate()


async def offload(call: Callable[[], Result]) -> Result:
    """Return what a blocking call returns, without blocking the event loop.

    Args:
        call: The call, with its arguments bound.
    """
    return await asyncio.to_thread(_through_the_gate, call)


def _through_the_gate(call: Callable[[], Result]) -> Result:
    with GATE.passing():
        return call()
