"""Looking for phrases of a policy in what somebody said."""

import re
import unicodedata
from functools import lru_cache

from agentkit.policy.phrases import Phrases
from agentkit.text import normalise

_CURLY = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"'})
_QUOTED = re.compile(r'"[^"]*"|「[^」]*」|『[^』]*』|《[^》]*》')
_CLAUSE = re.compile(r"[.,!?;:、。…\n]+|\s-+\s")


def tidy(text: str) -> str:
    """Return the text in the form in which phrases are looked for: one case, one width.

    Args:
        text: What somebody said.
    """
    return unicodedata.normalize("NFKC", normalise(text)).casefold().translate(_CURLY).strip()


def present(said: str, *lists: Phrases) -> bool:
    """Whether any of the phrases stands in a tidied text.

    Args:
        said: A text out of `tidy`.
        lists: Phrases to look for.
    """
    return any(_pattern(phrases.en, phrases.zh).search(said) for phrases in lists)


def without(said: str, *lists: Phrases) -> str:
    """Return a tidied text with the phrases cut out, the longest first.

    Args:
        said: A text out of `tidy`.
        lists: Phrases to cut out.
    """
    for phrases in lists:
        said = _pattern(phrases.en, phrases.zh).sub(" ", said)
    return said


def says_more(said: str) -> bool:
    """Whether any letter or digit is left in a text."""
    return any(char.isalnum() for char in said)


def unquoted(said: str) -> str:
    """Return a tidied text without what stands in quotation marks: others said that.

    Args:
        said: A text out of `tidy`.
    """
    return _QUOTED.sub(" ", said)


def clauses(said: str) -> list[str]:
    """Return the clauses of a tidied text, in order, without blank ones."""
    return [part.strip() for part in _CLAUSE.split(said) if says_more(part)]


@lru_cache(maxsize=128)
def _pattern(en: tuple[str, ...], zh: tuple[str, ...]) -> re.Pattern[str]:
    """Compile phrases: English ones as whole words, Chinese ones anywhere, longest first."""
    words = sorted({tidy(phrase) for phrase in en}, key=len, reverse=True)
    signs = sorted({tidy(phrase) for phrase in zh}, key=len, reverse=True)
    parts = [rf"(?<![a-z0-9']){re.escape(word)}(?![a-z0-9'])" for word in words]
    parts += [re.escape(sign) for sign in signs]
    return re.compile("|".join(parts) or r"(?!)")
