"""Moving a store: into one file, and out of one."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sqlmodel import Session

from agentkit.errors import InputError, StoreError
from agentkit.ports import EmbedderIdentity
from agentkit.records import Scope
from agentkit.store.doors.room import Named, Room
from agentkit.store.offload import offload
from agentkit.store.points import Point
from agentkit.store.progress import Progress
from agentkit.store.rows.pinned import get_pinned, pin
from agentkit.store.transfer.archive import ArchiveReader
from agentkit.store.transfer.exporting import export
from agentkit.store.transfer.formats import FormatPlan
from agentkit.store.transfer.reports import ExportReport, RestoreReport
from agentkit.store.transfer.restoring import Restored, Restoring, address_notes
from agentkit.store.transfer.selecting import Selection

Result = TypeVar("Result")


class TransferDoor(Room):
    """What is done with everything of a user, or of all, at once."""

    async def export_to(
        self, file: Path, *, scope: Scope | None, progress: Progress | None = None
    ) -> ExportReport:
        """Write everything of one user, or of all users, into one file.

        It is a whole copy: also what is forgotten, expired or archived, with its history. The file
        appears when it is complete, and takes the place of one of that name.

        Args:
            file: Where it goes; compressed where the name ends in `.gz`.
            scope: Whose, without an agent; None for all users.
            progress: Told, on a worker thread, how many records are written, and how many there
                are.

        Raises:
            InputError: If the scope has an agent, or there is nothing of that user.
            StoreError: If the database cannot be read or the file cannot be written.
        """
        _refuse_agent(scope, what="an export")
        user_id = None if scope is None else scope.user_id

        def work(told: Progress) -> ExportReport:
            return self._database.read_now(
                lambda session: export(
                    session,
                    user_id=user_id,
                    blobs=self._blobs,
                    file=file,
                    now=self._clock(),
                    progress=told,
                    reached=self._reached,
                )
            )

        return await _stoppable(work, progress)

    async def restore_from(
        self,
        file: Path,
        *,
        scope: Scope | None = None,
        as_scope: Scope | None = None,
        with_purged: bool = False,
        progress: Progress | None = None,
        formats: FormatPlan | None = None,
    ) -> RestoreReport:
        """Put everything that an export holds back as it was, or nothing.

        What is here already, the same or further on, is left as it is, so that restoring twice
        adds nothing. Other processes cannot write while the rows are written. Afterwards `settle`
        brings the vector index level.

        Args:
            file: The export.
            scope: The user whose part alone is wanted, without an agent; None for all.
            as_scope: The user that this part becomes here, or None to keep the name.
            with_purged: Whether what a purge erased here since the file was written comes back too;
                else it stays gone.
            progress: Told, on a worker thread, how much is done and how much there is.
            formats: Formats that can be read, or None for those of this release.

        Raises:
            ArchiveError: If the file is damaged, or a record is here in another state; names lines
                and records. Nothing was written then.
            SchemaError: If the file was written by a newer release.
            InputError: If the file holds nothing of that user, or a scope has an agent.
            StoreError: If the database or the blobs refuse; no row was written then.
        """
        if as_scope is not None and scope is None:
            raise InputError("a new name needs the user who gets it; name that user too")
        _refuse_agent(scope, what="a restore")
        _refuse_agent(as_scope, what="a restore")
        selection = Selection(
            user_id=None if scope is None else scope.user_id,
            as_user_id=None if as_scope is None else as_scope.user_id,
        )

        def work(told: Progress) -> RestoreReport:
            reader = ArchiveReader(file, plan=formats or FormatPlan())
            restoring = Restoring(
                reader,
                selection=selection,
                database=self._database,
                blobs=self._blobs,
                progress=told,
                now=self._clock(),
                with_purged=with_purged,
            )
            return self._restore(reader, restoring)

        return await _stoppable(work, progress)

    def _restore(self, reader: ArchiveReader, restoring: Restoring) -> RestoreReport:
        embedder = reader.header.embedder
        with self._database.sweep_lock.storing(), address_notes() as addresses:
            restoring.check()
            self._reached(Point.RESTORE_CHECKED)
            restoring.store_trajectories(addresses)
            self._reached(Point.RESTORE_STORED)
            addresses.seek(0)

            def rows(session: Session) -> tuple[Restored, str]:
                note = self._take_pin(session, embedder)
                return restoring.write(session, addresses), note

            restored, note = self._database.write_now(rows)
        return RestoreReport(
            file=reader.file,
            added=+restored.added,
            known=+restored.known,
            purged=+restored.purged,
            kept=restored.kept,
            embedder_note=note,
        )

    def _take_pin(self, session: Session, embedder: EmbedderIdentity | None) -> str:
        """Pin this store to the embedder of a file where it may be; else say what comes of it."""
        if embedder is None:
            return ""
        pinned = get_pinned(session)
        own = self._embedder.name if isinstance(self._embedder, Named) else None
        if pinned is None and own in (None, embedder.name):
            pin(session, embedder, now=self._clock())
            return ""
        here = own if pinned is None else pinned.fingerprint
        if pinned == embedder:
            return ""
        return (
            f"the vectors in the file are of embedder {embedder.fingerprint}, this store uses "
            f"{here}: they are kept, and every memory is embedded anew; until then it is found by "
            "its words"
        )


def _refuse_agent(scope: Scope | None, *, what: str) -> None:
    if scope is not None and scope.agent_id is not None:
        raise InputError(f"{what} holds all of a user; leave out the agent {scope.agent_id!r}")


async def _stoppable(work: Callable[[Progress], Result], progress: Progress | None) -> Result:
    """Return what work returns; where its caller gives up, it ends at the next step.

    Else a process that was interrupted would wait for a long export to end.
    """
    stop = threading.Event()

    def told(done: int, total: int) -> None:
        if stop.is_set():
            raise StoreError("it was interrupted", retryable=True)
        if progress is not None:
            progress(done, total)

    try:
        return await offload(lambda: work(told))
    except asyncio.CancelledError:
        stop.set()
        raise
