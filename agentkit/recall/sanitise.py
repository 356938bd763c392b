"""The part of a long text that asks: what of a query is embedded and searched with."""

import re

from agentkit.text import normalise

_PARAGRAPH = re.compile(r"\n\s*\n")
_SENTENCE = re.compile(r"[^.!?。！？\n]+(?:[.!?。！？]+[\"'”’」』)\]]*|\n|$)")
_ASKS = re.compile(r"[?？]|[吗呢]\s*$")
_ASKS_LAST = re.compile(r"[?？吗呢]\W*$")
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
# A dated line, a level, a stack frame, a bare path or code: what machines write, not people.
_MACHINE = re.compile(
    r"^\s*(?:\[?\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d|(?:DEBUG|INFO|WARN(?:ING)?|ERROR|TRACE|FATAL)\b"
    r"|at \S+\(|File \"|Traceback |[{}\[\]<>|#+=*]|\S+\.\w{1,4}:\d+)"
)
_MOST_SYMBOLS = 0.3
_TELLING_CHARS = 12


def focus(text: str, *, limit_chars: int) -> str:
    """Return what of a text to search with: all of a short one, the asking part of a long one.

    A system text or log pasted in front of or behind a question would drown it. Of a longer text
    the last paragraph that a person may have written is taken, with questions before other
    sentences; and if it asks nothing, the first line before it, where that is a question or the
    last paragraph says nearly nothing.

    Args:
        text: What the person or model wrote.
        limit_chars: Most characters of the result, at least 1.

    Returns:
        Trimmed; "" for blank text only.

    Source:
        A question behind a pasted system text of 4,000 characters has a cosine of 0.06 to
        itself alone with the `local` embedder.
    """
    clean = normalise(text).strip()
    if len(clean) <= limit_chars:
        return clean
    prose = _FENCE.sub("\n\n", clean)
    written = [part for part in map(_written, _PARAGRAPH.split(prose)) if part]
    if not written:
        return clean[-limit_chars:].strip()
    chosen = _narrow(written[-1], limit_chars=limit_chars)
    if _ASKS.search(chosen) or len(written) == 1:
        return chosen.strip()
    opening = written[0].splitlines()[0]
    opens_with_question = _ASKS_LAST.search(opening) is not None and len(opening) <= limit_chars
    room_chars = limit_chars - len(chosen) - 1
    if room_chars > 0 and (opens_with_question or len(chosen) < _TELLING_CHARS):
        chosen = f"{_narrow(opening, limit_chars=room_chars)}\n{chosen}"
    return chosen.strip()


def _written(paragraph: str) -> str:
    """The lines of a paragraph that a person may have written."""
    lines = [line.strip() for line in paragraph.splitlines()]
    return "\n".join(line for line in lines if line and not _by_machine(line))


def _by_machine(line: str) -> bool:
    symbols = sum(not (char.isalpha() or char.isspace()) for char in line)
    return bool(_MACHINE.match(line)) or symbols > _MOST_SYMBOLS * len(line) + 2


def _narrow(paragraph: str, *, limit_chars: int) -> str:
    """The paragraph if it fits, else its last questions, else its last sentences."""
    if len(paragraph) <= limit_chars:
        return paragraph
    sentences = [found.group().strip() for found in _SENTENCE.finditer(paragraph)]
    sentences = [sentence for sentence in sentences if sentence]
    asking = [sentence for sentence in sentences if _ASKS.search(sentence)]
    last = sentences[-1:]
    chosen = ([*asking[-1:], *last] if asking[-1:] != last else last) if asking else sentences
    return _tail(chosen, limit_chars=limit_chars)


def _tail(sentences: list[str], *, limit_chars: int) -> str:
    """As many whole sentences from the end as fit; at least the end of the last."""
    kept: list[str] = []
    left = limit_chars
    for sentence in reversed(sentences):
        if kept and len(sentence) + 1 > left:
            break
        kept.insert(0, sentence[-left:] if not kept else sentence)
        left -= len(sentence) + 1
    return " ".join(kept)
