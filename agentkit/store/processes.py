"""Which process wrote something, and whether it still runs."""

import os
import socket
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

_SEPARATOR = "\t"
# Field 22 of /proc/<pid>/stat, counted after the command's closing parenthesis.
_START_FIELD = 19


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessMark:
    """A process, told apart from a later one with the same id.

    Attributes:
        host: Name of its machine.
        pid: Its process id there.
        started: When it was started, in the system's own count, or "" where that is not known.
    """

    host: str
    pid: int
    started: str

    def is_alive(self) -> bool:
        """Whether it may still run; a process of another machine always may."""
        if self.host != socket.gethostname():
            return True
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return self.started in ("", _started(self.pid))

    def as_text(self) -> str:
        """Return the mark as one line."""
        return _SEPARATOR.join((self.host, str(self.pid), self.started))

    @classmethod
    def from_text(cls, text: str) -> "ProcessMark | None":
        """Return the mark that `as_text` wrote, or None for anything else."""
        parts = text.split(_SEPARATOR)
        if len(parts) != 3 or not parts[1].isdigit():
            return None
        return cls(host=parts[0], pid=int(parts[1]), started=parts[2])


def this_process() -> ProcessMark:
    """Return the mark of this process; a child after a fork has its own."""
    return _mark(os.getpid())


@lru_cache(maxsize=1)
def _mark(pid: int) -> ProcessMark:
    return ProcessMark(host=socket.gethostname(), pid=pid, started=_started(pid))


def _started(pid: int) -> str:
    stat = Path(f"/proc/{pid}/stat")
    try:
        return (
            stat.read_text(encoding="utf-8", errors="replace")
            .rpartition(")")[2]
            .split()[_START_FIELD]
        )
    except (OSError, IndexError):
        return ""
