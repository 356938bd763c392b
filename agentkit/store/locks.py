"""File locks between processes; the system lets go of them when their process dies."""

import fcntl
import os
import weakref
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


class FileLock:
    """An exclusive lock on a file, held until `release` or the end of the process."""

    def __init__(self, path: Path) -> None:
        """Touch nothing yet.

        Args:
            path: The lock file; it is made where it is missing and never removed.
        """
        self._path = path
        self._descriptor: int | None = None
        _all_locks.add(self)

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._descriptor is not None

    def acquire(self, *, wait: bool, shared: bool = False) -> bool:
        """Take the lock and write our process id into the file.

        Args:
            wait: Whether to block until it is free.
            shared: Whether others may hold it too, if they share it as well.

        Returns:
            False when another process, or another object of this one, holds it.
        """
        if self._descriptor is not None:
            return True
        self._path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
            fcntl.flock(descriptor, kind if wait else kind | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        self._descriptor = descriptor
        return True

    def holder_pid(self) -> int | None:
        """Return the process id that the file names, or None where it names none."""
        if not self._path.exists():
            return None
        text = self._path.read_text(encoding="ascii").strip()
        return int(text) if text.isdigit() else None

    def release(self) -> None:
        """Let go; harmless when it is not held."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


_all_locks: "weakref.WeakSet[FileLock]" = weakref.WeakSet()


def _let_go_after_fork() -> None:
    """Leave the locks to the parent: a child that kept the file open would outlive its owner.

    Closing the child's descriptor does not free the lock that the parent holds.
    """
    for lock in list(_all_locks):
        lock.release()


os.register_at_fork(after_in_child=_let_go_after_fork)


@contextmanager
def locked(path: Path) -> Generator[None]:
    """Hold the lock of a file for a block, waiting for it first."""
    lock = FileLock(path)
    lock.acquire(wait=True)
    try:
        yield
    finally:
        lock.release()
