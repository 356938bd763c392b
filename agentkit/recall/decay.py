"""How much of a memory is left after a time: the forgetting curve, as pure functions."""

from collections.abc import Sequence

import numpy as np

from agentkit.policy.decay import DecayPolicy
from agentkit.recall.columns import BoolArray, Columns, Float64Array, Int64Array
from agentkit.records import MEMORY_TYPES, MemoryType, Tag

SECONDS_PER_DAY = 86_400.0


def base_half_life_days(
    memory_type: MemoryType, tags: Sequence[Tag], *, policy: DecayPolicy
) -> float:
    """Return the half-life of a memory before uses lengthen it; infinite for no decay.

    A tag beats the type; of several tags the longest half-life wins, null being the longest.

    Args:
        memory_type: Type of the memory.
        tags: Its tags.
        policy: The half-lives.
    """
    named = [_days(policy.tags[str(tag)]) for tag in tags if str(tag) in policy.tags]
    return max(named) if named else _type_days(memory_type, policy)


def base_half_lives_days(
    memory_type: Int64Array, tagged: Sequence[tuple[Tag, BoolArray]], *, policy: DecayPolicy
) -> Float64Array:
    """Return the half-life of each memory before uses lengthen it; infinite for no decay.

    Args:
        memory_type: shape (n,): index into `MEMORY_TYPES`.
        tagged: Each tag that the policy names, with a mask of shape (n,) of who carries it.
        policy: The half-lives.

    Returns:
        shape (n,), float64, days; what `base_half_life_days` gives for each.
    """
    by_type = np.array([_type_days(name, policy) for name in MEMORY_TYPES], dtype=np.float64)
    by_tag = np.full(len(memory_type), np.nan)
    for tag, carried in tagged:
        longest = np.fmax(by_tag, _days(policy.tags[str(tag)]))
        by_tag = np.where(carried, longest, by_tag)
    return np.where(np.isnan(by_tag), by_type[memory_type], by_tag)


def last_s(columns: Columns, *, policy: DecayPolicy) -> Float64Array:
    """Return when each memory was last made, edited, confirmed or verified.

    Args:
        columns: The memories.
        policy: Whether a recall counts as well.

    Returns:
        shape (n,), float64, seconds since 1970 UTC.
    """
    last = np.fmax(
        np.fmax(columns.created_s, columns.edited_s), np.fmax(columns.used_s, columns.verified_s)
    )
    return np.fmax(last, columns.recalled_s) if policy.boost_on == "recalled" else last


def ages_days(last: Float64Array, *, now_s: float) -> Float64Array:
    """Return the days since some instants.

    Args:
        last: shape (n,), float64, as `last_s` returns them.
        now_s: Now, seconds since 1970 UTC.

    Returns:
        shape (n,), float64, at least 0: a time in the future counts as now.
    """
    ages = now_s - last
    ages /= SECONDS_PER_DAY
    return np.maximum(ages, 0.0, out=ages)


def half_lives_days(
    base_days: Float64Array, uses: Int64Array, *, policy: DecayPolicy
) -> Float64Array:
    """Return the half-life after uses have lengthened it.

    Args:
        base_days: shape (n,), above 0; infinite for no decay.
        uses: shape (n,), at least 0: confirmed uses, or recalls where the policy says so.
        policy: Boost and cap.

    Returns:
        shape (n,), float64: at least the base, and beyond the cap only where the base is.
    """
    boosted = base_days * (1.0 + policy.boost * np.log1p(uses))
    return np.minimum(boosted, np.maximum(base_days, policy.longest_half_life_days))


def decays(
    age_days: Float64Array, half_life_days: Float64Array, *, policy: DecayPolicy
) -> Float64Array:
    """Return the decay factor of each memory.

    Args:
        age_days: shape (n,), at least 0.
        half_life_days: shape (n,), above 0; infinite gives 1.
        policy: The floor.

    Returns:
        shape (n,), float64, in [floor, 1]; falls with age.

    Source:
        `design.md`, section 6: exponential forgetting above a floor.
    """
    left = np.divide(age_days, -half_life_days)
    np.exp2(left, out=left)
    left *= 1.0 - policy.floor
    left += policy.floor
    return left


def _type_days(memory_type: MemoryType, policy: DecayPolicy) -> float:
    return _days(policy.types.get(memory_type, policy.default_half_life_days))


def _days(half_life_days: float | None) -> float:
    return float("inf") if half_life_days is None else half_life_days
