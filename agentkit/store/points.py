"""The points of the write path at which a process may die, and what stands on disk there.

A store tells the `Reached` that it was opened with of each. Outside of tests that does nothing;
the fault tests kill the process there, and open what it left behind.
"""

from collections.abc import Callable
from enum import Enum


class Point(Enum):
    """A moment between two changes of what is on disk; the value says what stands there."""

    BLOB_UNNAMED = "an object is written under a temporary name"
    BLOB_NAMED = "it has its own name too, the temporary one is still there"
    BLOB_STORED = "it is stored, no row points at it"
    BLOB_DELETED = "an object is deleted"
    ROWS_BEGUN = "a write transaction is open, nothing is written"
    ROWS_PARTLY = "some rows of a transaction are written"
    ROWS_WRITTEN = "all its rows are written, nothing is committed"
    ROWS_COMMITTED = "it is committed, the caller does not know"
    VECTORS_MADE = "the embedder has answered, no vector is stored"
    INDEX_DELETED = "keys are deleted from the index, others not written"
    INDEX_WRITTEN = "keys are written to the index, their outbox rows are still there"
    OUTBOX_CLEARED = "the outbox rows of what the index holds are gone"
    INDEX_RETIRED = "a purge has removed the files of the index, no key is queued"
    INDEX_CLEARED = "the index is emptied, no key is queued"
    REBUILD_MARKED = "the index says that a rebuild is begun, no key is queued"
    REBUILD_FILLED = "it holds every key, and still says that a rebuild is begun"
    PURGE_CLEANED = "a purge has taken the words out of other trajectories, all rows are there"
    PURGE_ERASED = "its rows are gone, their objects are not"
    PURGE_SWEPT = "objects are gone, index and database files may hold deleted content"
    DATABASE_COMPACTED = "the database is written anew, its log is not yet cut"
    EXPORT_WRITTEN = "an export is written under a temporary name"
    RESTORE_CHECKED = "every line of an export is checked, nothing is stored"
    RESTORE_STORED = "its trajectories are stored, no row is written"


Reached = Callable[[Point], None]


def go_on(_point: Point) -> None:
    """Do nothing: what a store does at its points unless it is opened with something else."""
