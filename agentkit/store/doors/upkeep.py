"""Keeping the copies level with SQL."""

from collections import defaultdict
from collections.abc import Sequence

from sqlmodel import Session

from agentkit.errors import EmbedderError, StoreError
from agentkit.ports import Embedder, EmbedderIdentity, VectorIndex
from agentkit.records import Float32Array
from agentkit.store.blobs import episode_of
from agentkit.store.doors.room import Room
from agentkit.store.offload import offload
from agentkit.store.points import Point
from agentkit.store.rows import levels, outbox
from agentkit.store.rows.change import Change
from agentkit.store.rows.outbox import TextToEmbed
from agentkit.store.rows.pinned import get_pinned
from agentkit.store.values import SettleReport

# A provider answers this many short texts in about a second, and a failure loses no more.
EMBED_BATCH_KEYS = 64
# Chroma takes about a second for this many, so a reader of the folder never waits long.
INDEX_BATCH_KEYS = 2_000


class UpkeepDoor(Room):
    """What is done in the background."""

    async def settle(self) -> SettleReport:
        """Embed the keys that have no vector yet, then bring the vector index level.

        Doing it twice, or in two processes at once, is harmless. Recall never depends on it for
        being right: until then a memory is found by its words. After a purge, keys wait for the
        next process to write them into an embedded Chroma.

        Returns:
            What was done; a failing embedder or index is told in it and leaves its work for later.
        """
        problems: list[str] = []
        embedded = 0
        if self._embedder is not None:
            embedded = await self._embed_waiting(self._embedder, problems)
        indexed = 0
        try:
            await offload(self._sweep_stale)
            indexed = await offload(self._apply_outbox)
        except StoreError as error:
            problems.append(str(error))
        return SettleReport(
            embedded=embedded,
            indexed=indexed,
            waiting=await self._database.read(outbox.count_waiting),
            problem="; ".join(problems),
        )

    async def _embed_waiting(self, embedder: Embedder, problems: list[str]) -> int:
        try:
            identity = await self._own_identity()
        except EmbedderError as error:
            problems.append(str(error))
            return 0
        stored = 0
        while identity is not None:
            texts = await self._database.read(
                lambda session: outbox.texts_to_embed(
                    session, fingerprint=identity.fingerprint, limit=EMBED_BATCH_KEYS
                )
            )
            if not texts:
                break
            try:
                vectors = await embedder.embed([key.text for key in texts], kind="document")
                self._reached(Point.VECTORS_MADE)
                stored += await self._store_vectors(texts, vectors, identity=identity)
            except EmbedderError as error:
                # It failed, or another process changed over to another one in this moment.
                problems.append(str(error))
                break
        return stored

    async def _store_vectors(
        self, texts: Sequence[TextToEmbed], vectors: Float32Array, *, identity: EmbedderIdentity
    ) -> int:
        if vectors.shape != (len(texts), identity.dim):
            raise EmbedderError(
                f"embedder {identity.name} answered shape {vectors.shape} for {len(texts)} texts "
                f"of {identity.dim} dimensions; nothing was written"
            )
        places: dict[str, list[int]] = defaultdict(list)
        for place, key in enumerate(texts):
            places[key.user_id].append(place)

        def work(session: Session) -> int:
            self._pin(session, identity)
            return sum(
                outbox.store_vectors(
                    Change(session, user_id=user_id, now=self._clock()),
                    [texts[place] for place in own],
                    vectors[own],
                    embedder=identity,
                )
                for user_id, own in sorted(places.items())
            )

        return await self._database.write(work)

    def _sweep_stale(self) -> None:
        """Delete the objects that no row points at any more since a purge took the last."""
        stale = self._database.read_now(outbox.stale_objects)
        if not stale:
            return
        episodes = frozenset(stale.values())
        held = {uri for uri in self._blobs.uris() if episode_of(uri) in episodes}
        used = self._database.read_now(lambda session: levels.used_uris(session, held))
        for uri in sorted(held - used):
            self._blobs.delete(uri)
        self._database.write_now(lambda session: outbox.drop_rows(session, tuple(stale)))

    def _apply_outbox(self) -> int:
        """Do what the outbox says, where this process may, and return how many keys were done."""
        return sum(iter(self._apply_next, None))

    def _apply_next(self) -> int | None:
        """Do the oldest part of the outbox.

        Returns:
            How many keys were done, or None when there is nothing that this process can do.
        """
        with self._indexing:
            pinned = self._database.read_now(get_pinned)
            work = None if pinned is None else self._next_work(pinned)
            if pinned is None or work is None:
                return None
            if self._index.retires and self._retire_for_purged():
                return 0
            index = self._index.owned(pinned)
            if index is None and self._index.wanted:
                return None
            if index is not None and self._forget_purged(work, index):
                return 0
            return self._apply(work, index)

    def _retire_for_purged(self) -> bool:
        """Empty an embedded Chroma when memories were purged, and return whether so.

        It is not opened again here, see `IndexSlot`: all keys wait for the next process. A crash
        in between repeats it, for the rows of the purged memories go last.
        """
        purged = self._database.read_now(outbox.purged_seqs)
        if not purged or not self._index.retire():
            return False
        self._reached(Point.INDEX_RETIRED)
        self._database.write_now(lambda session: outbox.queue_everything(session, done=purged))
        return True

    def _forget_purged(self, work: outbox.IndexWork, index: VectorIndex) -> bool:
        """Write the index anew when memories of the work were purged, and return whether so.

        No index forgets what is deleted from it: see `ChromaIndex.clear`. A crash in between
        repeats it, for the rows go last.
        """
        if index.keeps_deleted or all(key.revision is not None for key in work.keys):
            return False
        purged = self._database.read_now(outbox.purged_seqs)
        if not purged:
            return False
        index.clear()
        self._reached(Point.INDEX_CLEARED)
        self._database.write_now(lambda session: outbox.queue_everything(session, done=purged))
        return True

    def _next_work(self, pinned: EmbedderIdentity) -> outbox.IndexWork | None:
        work = self._database.read_now(
            lambda session: outbox.index_work(
                session, fingerprint=pinned.fingerprint, limit=INDEX_BATCH_KEYS
            )
        )
        return work if work.seqs else None

    def _apply(self, work: outbox.IndexWork, index: VectorIndex | None) -> int:
        """Change the index, then drop the rows; a crash in between repeats it, without harm."""
        if index is not None:
            index.delete(work.deletes)
            self._reached(Point.INDEX_DELETED)
            index.upsert(work.upserts)
            self._reached(Point.INDEX_WRITTEN)
        self._database.write_now(lambda session: outbox.finish_work(session, work))
        self._reached(Point.OUTBOX_CLEARED)
        return 0 if index is None else len(work.deletes) + len(work.upserts)
