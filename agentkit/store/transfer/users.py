"""Whose records a file holds."""

from pathlib import Path

from agentkit.store.transfer.archive import ArchiveReader
from agentkit.store.transfer.formats import FormatPlan
from agentkit.store.transfer.selecting import Selection, Sieve


def users_of(file: Path) -> tuple[str, ...]:
    """Return the users of whom an export holds something, sorted.

    Args:
        file: The export.

    Raises:
        ArchiveError: If the file is no export, is cut, or holds a damaged line.
        SchemaError: If it was written by a newer release.
    """
    reader, sieve = ArchiveReader(file, plan=FormatPlan()), Sieve(Selection())
    lines = (line for page in sieve.pages(reader.entries()) for line in page)
    found = {line.record.user_id for line in lines if line.record.user_id is not None}
    sieve.refuse_damaged(file)
    return tuple(sorted(found))
