"""What `doctor` asks a store."""

from sqlmodel import Session, select

from agentkit.errors import StoreError
from agentkit.ports import EmbedderIdentity
from agentkit.store.doors.room import Room
from agentkit.store.engine import product_of
from agentkit.store.migrate import head_revision
from agentkit.store.migrations import REVISIONS
from agentkit.store.offload import offload
from agentkit.store.rows import outbox, successor
from agentkit.store.rows.pinned import get_pinned
from agentkit.store.tables import EpisodeRow
from agentkit.store.values import Check

SETTLE = "done at the next write or start; if it stays, see what the embedder check says"
RETIRED = (
    "emptied by a purge; this process writes it no more, for its memory may still hold what was "
    "purged: recall scores exactly from SQL, and the next process rebuilds the index"
)
BLOBS = "see blobs_url and the AWS_ names in the environment"
_SHOWN_NAMES = 3


class CheckDoor(Room):
    """Looks whether database, embedder, index and blobs agree; changes nothing."""

    async def check(self) -> tuple[Check, ...]:
        """Return what was found: schema, embedder, vectors, outbox, index, blobs, in this order.

        After the vectors comes a line for each other embedder whose vectors are kept.
        """
        pinned = await self._database.read(get_pinned)
        return (
            await self._check_schema(),
            await self._check_embedder(pinned),
            await self._check_vectors(pinned),
            *await self._check_kept(pinned),
            await self._check_outbox(),
            await offload(lambda: self._check_index(pinned)),
            await offload(self._check_blobs),
        )

    async def _check_schema(self) -> Check:
        found = await self._database.read(lambda session: head_revision(session.connection()))
        product = await self._database.read(lambda session: product_of(session.connection()))
        return Check(
            name="schema",
            ok=found == REVISIONS[-1],
            detail=f"revision {found} in {product}",
            fix="" if found == REVISIONS[-1] else f"open it with the release of {REVISIONS[-1]}",
        )

    async def _check_embedder(self, pinned: EmbedderIdentity | None) -> Check:
        name = "embedder"
        if self._embedder is None:
            held = "" if pinned is None else f"; vectors of {pinned.name} are kept"
            return Check(name=name, ok=True, detail=f"none: recall goes by words alone{held}")
        try:
            identity = await self._embedder.identity()
            await self._own_identity()
        except StoreError as error:
            return Check(name=name, ok=False, detail=str(error), fix="change `embedder`")
        state = "nothing embedded yet" if pinned is None else "pinned"
        return Check(
            name=name, ok=True, detail=f"{identity.name}, {identity.dim} dimensions, {state}"
        )

    async def _check_vectors(self, pinned: EmbedderIdentity | None) -> Check:
        if pinned is None or self._embedder is None:
            return Check(name="vectors", ok=True, detail="none needed yet")
        missing = await self._database.read(
            lambda session: outbox.count_without_vector(session, fingerprint=pinned.fingerprint)
        )
        return Check(
            name="vectors",
            ok=missing == 0,
            detail=f"{missing} keys without a vector; they are found by their words",
            fix=SETTLE if missing else "",
        )

    async def _check_kept(self, pinned: EmbedderIdentity | None) -> tuple[Check, ...]:
        kept = await self._database.read(successor.count_vectors)
        used = None if pinned is None else pinned.fingerprint
        return tuple(
            Check(
                name="other vectors",
                ok=True,
                detail=f"{one.vectors} of {one.fingerprint} are kept ({one.nbytes:,} bytes); "
                f"`agentkit reindex --embedder {one.fingerprint.rpartition('@')[0]}` goes on with "
                "them (--switch) or removes them (--drop)",
            )
            for one in kept
            if one.fingerprint != used
        )

    async def _check_outbox(self) -> Check:
        waiting = await self._database.read(outbox.count_waiting)
        settled = waiting == 0 or self._embedder is None or self._index.retired
        return Check(
            name="outbox",
            ok=settled,
            detail=f"{waiting} keys waiting for the index",
            fix="" if settled else SETTLE,
        )

    def _check_index(self, pinned: EmbedderIdentity | None) -> Check:
        name = "index"
        if not self._index.wanted:
            return Check(name=name, ok=True, detail="none: recall scores exactly from SQL")
        if pinned is None:
            return Check(name=name, ok=True, detail="nothing to index yet")
        try:
            index = self._index.owned(pinned)
            held = None if index is None else index.ids()
        except StoreError as error:
            return Check(name=name, ok=False, detail=str(error), fix="delete the index folder")
        if self._index.retired:
            return Check(name=name, ok=True, detail=RETIRED)
        if held is None:
            owner = f"process {self._index.owner_pid} owns it; recall scores exactly from SQL"
            return Check(name=name, ok=True, detail=owner)
        wanted = self._database.read_now(
            lambda session: outbox.indexable_ids(session, fingerprint=pinned.fingerprint)
        )
        missing, extra = len(wanted - held), len(held - wanted)
        return Check(
            name=name,
            ok=not missing and not extra,
            detail=f"{len(held)} keys, {missing} missing, {extra} too many",
            fix="agentkit doctor --mend, or agentkit reindex" if missing or extra else "",
        )

    def _check_blobs(self) -> Check:
        def episodes(session: Session) -> dict[str, str]:
            rows = session.exec(select(EpisodeRow.trajectory_uri, EpisodeRow.id))
            return dict(rows.all())

        wanted = self._database.read_now(episodes)
        try:
            held = self._blobs.uris()
        except StoreError as error:
            return Check(name="blobs", ok=False, detail=str(error), fix=BLOBS)
        lost = sorted(wanted[uri] for uri in wanted.keys() - held)
        names = ", ".join(lost[:_SHOWN_NAMES])
        return Check(
            name="blobs",
            ok=not lost,
            detail=f"{len(lost)} of {len(wanted)} trajectories are missing"
            + (f": {names}" if lost else ""),
            fix="restore the trajectories from a backup" if lost else "",
        )
