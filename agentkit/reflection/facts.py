"""What must agree before two texts count as one memory: numbers, negation, names, choices.

A cosine alone calls "PostgreSQL 14" and "PostgreSQL 16" the same; these comparisons do not.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from agentkit.text import normalise

_NUMBER = re.compile(r"(?<![\w.])v?\d+(?:[.,:/-]\d+)*%?", re.IGNORECASE)
_CJK_DIGITS = {
    char: value
    for value, chars in enumerate(("〇零", "一", "二两", "三", "四", "五", "六", "七", "八", "九"))
    for char in chars
}
# A Chinese numeral counts only before a measure word: 一 in 一起 is no number.
_CJK_NUMBER = re.compile(
    "([〇零一二两三四五六七八九十百千万]+)(?=[天个次年月日号点台层周倍成岁人分秒元块条行版份小])"
)
_WEEKDAY_CJK = re.compile("(?:周|星期|礼拜)([一二三四五六日天])")
_WORD_NUMBERS = {
    word: str(value)
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()
    )
}
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|nor|without|cannot|neither|nothing|avoid|stop(?:s|ped)?|"
    r"refuse[sd]?|unable|disabled?|forbidden)\b|n['’]t\b|不|没|無|无(?!论)|别(?!的|人)|勿|未|禁止|停止",
    re.IGNORECASE,
)
_CODE = re.compile(r"`([^`]+)`")
# A title or a short term; a longer quotation is speech and no name.
_QUOTED_CJK = re.compile("[「『《“]([^」』》”]{1,12})[」』》”]")
_LATIN = re.compile(r"[A-Za-z][\w.'’+#/-]*")
_SENTENCE_START = re.compile(r"(?:^|[.!?。！？:：]\s*|\n\s*)$")
_CHOICES: tuple[frozenset[str], ...] = (
    frozenset({"mean", "average", "median", "mode"}),
    frozenset({"before", "after"}),
    frozenset({"always", "never", "sometimes"}),
    frozenset({"enable", "enabled", "disable", "disabled"}),
    frozenset({"turned on", "turned off"}),
    frozenset({"switched on", "switched off"}),
    frozenset({"true", "false"}),
    frozenset({"ascending", "descending"}),
    frozenset({"increase", "increases", "increased", "decrease", "decreases", "decreased"}),
    frozenset({"allowed", "denied", "forbidden"}),
    frozenset({"start", "stop"}),
    frozenset({"metric", "imperial"}),
    frozenset({"public", "private"}),
    frozenset({"first", "last"}),
    frozenset({"daily", "weekly", "monthly", "yearly", "hourly", "nightly"}),
    frozenset({"morning", "afternoon", "evening", "night"}),
    frozenset({"red", "green", "blue", "yellow", "black", "white"}),
    frozenset({"均值", "平均", "中位数", "众数"}),
    frozenset({"之前", "之后"}),
    frozenset({"总是", "从不"}),
    frozenset({"启用", "停用", "禁用"}),
    frozenset({"打开", "关闭"}),
    frozenset({"升序", "降序"}),
    frozenset({"增加", "减少"}),
    frozenset({"允许", "禁止"}),
    frozenset({"公制", "英制"}),
    frozenset({"上午", "下午", "晚上"}),
    frozenset({"每天", "每周", "每月", "每年"}),
    frozenset({"中文", "英文"}),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The hard facts of a text.

    Attributes:
        numbers: Numbers, versions, dates and amounts, in one spelling.
        negated: Whether it says that something is not so.
        names: Case-folded names: proper nouns, identifiers, code, letters that stand for things.
        choices: Words that exclude others of their kind, such as `median` or `before`.
    """

    numbers: frozenset[str]
    negated: bool
    names: frozenset[str]
    choices: frozenset[str]


@lru_cache(maxsize=4_096)
def read_facts(text: str) -> Facts:
    """Return the hard facts of a text.

    Args:
        text: A short text, such as the content of a memory.
    """
    clean = normalise(text)
    return Facts(
        numbers=frozenset(_numbers(clean)),
        negated=_NEGATION.search(clean) is not None,
        names=frozenset(_names(clean)),
        choices=frozenset(_choices(clean.casefold())),
    )


def differences(left: str, right: str) -> tuple[str, ...]:
    """Return in words where the hard facts of two texts differ; empty when they agree.

    A name counts as shared when the other text holds the word in any case.

    Args:
        left: One text.
        right: The other.
    """
    ours, theirs = read_facts(left), read_facts(right)
    found: list[str] = []
    if ours.numbers != theirs.numbers:
        found.append(f"numbers differ ({_listed(ours.numbers)} and {_listed(theirs.numbers)})")
    if ours.negated != theirs.negated:
        found.append("only one of them says not")
    lacking = _lacking(ours.names, right) | _lacking(theirs.names, left)
    if lacking:
        found.append(f"names differ ({_listed(lacking)})")
    if ours.choices != theirs.choices:
        found.append(f"words exclude each other ({_listed(ours.choices ^ theirs.choices)})")
    return tuple(found)


def exclude_each_other(left: str, right: str) -> bool:
    """Whether one text makes a choice where the other makes another choice of the same kind."""
    ours, theirs = read_facts(left).choices, read_facts(right).choices
    return any(
        (ours & group) and (theirs & group) and not (ours & theirs & group) for group in _CHOICES
    )


def without_numbers(text: str) -> str:
    """Return a text with its numbers taken out, so that the rest can be compared."""
    return _CJK_NUMBER.sub(" ", _NUMBER.sub(" ", text))


def _numbers(text: str) -> list[str]:
    found = [match.group().casefold().removeprefix("v") for match in _NUMBER.finditer(text)]
    found = [number.replace(",", "") for number in found]
    found += [_WORD_NUMBERS[word] for word in _words(text) if word in _WORD_NUMBERS]
    found += [str(_cjk_value(match.group(1))) for match in _CJK_NUMBER.finditer(text)]
    found += [f"weekday {match.group(1)}" for match in _WEEKDAY_CJK.finditer(text)]
    return found


def _cjk_value(numeral: str) -> int:
    """Return the value of a Chinese numeral below a hundred million."""
    total, section, digit = 0, 0, 0
    for char in numeral:
        if char in _CJK_DIGITS:
            digit = _CJK_DIGITS[char]
            continue
        if char == "万":
            total, section, digit = total + (section + digit) * 10_000, 0, 0
            continue
        section += (digit or 1) * {"十": 10, "百": 100, "千": 1_000}[char]
        digit = 0
    return total + section + digit


def _names(text: str) -> list[str]:
    found = [match.group(1).casefold() for match in _CODE.finditer(text)]
    found += [match.group(1).casefold() for match in _QUOTED_CJK.finditer(text)]
    for match in _LATIN.finditer(text):
        word = match.group().rstrip(".'’/-").removesuffix("'s").removesuffix("’s")
        starts = _SENTENCE_START.search(text[: match.start()]) is not None
        if word and _is_name(word, starts=starts):
            found.append(word.casefold())
    return found


def _is_name(word: str, *, starts: bool) -> bool:
    """Whether a Latin word names a thing: capital inside, digit or mark inside, or a capital."""
    if word in ("I", "A") and (word == "I" or starts):
        return False
    if any(char.isupper() for char in word[1:]) or any(char.isdigit() for char in word):
        return True
    if any(char in "_/#+" for char in word) or "." in word:
        return True
    return word[0].isupper() and not starts


def _choices(folded: str) -> list[str]:
    words = set(_words(folded))
    return [
        choice
        for group in _CHOICES
        for choice in group
        if choice in words or (choice in folded and (" " in choice or not choice.isascii()))
    ]


def _lacking(names: frozenset[str], other: str) -> frozenset[str]:
    folded = normalise(other).casefold()
    return frozenset(
        name
        for name in names
        if not re.search(rf"(?<![a-z0-9]){re.escape(name)}(?![a-z0-9])", folded)
    )


def _words(text: str) -> list[str]:
    return [match.group().casefold() for match in re.finditer(r"[A-Za-z]+", text)]


def _listed(words: frozenset[str]) -> str:
    return ", ".join(sorted(words)) or "none"
