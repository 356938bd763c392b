"""The part of a long text that asks: what of a query is embedded and searched with."""

import re
from collections.abc import Iterator, Sequence

from agentkit.recall.pasted import Part, opens_orders, orders, unfenced, written
from agentkit.text import CJK_CHARS, FUNCTION_WORDS, normalise, stem, terms

_SENTENCE = re.compile(r"[^.!?。！？\n]+(?:[.!?。！？]+[\"'”’」』)\]]*|\n|$)")
_MARK = re.compile(r"[?？][\"'”’」』)\]]*\s*$|[吗呢]\W*$")
_WORD = re.compile(
    r"^(?:who|whom|whose|what|when|where|which|why|how|is|are|was|were|do|does|did|can|could|will"
    r"|would|should|has|have)\b|什么|谁|哪|几|多少|怎么|怎样|如何|为何|是否|吗|何",
    re.IGNORECASE,
)
_CJK = re.compile(rf"[{CJK_CHARS}]")
# What lies between the ends of a longer text, outside of fences, is not looked at: nobody types
# between two pages, and a log of a megabyte must not hold up a recall.
ENDS_CHARS = 20_000
# A text without a trace of pasting is searched with whole up to this many times the limit.
WHOLE = 3
# A longer line is a paragraph, not a line of a message; Chinese characters count twice.
_LINE_CHARS = 120
_TELLING_CHARS = 12
_MOST_FENCES = 2_000
# What makes one end of a text likelier to be the question than the other: that it asks, by mark
# or by word; that it does not order; that its words are its own. Set by tests/bench/pasted.py.
_BY_MARK, _BY_WORD, _ORDERS, _SHARED, _LAST, _BEFORE_ORDERS = 2.0, 1.0, 2.0, 3.0, 0.25, 1.0
# Two ends that do not ask and are as close as this are both searched with.
_CLOSE = 0.5
# An end that shares fewer of its words than this with the rest does not belong to it; of one with
# fewer words than this nothing can be said.
_STRANGE, _FEW_WORDS = 0.15, 3


def focus(text: str, *, limit_chars: int) -> str:
    """Return what of a text to search with: all of a short one, the asking part of a long one.

    A system text, log or code pasted around a question would drown it. Of a longer text fences,
    machine lines and other speakers of a dialog are dropped, and of what is left the end that
    rather asks than orders, in words of its own, is taken.

    Args:
        text: What the person or model wrote.
        limit_chars: Longest text that is not looked into, at least 1.

    Returns:
        Trimmed; at most `limit_chars` characters, or up to three times as many where nothing
        seems to be pasted. "" for blank text only.

    Source:
        `tests/bench/pasted.py`: figures in `evals/baselines/pasted.json`.
    """
    prose = ends(text, limit_chars=ENDS_CHARS)
    clean = normalise(prose).strip()
    if len(clean) <= limit_chars and prose is text:
        return clean
    # Behind a fence that nobody closed the question may stand too.
    parts = written(unfenced(clean)) or written(clean)
    if not parts:
        return clean[-limit_chars:].strip()
    if len(clean) <= WHOLE * limit_chars and prose is text and _honest(clean, parts):
        return clean
    said = _own_turn(parts)
    whole = "\n".join(part.text for part in said)
    if len(whole) <= limit_chars:
        return whole
    return _likelier_end([part.text for part in said], limit_chars=limit_chars).strip()


def ends(text: str, *, limit_chars: int) -> str:
    """Return the beginning and the end of a huge text, without its fences, cut at line ends.

    Args:
        text: Any text; one within the limit comes back as it is.
        limit_chars: Most characters of the result, at least 2.
    """
    if len(text) <= limit_chars:
        return text
    # Where fences are that many, they are no fences: finding each would take longer than it helps.
    fenced = text.count("```") <= _MOST_FENCES
    bare = (unfenced(text).strip() or text) if fenced else text
    if len(bare) <= limit_chars:
        return bare
    half_chars = (limit_chars - 2) // 2
    head, tail = bare[:half_chars], bare[len(bare) - half_chars :]
    return (head.rpartition("\n")[0] or head) + "\n\n" + (tail.partition("\n")[2] or tail)


def _honest(clean: str, parts: Sequence[Part]) -> bool:
    """Whether nothing tells of pasting: no machine, label or order, no end apart from the rest."""
    kept = sum(len(part.text.splitlines()) for part in parts)
    lines = sum(1 for line in clean.splitlines() if line.strip())
    if kept < lines or any(part.turn for part in parts):
        return False
    if any(orders(part.text) or opens_orders(part.text) for part in parts):
        return False
    sentences = [found for part in parts for found in _sentences(part.text)]
    rest = _words("\n".join(sentences[1:-1]))
    outer = (_words(one) for one in (*sentences[:1], *sentences[-1:]) if _MARK.search(one))
    return all(len(words) < _FEW_WORDS or _shared(words, rest) >= _STRANGE for words in outer)


def _own_turn(parts: Sequence[Part]) -> Sequence[Part]:
    """What the person says last or first in a dialog; all of it where that is not labelled."""
    for edge in (parts[-1], parts[0]):
        if edge.role == "person" and (edge is parts[-1] or edge.turn == 1):
            return [part for part in parts if part.turn == edge.turn]
    return parts


def _likelier_end(parts: Sequence[str], *, limit_chars: int) -> str:
    """The end of a text that is likelier the question, or both where neither asks."""
    head = _head(parts[0], limit_chars=limit_chars)
    tail = _tail(parts[-1], limit_chars=limit_chars)
    if len(parts) == 1 and (not head or head in tail or tail in head):
        return tail
    everything = "\n".join(parts)
    rest = everything[len(head) : len(everything) - len(tail)]
    words = _words(rest)
    at_head = _worth(head, words) + _BEFORE_ORDERS * opens_orders(rest.lstrip())
    at_tail = _worth(tail, words) + _LAST
    unsure = not _asks(head) and not _asks(tail) and abs(at_head - at_tail) < _CLOSE
    if unsure or (not _asks(tail) and len(tail) < _TELLING_CHARS):
        return _both(head, tail, limit_chars=limit_chars)
    return head if at_head > at_tail else tail


def _both(head: str, tail: str, *, limit_chars: int) -> str:
    """Two ends in one text; where they are too long, as much of each as fits."""
    head = head[: max(limit_chars // 2, limit_chars - len(tail) - 1)]
    return f"{head}\n{tail}"[:limit_chars]


def _worth(end: str, rest: frozenset[str]) -> float:
    if not end:
        return float("-inf")
    asks, words = _asks(end), _words(end)
    # A greeting shares no words either.
    shared = _shared(words, rest) if asks or len(words) >= _FEW_WORDS else 1.0
    return asks - _ORDERS * (orders(end) or opens_orders(end)) - _SHARED * shared


def _asks(text: str) -> float:
    """How surely a text asks at its end."""
    if _MARK.search(text):
        return _BY_MARK
    return _BY_WORD if _WORD.search(text.splitlines()[-1] if text else "") else 0.0


def _words(text: str) -> frozenset[str]:
    """The telling words of a text; of Chinese pairs of characters."""
    return frozenset(
        stem(term) for term in terms(text) if len(term) > 1 and term not in FUNCTION_WORDS
    )


def _shared(words: frozenset[str], rest: frozenset[str]) -> float:
    return len(words & rest) / len(words) if words else 1.0


def _head(part: str, *, limit_chars: int) -> str:
    """The lines at the beginning down to the last that asks, else the first; no orders."""
    lines = part.splitlines()
    if len(lines[0]) > limit_chars:
        lines = list(_sentences(lines[0]))
    kept: list[str] = []
    for line in lines:
        if orders(line) or opens_orders(line) or len("\n".join([*kept, line])) > limit_chars:
            break
        kept.append(line)
    asking = [place for place, line in enumerate(kept) if _MARK.search(line)]
    return "\n".join(kept[: asking[-1] + 1 if asking else 1])


def _tail(part: str, *, limit_chars: int) -> str:
    """The lines of the last message, as far up as they are short and no orders."""
    lines = part.splitlines()
    if len(lines[-1]) > limit_chars:
        return _last_sentences(list(_sentences(lines[-1])), limit_chars=limit_chars)
    kept = lines[-1:]
    for line in reversed(lines[:-1]):
        long = len(line) + len(_CJK.findall(line)) > _LINE_CHARS
        if long or orders(line) or len("\n".join([line, *kept])) > limit_chars:
            break
        kept.insert(0, line)
    return "\n".join(kept)


def _last_sentences(sentences: list[str], *, limit_chars: int) -> str:
    """The last question of a long line and what follows it, else what fits from its end."""
    last = sentences[-1]
    asking = [sentence for sentence in sentences if _MARK.search(sentence)]
    if asking:
        sentences = [last] if asking[-1] == last else [asking[-1], last]
    kept: list[str] = []
    left = limit_chars
    for sentence in reversed(sentences):
        if kept and len(sentence) + 1 > left:
            break
        kept.insert(0, sentence[-left:] if not kept else sentence)
        left -= len(sentence) + 1
    return " ".join(kept)


def _sentences(text: str) -> Iterator[str]:
    found = (match.group().strip() for match in _SENTENCE.finditer(text))
    return (sentence for sentence in found if sentence)
