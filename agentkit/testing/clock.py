"""A clock that stands still until it is told to move."""

from datetime import UTC, datetime, timedelta


class FixedClock:
    """Returns the same time at each call."""

    def __init__(self, at: datetime) -> None:
        """Stop at a time.

        Args:
            at: The time, with a time zone.

        Raises:
            ValueError: If it has no time zone.
        """
        if at.tzinfo is None:
            raise ValueError(f"{at!r} has no time zone; give an aware datetime")
        self._now = at.astimezone(UTC)

    def __call__(self) -> datetime:
        """Return the time, UTC-aware."""
        return self._now

    def advance(
        self,
        *,
        days: float = 0,
        hours: float = 0,
        minutes: float = 0,
        seconds: float = 0,
    ) -> datetime:
        """Move the clock by a span, back where it is negative, and return the new time.

        Args:
            days: Days.
            hours: Hours.
            minutes: Minutes.
            seconds: Seconds.
        """
        self._now += timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
        return self._now
