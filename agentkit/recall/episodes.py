"""Neighbours in time: what the episodic memories of one episode lend each other."""

from dataclasses import dataclass

import numpy as np

from agentkit.policy.recall import NeighbourPolicy
from agentkit.recall.columns import Columns, Float64Array, Int64Array
from agentkit.records import MEMORY_TYPES

_STRIDE = 1 << 31


@dataclass(frozen=True, slots=True, eq=False)
class Episodes:
    """Episodic memories by their place in their episodes, so that neighbours find each other.

    Attributes:
        slots: shape (m,), int64: slots sorted by episode and position.
        starts: shape (g,), int64: where each place begins in `slots`; several memories may
            share one.
        place: shape (m,), int64: place of each entry of `slots`.
        codes: shape (g,), int64, ascending: neighbours of one episode differ by 1.
    """

    slots: Int64Array
    starts: Int64Array
    place: Int64Array
    codes: Int64Array

    @classmethod
    def of(cls, columns: Columns) -> "Episodes":
        """Return the places of the living episodic memories that have one.

        Args:
            columns: All memories.
        """
        episodic = columns.memory_type == MEMORY_TYPES.index("episodic")
        placed = (columns.episode >= 0) & (columns.position >= 0)
        slots = np.flatnonzero(columns.alive & episodic & placed)
        codes = columns.episode[slots].astype(np.int64) * _STRIDE + columns.position[slots]
        by_code = np.argsort(codes, kind="stable")
        unique, starts, place = np.unique(codes[by_code], return_index=True, return_inverse=True)
        return cls(slots[by_code], starts, place, unique)

    def lend(self, own: Float64Array, *, policy: NeighbourPolicy) -> Float64Array:
        """Return what each memory is lent by those just before and after it.

        Args:
            own: shape (slots,), float64 in [0, 1]: each memory's own score, 0 for those that
                the filter left out, so that they lend nothing.
            policy: Shares by distance.

        Returns:
            shape (slots,), float64 in [0, 1]: the weighted mean over the four places around;
            0 for what is no part of an episode.
        """
        lent = np.zeros(len(own), dtype=np.float64)
        whole = 2.0 * (policy.next + policy.second)
        if not policy.weight or not whole or not len(self.slots):
            return lent
        at_place = np.maximum.reduceat(own[self.slots], self.starts)
        received = np.zeros(len(at_place), dtype=np.float64)
        last = len(self.codes) - 1
        for step, share in ((1, policy.next), (2, policy.second)):
            for wanted in (self.codes - step, self.codes + step):
                where = np.minimum(np.searchsorted(self.codes, wanted), last)
                received += share * np.where(self.codes[where] == wanted, at_place[where], 0.0)
        lent[self.slots] = received[self.place] / whole
        return lent
