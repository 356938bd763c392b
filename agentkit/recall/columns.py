"""Growable columns of the recall index: one numpy array an attribute."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from agentkit.records import MEMORY_TYPES, MemoryEntry, MemoryStatus

Float64Array = npt.NDArray[np.float64]
Int64Array = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

STATUSES: tuple[MemoryStatus, ...] = (
    "pending",
    "active",
    "disputed",
    "archived",
    "superseded",
    "forgotten",
    "quarantined",
)

# Columns that hold the attribute of the same name.
_AS_GIVEN = (
    "position",
    "confidence",
    "trust",
    "permanent",
    "demoted",
    "used_count",
    "recalled_count",
    "created_s",
    "edited_s",
    "used_s",
    "recalled_s",
    "verified_s",
    "valid_from_s",
    "valid_to_s",
)


@dataclass(slots=True, eq=False)
class Columns:
    """What the filter and the score need of each memory, by slot.

    Attributes:
        alive: shape (n,), bool: False once removed or replaced.
        memory_type: shape (n,), int8: index into `MEMORY_TYPES`.
        status: shape (n,), int8: index into `STATUSES`.
        agent: shape (n,), int32: code of the agent, -1 for all agents of the user.
        episode: shape (n,), int32: code of the episode, -1 for none.
        position: shape (n,), int64: order within the episode, -1 for none.
        confidence: shape (n,), float64 in (0, 1).
        trust: shape (n,), float64 in (0, 1].
        permanent: shape (n,), bool.
        demoted: shape (n,), bool.
        used_count: shape (n,), int64.
        recalled_count: shape (n,), int64.
        created_s: shape (n,), float64, seconds since 1970 UTC, as all times here; NaN if unset.
        edited_s: Last change of content.
        used_s: Last confirmed use.
        recalled_s: Last recall.
        verified_s: Last verification.
        valid_from_s: Not true before.
        valid_to_s: Not visible from then on.
        first_key: shape (n,), int64: row of the content key; the cues follow it.
    """

    alive: BoolArray
    memory_type: npt.NDArray[np.int8]
    status: npt.NDArray[np.int8]
    agent: npt.NDArray[np.int32]
    episode: npt.NDArray[np.int32]
    position: Int64Array
    confidence: Float64Array
    trust: Float64Array
    permanent: BoolArray
    demoted: BoolArray
    used_count: Int64Array
    recalled_count: Int64Array
    created_s: Float64Array
    edited_s: Float64Array
    used_s: Float64Array
    recalled_s: Float64Array
    verified_s: Float64Array
    valid_from_s: Float64Array
    valid_to_s: Float64Array
    first_key: Int64Array

    @classmethod
    def empty(cls, capacity: int) -> "Columns":
        """Return columns of zeros.

        Args:
            capacity: Number of slots, at least 1.
        """
        small, code, yes = np.int8, np.int32, np.bool_
        return cls(
            alive=np.zeros(capacity, dtype=yes),
            memory_type=np.zeros(capacity, dtype=small),
            status=np.zeros(capacity, dtype=small),
            agent=np.zeros(capacity, dtype=code),
            episode=np.zeros(capacity, dtype=code),
            position=np.zeros(capacity, dtype=np.int64),
            confidence=np.zeros(capacity, dtype=np.float64),
            trust=np.zeros(capacity, dtype=np.float64),
            permanent=np.zeros(capacity, dtype=yes),
            demoted=np.zeros(capacity, dtype=yes),
            used_count=np.zeros(capacity, dtype=np.int64),
            recalled_count=np.zeros(capacity, dtype=np.int64),
            created_s=np.zeros(capacity, dtype=np.float64),
            edited_s=np.zeros(capacity, dtype=np.float64),
            used_s=np.zeros(capacity, dtype=np.float64),
            recalled_s=np.zeros(capacity, dtype=np.float64),
            verified_s=np.zeros(capacity, dtype=np.float64),
            valid_from_s=np.zeros(capacity, dtype=np.float64),
            valid_to_s=np.zeros(capacity, dtype=np.float64),
            first_key=np.zeros(capacity, dtype=np.int64),
        )

    def grown(self) -> "Columns":
        """Return the same columns with twice the capacity."""
        return Columns(
            **{
                f.name: np.concatenate(
                    [getattr(self, f.name), np.zeros_like(getattr(self, f.name))]
                )
                for f in fields(self)
            }
        )

    def upto(self, slots: int) -> "Columns":
        """Return views of the first slots.

        Args:
            slots: Number of slots in use.
        """
        return Columns(**{f.name: getattr(self, f.name)[:slots] for f in fields(self)})

    def chosen(self, slots: Sequence[int], *, capacity: int) -> "Columns":
        """Return new columns that begin with the given slots.

        Args:
            slots: Slots to keep, in order.
            capacity: Slots of the result, at least `len(slots)`.
        """
        new = Columns.empty(capacity)
        for f in fields(self):
            getattr(new, f.name)[: len(slots)] = getattr(self, f.name)[slots]
        return new

    @property
    def nbytes(self) -> int:
        """Bytes held by all columns."""
        return sum(getattr(self, f.name).nbytes for f in fields(self))

    @classmethod
    def of(
        cls,
        entries: Sequence[MemoryEntry],
        *,
        agents: Sequence[int],
        episodes: Sequence[int],
        keys: Sequence[int],
    ) -> "Columns":
        """Return columns that hold some memories, all alive, with room for half as many more.

        Args:
            entries: The memories, in the order of their slots.
            agents: Codes of their agents, or -1.
            episodes: Codes of their episodes, or -1.
            keys: Rows of their content keys.
        """
        number = len(entries)
        new = cls.empty(max(16, number + number // 2))
        new.alive[:number] = True
        new.memory_type[:number] = [MEMORY_TYPES.index(one.memory_type) for one in entries]
        new.status[:number] = [STATUSES.index(one.status) for one in entries]
        new.agent[:number], new.episode[:number], new.first_key[:number] = agents, episodes, keys
        for name in _AS_GIVEN:
            getattr(new, name)[:number] = [getattr(one, name) for one in entries]
        return new

    def write(self, slot: int, entry: MemoryEntry, *, agent: int, episode: int, key: int) -> None:
        """Fill one slot from an entry and mark it alive.

        Args:
            slot: Slot to write.
            entry: The memory.
            agent: Code of its agent, or -1.
            episode: Code of its episode, or -1.
            key: Row of its content key.
        """
        self.alive[slot] = True
        self.memory_type[slot] = MEMORY_TYPES.index(entry.memory_type)
        self.status[slot] = STATUSES.index(entry.status)
        self.agent[slot] = agent
        self.episode[slot] = episode
        for name in _AS_GIVEN:
            getattr(self, name)[slot] = getattr(entry, name)
        self.first_key[slot] = key
