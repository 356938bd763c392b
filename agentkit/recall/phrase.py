"""What the rules of a language for time phrases consist of."""

from collections.abc import Callable
from dataclasses import dataclass
from re import Match
from typing import Literal

from agentkit.recall.moment import Moment
from agentkit.records import TimeRange

Direction = Literal["in", "since", "after", "before", "until"]


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase at a place in a text.

    Attributes:
        start: Its first character.
        end: The character after it.
        within: What it means.
        needs_lead: True where it is a time only behind a word like "in" or "since".
    """

    start: int
    end: int
    within: TimeRange
    needs_lead: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """One way to name a time.

    Attributes:
        pattern: Regular expression; case does not count.
        build: Returns what a match means, or None for nothing; `ValueError` is nothing too.
        needs_lead: True where it is a time only behind a word like "in" or "since".
    """

    pattern: str
    build: Callable[[Match[str], Moment], TimeRange | None]
    needs_lead: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """The rules of one language.

    Attributes:
        rules: The times; of two that overlap the leftmost wins, then the longest.
        leads: Patterns of words in front of a time, each with what they make of it.
        tails: The same for words behind it.
        tail_after_lead: Pattern of words behind it that repeat what a lead said.
        joint: Pattern of the words between two times that bound a range.
        joint_lead: Pattern of the words in front of such a range.
        joint_needs_lead: Whether it is a range only with these.
        refuses: Tells from the text before and behind a match that it is no time.
    """

    rules: tuple[Rule, ...]
    leads: tuple[tuple[Direction, str], ...]
    tails: tuple[tuple[Direction, str], ...] = ()
    tail_after_lead: str = r"(?!)"
    joint: str
    joint_lead: str
    joint_needs_lead: bool
    refuses: Callable[[str, str], bool]
