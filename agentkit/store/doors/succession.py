"""Changing the embedder: its vectors are made beside the old ones, compared, then switched to."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
import numpy.typing as npt
from sqlmodel import Session

from agentkit.errors import EmbedderError
from agentkit.ports import Embedder, EmbedderIdentity
from agentkit.records import Float32Array, Retrieval, Scope
from agentkit.store.doors.rebuild import RebuildDoor
from agentkit.store.doors.upkeep import EMBED_BATCH_KEYS
from agentkit.store.offload import offload
from agentkit.store.progress import Counted, Progress
from agentkit.store.rows import levels, outbox, retrievals, successor
from agentkit.store.rows.outbox import TextToEmbed
from agentkit.store.rows.pinned import get_pinned
from agentkit.store.trials import LogTrial, QueryTrial, try_query
from agentkit.store.values import FillReport, KeptVectors, SettleReport, SwitchReport
from agentkit.text import language_of

# Whoever writes all the while leaves less to catch up with each time.
MOST_ROUNDS = 20
# Some megabytes of vectors, and milliseconds under the write lock.
PAGE_MEMORIES = 500
# With 100,000 memories the cosines of so many queries take 25 MB for both embedders.
BATCH_QUERIES = 32


class SuccessionDoor(RebuildDoor):
    """What an operator does on the way from one embedder to another, for all users at once.

    Recall and writes of every process go on with the embedder in use all the while.
    """

    async def kept_vectors(self) -> tuple[KeptVectors, ...]:
        """Return how many vectors of each embedder there are, by fingerprint."""
        pinned = await self._database.read(get_pinned)
        used = None if pinned is None else pinned.fingerprint
        kept = await self._database.read(successor.count_vectors)
        return tuple(replace(one, in_use=one.fingerprint == used) for one in kept)

    async def pinned_embedder(self) -> EmbedderIdentity | None:
        """Return the embedder in use, or None while there are no vectors."""
        return await self._database.read(get_pinned)

    async def fill(self, new: Embedder, *, progress: Progress | None = None) -> FillReport:
        """Make the vectors of another embedder beside those in use.

        What is there already is not embedded again, so one that was broken off is gone on with.

        Args:
            new: The other embedder.
            progress: Told the number of keys that have its vector, and of all.

        Returns:
            What was done; memories written later are caught up with at the switch.

        Raises:
            EmbedderError: If it cannot be loaded or refuses; what was made until then stays.
        """
        identity = await new.identity()
        total = await self._database.read(successor.count_keys)
        lacking = await self._lacking(identity)
        counted = Counted(progress, done=total - lacking, total=total)
        counted.add(0)
        embedded = 0
        for _ in range(MOST_ROUNDS):
            if not lacking:
                break
            embedded += await self._sweep(new, identity, counted, most=lacking)
            lacking = await self._lacking(identity)
        return FillReport(embedder=identity.fingerprint, embedded=embedded, keys=total)

    async def try_log(
        self,
        old: Embedder,
        new: Embedder,
        *,
        limit: int,
        prepare: Callable[[str], str],
        progress: Progress | None = None,
    ) -> LogTrial:
        """Rank the memories for the last logged queries with both embedders, exactly.

        Args:
            old: The embedder in use.
            new: The other one, whose vectors are filled in; memories that lack a vector of
                either are left out.
            limit: Most records of the log to look at, at least 1.
            prepare: Gives the part of a query that recall searches with.
            progress: Told the number of queries ranked, and of all.

        Raises:
            InputError: If the limit is out of range.
            EmbedderError: If one of them cannot be loaded or refuses.
        """
        pair = _Pair(old, await old.identity(), new, await new.identity())
        logged = await self._database.read(
            lambda session: retrievals.last_retrievals(session, limit=limit)
        )
        counted = Counted(progress, total=len(logged))
        counted.add(0)
        trials: list[QueryTrial] = []
        in_order = sorted(logged, key=lambda one: (one.scope.user_id, one.scope.agent_id or ""))
        for scope, records in groupby(in_order, key=lambda one: one.scope):
            asked = list(records)
            for start in range(0, len(asked), BATCH_QUERIES):
                batch = asked[start : start + BATCH_QUERIES]
                trials += await self._try(batch, scope, pair, prepare=prepare)
                counted.add(len(batch))
        return LogTrial(
            old=pair.old_identity,
            new=pair.new_identity,
            logged=len(logged),
            queries=tuple(trials),
        )

    async def switch(self, new: Embedder, *, progress: Progress | None = None) -> SwitchReport:
        """Make another embedder the one in use, and fill the index from its vectors in SQL.

        Nothing is left without its vector: what was written meanwhile is embedded first, and the
        switch is one transaction that looks again. The old vectors stay until they are dropped.
        Doing it again finishes what was broken off.

        Args:
            new: The other embedder.
            progress: Told the keys that have its vector, then those in the index, and of all.

        Raises:
            EmbedderError: If it cannot be loaded or refuses, if others write faster than it
                embeds, or if another process changed the embedder meanwhile; then nothing changed.
            StoreError: If the index cannot be opened or written.
        """
        identity = await new.identity()
        old = await self._database.read(get_pinned)
        embedded = 0
        if old != identity:
            embedded = await self._change_over(new, identity, old=old, progress=progress)
        index = await self._level_index(identity, progress)
        was = None if old is None else old.fingerprint
        return SwitchReport(old=was, new=identity.fingerprint, embedded=embedded, index=index)

    async def drop_vectors(self, name: str) -> tuple[KeptVectors, ...]:
        """Delete the vectors of an embedder that is not in use.

        Args:
            name: Its name, for its vectors of every dimension, or its fingerprint.

        Returns:
            What was deleted, by fingerprint; empty where there was nothing.

        Raises:
            InputError: If it is the embedder in use; then nothing is deleted.
        """
        kept = await self.kept_vectors()
        named = [
            one for one in kept if name in (one.fingerprint, one.fingerprint.rpartition("@")[0])
        ]
        unused = tuple(one for one in named if not one.in_use)
        # Where it is the only one of that name, the transaction refuses it.
        for one in unused or named:
            await self._drop(one.fingerprint)
        return unused

    async def _lacking(self, identity: EmbedderIdentity) -> int:
        return await self._database.read(
            lambda session: outbox.count_without_vector(session, fingerprint=identity.fingerprint)
        )

    async def _sweep(
        self, new: Embedder, identity: EmbedderIdentity, counted: Counted, *, most: int
    ) -> int:
        """Embed what lacks a vector, from the first memory on; what comes in later is left."""
        made, seen, after = 0, 0, None
        while seen < most and (page := await self._unfilled(identity, after)):
            after = page[-1]
            seen += len(page)
            vectors = await new.embed([key.text for key in page], kind="document")
            if vectors.shape != (len(page), identity.dim):
                raise EmbedderError(
                    f"embedder {identity.name} answered shape {vectors.shape} for {len(page)} "
                    f"texts of {identity.dim} dimensions; nothing of them was written"
                )
            stored = await self._database.write(
                lambda session, page=page, vectors=vectors: successor.fill(
                    session, page, vectors, embedder=identity
                )
            )
            made += stored
            counted.add(stored)
        return made

    async def _unfilled(
        self, identity: EmbedderIdentity, after: TextToEmbed | None
    ) -> tuple[TextToEmbed, ...]:
        return await self._database.read(
            lambda session: successor.read_unfilled(
                session, fingerprint=identity.fingerprint, after=after, limit=EMBED_BATCH_KEYS
            )
        )

    async def _change_over(
        self,
        new: Embedder,
        identity: EmbedderIdentity,
        *,
        old: EmbedderIdentity | None,
        progress: Progress | None,
    ) -> int:
        embedded = 0
        for _ in range(MOST_ROUNDS):
            embedded += (await self.fill(new, progress=progress)).embedded
            done = await self._database.write(
                lambda session: successor.change_over(
                    session, old=old, new=identity, now=self._clock()
                )
            )
            if done:
                return embedded
        raise EmbedderError(
            f"memories are written faster than {identity.name} embeds them: after {MOST_ROUNDS} "
            "rounds some still lack a vector, and nothing was switched; try again when less is "
            "written",
            retryable=True,
        )

    async def _level_index(
        self, identity: EmbedderIdentity, progress: Progress | None
    ) -> SettleReport:
        """Fill the index from the outbox, where the change-over queued every key."""
        if not self._index.wanted:
            await offload(self._apply_outbox)
            return SettleReport()
        if self._index.retired:
            return await self._left_to_next()
        plan = await offload(lambda: self._begin_anew(identity))
        queued = await self._database.read(levels.read_outbox)
        await self._queue([name for name in plan.missing if name not in queued])
        if plan.owner_pid is not None:
            return await self._left_to(plan.owner_pid)
        indexed = await self._fill(plan, progress)
        return await offload(lambda: self._finish(identity, indexed=indexed))

    def _drop_page(self, fingerprint: str, after: str) -> str | None:
        return self._database.write_now(
            lambda session: successor.drop_page(
                session, fingerprint=fingerprint, after=after, limit=PAGE_MEMORIES
            )
        )

    async def _drop(self, fingerprint: str) -> None:
        after: str | None = ""
        while after is not None:
            after = await offload(lambda after=after: self._drop_page(fingerprint, after))

    async def _try(
        self,
        batch: Sequence[Retrieval],
        scope: Scope,
        pair: "_Pair",
        *,
        prepare: Callable[[str], str],
    ) -> list[QueryTrial]:
        texts = [prepare(one.query.text) for one in batch]
        old = await pair.old.embed(texts, kind="query")
        new = await pair.new.embed(texts, kind="query")
        scores = await self._database.read(
            lambda session: _scores(session, scope, pair, old=old, new=new)
        )
        return [
            try_query(
                scores.memory_ids,
                old=scores.old[place],
                new=scores.new[place],
                helpful={
                    verdict.memory_id for verdict in one.verdicts if verdict.kind == "helpful"
                },
                language=language_of(one.query.text),
            )
            for place, one in enumerate(batch)
            if scores.memory_ids and old[place].any() and new[place].any()
        ]


@dataclass(frozen=True, slots=True, eq=False)
class _Pair:
    """The embedder in use, and the one that may take its place."""

    old: Embedder
    old_identity: EmbedderIdentity
    new: Embedder
    new_identity: EmbedderIdentity


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Scores:
    """Cosine of the best key of each memory, for some queries.

    Attributes:
        memory_ids: Memories that have vectors of both embedders, sorted.
        old: shape (queries, len(memory_ids)), float32, with the embedder in use.
        new: The same with the other one.
    """

    memory_ids: list[str]
    old: Float32Array
    new: Float32Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Best:
    """Cosine of the best key of each memory of a page, with one embedder.

    Attributes:
        memory_ids: shape (memories,), sorted.
        cosines: shape (queries, memories), float32.
    """

    memory_ids: npt.NDArray[np.str_]
    cosines: Float32Array


def _scores(
    session: Session, scope: Scope, pair: _Pair, *, old: Float32Array, new: Float32Array
) -> _Scores:
    memory_ids: list[str] = []
    olds: list[Float32Array] = [np.zeros((len(old), 0), dtype=np.float32)]
    news: list[Float32Array] = [np.zeros((len(new), 0), dtype=np.float32)]
    after = ""
    while page := successor.read_scope_page(session, scope, after=after, limit=PAGE_MEMORIES):
        after = page[-1]
        by_old = _best(successor.read_vectors(session, page, embedder=pair.old_identity), old)
        by_new = _best(successor.read_vectors(session, page, embedder=pair.new_identity), new)
        both, at_old, at_new = np.intersect1d(
            by_old.memory_ids, by_new.memory_ids, assume_unique=True, return_indices=True
        )
        memory_ids += both.tolist()
        olds.append(by_old.cosines[:, at_old])
        news.append(by_new.cosines[:, at_new])
    return _Scores(
        memory_ids=memory_ids, old=np.concatenate(olds, axis=1), new=np.concatenate(news, axis=1)
    )


def _best(page: successor.VectorPage, queries: Float32Array) -> _Best:
    """Return the best cosine of each memory of a page, whose rows are sorted by memory."""
    names, first = np.unique(np.array(page.memory_ids, dtype=np.str_), return_index=True)
    if not len(names):
        return _Best(memory_ids=names, cosines=np.zeros((len(queries), 0), dtype=np.float32))
    best = np.maximum.reduceat(page.vectors @ queries.T, first, axis=0)
    return _Best(memory_ids=names, cosines=best.T)
