"""The store: SQL is the truth, everything else can be rebuilt from it."""

from pathlib import Path

from agentkit.ports import BlobStore, Clock, Embedder, VectorIndex
from agentkit.store.database import Database
from agentkit.store.doors.candidates import CandidateDoor
from agentkit.store.doors.checks import CheckDoor
from agentkit.store.doors.consistency import ConsistencyDoor
from agentkit.store.doors.editing import EditDoor
from agentkit.store.doors.episodes import EpisodeDoor
from agentkit.store.doors.jobs import JobDoor
from agentkit.store.doors.memories import MemoryDoor
from agentkit.store.doors.purging import PurgeDoor
from agentkit.store.doors.retrievals import RetrievalDoor
from agentkit.store.doors.succession import SuccessionDoor
from agentkit.store.doors.transfer import TransferDoor
from agentkit.store.engine import database_address, database_file, open_engine
from agentkit.store.migrate import SchemaPlan, migrate
from agentkit.store.ownership import IndexSlot, chroma_slot
from agentkit.store.points import Reached, go_on


class Store(
    MemoryDoor,
    CandidateDoor,
    EditDoor,
    EpisodeDoor,
    JobDoor,
    RetrievalDoor,
    PurgeDoor,
    ConsistencyDoor,
    SuccessionDoor,
    CheckDoor,
    TransferDoor,
):
    """Memories, episodes, jobs and the retrieval log of every user, each behind its scope.

    A foreign id and a missing id look the same. Methods may be called from any event loop; what
    blocks runs on worker threads.
    """

    @classmethod
    def open(
        cls,
        *,
        database_url: str,
        blobs: BlobStore,
        index_path: Path | None,
        embedder: Embedder | None,
        clock: Clock,
        index: VectorIndex | None = None,
        slot: IndexSlot | None = None,
        owner: str | None = None,
        reached: Reached = go_on,
    ) -> "Store":
        """Return an open store, with the database brought to this release's schema.

        No embedder is loaded and no index opened yet.

        Args:
            database_url: Such as `sqlite:////home/me/agentkit.db`, or
                `postgresql://agent@db.internal/memory`.
            blobs: Where trajectories are kept.
            index_path: Folder of the embedded Chroma, or None for no index.
            embedder: Makes the vectors, or None: then recall goes by words alone.
            clock: Where the time comes from.
            index: An index that is open already, in place of the one at `index_path`.
            slot: Any index, opened when it is first needed, in place of both.
            owner: Folder name of the one user whose store it is, or None for all users.
            reached: Told each point of a write: where a fault test ends the process.

        Raises:
            SchemaError: If the database was written by a newer release; it is left untouched.
            EmbedderError: If the embedder is known by name to be another than the pinned one.
            MissingExtraError: If the address is of PostgreSQL and psycopg is not installed.
            StoreError: If the address is none, or the database cannot be opened.
        """
        url = database_address(database_url)
        engine = open_engine(url)
        try:
            migrate(engine, file=database_file(url), now=clock(), plan=SchemaPlan())
            store = cls(
                database=Database(engine, reached=reached),
                blobs=blobs,
                clock=clock,
                embedder=embedder,
                index=slot or _slot(index_path, index),
                reached=reached,
            )
            store._database.read_now(store._refuse_other_name)
            store._take(owner)
        except BaseException:
            engine.dispose()
            raise
        return store


def _slot(index_path: Path | None, index: VectorIndex | None) -> IndexSlot:
    if index is not None:
        return IndexSlot(open_index=lambda _identity: index, lock=None)
    return IndexSlot(open_index=None, lock=None) if index_path is None else chroma_slot(index_path)
