"""Taking the words of erased memories out of other texts (pure)."""

import json
import re
from collections.abc import Iterable
from typing import cast

from agentkit.text import CJK_CHARS, normalise

ERASED = "[erased]"
# Shorter contents stand in too many sentences that have nothing to do with the memory.
LEAST_CHARS = 6
# What may stand between two words: anything but words, a line break as JSON writes it, and the
# entities by which a briefing writes `&` and `<`.
_GAP = r"(?:\\[nrt]|&(?:amp|lt|gt|quot);|[\W_])+"
_WORD = re.compile(r"[^\W_]+")
_IS_CJK = re.compile(rf"[{CJK_CHARS}]")


class Eraser:
    """Finds and replaces texts and ids, whatever case, spacing or punctuation they have there."""

    def __init__(self, *, texts: Iterable[str], ids: Iterable[str]) -> None:
        """Prepare the search.

        Args:
            texts: Whole contents of what is erased; those under six characters are left out.
            ids: Ids of what is erased.
        """
        self.ids = frozenset(ids)
        long = {text for text in map(normalise, texts) if len(text.strip()) >= LEAST_CHARS}
        patterns = [_pattern(text) for text in sorted(long, key=lambda text: (-len(text), text))]
        patterns = [pattern for pattern in patterns if pattern]
        patterns += [re.escape(one) for one in sorted(self.ids)]
        self._search = re.compile("|".join(patterns) or r"(?!)", re.IGNORECASE)

    def text(self, text: str) -> str:
        """Return a text with what is erased replaced by `[erased]`; the same text if nothing was.

        Args:
            text: Any text; where accents are decomposed, a changed one comes back composed.
        """
        erased, count = self._search.subn(ERASED, text)
        composed = normalise(text)
        if composed == text:
            return erased
        again, more = self._search.subn(ERASED, composed)
        return again if more > count else erased

    def value(self, value: object) -> object:
        """Return a JSON value with every text in it treated by `text`; keys stay.

        Args:
            value: Texts, numbers, booleans, None, lists and string-keyed mappings.
        """
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(one) for one in cast("list[object]", value)]
        if isinstance(value, dict):
            fields = cast("dict[str, object]", value)
            return {key: self.value(one) for key, one in fields.items()}
        return value

    def json(self, text: str) -> str:
        """Return JSON text with every text in it treated by `text`; unchanged if nothing was.

        Args:
            text: A JSON document.
        """
        before: object = json.loads(text)
        after = self.value(before)
        return text if after == before else json.dumps(after)


def _pattern(text: str) -> str:
    """Return the pattern of a text's words, with anything but words between them."""
    words = _WORD.findall(text)
    if not words:
        return ""
    body = _GAP.join(re.escape(word) for word in words)
    # Chinese has no spaces: there, a word may begin in the middle of a run.
    head = "" if _IS_CJK.match(words[0][0]) else r"(?<![^\W_])"
    tail = "" if _IS_CJK.match(words[-1][-1]) else r"(?![^\W_])"
    return f"{head}{body}{tail}"
