"""What the score takes from each memory whatever is asked: worked out once, and kept."""

from dataclasses import dataclass

import numpy as np

from agentkit.policy.decay import DecayPolicy
from agentkit.policy.recall import RecallPolicy
from agentkit.recall.columns import STATUSES, Float64Array
from agentkit.recall.decay import base_half_lives_days, half_lives_days, last_s
from agentkit.recall.index import ScopeIndex


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Standing:
    """What the score takes from each memory; every array has shape (slots,), float64.

    Attributes:
        last_s: What its age runs from, seconds since 1970 UTC.
        base_days: Half-life before uses, infinite for no decay.
        half_life_days: Half-life, infinite for no decay.
        held: Product of trust, confidence and the weights of demoted and disputed memories.
        policy: The weights that it was made with.
        decay: The forgetting curve that it was made with.
    """

    last_s: Float64Array
    base_days: Float64Array
    half_life_days: Float64Array
    held: Float64Array
    policy: RecallPolicy
    decay: DecayPolicy


def standing_of(index: ScopeIndex, *, policy: RecallPolicy, decay: DecayPolicy) -> Standing:
    """Return what the score takes from each memory of a scope.

    Args:
        index: The memories; the caller holds its lock.
        policy: Exponent of confidence, and the weights of demoted and disputed memories.
        decay: The forgetting curve.
    """
    if decay.boost_on == "recalled":
        # Recalls are counted without a change of the index, and everything here rests on them.
        return _made(index, policy=policy, decay=decay)
    # What is kept holds both policies, so that no other can come to their places in memory.
    key = ("standing", id(policy), id(decay))
    return index.derived(key, lambda: _made(index, policy=policy, decay=decay))


def _made(index: ScopeIndex, *, policy: RecallPolicy, decay: DecayPolicy) -> Standing:
    columns = index.columns
    named = [tag for tag in index.known_tags if str(tag) in decay.tags]
    base_days = base_half_lives_days(
        columns.memory_type.astype(np.int64),
        [(tag, index.tag_mask(tag)) for tag in named],
        policy=decay,
    )
    uses = columns.used_count if decay.boost_on == "used" else columns.recalled_count
    half_life = half_lives_days(base_days, uses, policy=decay)
    confidence = columns.confidence**policy.confidence_exponent
    demoted = np.where(columns.demoted, policy.demoted_weight, 1.0)
    disputed = columns.status == STATUSES.index("disputed")
    return Standing(
        last_s=last_s(columns, policy=decay),
        base_days=base_days,
        half_life_days=np.where(columns.permanent, np.inf, half_life),
        held=columns.trust * confidence * demoted * np.where(disputed, policy.disputed_weight, 1.0),
        policy=policy,
        decay=decay,
    )
