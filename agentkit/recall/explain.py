"""Why a memory came back, and why another did not: one readable line each."""

from collections.abc import Sequence

from agentkit.records import Candidate, Factors, IntentTag

_SHOWN_BELOW = 0.995
# What would be shown as 0.00 is left out.
_SHOWN_FROM = 0.005


def explanation(candidate: Candidate, *, intent: Sequence[IntentTag] = ()) -> str:
    """Return how a score came about, in one line.

    Args:
        candidate: A member of a pool.
        intent: Tags the query was about, to name those that matched.
    """
    factors, features = candidate.factors, candidate.features
    parts = [f"meaning {factors.dense:.2f} (cosine {features.cosine:.2f})"]
    if not features.has_vector:
        parts = ["meaning unknown (no vector)"]
    parts.append(f"words {factors.lexical:.2f}")
    if factors.tag > 0:
        names = [str(one.tag) for one in intent if one.tag in features.tags]
        parts.append(" ".join(["tag", *names, f"{factors.tag:.2f}"]))
    if abs(factors.lent) >= _SHOWN_FROM:
        parts.append(f"neighbours in its episode {factors.lent:.2f}")
    return f"score {factors.score:.2f}: {' + '.join(parts)}, {_factors(candidate)}"


def why_not(factors: Factors, *, rank: int, top_k: int, last_score: float) -> str:
    """Return why a member of the pool was not returned, in one line.

    Args:
        factors: How its score came about.
        rank: Its place in the whole filtered scope, from 1.
        top_k: How many were wanted.
        last_score: Score of the last one that was returned.
    """
    line = f"rank {rank} where {top_k} were asked for; score {factors.score:.2f}"
    line += f" against {last_score:.2f} of the last one returned"
    held = {
        "age": factors.decay,
        "trust": factors.trust,
        "confidence": factors.confidence,
        "its lessons being extracted": factors.demoted,
        "the dispute": factors.disputed,
        "being recalled often and seldom of use": factors.unused,
    }
    name, least = min(held.items(), key=lambda item: item[1])
    if factors.base > last_score and least < _SHOWN_BELOW:
        line += f"; held back most by {name} (x {least:.2f})"
    return line


def _factors(candidate: Candidate) -> str:
    factors, features = candidate.factors, candidate.features
    if features.permanent:
        decay = "x decay 1.00 (permanent)"
    elif factors.half_life_days is None:
        decay = "x decay 1.00 (none set)"
    else:
        age, half = features.age_days, factors.half_life_days
        decay = f"x decay {factors.decay:.2f} ({age:.0f} d, half-life {half:.0f} d)"
    shown = [decay, f"x trust {factors.trust:.2f}", f"x confidence {factors.confidence:.2f}"]
    if factors.demoted < 1:
        shown.append(f"x demoted {factors.demoted:.2f}")
    if factors.disputed < 1:
        shown.append(f"x disputed {factors.disputed:.2f}")
    if factors.unused < 1:
        counts = f"{features.used_count} uses in {features.recalled_count} recalls"
        shown.append(f"x unused {factors.unused:.2f} ({counts})")
    return " ".join(shown)
