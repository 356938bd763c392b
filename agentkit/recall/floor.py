"""The floor: when nothing is near enough to a query, nothing is returned, whatever its score."""

from collections.abc import Sequence

import numpy as np

from agentkit.policy.recall import FloorPolicy
from agentkit.recall.columns import BoolArray
from agentkit.recall.index import ScopeIndex
from agentkit.recall.query import RankQuery
from agentkit.recall.scan import Scan
from agentkit.records import Features, IntentTag

# Below the resolution of float32 cosines: what is shown as 0.80 passes 0.8.
_COSINE_SLACK = 1e-6


def refused(
    index: ScopeIndex,
    scanned: Scan,
    query: RankQuery,
    *,
    intent: Sequence[IntentTag],
    policy: FloorPolicy,
) -> BoolArray:
    """Return which memories are too far from the query to be returned.

    What the caller wants at least holds for each memory with a vector. The policy's floor judges
    the query: once one memory reaches it, alone or with its episode neighbours, ranking decides
    about all; if none does, those come back that something besides the cosine speaks for: a tag
    that the caller or a phrase named, enough of the query's words, or no vector to go by. An
    inferred tag spares nothing, for it comes out of the same vector, and neither does being
    permanent, which says that a memory stays true and not that it is asked about. Where few
    memories pass the filter the best of them is seldom near, and the floor judges nothing.

    Args:
        index: The memories.
        scanned: Their features.
        query: What is asked.
        intent: Tags that the query is about.
        policy: What needs no cosine.

    Returns:
        shape (n,), bool, by position in the scan.
    """
    below = np.zeros(len(scanned.slots), dtype=np.bool_)
    if query.floor is not None and len(below) >= policy.least_memories:
        nearest = np.maximum(scanned.cosine, scanned.context_cosine)
        if not (scanned.has_vector & (nearest >= query.floor - _COSINE_SLACK)).any():
            below = scanned.matched < policy.least_matched
            for one in intent:
                if one.origin != "prototype":
                    below &= ~index.tag_mask(one.tag)[scanned.slots]
    if query.least_similarity is not None:
        below |= scanned.cosine < query.least_similarity - _COSINE_SLACK
    return below & scanned.has_vector


def why_refused(features: Features, *, query: RankQuery) -> str:
    """Return why a memory below the floor was not returned, in one line.

    Args:
        features: What is known of it.
        query: What was asked.
    """
    line = f"below the floor: similarity {features.cosine:.3f}"
    least = query.least_similarity
    if least is not None and features.cosine < least - _COSINE_SLACK:
        return f"{line} where at least {least:.3f} was asked for"
    if features.context_cosine is not None and features.context_cosine > features.cosine:
        line += f" ({features.context_cosine:.3f} with its neighbours)"
    return (
        f"{line}, and no memory reaches {query.floor or 0.0:.3f}; it holds {features.matched:.0%} "
        "of the words, by weight"
    )
