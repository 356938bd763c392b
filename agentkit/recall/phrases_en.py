"""How English names a time."""

import re
from collections.abc import Sequence
from datetime import date
from re import Match
from typing import cast

from agentkit.recall.moment import FEW_DAYS, DayPart, Moment, Unit
from agentkit.recall.phrase import Grammar, Rule
from agentkit.records import TimeRange

_NUMBERS: Sequence[str] = (
    "zero one two three four five six seven eight nine ten eleven twelve".split()
)
_DAYS: Sequence[str] = "monday tuesday wednesday thursday friday saturday sunday".split()
_MONTHS: Sequence[str] = (
    "january february march april may june july august september october november december"
).split()
_NUMBER = rf"\d{{1,3}}|an?|a couple of|{'|'.join(_NUMBERS[1:])}"
_UNIT = r"minute|hour|day|week|month|quarter|year"
_DAY = rf"(?:{'|'.join(_DAYS)}|mon|tues?|wed|thu(?:rs?)?|fri)"
_MONTH = rf"(?:{'|'.join(_MONTHS)}|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)"
_PART = r"morning|afternoon|evening|night"
_YEAR = r"(?:19[7-9]\d|20\d\d)"
_DATE = r"([0-3]?\d)(?:st|nd|rd|th)?"
# "after 2000 requests" counts, "in 2024 was" does not.
_NO_COUNT = r"(?!\s+(?!was\b|is\b|has\b|does\b|this\b)[a-z]+s\b)(?![\d.,:/%-]*\d)(?!%)"
_EVERY = re.compile(r"(?:\b(?:every|each|per|next|by next|first|second|third)\s+|[\w./-])$", re.I)
_BEHIND = re.compile(r"\s+of\s+(?:the|a|every|each)\b|[-/]\w|\s+(?:I|we|you)\s+\w+\b.*\?", re.I)


def _number(word: str) -> int:
    said = word.lower()
    if said.isdigit():
        return int(said)
    if said.startswith("a"):
        return 2 if "couple" in said else 1
    return _NUMBERS.index(said)


def _unit(word: str) -> Unit:
    return cast("Unit", word.lower())


def _part(word: str) -> DayPart:
    return cast("DayPart", word.lower())


def _place(word: str, names: Sequence[str]) -> int:
    return next(at for at, name in enumerate(names) if name.startswith(word.lower()))


def _calendar(match: Match[str], moment: Moment) -> TimeRange:
    back, unit = 0 if match[1].lower() in ("this", "the current") else 1, match[2].lower()
    return moment.weekend(back) if unit == "weekend" else moment.ago(back, _unit(unit))


def _yesterday(match: Match[str], moment: Moment) -> TimeRange:
    on = moment.days_ago(1)
    return moment.day(on) if match[1] is None else moment.part(on, _part(match[1]))


def _weekday(match: Match[str], moment: Moment) -> TimeRange:
    which, day, part = (match[1] or "").lower(), _place(match[2], _DAYS), match[3]
    if which == "this":
        on = moment.weekday_of(day, weeks_ago=0)
    else:
        on = moment.latest_weekday(day, with_today=False)
    return moment.day(on) if part is None else moment.part(on, _part(part))


def _month(match: Match[str], moment: Moment) -> TimeRange:
    month = _place(match[2], _MONTHS) + 1
    last = (match[1] or "").lower() == "last"
    if last and month == moment.today.month:
        return moment.month(moment.today.year - 1, month)
    return moment.latest_month(month)


def _on(moment: Moment, month: str, day: str, year: str | None) -> TimeRange:
    number = _place(month, _MONTHS) + 1
    if year is None:
        return moment.latest_date(number, int(day))
    return moment.day(date(int(year), number, int(day)))


def _refuses(before: str, behind: str) -> bool:
    return _EVERY.search(before) is not None or _BEHIND.match(behind) is not None


_RULES = (
    Rule(r"\b(?:earlier )?today\b", lambda m, at: at.day(at.today)),
    Rule(r"\b(?:the )?day before yesterday\b", lambda m, at: at.day(at.days_ago(2))),
    Rule(rf"\byesterday(?: (?:in the )?({_PART}))?\b", _yesterday),
    Rule(r"\bthis (morning|afternoon|evening)\b", lambda m, at: at.part(at.today, _part(m[1]))),
    Rule(r"\btonight\b", lambda m, at: at.part(at.today, "night")),
    Rule(r"\blast (night|evening)\b", lambda m, at: at.part(at.days_ago(1), _part(m[1]))),
    Rule(rf"\b({_NUMBER}) ({_UNIT})s? ago\b", lambda m, at: at.ago(_number(m[1]), _unit(m[2]))),
    Rule(
        r"\b(?:a few|several|some) days ago\b",
        lambda m, at: at.days(at.days_ago(FEW_DAYS), at.today),
    ),
    Rule(
        rf"\b(?:the )?(?:last|past|previous) ({_NUMBER}) ({_UNIT})s?\b",
        lambda m, at: at.past(_number(m[1]), _unit(m[2])),
    ),
    Rule(r"\b(?:the )?(?:last|past) few days\b", lambda m, at: at.past(FEW_DAYS, "day")),
    Rule(rf"\bthe past ({_UNIT})\b", lambda m, at: at.past(1, _unit(m[1]))),
    Rule(
        r"\b(last|the previous|this|the current) (week|weekend|month|quarter|year)(?:['’]s)?\b",
        _calendar,
    ),
    Rule(rf"\b(last|this) ({_DAY})(?: ({_PART}))?\b", _weekday),
    Rule(rf"\b()({_DAY}) ({_PART})\b", _weekday),
    Rule(rf"\b()({_DAY})()\b", lambda m, at: _bare_day(m, at), needs_lead=True),
    Rule(
        rf"\b({_MONTH}),? ({_YEAR})\b", lambda m, at: at.month(int(m[2]), _place(m[1], _MONTHS) + 1)
    ),
    Rule(rf"\b({_MONTH}) {_DATE}(?:,? ({_YEAR}))?\b", lambda m, at: _on(at, m[1], m[2], m[3])),
    Rule(
        rf"\b{_DATE} (?:of )?({_MONTH})(?:,? ({_YEAR}))?\b", lambda m, at: _on(at, m[2], m[1], m[3])
    ),
    Rule(rf"\b(last) ({_MONTH})\b", _month),
    Rule(rf"\b()({_MONTH})\b", _month, needs_lead=True),
    Rule(
        rf"\b({_YEAR})-(\d\d)-(\d\d)\b(?![T-])",
        lambda m, at: at.day(date(int(m[1]), int(m[2]), int(m[3]))),
    ),
    Rule(rf"\b({_YEAR})-(\d\d)\b", lambda m, at: at.month(int(m[1]), int(m[2])), needs_lead=True),
    Rule(rf"\b({_YEAR})\b{_NO_COUNT}", lambda m, at: at.year(int(m[1])), needs_lead=True),
)


def _bare_day(match: Match[str], moment: Moment) -> TimeRange:
    return moment.day(moment.latest_weekday(_place(match[2], _DAYS), with_today=True))


GRAMMAR = Grammar(
    rules=_RULES,
    leads=(
        ("since", r"\b(?:ever )?since $"),
        ("before", r"\b(?:before|prior to) $"),
        ("after", r"\bafter $"),
        ("until", r"\b(?:until|till|up to) $"),
        ("in", r"\b(?:in|on|during|over|within|throughout|of|from|for)(?: the)? $"),
    ),
    joint=r"(?:,? (?:and|to|until|till|through) | ?(?:–|—|\.\.) ?)",
    joint_lead=r"\b(?:between|from) $",
    joint_needs_lead=True,
    refuses=_refuses,
)
