"""Neighbours in time: episodic memories are found together with those around them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from agentkit.policy.recall import NeighbourPolicy
from agentkit.recall.columns import BoolArray, Columns, Float64Array, Int64Array
from agentkit.recall.postings import RowWindow
from agentkit.records import MEMORY_TYPES

_REACH = 2
_STRIDE = 1 << 31
# Nearest first on either side, so that sums over a window come out the same in every order of
# insertion.
_OFFSETS = (1, -1, 2, -2)


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """Who stands next to whom in the episodes of one scope.

    Attributes:
        slots: shape (m,), int64: episodic memories by episode and position.
        near: shape (4, m), int64: for each of them the place in `slots` of the one so many
            steps after or before, or its own place where there is none.
        distance: shape (4, m), int8: how many positions away that one is, 0 where there is
            none; farther than two is none.
    """

    slots: Int64Array
    near: Int64Array
    distance: npt.NDArray[np.int8]

    @classmethod
    def of(cls, columns: Columns, ids: Sequence[str]) -> "Context":
        """Return the neighbours of the living episodic memories that have a place.

        Args:
            columns: All memories.
            ids: Their ids, by slot: the smaller one is first of two that share a place.
        """
        episodic = columns.memory_type == MEMORY_TYPES.index("episodic")
        placed = np.flatnonzero(
            columns.alive & episodic & (columns.episode >= 0) & (columns.position >= 0)
        )
        codes = columns.episode[placed].astype(np.int64) * _STRIDE + columns.position[placed]
        order = np.argsort(codes, kind="stable")
        slots = _by_id_where_equal(placed[order], codes[order], ids)
        episode, position = columns.episode[slots], columns.position[slots]
        here = np.arange(len(slots))
        near = np.tile(here, (len(_OFFSETS), 1))
        distance = np.zeros(near.shape, dtype=np.int8)
        for row, offset in enumerate(_OFFSETS):
            there = here + offset
            inside = np.flatnonzero((there >= 0) & (there < len(slots)))
            apart = np.abs(position[inside] - position[there[inside]])
            kept = (episode[inside] == episode[there[inside]]) & (apart <= _REACH)
            near[row, inside[kept]] = there[inside[kept]]
            distance[row, inside[kept]] = apart[kept]
        return cls(slots, near, distance)

    def window(self, seen: BoolArray, *, policy: NeighbourPolicy) -> "Window | None":
        """Return how much each memory takes from those around it, or None if none does.

        Args:
            seen: shape (slots,), bool: what the filter left in; the others give nothing.
            policy: Shares by distance.
        """
        shares = np.array([0.0, policy.next, policy.second])
        if not len(self.slots) or not shares.any():
            return None
        here = seen[self.slots]
        share = shares[self.distance] * here[self.near] * here
        return Window(slots=self.slots, near=self.near, share=share, whole=1.0 + share.sum(axis=0))


def _by_id_where_equal(slots: Int64Array, codes: Int64Array, ids: Sequence[str]) -> Int64Array:
    """Sort runs of equal codes by id, so that the order of arrival decides nothing."""
    tied = np.flatnonzero(codes[1:] == codes[:-1])
    if not len(tied):
        return slots
    slots = slots.copy()
    for run in np.split(tied, np.flatnonzero(np.diff(tied) > 1) + 1):
        span = slice(int(run[0]), int(run[-1]) + 2)
        tie: list[int] = slots[span].tolist()
        slots[span] = sorted(tie, key=ids.__getitem__)
    return slots


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Window:
    """What the memories that passed a filter take from their neighbours.

    Attributes:
        slots: shape (m,), int64: the memories, as in `Context`.
        near: shape (4, m), int64: places of their neighbours.
        share: shape (4, m), float64 in [0, 1]: what is taken of each; 0 for nothing. What one
            takes of another, the other takes of it.
        whole: shape (m,), float64: 1 plus all shares.
    """

    slots: Int64Array
    near: Int64Array
    share: Float64Array
    whole: Float64Array

    def of_rows(self, first_key: Int64Array) -> RowWindow:
        """Return the same window over the rows of the content keys.

        Args:
            first_key: shape (slots,), int64: row of the content key of each slot.
        """
        return RowWindow(
            rows=first_key[self.slots], near=self.near, share=self.share, whole=self.whole
        )

    def mean(self, values: Float64Array, *, has: BoolArray) -> Float64Array:
        """Return the weighted mean over each memory and those around it.

        Args:
            values: shape (m,), float64, in the order of `slots`.
            has: shape (m,), bool: which of the values count.

        Returns:
            shape (m,), float64; what it is where the own value does not count means nothing.
        """
        counted = has.astype(np.float64)
        total, whole = values * counted, counted.copy()
        for near, share in zip(self.near, self.share, strict=True):
            taken = share * counted[near]
            total += taken * values[near]
            whole += taken
        return total / np.maximum(whole, 1.0)
