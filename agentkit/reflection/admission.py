"""Admission: what may become a memory. One pure function for every door.

The order matters: secrets are masked before anything is compared, and what is refused is
refused before it can verify anything.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from agentkit.policy.reflection import AdmissionPolicy, ReflectionPolicy
from agentkit.records import (
    Admission,
    AdmissionAction,
    Evidence,
    Lesson,
    Memory,
    Neighbour,
    Tag,
    Trajectory,
)
from agentkit.records.belief import LEAST_CONFIDENCE, MOST_CONFIDENCE
from agentkit.reflection.facts import differences
from agentkit.reflection.gist import plain
from agentkit.reflection.orders import gives_orders
from agentkit.reflection.quotes import excerpt, stands_in
from agentkit.reflection.repeats import copied_from, repeated_memory
from agentkit.reflection.secrets import MASK, redact
from agentkit.text import normalise, one_line

_POINT = re.compile(r"(?:^|\n)\s*(?:[-*•]|\d{1,2}[.)、])\s+|\n\s*\n")
# A critic's word alone is worth nothing: these have to show where they have it from.
_MUST_QUOTE = frozenset({"model_critic", "rule_critic"})
_FROM_OUTSIDE = frozenset({"tool", "web", "import"})
_LIVING = frozenset({"pending", "active", "disputed", "archived"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grounds:
    """A verdict of one rule, with what to do about it.

    Attributes:
        action: What to do.
        reason: Why.
        target_id: The memory it is about, or None.
    """

    action: AdmissionAction
    reason: str
    target_id: str | None = None


def admit(
    lesson: Lesson,
    *,
    policy: ReflectionPolicy,
    trajectory: Trajectory | None = None,
    neighbours: Sequence[Neighbour] = (),
    briefed: Sequence[Memory] = (),
    taxonomy_tags: Collection[Tag] | None = None,
    forbidden_texts: Sequence[str] = (),
) -> Admission:
    """Return what is to become of a lesson, and the lesson as it may be stored.

    Args:
        lesson: A candidate from any door.
        policy: Limits, trust by source.
        trajectory: Steps of the episode it comes from; None where there is no episode, and then
            evidence cannot be checked and is left out.
        neighbours: Stored memories of the same scope near to it, in any order.
        briefed: Memories that were in the briefing of the episode.
        taxonomy_tags: Tags that are known; None to take every tag.
        forbidden_texts: System text and rendered prompts that nobody may learn from.

    Returns:
        The decision with its reason. Where the action is `add`, `judge` or `quarantine`, the
        lesson in it has no secrets, only evidence that stands, known tags and bounded texts.
    """
    limits = policy.admission
    grounded = _grounded(_normalised(lesson), trajectory=trajectory, limits=limits)
    clean, redactions = _redacted(grounded)
    bounded, unknown = _bounded(clean, limits=limits, taxonomy_tags=taxonomy_tags)
    grounds = (
        _unusable(bounded, limits=limits)
        or _ungrounded(bounded, trajectory=trajectory)
        or _refused_tags(unknown, limits=limits)
        or _not_learnt(
            bounded, trajectory=trajectory, briefed=briefed, texts=forbidden_texts, limits=limits
        )
        or _ordered(bounded, trajectory=trajectory)
        or _known(bounded, trajectory=trajectory, neighbours=neighbours, limits=limits)
        or _Grounds(action="add", reason="new")
    )
    dropped = f"; unknown tags left out: {', '.join(map(str, unknown))}" if unknown else ""
    return Admission(
        lesson=bounded,
        action=grounds.action,
        reason=grounds.reason + ("" if grounds.action == "refuse" else dropped),
        trust=policy.trust.of(lesson.source),
        target_id=grounds.target_id,
        redactions=redactions,
    )


def _normalised(lesson: Lesson) -> Lesson:
    """Return the lesson in one form of text, its confidence within bounds."""
    return replace(
        lesson,
        content=normalise(lesson.content).strip(),
        intent=normalise(lesson.intent).strip(),
        cues=tuple(normalise(cue).strip() for cue in lesson.cues),
        confidence=min(max(lesson.confidence, LEAST_CONFIDENCE), MOST_CONFIDENCE),
    )


def _grounded(lesson: Lesson, *, trajectory: Trajectory | None, limits: AdmissionPolicy) -> Lesson:
    """Return the lesson with the evidence that stands, its quotes cut to their limit."""
    if trajectory is None:
        return replace(lesson, evidence=())
    kept: dict[Evidence, None] = {}
    for evidence in lesson.evidence:
        step = trajectory.step(evidence.step_id)
        if step is None or step.kind == "briefing" or not _stands(evidence.quote, step.text):
            continue
        quote = excerpt(normalise(evidence.quote), limit_chars=limits.quote_chars)
        kept[Evidence(evidence.step_id, quote)] = None
    return replace(lesson, evidence=tuple(kept))


def _stands(quote: str, text: str) -> bool:
    """Whether a quote stands in a step, as it is or as a model was shown it."""
    return stands_in(quote, text) or (MASK in quote and stands_in(quote, redact(text).text))


def _redacted(lesson: Lesson) -> tuple[Lesson, int]:
    """Return the lesson without secrets, and how many there were."""
    content, intent = redact(lesson.content), redact(lesson.intent)
    cues = [redact(cue) for cue in lesson.cues]
    quotes = [redact(evidence.quote) for evidence in lesson.evidence]
    masked = replace(
        lesson,
        content=content.text,
        intent=intent.text,
        cues=tuple(cue.text for cue in cues),
        evidence=tuple(
            Evidence(evidence.step_id, quote.text)
            for evidence, quote in zip(lesson.evidence, quotes, strict=True)
        ),
    )
    return masked, sum(found.count for found in (content, intent, *cues, *quotes))


def _bounded(
    lesson: Lesson, *, limits: AdmissionPolicy, taxonomy_tags: Collection[Tag] | None
) -> tuple[Lesson, tuple[Tag, ...]]:
    """Return the lesson with bounded cues and known tags, and the tags that are not known."""
    cues = (one_line(cue, limit_chars=limits.cue_chars) for cue in lesson.cues)
    distinct = {cue.casefold(): cue for cue in cues if cue and plain(cue) != plain(lesson.content)}
    tags = sorted(set(lesson.tags))
    known = tuple(tag for tag in tags if taxonomy_tags is None or tag in taxonomy_tags)
    unknown = tuple(tag for tag in tags if tag not in known)
    bounded = replace(lesson, cues=tuple(distinct.values())[: limits.cue_limit], tags=known)
    return bounded, unknown


def _unusable(lesson: Lesson, *, limits: AdmissionPolicy) -> _Grounds | None:
    """Refuse what says nothing, too much, or several things."""
    content = lesson.content
    if not plain(content.replace(MASK, "")):
        return _refuse("it says nothing" + (" besides a secret" if MASK in content else ""))
    if len(content) > limits.content_chars:
        return _refuse(
            f"it has {len(content)} characters; at most {limits.content_chars} are kept, so say "
            "it shorter or in several memories"
        )
    points = len(_POINT.findall(content))
    if lesson.memory_type != "episodic" and points > limits.point_limit:
        return _refuse(f"it lists {points} points; write one memory for each topic")
    return None


def _ungrounded(lesson: Lesson, *, trajectory: Trajectory | None) -> _Grounds | None:
    """Refuse a critic's lesson without a quote that stands in its step."""
    if trajectory is None or lesson.evidence or lesson.source not in _MUST_QUOTE:
        return None
    return _refuse("no quote of it stands in the step that it cites")


def _refused_tags(unknown: Sequence[Tag], *, limits: AdmissionPolicy) -> _Grounds | None:
    """Refuse unknown tags where the policy says so."""
    if not unknown or limits.unknown_tags == "drop":
        return None
    return _refuse(f"unknown tags: {', '.join(map(str, unknown))}; see memory/taxonomy.yaml")


def _not_learnt(
    lesson: Lesson,
    *,
    trajectory: Trajectory | None,
    briefed: Sequence[Memory],
    texts: Sequence[str],
    limits: AdmissionPolicy,
) -> _Grounds | None:
    """Refuse what was in front of the model already: prompts, system text, the briefing."""
    if lesson.source == "user" or lesson.memory_type == "episodic":
        return None
    if copied_from(lesson.content, texts, overlap=limits.prompt_overlap):
        return _refuse("it is copied from a prompt or the system text")
    memory = repeated_memory(lesson, briefed, trajectory=trajectory, overlap=limits.briefed_overlap)
    if memory is None:
        return None
    return _refuse("it repeats a memory of the briefing", target_id=memory.memory_id)


def _ordered(lesson: Lesson, *, trajectory: Trajectory | None) -> _Grounds | None:
    """Hold back what gives orders to the agent and did not come from the user."""
    if lesson.source == "user":
        return None
    outside = lesson.source in _FROM_OUTSIDE
    if not gives_orders("\n".join([lesson.content, *lesson.cues]), vouched=not outside):
        return None
    if outside:
        return _hold(f"it gives orders to the agent and came from: {lesson.source}")
    if trajectory is not None and _by_user(lesson, trajectory):
        return None
    return _hold("it gives orders to the agent and rests on no words of the user alone")


def _by_user(lesson: Lesson, trajectory: Trajectory) -> bool:
    """Whether all that a lesson rests on was said by the user."""
    steps = [trajectory.step(evidence.step_id) for evidence in lesson.evidence]
    return bool(steps) and all(step is not None and step.kind == "user" for step in steps)


def _known(
    lesson: Lesson,
    *,
    trajectory: Trajectory | None,
    neighbours: Sequence[Neighbour],
    limits: AdmissionPolicy,
) -> _Grounds | None:
    """Verify the memory that says the same, or call the judge where facts differ."""
    # Two runs of one task are two events, however alike they read.
    if lesson.memory_type == "episodic" and trajectory is not None:
        return None
    living = [near for near in neighbours if near.memory.status in _LIVING]
    nearest = sorted(living, key=lambda near: (-near.cosine, near.memory.memory_id))
    for near in nearest:
        if plain(near.memory.content) == plain(lesson.content):
            return _Grounds(
                action="verify", reason="it is known already", target_id=near.memory.memory_id
            )
    for near in nearest:
        if near.cosine < limits.near_duplicate_cosine:
            break
        apart = differences(lesson.content, near.memory.content)
        if not apart:
            return _Grounds(
                action="verify",
                reason=f"it says what is known already (cosine {near.cosine:.2f})",
                target_id=near.memory.memory_id,
            )
    if nearest and nearest[0].cosine >= limits.near_duplicate_cosine:
        apart = differences(lesson.content, nearest[0].memory.content)
        return _Grounds(
            action="judge",
            reason=f"it is near to a known memory (cosine {nearest[0].cosine:.2f}), but "
            + ", ".join(apart),
            target_id=nearest[0].memory.memory_id,
        )
    return None


def _refuse(reason: str, *, target_id: str | None = None) -> _Grounds:
    return _Grounds(action="refuse", reason=reason, target_id=target_id)


def _hold(reason: str) -> _Grounds:
    return _Grounds(action="quarantine", reason=reason)
