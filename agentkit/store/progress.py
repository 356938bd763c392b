"""Telling a caller how far long work has got."""

from collections.abc import Callable

# Told how much is done and how much there is; where a door says so, on a worker thread.
Progress = Callable[[int, int], None]


class Counted:
    """Counts what is done, and tells it."""

    def __init__(self, progress: Progress | None, *, total: int, done: int = 0) -> None:
        """Tell nothing yet.

        Args:
            progress: Who is told, or None.
            total: How much there is, at least 0.
            done: How much of it is done already, at least 0.
        """
        self._progress = progress
        self._total = total
        self.done = done

    def add(self, number: int) -> None:
        """Take so much more for done; more than there was is told as all of it.

        Args:
            number: At least 0; 0 tells where it stands.
        """
        self.done += number
        if self._progress is not None:
            self._progress(min(self.done, self._total), self._total)
