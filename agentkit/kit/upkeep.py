"""Looking after the copies: the index, and whether everything agrees."""

from agentkit.kit.running import Running
from agentkit.store import Consistency, Progress, SettleReport, merge_consistency, merge_settled


class Upkeep(Running):
    """What an operator does with an open project."""

    async def reindex(self, *, progress: Progress | None = None) -> SettleReport:
        """Build the vector index anew from the database, without one embedding call.

        Recall works all the while, and a rebuild that was broken off is gone on with.

        Args:
            progress: Told the number of keys that the index holds anew, and of all.

        Returns:
            What was done; `problem` says why the index is not whole, or is "".

        Raises:
            StoreError: If the index cannot be opened or written.
        """
        stores = await self._parts.stores.all()
        return merge_settled([await store.reindex(progress=progress) for store in stores])

    async def prove(self, *, progress: Progress | None = None) -> Consistency:
        """Compare every key with the index, and read every trajectory; nothing is changed.

        Args:
            progress: Told the number of keys and trajectories compared so far, and of all.

        Raises:
            StoreError: If the database cannot be read.
        """
        stores = await self._parts.stores.all()
        return merge_consistency([await store.prove(progress=progress) for store in stores])

    async def mend(self, found: Consistency, *, progress: Progress | None = None) -> None:
        """Mend what a proof found; what is beyond mending stays. Prove again afterwards.

        Args:
            found: The proof.
            progress: Told the progress of a rebuild that has to be gone on with.

        Raises:
            StoreError: If database, index or blobs cannot be written.
        """
        stores = await self._parts.stores.all()
        for store in stores:
            # With several stores a proof says what is wrong, not where.
            own = found if len(stores) == 1 else await store.prove()
            if not own.ok:
                await store.mend(own, progress=progress)
