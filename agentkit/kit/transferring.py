"""Moving the memory of a project: into one file, and out of one."""

from pathlib import Path

from agentkit.errors import InputError
from agentkit.kit.running import Running
from agentkit.records import Scope
from agentkit.store import ExportReport, Progress, RestoreReport, merge_restored, offload, users_of


class Transferring(Running):
    """What is done with everything of a user, or of all, at once."""

    async def export_to(
        self, file: Path | str, *, scope: Scope | None, progress: Progress | None = None
    ) -> ExportReport:
        """Write everything of one user, or of all users, into one file.

        It is a whole copy: also what is forgotten, expired or archived, with its history,
        trajectories, vectors, jobs and the retrieval log.

        Args:
            file: Where it goes, replaced when the new one is complete; compressed where the name
                ends in `.gz`.
            scope: Whose, without an agent; None for all users.
            progress: Told, on a worker thread, how many records are written, and how many there
                are.

        Raises:
            InputError: If the scope has an agent, there is nothing of that user, or all are wanted
                where each has a store of his own.
            StoreError: If the database cannot be read or the file cannot be written.
        """
        await self.background.join(lane="log")
        if scope is None:
            stores = await self._parts.stores.all()
            if self._parts.settings.isolation == "physical":
                raise InputError(
                    f"there are {len(stores)} users, each with a store of his own, and a file "
                    "holds one state of one store: name the user to export"
                )
            return await stores[0].export_to(Path(file), scope=None, progress=progress)
        store = await self._parts.seen(scope)
        return await store.export_to(Path(file), scope=scope, progress=progress)

    async def restore_from(
        self,
        file: Path | str,
        *,
        scope: Scope | None = None,
        as_scope: Scope | None = None,
        with_purged: bool = False,
        progress: Progress | None = None,
    ) -> RestoreReport:
        """Put everything that an export holds back as it was, or nothing.

        Nothing is reflected on again, no memory is embedded again. What is here already, the same
        or further on, is left as it is, so that restoring twice adds nothing. `settle` then brings
        the index level.

        Args:
            file: The export.
            scope: The user whose part alone is wanted, without an agent; None for all.
            as_scope: The user that this part becomes here, or None to keep the name.
            with_purged: Whether what a purge erased here since the file was written comes back too;
                else it stays gone.
            progress: Told, on a worker thread, how much is done and how much there is.

        Raises:
            ArchiveError: If the file is damaged, or a record is here in another state; names lines
                and records. Nothing was written then.
            SchemaError: If the file was written by a newer release.
            InputError: If the file holds nothing of that user, or a scope has an agent.
            StoreError: If the database or the disk refuses; no row was written then.
        """
        report = await self._restore(
            Path(file),
            scope=scope,
            as_scope=as_scope,
            with_purged=with_purged,
            progress=progress,
        )
        # Recall would guess other tags in a project that never embedded the taxonomy's examples.
        await self._recaller.intent.prepare()
        return report

    async def _restore(
        self,
        file: Path,
        *,
        scope: Scope | None,
        as_scope: Scope | None,
        with_purged: bool,
        progress: Progress | None,
    ) -> RestoreReport:
        is_shared = self._parts.settings.isolation == "logical"
        if scope is not None or is_shared:
            (store,) = await self._parts.stores_of(None if is_shared else as_scope or scope)
            return await store.restore_from(
                file, scope=scope, as_scope=as_scope, with_purged=with_purged, progress=progress
            )
        reports: list[RestoreReport] = []
        for user_id in await offload(lambda: users_of(file)):
            store = await self._parts.store(Scope(user_id))
            reports.append(
                await store.restore_from(
                    file, scope=Scope(user_id), with_purged=with_purged, progress=progress
                )
            )
        return merge_restored(reports) if reports else RestoreReport(file=file, added={}, known={})
