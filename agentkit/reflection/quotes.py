"""Quotes as evidence: whether one stands in a step, and how to take one out of a step."""

import html

from agentkit.text import normalise

_MARKS = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "「": '"', "」": '"', "…": " "})
_LEAST_CHARS = 2


def stands_in(quote: str, text: str) -> bool:
    """Whether a quote stands in a text, whatever its case, spaces, escapes and kind of marks.

    Args:
        quote: Words said to be in the text; fewer than two characters never count.
        text: The text of a step.
    """
    wanted = _loose(quote)
    if len(wanted) < _LEAST_CHARS:
        return False
    held = _loose(text)
    if wanted in held:
        return True
    # A model that read JSON or an escaped transcript may quote with the escapes undone.
    return _loose(html.unescape(quote)) in held or wanted in _loose(_undone(text))


def excerpt(text: str, *, limit_chars: int) -> str:
    """Return the head of a text that stands in it verbatim, cut at a word where possible.

    Args:
        text: The text of a step.
        limit_chars: Longest excerpt, at least 1.
    """
    head = text.strip()
    if len(head) <= limit_chars:
        return head
    cut = head[:limit_chars]
    at = max(cut.rfind(" "), cut.rfind("\n"), cut.rfind("，"), cut.rfind("。"))
    return cut[:at].rstrip() if at >= limit_chars // 2 else cut


def _loose(text: str) -> str:
    folded = normalise(text).translate(_MARKS).casefold()
    return " ".join(folded.split()).strip(" .\"'")


def _undone(text: str) -> str:
    """Undo the escapes of JSON text that matter in a quote."""
    return text.replace('\\"', '"').replace("\\n", "\n").replace("\\t", "\t")
