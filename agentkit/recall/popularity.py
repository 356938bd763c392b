"""What is recalled often and never of use sinks, so that being on top does not keep it there."""

import numpy as np

from agentkit.recall.columns import BoolArray, Columns, Float64Array, Int64Array


def used_share(columns: Columns, *, seen: BoolArray) -> float:
    """Return the confirmed uses a recall over a whole scope.

    Args:
        columns: The memories.
        seen: shape (slots,), bool: those that the asker may see, whatever a query filters; what
            another agent's memories went through moves nobody's score.

    Returns:
        In [0, 1]; 0.0 while no use was ever confirmed, for then nothing tells the useless from
        the useful.
    """
    recalled = int(columns.recalled_count[seen].sum())
    used = int(columns.used_count[seen].sum())
    # Two may confirm the use of one recall, so that the counts alone could pass 1.
    return min(used / recalled, 1.0) if recalled else 0.0


def unused_factors(
    used: Int64Array, recalled: Int64Array, *, used_share: float, least: float
) -> Float64Array:
    """Return the factor by which each memory sinks for being recalled without use.

    A memory recalled as often as this would, at the share of the whole scope, have been of use
    `recalled * used_share` times. The factor is `(used + 1) / (recalled * used_share)`, between
    `least` and 1: one use is granted ahead, so that a memory recalled a few times only, or used
    as often as others, keeps its score. One recall more never raises it, one use more never
    lowers it, also with the share that follows from them.

    Args:
        used: shape (n,), at least 0: confirmed uses.
        recalled: shape (n,), at least 0: recalls that returned it.
        used_share: Confirmed uses a recall over the whole scope, in [0, 1]; 0 gives 1.
        least: Bound of the factor, in (0, 1]; 1 gives 1.

    Returns:
        shape (n,), float64, in [least, 1].

    Source:
        Ratio of Gamma-Poisson posterior means with a prior worth one use; the bound is a
        judgement, as that of disputed memories.
    """
    expected = recalled * used_share
    return np.clip((used + 1.0) / np.maximum(expected, 1.0), least, 1.0)
