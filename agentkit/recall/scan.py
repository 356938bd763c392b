"""The exact scan: features, factors and score of every memory that passed the filter."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from agentkit.policy.decay import DecayPolicy
from agentkit.policy.recall import RecallPolicy
from agentkit.recall.arms import Arms
from agentkit.recall.columns import STATUSES, BoolArray, Float64Array, Int64Array
from agentkit.recall.decay import ages_days, base_half_lives_days
from agentkit.recall.index import ScopeIndex
from agentkit.recall.score import (
    FactorTable,
    FeatureTable,
    factor_table,
    tag_weight,
)
from agentkit.records import IntentTag, Normalisers

# Below the resolution of float32 cosines, so that noise in the last digits never breaks a tie.
_SCORE_DIGITS = 9

Chosen = Int64Array | slice


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scan:
    """Everything computed over the filtered scope; each array has one entry a passing memory.

    Attributes:
        slots: shape (n,), int64: slots in the index.
        table: Their features.
        factors: How their scores came about.
        score: shape (n,), float64: final score, rounded so that equal is equal.
        created_s: shape (n,), float64, seconds since 1970 UTC: breaks ties.
        found: shape (n,), bool: False where nothing at all speaks for the memory.
        matched: shape (n,), float64 in [0, 1]: share of the query's weight of words it holds.
    """

    slots: Int64Array
    table: FeatureTable
    factors: FactorTable
    score: Float64Array
    created_s: Float64Array
    found: BoolArray
    matched: Float64Array


def chosen(slots: Int64Array, number: int) -> Chosen:
    """Return what picks slots out of a column: for all of them a slice, which copies nothing.

    Args:
        slots: shape (n,), int64, ascending.
        number: Slots of the column.
    """
    return slice(None) if len(slots) == number else slots


def scan(
    index: ScopeIndex,
    arms: Arms,
    *,
    slots: Int64Array,
    intent: Sequence[IntentTag],
    normalisers: Normalisers,
    policy: RecallPolicy,
    decay: DecayPolicy,
    now_s: float,
) -> Scan:
    """Score every memory that passed the filter.

    Args:
        index: The memories.
        arms: Raw scores by slot.
        slots: shape (n,), int64: what passed the filter.
        intent: Tags that the query is about.
        normalisers: Ranges and weights of the query.
        policy: Weights.
        decay: The forgetting curve.
        now_s: Now, seconds since 1970 UTC.
    """
    columns = index.columns
    taken = chosen(slots, index.slots)
    # Without a query vector no memory has a dense score, whether it is embedded or not.
    has_vector = arms.has_vector[taken] & (normalisers.cosine_high > normalisers.cosine_low)
    context_bm25 = arms.context_bm25[taken]
    uses = columns.used_count if decay.boost_on == "used" else columns.recalled_count
    table = FeatureTable(
        cosine=arms.cosine[taken],
        has_vector=has_vector,
        bm25=arms.bm25[taken],
        placed=arms.placed[taken],
        context_cosine=arms.context_cosine[taken],
        context_bm25=context_bm25,
        tag_overlap=_overlap(index, intent, policy=policy)[taken],
        age_days=ages_days(columns, now_s=now_s, policy=decay)[taken],
        uses=uses[taken],
        used=columns.used_count[taken],
        recalled=columns.recalled_count[taken],
        base_days=_base_days(index, taken, decay=decay),
        confidence=columns.confidence[taken],
        trust=columns.trust[taken],
        permanent=columns.permanent[taken],
        demoted=columns.demoted[taken],
        disputed=columns.status[taken] == STATUSES.index("disputed"),
    )
    factors = factor_table(table, normalisers=normalisers, policy=policy, decay=decay)
    return Scan(
        slots=slots,
        table=table,
        factors=factors,
        score=np.round(factors.score, _SCORE_DIGITS),
        created_s=columns.created_s[taken],
        found=has_vector | (context_bm25 > 0.0) | (table.tag_overlap > 0.0),
        matched=arms.matched[taken],
    )


def _base_days(index: ScopeIndex, taken: Chosen, *, decay: DecayPolicy) -> Float64Array:
    named = [tag for tag in index.known_tags if str(tag) in decay.tags]
    return base_half_lives_days(
        index.columns.memory_type[taken].astype(np.int64),
        [(tag, index.tag_mask(tag)[taken]) for tag in named],
        policy=decay,
    )


def _overlap(
    index: ScopeIndex, intent: Sequence[IntentTag], *, policy: RecallPolicy
) -> Float64Array:
    """Share of the intent tags that each slot carries, weighed by how surely they are meant."""
    overlap = np.zeros(index.slots, dtype=np.float64)
    total = 0.0
    for one in intent:
        weight = tag_weight(one, policy=policy.tags)
        total += weight
        overlap[index.tag_mask(one.tag)] += weight
    return overlap / total if total > 0.0 else overlap
