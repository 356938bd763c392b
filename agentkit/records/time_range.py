"""A stretch of time, half-open, and instants as they are counted from 1970."""

from dataclasses import dataclass
from datetime import UTC, datetime

from agentkit.errors import InputError

# Seconds since 1970 have ten digits from 2001 to 2286; thirteen digits are milliseconds.
_LEAST_SECONDS = 100_000_000
_LEAST_MILLISECONDS = 100_000_000_000
_MOST_MILLISECONDS = 10_000_000_000_000


def epoch_instant(number: float) -> datetime | None:
    """Return the instant of seconds or milliseconds since 1970; its size tells which they are.

    Args:
        number: As counted.

    Returns:
        UTC, from 1973 to 2286, or None: 0 and what is smaller mean that no time was known.
    """
    if not _LEAST_SECONDS <= number < _MOST_MILLISECONDS:
        return None
    seconds = number if number < _LEAST_MILLISECONDS else number / 1_000
    return datetime.fromtimestamp(seconds, UTC)


@dataclass(frozen=True, slots=True)
class TimeRange:
    """The time from `start` up to, and without, `end`; one of them may be open.

    Attributes:
        start: First instant, aware, or None for no beginning.
        end: First instant after it, aware, or None for no end.
    """

    start: datetime | None
    end: datetime | None

    def __post_init__(self) -> None:
        """Refuse what no instant could lie in, and times that mean another hour elsewhere."""
        for at in (self.start, self.end):
            if at is not None and at.tzinfo is None:
                raise InputError(f"time range: {at.isoformat()} has no UTC offset; add one")
        if self.start is None and self.end is None:
            raise InputError("time range: both ends are open; give one")
        if self.start is not None and self.end is not None and self.end <= self.start:
            raise InputError(
                f"time range: it ends at {self.end.isoformat()}, not after its start "
                f"{self.start.isoformat()}; swap them"
            )

    def __contains__(self, at: datetime) -> bool:
        """Whether an aware instant lies in it."""
        return (self.start is None or self.start <= at) and (self.end is None or at < self.end)

    def __str__(self) -> str:
        """Return it as `FROM/TO`, ISO 8601, with `..` for an open end."""
        ends = (".." if at is None else at.isoformat() for at in (self.start, self.end))
        return "/".join(ends)
