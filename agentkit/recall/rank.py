"""One query against one scope: filter, score every memory exactly, rank, say why."""

from collections.abc import Sequence

import numpy as np

from agentkit.policy.decay import DecayPolicy
from agentkit.policy.recall import RecallPolicy
from agentkit.recall.arms import measure_arms
from agentkit.recall.columns import STATUSES, BoolArray, Columns, Float64Array
from agentkit.recall.explain import why_not
from agentkit.recall.filters import Filter, passing
from agentkit.recall.index import ScopeIndex
from agentkit.recall.query import Ranking, RankQuery
from agentkit.recall.scan import Scan, scan
from agentkit.recall.score import reweigh
from agentkit.recall.signals import measure
from agentkit.records import MEMORY_TYPES, Candidate, Features, IntentTag
from agentkit.text import cjk_share, query_term_counts


def rank(
    index: ScopeIndex, query: RankQuery, *, policy: RecallPolicy, decay: DecayPolicy, now_s: float
) -> Ranking:
    """Return the ranked memories of a scope for a query, each with its reasons.

    Args:
        index: The memories of the user.
        query: What is asked.
        policy: Weights.
        decay: The forgetting curve.
        now_s: Now, seconds since 1970 UTC.

    Raises:
        InputError: If the query's vector has another length than those held.
    """
    with index.lock:
        return _rank(index, query, policy=policy, decay=decay, now_s=now_s)


def _rank(
    index: ScopeIndex, query: RankQuery, *, policy: RecallPolicy, decay: DecayPolicy, now_s: float
) -> Ranking:
    passed = passing(index, Filter.of(query), now_s=now_s, relax_below=policy.tags.relax_below)
    slots = np.flatnonzero(passed.mask)
    terms = query_term_counts(query.text)
    arms = measure_arms(
        index,
        terms,
        query.vector,
        seen=passed.mask,
        lexical=policy.lexical,
        neighbours=policy.neighbours,
    )
    has_vector = arms.has_vector[slots] & (query.vector is not None)
    measured = measure(
        arms.context_cosine[slots],
        has_vector,
        arms.context_bm25[slots],
        arms.matched[slots],
        known=arms.known,
        term_count=len(terms.terms),
        cjk=cjk_share(query.text),
        least_cosine_span=policy.least_cosine_span,
    )
    intent = _intent(index, query, passed=passed.mask)
    normalisers = reweigh(measured, intent=intent, policy=policy)
    scanned = scan(
        index,
        arms,
        slots=slots,
        intent=intent,
        normalisers=normalisers,
        policy=policy,
        decay=decay,
        now_s=now_s,
    )
    best = _best(index, scanned, limit=max(query.top_k, policy.pool_final))
    return Ranking(
        memory_ids=tuple(index.ids[int(slots[at])] for at in best[: query.top_k]),
        pool=_pool(index, scanned, best, top_k=query.top_k, arm_limit=policy.pool_arm),
        intent=intent,
        relaxations=passed.relaxations,
        normalisers=normalisers,
        considered=len(slots),
        degraded=_degraded(query, has_vector),
    )


def _intent(index: ScopeIndex, query: RankQuery, *, passed: BoolArray) -> tuple[IntentTag, ...]:
    """The caller's tags, else those inferred tags that tell some passing memories from others."""
    if query.tags:
        return tuple(IntentTag(tag, "caller") for tag in query.tags)
    return tuple(one for one in query.intent if (index.tag_mask(one.tag) & passed).any())


def _best(index: ScopeIndex, scanned: Scan, *, limit: int) -> list[int]:
    """Positions of the best by score, then newest, then id."""
    return _top(index, scanned, scanned.score, among=scanned.found, limit=limit)


def _top(
    index: ScopeIndex, scanned: Scan, values: Float64Array, *, among: BoolArray, limit: int
) -> list[int]:
    """Positions of the greatest values, ties by newest, then id."""
    found = np.flatnonzero(among)
    if limit < 1:
        return []
    if len(found) > limit:
        least = np.partition(values[found], -limit)[-limit]
        found = found[values[found] >= least]

    def key(at: int) -> tuple[float, float, str]:
        return -float(values[at]), -float(scanned.created_s[at]), _id(index, scanned, at)

    return sorted(found.tolist(), key=key)[:limit]


def _pool(
    index: ScopeIndex, scanned: Scan, best: Sequence[int], *, top_k: int, arm_limit: int
) -> tuple[Candidate, ...]:
    """The best by final score, then those of either arm that are not among them."""
    places = {at: place for place, at in enumerate(best, start=1)}
    table = scanned.table
    words = table.context_bm25
    for values, among in ((table.context_cosine, table.has_vector), (words, words > 0.0)):
        for at in _top(index, scanned, values, among=among, limit=arm_limit):
            if at not in places:
                places[at] = _place(index, scanned, at)
    in_order = sorted(places, key=lambda at: (places[at], _id(index, scanned, at)))
    last = float(scanned.score[best[min(top_k, len(best)) - 1]]) if best else 0.0
    columns = index.columns
    return tuple(
        _candidate(index, columns, scanned, at, place=places[at], top_k=top_k, last_score=last)
        for at in in_order
    )


def _place(index: ScopeIndex, scanned: Scan, at: int) -> int:
    """Rank of one memory in the whole filtered scope, from 1."""
    tied = scanned.score == scanned.score[at]
    ahead = scanned.score > scanned.score[at]
    ahead |= tied & (scanned.created_s > scanned.created_s[at])
    same = np.flatnonzero(tied & (scanned.created_s == scanned.created_s[at])).tolist()
    own = _id(index, scanned, at)
    return 1 + int(ahead.sum()) + sum(_id(index, scanned, one) < own for one in same)


def _candidate(
    index: ScopeIndex,
    columns: Columns,
    scanned: Scan,
    at: int,
    *,
    place: int,
    top_k: int,
    last_score: float,
) -> Candidate:
    slot = int(scanned.slots[at])
    table = scanned.table
    factors = scanned.factors.row(at)
    returned = place <= top_k
    return Candidate(
        memory_id=index.ids[slot],
        rank=place,
        features=Features(
            cosine=float(table.cosine[at]),
            bm25=float(table.bm25[at]),
            tag_overlap=float(table.tag_overlap[at]),
            age_days=float(table.age_days[at]),
            used_count=int(columns.used_count[slot]),
            recalled_count=int(columns.recalled_count[slot]),
            confidence=float(columns.confidence[slot]),
            trust=float(columns.trust[slot]),
            memory_type=MEMORY_TYPES[int(columns.memory_type[slot])],
            status=STATUSES[int(columns.status[slot])],
            permanent=bool(columns.permanent[slot]),
            demoted=bool(columns.demoted[slot]),
            tags=index.tags(slot),
            episode_id=index.episode_id(slot),
            has_vector=bool(table.has_vector[at]),
            context_cosine=float(table.context_cosine[at]) if table.placed[at] else None,
            context_bm25=float(table.context_bm25[at]) if table.placed[at] else None,
        ),
        factors=factors,
        returned=returned,
        why_not=""
        if returned
        else why_not(factors, rank=place, top_k=top_k, last_score=last_score),
    )


def _id(index: ScopeIndex, scanned: Scan, at: int) -> str:
    return index.ids[int(scanned.slots[at])]


def _degraded(query: RankQuery, has_vector: BoolArray) -> str:
    missing = int((~has_vector).sum())
    if query.vector is None:
        return "no query vector: ranked by words alone"
    if missing == 0:
        return ""
    some = "no memory has" if missing == len(has_vector) else f"{missing} memories have no"
    return f"{some} vector yet: ranked by words alone"
