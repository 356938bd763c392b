"""The scopes held for recall: least recently used go first when there are too many bytes."""

from collections import OrderedDict

from agentkit.recall.index import ScopeIndex


class IndexCache:
    """Indexes by user, bounded in bytes. The caller brings each to its revision."""

    def __init__(self, *, max_bytes: int) -> None:
        """Start empty.

        Args:
            max_bytes: Most bytes that all indexes together may hold, at least 1. The one used
                last is always kept, however large.
        """
        self._max_bytes = max_bytes
        self._held: OrderedDict[str, ScopeIndex] = OrderedDict()
        self._bytes: dict[str, int] = {}

    def __len__(self) -> int:
        """Number of users held."""
        return len(self._held)

    @property
    def users(self) -> tuple[str, ...]:
        """Users held, the one used longest ago first."""
        return tuple(self._held)

    @property
    def nbytes(self) -> int:
        """Bytes held by all indexes, as of when each was last reported."""
        return sum(self._bytes.values())

    def get(self, user_id: str) -> ScopeIndex:
        """Return the index of a user, an empty one at revision 0 if none is held.

        Args:
            user_id: The user, compared byte for byte.
        """
        index = self._held.get(user_id)
        if index is None:
            index = self._held[user_id] = ScopeIndex()
            self._bytes[user_id] = index.nbytes
        self._held.move_to_end(user_id)
        self._let_go()
        return index

    def held(self, user_id: str) -> ScopeIndex | None:
        """Return the index of a user if there is one; looking is no use of it.

        Args:
            user_id: The user, compared byte for byte.
        """
        return self._held.get(user_id)

    def size(self, user_id: str) -> int | None:
        """Return how many memories are held of a user, or None where the user is not held.

        Args:
            user_id: The user, compared byte for byte.
        """
        index = self._held.get(user_id)
        return None if index is None or not index.is_loaded else len(index)

    def resized(self, user_id: str) -> None:
        """Take note that an index has grown or shrunk, and let go of others if need be.

        Args:
            user_id: Whose; one that is no longer held is ignored.
        """
        if user_id not in self._held:
            return
        self._bytes[user_id] = self._held[user_id].nbytes
        self._let_go()

    def _let_go(self) -> None:
        """Let go of those used longest ago, until the rest is within the budget."""
        while self.nbytes > self._max_bytes and len(self._held) > 1:
            gone, _ = self._held.popitem(last=False)
            del self._bytes[gone]

    def drop(self, user_id: str) -> None:
        """Let go of a user's index, as after a purge; one that is not held is ignored.

        Args:
            user_id: Whose.
        """
        self._held.pop(user_id, None)
        self._bytes.pop(user_id, None)
