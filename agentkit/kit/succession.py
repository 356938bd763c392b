"""Going over to another embedder, while everybody works on with the one in use."""

from agentkit.errors import EmbedderError, InputError
from agentkit.kit.running import Running
from agentkit.ports import Embedder, EmbedderIdentity
from agentkit.recall import focus
from agentkit.store import (
    Comparison,
    FillReport,
    KeptVectors,
    Progress,
    SwitchReport,
    compare_trials,
    merge_filled,
    merge_kept,
    merge_switched,
    open_embedder,
)

# Enough for a mean within a few hundredths, and some seconds of work.
LOGGED_QUERIES = 200


class Succession(Running):
    """What an operator does to change the embedder of an open project, for all users at once."""

    async def kept_vectors(self) -> tuple[KeptVectors, ...]:
        """Return how many vectors of each embedder the project holds, by fingerprint."""
        stores = await self._parts.stores.all()
        return merge_kept([await store.kept_vectors() for store in stores])

    async def fill_embedder(self, new: Embedder, *, progress: Progress | None = None) -> FillReport:
        """Make the vectors of another embedder beside those in use.

        What is there already is not embedded again, so one that was broken off is gone on with.

        Args:
            new: The other embedder.
            progress: Told the number of keys that have its vector, and of all.

        Raises:
            EmbedderError: If it cannot be loaded or refuses; what was made until then stays.
        """
        identity = await new.identity()
        stores = await self._parts.stores.all()
        reports = [await store.fill(new, progress=progress) for store in stores]
        return merge_filled(reports, embedder=identity.fingerprint)

    async def compare_embedders(
        self,
        new: Embedder,
        *,
        queries: int = LOGGED_QUERIES,
        progress: Progress | None = None,
    ) -> Comparison | None:
        """Rank the memories for the last logged queries with both embedders.

        The helpful memories were all found with the embedder in use, so the log flatters it.

        Args:
            new: The other embedder, whose vectors are filled in.
            queries: Most records of the log to look at, at least 1.
            progress: Told the number of queries ranked, and of all.

        Returns:
            How far they agree, or None where no other embedder is in use.

        Raises:
            InputError: If `queries` is out of range.
            EmbedderError: If one of them cannot be loaded or refuses.
        """
        other = await new.identity()
        stores = await self._parts.stores.all()
        pins = [(store, await store.pinned_embedder()) for store in stores]
        used = [(store, pin) for store, pin in pins if pin is not None and pin != other]
        if not used:
            return None
        limit_chars = self.policy.recall.focus_chars
        old = await self._in_use(used[0][1])
        return compare_trials(
            [
                await store.try_log(
                    old,
                    new,
                    limit=queries,
                    prepare=lambda text: focus(text, limit_chars=limit_chars),
                    progress=progress,
                )
                for store, pin in used
                if pin == used[0][1]
            ]
        )

    async def switch_embedder(
        self, new: Embedder, *, progress: Progress | None = None
    ) -> SwitchReport:
        """Make another embedder the one in use, and fill the index with its vectors.

        What lacks its vector is embedded first. The settings must name it from now on: a kit that
        is open with the old one, this one included, recalls by words alone until it is opened
        anew. The old vectors stay until they are dropped. Doing it again finishes what was broken
        off.

        Args:
            new: The other embedder.
            progress: Told the keys that have its vector, then those in the index, and of all.

        Raises:
            EmbedderError: If it cannot be loaded or refuses, or others write faster than it
                embeds; then nothing was switched.
            StoreError: If the index cannot be opened or written.
        """
        identity = await new.identity()
        stores = await self._parts.stores.all()
        reports = [await store.switch(new, progress=progress) for store in stores]
        return merge_switched(reports, new=identity.fingerprint)

    async def drop_embedder(self, name: str) -> tuple[KeptVectors, ...]:
        """Delete the vectors of an embedder that is not in use.

        Args:
            name: Its name, for its vectors of every dimension, or its fingerprint.

        Returns:
            What was deleted, by fingerprint; empty where there was nothing.

        Raises:
            InputError: If it is the embedder in use; then nothing is deleted.
        """
        stores = await self._parts.stores.all()
        return merge_kept([await store.drop_vectors(name) for store in stores])

    async def _in_use(self, pinned: EmbedderIdentity) -> Embedder:
        """The embedder in use, for the queries: the kit's own, or one opened by its name."""
        own = self._parts.embedder
        if own is not None and await own.identity() == pinned:
            return own
        opened = open_embedder(pinned.name)
        identity = None if opened is None else await opened.identity()
        if opened is None or identity != pinned:
            raise EmbedderError(
                f"the vectors in use are of {pinned.fingerprint}, and {pinned.name} makes others "
                "now: there is nothing to compare with; change over with --switch"
            )
        return opened


def other_embedder(name: str) -> Embedder:
    """Return the embedder of a name, to fill in its vectors; its model is loaded when first used.

    Args:
        name: As in the setting `embedder`.

    Raises:
        InputError: If it is `none`, which makes no vectors.
        EmbedderError: If the name is unknown.
    """
    opened = open_embedder(name)
    if opened is None:
        raise InputError(f"{name} makes no vectors; set `embedder: {name}`, nothing else is needed")
    return opened
