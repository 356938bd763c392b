"""The score: from features to factors, the same code for recall and for replay."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from agentkit.policy.decay import DecayPolicy
from agentkit.policy.recall import FusionPolicy, RecallPolicy, TagPolicy
from agentkit.recall.columns import BoolArray, Float64Array, Int64Array
from agentkit.recall.decay import base_half_life_days, decays, half_lives_days
from agentkit.recall.popularity import unused_factors
from agentkit.records import (
    Candidate,
    Factors,
    Features,
    IntentTag,
    Normalisers,
    QuerySignals,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FeatureTable:
    """Features of many memories, a column each; every array has shape (n,).

    Attributes:
        cosine: float64 in [-1, 1].
        has_vector: bool: False where there is no embedding, so no dense score.
        bm25: float64, at least 0.
        placed: bool: False where a memory stands alone, so that both scores are its own.
        context_cosine: float64 in [-1, 1]: with the neighbours in its episode.
        context_bm25: float64, at least 0: with the neighbours in its episode.
        tag_overlap: float64 in [0, 1].
        age_days: float64, at least 0.
        uses: int64: what lengthens the half-life.
        used: int64: confirmed uses.
        recalled: int64: recalls that returned it.
        base_days: float64: half-life before uses, infinite for no decay.
        confidence: float64 in (0, 1).
        trust: float64 in (0, 1].
        permanent: bool.
        demoted: bool.
        disputed: bool.
    """

    cosine: Float64Array
    has_vector: BoolArray
    bm25: Float64Array
    placed: BoolArray
    context_cosine: Float64Array
    context_bm25: Float64Array
    tag_overlap: Float64Array
    age_days: Float64Array
    uses: Int64Array
    used: Int64Array
    recalled: Int64Array
    base_days: Float64Array
    confidence: Float64Array
    trust: Float64Array
    permanent: BoolArray
    demoted: BoolArray
    disputed: BoolArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FactorTable:
    """Factors of many memories, a column each; every array has shape (n,), float64.

    Attributes:
        dense: Weighted, normalised cosine.
        lexical: Weighted, normalised BM25.
        tag: Weighted tag overlap.
        lent: What episode neighbours add to both; may be below 0.
        decay: Factor in (0, 1].
        trust: Factor in (0, 1].
        confidence: Factor in (0, 1].
        demoted: Factor in (0, 1].
        disputed: Factor in (0, 1].
        half_life_days: Half-life used; infinite for no decay.
        unused: Factor in (0, 1].
    """

    dense: Float64Array
    lexical: Float64Array
    tag: Float64Array
    lent: Float64Array
    decay: Float64Array
    trust: Float64Array
    confidence: Float64Array
    demoted: Float64Array
    disputed: Float64Array
    half_life_days: Float64Array
    unused: Float64Array

    @property
    def score(self) -> Float64Array:
        """Shape (n,), float64: the final score, multiplied in the order of `Factors.score`."""
        base = self.dense + self.lexical + self.tag + self.lent
        held = self.trust * self.confidence * self.demoted * self.disputed
        return base * self.decay * held * self.unused

    def rows(self) -> Callable[[int], Factors]:
        """Return what gives the factors of each memory, by its place; each column is read once."""
        names = ("dense", "lexical", "tag", "lent", "decay", "trust", "confidence")
        more = ("demoted", "disputed", "unused")
        columns = [getattr(self, name).tolist() for name in (*names, *more)]
        half_lives: list[float] = self.half_life_days.tolist()

        def make(row: int) -> Factors:
            dense, lexical, tag, lent, decay, trust, confidence, demoted, disputed, unused = (
                column[row] for column in columns
            )
            half_life = half_lives[row]
            return Factors(
                dense=dense,
                lexical=lexical,
                tag=tag,
                lent=lent,
                decay=decay,
                trust=trust,
                confidence=confidence,
                demoted=demoted,
                disputed=disputed,
                unused=unused,
                half_life_days=half_life if half_life < np.inf else None,
            )

        return make


def dense_weight(signals: QuerySignals, *, policy: FusionPolicy) -> float:
    """Return the share of the dense arm for a query, in (0, 1).

    Args:
        signals: What the query's own score lists say.
        policy: Coefficients, fitted by `tests/bench/fit_recall.py`.
    """
    x = (
        policy.bias
        + policy.known * signals.known
        + policy.matched * signals.matched
        + policy.dense_gap * signals.dense_gap
        + policy.lexical_gap * signals.lexical_gap
        + policy.dense_peak * signals.dense_peak
        + policy.agreement * signals.agreement
        + policy.length * signals.length
        + policy.cjk * signals.cjk
    )
    return float(1.0 / (1.0 + np.exp(-np.clip(x, -40.0, 40.0))))


def tag_weight(one: IntentTag, *, policy: TagPolicy) -> float:
    """Return what a full match with one intent tag may add to the base.

    Args:
        one: The tag, how it is known and how surely.
        policy: Weight of each way of knowing.
    """
    by_origin = {
        "caller": policy.caller_weight,
        "alias": policy.alias_weight,
        "prototype": policy.prototype_weight,
    }
    return by_origin[one.origin] * one.strength


def reweigh(
    normalisers: Normalisers, *, intent: Sequence[IntentTag], policy: RecallPolicy
) -> Normalisers:
    """Return the normalisers with the weights that a policy gives this query.

    An arm without any spread (no embedder, or no word in common) gets weight 0 and leaves all
    to the other.

    Args:
        normalisers: Ranges and signals of the query; the weights in them are replaced.
        intent: Tags the query is about.
        policy: The weights.
    """
    has_dense = normalisers.cosine_high > normalisers.cosine_low
    has_lexical = normalisers.bm25_high > normalisers.bm25_low
    share = dense_weight(normalisers.signals, policy=policy.fusion)
    return replace(
        normalisers,
        w_dense=(share if has_lexical else 1.0) if has_dense else 0.0,
        w_lexical=(1.0 - share if has_dense else 1.0) if has_lexical else 0.0,
        w_tag=_most_by_facet(intent, policy=policy.tags),
    )


def _most_by_facet(intent: Sequence[IntentTag], *, policy: TagPolicy) -> float:
    """Sum the weights of each facet, for its values share one meaning; the greatest counts."""
    sums: dict[str, float] = {}
    for one in intent:
        sums[one.tag.facet] = sums.get(one.tag.facet, 0.0) + tag_weight(one, policy=policy)
    return max(sums.values(), default=0.0)


def arm_scores(
    cosine: Float64Array,
    has_vector: BoolArray,
    bm25: Float64Array,
    *,
    normalisers: Normalisers,
    policy: FusionPolicy,
) -> tuple[Float64Array, Float64Array]:
    """Return the weighted scores of both arms, meaning first.

    Words can speak only for memories in the language of the query. Where none of them stands in a
    memory, meaning gets some of their weight, or a scope in two languages would answer in one.

    Args:
        cosine: shape (n,), float64.
        has_vector: shape (n,), bool; without a vector the dense score is 0.
        bm25: shape (n,), float64; where it is 0 the lexical score is 0, whatever the range.
        normalisers: Ranges and weights.
        policy: Share of the words' weight that meaning gets where they say nothing.
    """
    dense = _scaled(cosine, low=normalisers.cosine_low, high=normalisers.cosine_high)
    lexical = _scaled(bm25, low=normalisers.bm25_low, high=normalisers.bm25_high)
    gained = policy.unmatched * normalisers.w_lexical
    if gained:
        dense *= np.where(bm25 > 0.0, normalisers.w_dense, normalisers.w_dense + gained)
    else:
        dense *= normalisers.w_dense
    lexical *= normalisers.w_lexical
    if not has_vector.all():
        dense[~has_vector] = 0.0
    if normalisers.bm25_low != 0.0:
        lexical[bm25 <= 0.0] = 0.0
    return dense, lexical


def factor_table(
    table: FeatureTable, *, normalisers: Normalisers, policy: RecallPolicy, decay: DecayPolicy
) -> FactorTable:
    """Return how the score of each memory comes about.

    Args:
        table: What is known of them.
        normalisers: Ranges and weights of the query.
        policy: Exponent of confidence and the weights of demoted, disputed and unused memories.
        decay: The forgetting curve.
    """
    dense, lexical = arm_scores(
        table.cosine,
        table.has_vector,
        table.bm25,
        normalisers=normalisers,
        policy=policy.fusion,
    )
    lent = np.zeros_like(dense)
    if table.placed.any():
        around = arm_scores(
            table.context_cosine,
            table.has_vector,
            table.context_bm25,
            normalisers=normalisers,
            policy=policy.fusion,
        )
        lent = np.where(table.placed, sum(around) - (dense + lexical), 0.0)
    half_life = half_lives_days(table.base_days, table.uses, policy=decay)
    half_life = np.where(table.permanent, np.inf, half_life)
    return FactorTable(
        dense=dense,
        lexical=lexical,
        tag=normalisers.w_tag * table.tag_overlap,
        lent=lent,
        decay=decays(table.age_days, half_life, policy=decay),
        trust=table.trust,
        confidence=table.confidence**policy.confidence_exponent,
        demoted=np.where(table.demoted, policy.demoted_weight, 1.0),
        disputed=np.where(table.disputed, policy.disputed_weight, 1.0),
        half_life_days=half_life,
        unused=np.where(
            table.permanent,
            1.0,
            unused_factors(
                table.used,
                table.recalled,
                used_share=normalisers.used_share,
                least=policy.unused_weight,
            ),
        ),
    )


def rescore(
    candidates: Sequence[Candidate],
    *,
    normalisers: Normalisers,
    policy: RecallPolicy,
    decay: DecayPolicy,
) -> tuple[Factors, ...]:
    """Return the factors of logged candidates from their features alone.

    With the policy of the log and its normalisers the scores are those of the log. For another
    policy give `reweigh(normalisers, ...)`.

    Args:
        candidates: Members of a logged pool.
        normalisers: Ranges and weights of that recall.
        policy: The policy to score with.
        decay: The forgetting curve to score with.

    Returns:
        One entry a candidate, in the order given.
    """
    table = _table([candidate.features for candidate in candidates], decay=decay)
    factors = factor_table(table, normalisers=normalisers, policy=policy, decay=decay)
    return tuple(map(factors.rows(), range(len(candidates))))


def _table(rows: Sequence[Features], *, decay: DecayPolicy) -> FeatureTable:
    def real(values: list[float]) -> Float64Array:
        return np.array(values, dtype=np.float64)

    used = decay.boost_on == "used"
    return FeatureTable(
        cosine=real([row.cosine for row in rows]),
        has_vector=np.array([row.has_vector for row in rows], dtype=np.bool_),
        bm25=real([row.bm25 for row in rows]),
        placed=np.array([row.context_bm25 is not None for row in rows], dtype=np.bool_),
        context_cosine=real([_or(row.context_cosine, row.cosine) for row in rows]),
        context_bm25=real([_or(row.context_bm25, row.bm25) for row in rows]),
        tag_overlap=real([row.tag_overlap for row in rows]),
        age_days=real([row.age_days for row in rows]),
        uses=np.array(
            [row.used_count if used else row.recalled_count for row in rows], dtype=np.int64
        ),
        used=np.array([row.used_count for row in rows], dtype=np.int64),
        recalled=np.array([row.recalled_count for row in rows], dtype=np.int64),
        base_days=real([base_half_life_days(r.memory_type, r.tags, policy=decay) for r in rows]),
        confidence=real([row.confidence for row in rows]),
        trust=real([row.trust for row in rows]),
        permanent=np.array([row.permanent for row in rows], dtype=np.bool_),
        demoted=np.array([row.demoted for row in rows], dtype=np.bool_),
        disputed=np.array([row.status == "disputed" for row in rows], dtype=np.bool_),
    )


def _or(value: float | None, instead: float) -> float:
    return instead if value is None else value


def _scaled(values: Float64Array, *, low: float, high: float) -> Float64Array:
    """Map low to 0 and high to 1; 0 where there is no range."""
    if high <= low:
        return np.zeros_like(values)
    scaled = values - low
    scaled /= high - low
    np.maximum(scaled, 0.0, out=scaled)
    return np.minimum(scaled, 1.0, out=scaled)
