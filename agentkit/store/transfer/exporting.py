"""From the tables into a file, one record at a time."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from sqlmodel import Session

from agentkit.errors import InputError, StoreError
from agentkit.ports import BlobStore
from agentkit.store.migrations import REVISIONS
from agentkit.store.points import Point, Reached, go_on
from agentkit.store.progress import Progress
from agentkit.store.rows.pinned import get_pinned
from agentkit.store.trajectories import unpack_content
from agentkit.store.transfer.archive import ArchiveWriter, written_whole
from agentkit.store.transfer.codec import encode
from agentkit.store.transfer.formats import FORMAT, Header, release
from agentkit.store.transfer.kinds import Record
from agentkit.store.transfer.reports import ExportReport
from agentkit.store.transfer.tables_read import count_records, read_records

# A bar that moves more often is not seen to move.
TICK_RECORDS = 50


def export(
    session: Session,
    *,
    user_id: str | None,
    blobs: BlobStore,
    file: Path,
    now: datetime,
    progress: Progress,
    reached: Reached = go_on,
) -> ExportReport:
    """Write everything of one user, or of all, into a file, and return what was written.

    Args:
        session: One snapshot.
        user_id: Whose, or None for all users.
        blobs: Where the trajectories are.
        file: Where it goes; what is there stays as it is until all was written.
        now: Current time, UTC.
        progress: Told how many records are written, and how many there are.
        reached: Told when the file is written and has not got its name.

    Raises:
        InputError: If there is nothing of that user.
        StoreError: If the file cannot be written.
    """
    connection = session.connection()
    counts = count_records(connection, user_id=user_id)
    total = sum(counts.values())
    if user_id is not None and not total:
        raise InputError(f"there is nothing of user {user_id!r} here; check the name")
    header = Header(
        format=FORMAT,
        schema=REVISIONS[-1],
        agentkit=release(),
        exported_at=now,
        embedder=get_pinned(session),
        counts=counts,
    )
    trajectories = _Trajectories(blobs)
    with written_whole(file) as out:
        writer = ArchiveWriter(out, header)
        records = trajectories.added(read_records(connection, user_id=user_id))
        for done, record in enumerate(records, start=1):
            writer.write(encode(record))
            if done % TICK_RECORDS == 0:
                progress(done, total)
        if writer.counts != {name: count for name, count in counts.items() if count}:
            raise StoreError("the store changed while it was read; export it again", retryable=True)
        digest = writer.finish()
        reached(Point.EXPORT_WRITTEN)
    progress(total, total)
    return ExportReport(
        file=file,
        counts=counts,
        size_bytes=file.stat().st_size,
        sha256=digest,
        lost=tuple(trajectories.lost),
    )


class _Trajectories:
    """Puts the trajectory into each episode, and keeps the ids of those that have none."""

    def __init__(self, blobs: BlobStore) -> None:
        self._blobs = blobs
        self.lost: list[str] = []

    def added(self, records: Iterator[Record]) -> Iterator[Record]:
        """Yield the records, episodes with their trajectories."""
        for record in records:
            yield self._with_trajectory(record) if record.kind.name == "episode" else record

    def _with_trajectory(self, record: Record) -> Record:
        values = record.values
        try:
            data = self._blobs.get(str(values["trajectory_uri"]))
            content = unpack_content(data, sha256=str(values["trajectory_sha256"]))
        except StoreError as error:
            if error.retryable:
                raise
            self.lost.append(str(values["id"]))
            return record
        return replace(record, trajectory=content)
