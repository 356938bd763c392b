"""What a door was given, as a query or a lesson: checked once, the same for every door."""

import math
from collections.abc import Iterable
from datetime import datetime, tzinfo
from typing import Literal, cast, get_args

from agentkit.errors import InputError
from agentkit.kit.within import read_within
from agentkit.policy import TaxonomyPolicy, parse_tags
from agentkit.recall import ends
from agentkit.records import (
    LEAST_CONFIDENCE,
    MEMORY_TYPES,
    MOST_CONFIDENCE,
    Lesson,
    MemoryType,
    Query,
)
from agentkit.text import language_of, normalise

MOST_HITS = 100
# Longer questions are cut down before they are searched anyway; this bounds what is logged.
MOST_QUERY_CHARS = 20_000

Match = Literal["all", "any"]


def build_query(
    text: object,
    *,
    top_k: object,
    memory_type: object,
    min_confidence: object,
    least_similarity: object,
    tags: object,
    match: object,
    include_archived: bool,
    within: object,
    as_of: datetime | None,
    now: datetime,
    zone: tzinfo,
    taxonomy: TaxonomyPolicy,
) -> Query:
    """Return a checked query.

    Args:
        text: The question, not blank; of more than 20,000 characters both ends.
        top_k: 1 to 100; digits in a string are taken.
        memory_type: One type, or None for all.
        min_confidence: 0 to 1.
        least_similarity: Cosine from -1 to 1, or None for the policy's floor alone.
        tags: Tags in any of the shapes in which clients send them, or None.
        match: `all` or `any`.
        include_archived: Whether archived memories may come back.
        within: When they were created, in any form of `read_within`, or None for any time.
        as_of: Instant whose memories are asked; phrases of time count from it; None for now.
        now: Current time, aware.
        zone: Time zone of what names none.
        taxonomy: Where the tags come from.

    Raises:
        InputError: Naming the argument, what it was, and what it may be.
    """
    wanted = ends(_text(text, name="query"), limit_chars=MOST_QUERY_CHARS)
    if match not in get_args(Match):
        raise InputError(f"match is {match!r}; give all or any")
    return Query(
        text=wanted,
        memory_types=() if memory_type is None else (_memory_type(memory_type),),
        top_k=_whole(top_k, name="top_k", least=1, most=MOST_HITS),
        min_confidence=_number(min_confidence, name="min_confidence", least=0.0, most=1.0),
        least_similarity=None
        if least_similarity is None
        else _number(least_similarity, name="least_similarity", least=-1.0, most=1.0),
        tags=parse_tags(tags, taxonomy),
        match=cast("Match", match),
        include_archived=include_archived,
        within=read_within(within, now=as_of or now, zone=zone),
        as_of=as_of,
    )


def build_lesson(
    content: object,
    *,
    memory_type: object,
    tags: object,
    confidence: object,
    cues: object,
    taxonomy: TaxonomyPolicy,
) -> Lesson:
    """Return a checked lesson of an agent.

    Args:
        content: What is to be remembered, not blank.
        memory_type: One type.
        tags: Tags in any of the shapes in which clients send them, or None.
        confidence: 0.05 to 0.95.
        cues: Short phrases, or None.
        taxonomy: Where the tags come from.

    Raises:
        InputError: Naming the argument, what it was, and what it may be.
    """
    said = _text(content, name="content")
    return Lesson(
        content=said,
        memory_type=_memory_type(memory_type),
        confidence=_number(
            confidence, name="confidence", least=LEAST_CONFIDENCE, most=MOST_CONFIDENCE
        ),
        source="agent",
        cues=_cues(cues),
        tags=parse_tags(tags, taxonomy),
        language=language_of(said),
    )


def _text(value: object, *, name: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"{name} is {_shown(value)}; give text")
    text = normalise(value).strip()
    if not text:
        raise InputError(f"{name} is blank; say it in words")
    return text


def _memory_type(value: object) -> MemoryType:
    if value not in MEMORY_TYPES:
        raise InputError(f"memory_type is {_shown(value)}; give one of {', '.join(MEMORY_TYPES)}")
    return value


def _whole(value: object, *, name: str, least: int, most: int) -> int:
    problem = f"{name} is {_shown(value)}; give a whole number from {least} to {most}"
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InputError(problem)
    return value


def _number(value: object, *, name: str, least: float, most: float) -> float:
    problem = f"{name} is {_shown(value)}; give a number from {least:g} to {most:g}"
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(problem)
    if not math.isfinite(value) or not least <= value <= most:
        raise InputError(problem)
    return float(value)


def _cues(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, Iterable):
        raise InputError(f"cues is {_shown(value)}; give a list of short phrases")
    found = [_text(one, name="cues") for one in cast("Iterable[object]", value) if one != ""]
    return tuple(dict.fromkeys(found))


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
