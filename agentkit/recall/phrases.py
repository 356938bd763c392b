"""Plain time phrases in English and Chinese, found in a text and turned into ranges."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from functools import cache

from agentkit.recall import phrases_en, phrases_zh
from agentkit.recall.moment import Moment
from agentkit.recall.phrase import Direction, Grammar, Phrase
from agentkit.records import TimeRange

_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_BLANKS = re.compile(r"[ \t]{2,}")
_LOOSE_PUNCTUATION = re.compile(r"\s+(?=[,.?!，。？！])")


@dataclass(frozen=True, slots=True)
class FoundTime:
    """A time phrase in a text.

    Attributes:
        within: What it means.
        phrase: Its words.
        rest: The text without it; the whole text where nothing else was in it.
    """

    within: TimeRange
    phrase: str
    rest: str


def find_time(text: str, *, now: datetime, zone: tzinfo) -> FoundTime | None:
    """Return the time that a text speaks of, if it speaks of one time in the past.

    Two different times, times that lie ahead, and code are left alone: unsure means none.
    "in March" is the last March that has begun, "two weeks ago" the week of the calendar that
    it falls in, "the last 3 days" reaches from midnight 3 days ago to the end of today.

    Args:
        text: What a person or model wrote, in English or Chinese.
        now: Current time, aware.
        zone: Time zone of the person.
    """
    moment = Moment(now, zone)
    found: list[Phrase] = []
    # Each Chinese phrase holds a Chinese character.
    chinese = () if text.isascii() else (phrases_zh.GRAMMAR,)
    for grammar in (phrases_en.GRAMMAR, *chinese):
        found.extend(_phrases(text, grammar, moment))
    code = [match.span() for match in _CODE.finditer(text)]
    found = [one for one in found if not any(start <= one.start < end for start, end in code)]
    if len({one.within for one in found}) != 1:
        return None
    only = found[0]
    if only.within.start is not None and only.within.start > now:
        return None
    return FoundTime(
        within=only.within, phrase=text[only.start : only.end].strip(), rest=_without(text, found)
    )


def read_time(text: str, *, now: datetime, zone: tzinfo) -> TimeRange | None:
    """Return the range that a text is a phrase for, or None if it holds anything else.

    Args:
        text: Such as "last week", "since Monday" or "上周"; also a month, weekday or year alone.
        now: Current time, aware.
        zone: Time zone of the person.
    """
    bare = text.strip()
    # A month, weekday or year says nothing alone in a sentence, and is clear in an option.
    for said in (bare, f"in {bare}", f"on {bare}"):
        found = find_time(said, now=now, zone=zone)
        if found is not None and found.phrase == said:
            return found.within
    return None


def _phrases(text: str, grammar: Grammar, moment: Moment) -> Iterator[Phrase]:
    """The phrases of one language, joined and directed, in order."""
    atoms = _chosen(_atoms(text, grammar, moment))
    place = 0
    while place < len(atoms):
        joined = _joined(text, atoms[place : place + 2], grammar)
        if joined is not None:
            yield joined
            place += 2
            continue
        directed = _directed(text, atoms[place], grammar)
        if directed is not None:
            yield directed
        place += 1


def _atoms(text: str, grammar: Grammar, moment: Moment) -> Iterator[Phrase]:
    for rule in grammar.rules:
        for match in _compiled(rule.pattern).finditer(text):
            if grammar.refuses(text[: match.start()], text[match.end() :]):
                continue
            try:
                within = rule.build(match, moment)
            except (ValueError, OverflowError):
                # No such day, or a year that no calendar has.
                continue
            if within is not None:
                yield Phrase(match.start(), match.end(), within, needs_lead=rule.needs_lead)


def _chosen(atoms: Iterator[Phrase]) -> list[Phrase]:
    """Those that do not overlap: the leftmost, and of two there the longest."""
    chosen: list[Phrase] = []
    for one in sorted(atoms, key=lambda atom: (atom.start, -atom.end)):
        if not chosen or one.start >= chosen[-1].end:
            chosen.append(one)
    return chosen


def _joined(text: str, pair: Sequence[Phrase], grammar: Grammar) -> Phrase | None:
    """One phrase of "from A to B", or None."""
    if len(pair) < 2:
        return None
    first, last = pair
    between = text[first.end : last.start]
    if not _compiled(grammar.joint).fullmatch(between):
        return None
    lead = _compiled(grammar.joint_lead).search(text[: first.start])
    if lead is None and grammar.joint_needs_lead:
        return None
    start, end = first.within.start, last.within.end
    if start is None or end is None or end <= start:
        return None
    began = first.start if lead is None else lead.start()
    return Phrase(began, last.end, TimeRange(start, end))


def _directed(text: str, atom: Phrase, grammar: Grammar) -> Phrase | None:
    """A phrase with the words around it that belong to it, or None if it needs some."""
    for direction, pattern in grammar.leads:
        lead = _compiled(pattern).search(text[: atom.start])
        if lead is not None:
            tail = _compiled(grammar.tail_after_lead).match(text[atom.end :])
            end = atom.end + (tail.end() if tail is not None else 0)
            return _turned(direction, Phrase(lead.start(), end, atom.within))
    for direction, pattern in grammar.tails:
        tail = _compiled(pattern).match(text[atom.end :])
        if tail is not None:
            return _turned(direction, Phrase(atom.start, atom.end + tail.end(), atom.within))
    return None if atom.needs_lead else atom


def _turned(direction: Direction, phrase: Phrase) -> Phrase | None:
    within = phrase.within
    turned: dict[Direction, Callable[[], TimeRange]] = {
        "in": lambda: within,
        "since": lambda: TimeRange(within.start, None),
        "after": lambda: TimeRange(within.end, None),
        "before": lambda: TimeRange(None, within.start),
        "until": lambda: TimeRange(None, within.end),
    }
    return Phrase(phrase.start, phrase.end, turned[direction]())


def _without(text: str, found: Sequence[Phrase]) -> str:
    rest = text
    for one in sorted(found, key=lambda phrase: -phrase.start):
        rest = f"{rest[: one.start]} {rest[one.end :]}"
    rest = _LOOSE_PUNCTUATION.sub("", _BLANKS.sub(" ", rest)).strip()
    return rest if any(map(str.isalnum, rest)) else text


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)
