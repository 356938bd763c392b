"""The exact scan: the score of every memory that passed the filter, and features of the few."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from agentkit.policy.decay import DecayPolicy
from agentkit.policy.recall import FusionPolicy, RecallPolicy
from agentkit.recall.arms import Arms
from agentkit.recall.columns import STATUSES, BoolArray, Float64Array, Int64Array
from agentkit.recall.decay import ages_days, decays
from agentkit.recall.index import ScopeIndex
from agentkit.recall.popularity import unused_factors
from agentkit.recall.score import FactorTable, FeatureTable, arm_scores, factor_table, tag_weight
from agentkit.recall.standing import Standing, standing_of
from agentkit.records import IntentTag, Normalisers

# Below the resolution of float32 cosines, so that noise in the last digits never breaks a tie.
_SCORE_DIGITS = 9

Chosen = Int64Array | slice


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scan:
    """Everything computed over the filtered scope; each array has one entry a passing memory.

    Attributes:
        slots: shape (n,), int64: slots in the index.
        cosine: shape (n,), float64 in [-1, 1].
        has_vector: shape (n,), bool: False where there is nothing to compare.
        bm25: shape (n,), float64, at least 0.
        placed: shape (n,), bool: which were looked at with their neighbours.
        context_cosine: shape (n,), float64: with the neighbours in its episode.
        context_bm25: shape (n,), float64: with the neighbours in its episode.
        tag_overlap: shape (n,), float64 in [0, 1].
        score: shape (n,), float64: final score, rounded so that equal is equal.
        created_s: shape (n,), float64, seconds since 1970 UTC: breaks ties.
        found: shape (n,), bool: False where nothing at all speaks for the memory.
        matched: shape (n,), float64 in [0, 1]: share of the query's weight of words it holds.
        table_of: Gives the features at some positions, shape (m,), int64, in these arrays.
        factors_of: Gives how scores came about, of features: the same code as for replay.
    """

    slots: Int64Array
    cosine: Float64Array
    has_vector: BoolArray
    bm25: Float64Array
    placed: BoolArray
    context_cosine: Float64Array
    context_bm25: Float64Array
    tag_overlap: Float64Array
    score: Float64Array
    created_s: Float64Array
    found: BoolArray
    matched: Float64Array
    table_of: Callable[[Int64Array], FeatureTable]
    factors_of: Callable[[FeatureTable], FactorTable]


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
    taken = chosen(slots, index.slots)
    standing = standing_of(index, policy=policy, decay=decay)
    # Without a query vector no memory has a dense score, whether it is embedded or not.
    has_vector = arms.has_vector[taken] & (normalisers.cosine_high > normalisers.cosine_low)
    overlap = _overlap(index, intent, policy=policy)[taken]
    context_bm25 = arms.context_bm25[taken]
    score = _base(arms, taken, has_vector, overlap, normalisers=normalisers, policy=policy.fusion)
    ages = ages_days(standing.last_s[taken], now_s=now_s)
    score *= decays(ages, standing.half_life_days[taken], policy=decay)
    score *= standing.held[taken]
    if normalisers.used_share > 0.0 and policy.unused_weight < 1.0:
        score *= _unused(index, taken, used_share=normalisers.used_share, policy=policy)
    made = Scan(
        slots=slots,
        cosine=arms.cosine[taken],
        has_vector=has_vector,
        bm25=arms.bm25[taken],
        placed=arms.placed[taken],
        context_cosine=arms.context_cosine[taken],
        context_bm25=context_bm25,
        tag_overlap=overlap,
        score=np.round(score, _SCORE_DIGITS, out=score),
        created_s=index.columns.created_s[taken],
        found=has_vector | (context_bm25 > 0.0) | (overlap > 0.0),
        matched=arms.matched[taken],
        table_of=lambda at: _features(index, made, at, standing=standing, now_s=now_s),
        factors_of=lambda table: factor_table(
            table, normalisers=normalisers, policy=policy, decay=decay
        ),
    )
    return made


def _features(
    index: ScopeIndex, scanned: Scan, at: Int64Array, *, standing: Standing, now_s: float
) -> FeatureTable:
    """The features of some of the memories that were scanned."""
    columns, slots = index.columns, scanned.slots[at]
    used = standing.decay.boost_on == "used"
    uses = columns.used_count if used else columns.recalled_count
    return FeatureTable(
        cosine=scanned.cosine[at],
        has_vector=scanned.has_vector[at],
        bm25=scanned.bm25[at],
        placed=scanned.placed[at],
        context_cosine=scanned.context_cosine[at],
        context_bm25=scanned.context_bm25[at],
        tag_overlap=scanned.tag_overlap[at],
        age_days=ages_days(standing.last_s[slots], now_s=now_s),
        uses=uses[slots],
        used=columns.used_count[slots],
        recalled=columns.recalled_count[slots],
        base_days=standing.base_days[slots],
        confidence=columns.confidence[slots],
        trust=columns.trust[slots],
        permanent=columns.permanent[slots],
        demoted=columns.demoted[slots],
        disputed=columns.status[slots] == STATUSES.index("disputed"),
    )


def _base(
    arms: Arms,
    taken: Chosen,
    has_vector: BoolArray,
    overlap: Float64Array,
    *,
    normalisers: Normalisers,
    policy: FusionPolicy,
) -> Float64Array:
    """What speaks for each memory before the factors, added up in the order of `Factors.base`."""
    bm25 = arms.bm25[taken]
    dense, lexical = arm_scores(
        arms.cosine[taken], has_vector, bm25, normalisers=normalisers, policy=policy
    )
    if not arms.has_neighbours:
        dense += lexical
        if normalisers.w_tag:
            dense += normalisers.w_tag * overlap
        return dense
    around = arm_scores(
        arms.context_cosine[taken],
        has_vector,
        arms.context_bm25[taken],
        normalisers=normalisers,
        policy=policy,
    )
    own = dense + lexical
    lent = np.where(arms.placed[taken], around[0] + around[1] - own, 0.0)
    return own + normalisers.w_tag * overlap + lent


def _unused(
    index: ScopeIndex, taken: Chosen, *, used_share: float, policy: RecallPolicy
) -> Float64Array:
    columns = index.columns
    factors = unused_factors(
        columns.used_count[taken],
        columns.recalled_count[taken],
        used_share=used_share,
        least=policy.unused_weight,
    )
    return np.where(columns.permanent[taken], 1.0, factors)


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
