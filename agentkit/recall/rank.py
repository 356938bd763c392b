"""One query against one scope: filter, score every memory exactly, rank, say why."""

from dataclasses import replace

import numpy as np

from agentkit.policy.decay import DecayPolicy
from agentkit.policy.recall import RecallPolicy
from agentkit.recall.arms import measure_arms
from agentkit.recall.columns import BoolArray
from agentkit.recall.filters import Filter, passing
from agentkit.recall.floor import refused
from agentkit.recall.index import ScopeIndex
from agentkit.recall.pool import best_places, build_pool
from agentkit.recall.popularity import used_share
from agentkit.recall.query import Ranking, RankQuery
from agentkit.recall.scan import chosen, scan
from agentkit.recall.score import reweigh
from agentkit.recall.signals import measure
from agentkit.records import IntentTag
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
    taken = chosen(slots, index.slots)
    terms = query_term_counts(query.text)
    arms = measure_arms(
        index,
        terms,
        query.vector,
        seen=passed.mask,
        lexical=policy.lexical,
        neighbours=policy.neighbours,
    )
    has_vector = arms.has_vector[taken] & (query.vector is not None)
    measured = measure(
        arms.context_cosine[taken],
        has_vector,
        arms.context_bm25[taken],
        arms.matched[taken],
        known=arms.known,
        term_count=len(terms.terms),
        cjk=cjk_share(query.text),
        least_cosine_span=policy.least_cosine_span,
    )
    intent = _intent(index, query, passed=passed.mask)
    measured = replace(
        measured, used_share=used_share(index.columns, seen=index.visible_to(query.agent_id))
    )
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
    below = refused(index, scanned, query, intent=intent, policy=policy.floor)
    best = best_places(index, scanned, limit=max(query.top_k, policy.pool_final))
    hits = best[: query.top_k]
    if below.any():
        hits = best_places(index, scanned, limit=query.top_k, leaving_out=below)
    return Ranking(
        memory_ids=tuple(index.ids[int(slots[at])] for at in hits),
        pool=build_pool(
            index, scanned, best, hits=hits, below=below, query=query, arm_limit=policy.pool_arm
        ),
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


def _degraded(query: RankQuery, has_vector: BoolArray) -> str:
    missing = int((~has_vector).sum())
    if query.vector is None:
        return "no query vector: ranked by words alone"
    if missing == 0:
        return ""
    some = "no memory has" if missing == len(has_vector) else f"{missing} memories have no"
    return f"{some} vector yet: ranked by words alone"
