"""Proving that SQL, index and blobs agree, and mending what can be mended."""

from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

from sqlmodel import Session

from agentkit.errors import StoreError
from agentkit.ports import EmbedderIdentity, VectorIndex
from agentkit.store.consistency import (
    Consistency,
    Disagreement,
    DisagreementKind,
    Findings,
    compare,
    steady,
)
from agentkit.store.doors.rebuild import RebuildDoor
from agentkit.store.offload import offload
from agentkit.store.progress import Counted, Progress
from agentkit.store.rows import levels, outbox
from agentkit.store.rows.levels import KeyState
from agentkit.store.rows.pinned import get_pinned
from agentkit.store.trajectories import unpack_trajectory

# A page of vectors of 512 numbers is 4 MB, and its ids fit one call of every index.
PAGE_KEYS = 2_000
PAGE_BLOBS = 100
# A blob is written before the row that points at it; no sealing takes this long.
ORPHAN_AGE = timedelta(hours=1)
_UUID7 = 7
# What is mended by queueing the key and settling.
_QUEUED: frozenset[DisagreementKind] = frozenset(
    {"key without vector", "vector damaged", "index lacks key", "index differs"}
)


class ConsistencyDoor(RebuildDoor):
    """Compares the copies with SQL, key by key and blob by blob."""

    async def prove(self, *, progress: Progress | None = None) -> Consistency:
        """Compare every key with the index, and read every trajectory; nothing is changed.

        Other processes may write meanwhile: a key that moves is not held against them.

        Args:
            progress: Told the number of keys and trajectories compared so far, and of all.

        Returns:
            What was looked at and what is wrong.

        Raises:
            StoreError: If the database cannot be read.
        """
        findings = Findings()
        pinned = await self._database.read(get_pinned)
        index = await offload(lambda: self._index_to_prove(pinned, findings))
        counted = Counted(progress, total=await self._database.read(levels.count_all))
        waiting = await self._database.read(levels.read_outbox)
        bare = await self._prove_keys(_fingerprint(pinned), index, findings, counted)
        if self._index.retired:
            # They wait for the next process, as is right after a purge.
            waiting = set[str]()
        if self._embedder is None:
            # Nothing will embed them: they are found by their words, and that is how it is set.
            waiting -= bare
        else:
            findings.add("key without vector", bare)
        findings.add("outbox waiting", waiting)
        indexed = None
        if pinned is not None and index is not None:
            indexed = await offload(lambda: self._prove_strangers(pinned, index, findings))
        keys = counted.done
        await self._prove_blobs(findings, counted)
        return Consistency(
            keys=keys,
            indexed=indexed,
            blobs=counted.done - keys,
            disagreements=findings.disagreements(),
        )

    async def mend(self, found: Consistency, *, progress: Progress | None = None) -> None:
        """Mend what a proof found; what is beyond mending stays. Prove again afterwards.

        Args:
            found: The proof.
            progress: Told the progress of a rebuild that has to be gone on with.

        Raises:
            StoreError: If database, index or blobs cannot be written, or trajectories would have
                to be deleted while a restore is going on.
            EmbedderError: If the embedder is another than the pinned one.
        """
        pinned = await self._database.read(get_pinned)
        wrong = {item.kind: item for item in found.disagreements}
        if "blob orphaned" in wrong:
            # First, for during a restore it is refused, and then nothing is half mended.
            uris = wrong["blob orphaned"].subjects
            await offload(lambda: self._remove_orphans(uris))
        await self._queue_wrong(_fingerprint(pinned), wrong.values())
        strangers = wrong.get("index has foreign key")
        if pinned is not None and strangers is not None:
            await offload(lambda: self._remove_strangers(pinned, strangers.subjects))
        if "rebuild unfinished" in wrong:
            await self.reindex(progress=progress)
        if {"outbox waiting", "index has foreign key", *_QUEUED} & wrong.keys():
            await self.settle()

    def _index_to_prove(
        self, pinned: EmbedderIdentity | None, findings: Findings
    ) -> VectorIndex | None:
        if pinned is None or not self._index.wanted or self._index.retired:
            return None
        try:
            index = self._index.owned(pinned)
        except StoreError as error:
            findings.add("index unproven", [str(error)])
            return None
        if index is None:
            findings.add("index unproven", [f"process {self._index.owner_pid} owns it"])
        elif index.is_building():
            findings.add("rebuild unfinished", ["a rebuild was begun and not finished"])
        return index

    async def _prove_keys(
        self,
        fingerprint: str,
        index: VectorIndex | None,
        findings: Findings,
        counted: Counted,
    ) -> set[str]:
        """Compare every key, and return the ids of those that want a vector and have none."""
        last: KeyState | None = None
        bare: set[str] = set()
        while True:
            page = await self._database.read(
                lambda session, last=last: levels.read_keys(
                    session, fingerprint=fingerprint, after=last, limit=PAGE_KEYS
                )
            )
            if not page:
                return bare
            last = page[-1]
            bare.update(key.key_id for key in page if key.visible and key.vector is None)
            findings.add("vector damaged", (key.key_id for key in page if key.damaged))
            if index is not None:
                await offload(
                    lambda page=page: self._prove_page(fingerprint, page, index, findings)
                )
            counted.add(len(page))

    def _prove_page(
        self, fingerprint: str, page: Sequence[KeyState], index: VectorIndex, findings: Findings
    ) -> None:
        names = [key.key_id for key in page]
        with self._indexing:
            held = {item.key_id: item for item in index.get(names)}
        after = self._database.read_now(
            lambda session: levels.find_keys(session, names, fingerprint=fingerprint)
        )
        compare(steady(page, after), held, findings)

    def _prove_strangers(
        self, pinned: EmbedderIdentity, index: VectorIndex, findings: Findings
    ) -> int:
        with self._indexing:
            held = index.ids()
        findings.add("index has foreign key", self._strangers(pinned, index, held))
        return len(held)

    def _strangers(
        self, pinned: EmbedderIdentity, index: VectorIndex, names: Collection[str]
    ) -> list[str]:
        """Return those keys that the index holds still, and that SQL neither wants nor awaits."""
        with self._indexing:
            suspects = set(names) - self._wanted(pinned)
            held = [item.key_id for item in index.get(sorted(suspects))]
        known = self._database.read_now(
            lambda session: levels.find_keys(session, held, fingerprint=pinned.fingerprint)
        )
        return [
            name
            for name in held
            if name not in known or not (known[name].queued or known[name].item())
        ]

    def _remove_strangers(self, pinned: EmbedderIdentity, names: Collection[str]) -> None:
        index = self._index.owned(pinned)
        if index is None:
            return
        strangers = self._strangers(pinned, index, names)
        with self._indexing:
            index.delete(strangers)
        # One that another process of a server wanted in this moment is written again.
        self._database.write_now(lambda session: outbox.queue_keys(session, strangers))

    async def _queue_wrong(self, fingerprint: str, wrong: Iterable[Disagreement]) -> None:
        for item in wrong:
            if item.kind == "vector damaged":
                await self._drop_damaged(fingerprint, item.subjects)
            if item.kind in _QUEUED:
                await self._queue(item.subjects)

    async def _drop_damaged(self, fingerprint: str, names: Collection[str]) -> None:
        def work(session: Session) -> None:
            found = levels.find_keys(session, names, fingerprint=fingerprint)
            damaged = [key for key in found.values() if key.damaged]
            levels.drop_vectors(session, damaged, fingerprint=fingerprint)

        await self._database.write(work)

    async def _prove_blobs(self, findings: Findings, counted: Counted) -> None:
        # The addresses come first: a blob of a later row cannot be missing among earlier ones.
        after, held = "", await offload(self._blobs.uris)
        while page := await self._database.read(
            lambda session, after=after: levels.read_sealed(session, after=after, limit=PAGE_BLOBS)
        ):
            after = page[-1].episode_id
            await offload(lambda page=page: [self._prove_blob(item, findings) for item in page])
            counted.add(len(page))
        orphans = await offload(lambda: self._orphans(held))
        findings.add("blob orphaned", (uri for uri in orphans if _made_at(uri) is not None))
        findings.add("blob unknown", (uri for uri in orphans if _made_at(uri) is None))

    def _prove_blob(self, sealed: levels.Sealed, findings: Findings) -> None:
        try:
            data = self._blobs.get(sealed.uri)
        except StoreError as error:
            # One that cannot be read now may be there: only what is surely gone is called so.
            kind = "blob unread" if error.retryable else "blob missing"
            findings.add(kind, [sealed.episode_id])
            return
        try:
            unpack_trajectory(data, sha256=sealed.sha256)
        except StoreError:
            findings.add("blob damaged", [sealed.episode_id])

    def _orphans(self, uris: Collection[str]) -> list[str]:
        used = self._database.read_now(lambda session: levels.used_uris(session, uris))
        eldest = self._clock() - ORPHAN_AGE
        return sorted(uri for uri in set(uris) - used if (_made_at(uri) or eldest) <= eldest)

    def _remove_orphans(self, uris: Collection[str]) -> None:
        with self._database.sweep_lock.sweeping(what="mending", patience_s=0):
            for uri in self._orphans(uris):
                self._blobs.delete(uri)


def _fingerprint(pinned: EmbedderIdentity | None) -> str:
    """Return the fingerprint of the vectors wanted; none has the empty one."""
    return "" if pinned is None else pinned.fingerprint


def _made_at(uri: str) -> datetime | None:
    """Return when the last id in a blob's name was made, or None where the first is none.

    The first is its episode's; one that a purge has written anew has a second one.
    """
    made_at: datetime | None = None
    for part in uri.rpartition("/")[2].split("."):
        try:
            value = UUID(part)
        except ValueError:
            break
        if value.version == _UUID7:
            made_at = datetime.fromtimestamp((value.int >> 80) / 1000, tz=UTC)
    return made_at
