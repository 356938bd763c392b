"""Words of English and Chinese text: normal form, terms, term counts, token estimates."""

import hashlib
import re
import struct
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from agentkit.records import Language, TermCounts

# Han, kana, Hangul and their compatibility blocks: written without spaces or close to it.
CJK_CHARS = (
    "\u3005\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0002fa1f"
)
_TOKEN = re.compile(rf"[{CJK_CHARS}]+|[^\W_{CJK_CHARS}]+(?:[.'_-][^\W_{CJK_CHARS}]+)*", re.UNICODE)
_IS_CJK = re.compile(rf"[{CJK_CHARS}]")
_PARTS = re.compile(r"[.'_-]")
_HEADER = struct.Struct("<II")
# Made once: naming a type anew costs more than reading a key's terms does.
_TERM_TYPE = np.dtype("<u8")
_COUNT_TYPE = np.dtype("<u2")
# Words of closed classes (articles, pronouns, prepositions, auxiliaries, question words): a
# question is full of them, statements are not, so that their idf misleads.
# Source: dropping them from queries took BM25 from 0.483 to 0.536 recall@5 on LoCoMo part a.
FUNCTION_WORDS = frozenset(
    "a about am an and are as at be been being but by can could did do does for from had has have "
    "he her his how i if in into is it its just may me might my no not of on or our s she should "
    "so such t than that the their then there these they this to too us very was we were what "
    "when where which who whom why will with would you your".split()
)
_MIN_STEM_CHARS = 3
CHARS_PER_TOKEN = 4.0
TOKENS_PER_CJK_CHAR = 1.0
_FAREWELL = re.compile(
    r"^\W*(?:you(?:['’]re| are)(?: very| most)? welcome|thank(?:s| you)|goodbye|good luck|"
    r"take care|no problem|glad|不客气|再见|不用谢)",
    re.IGNORECASE,
)


def normalise(text: str) -> str:
    """Return the text in NFC, with NUL bytes removed and lone surrogates replaced.

    Args:
        text: Any text; composed and decomposed accents come out the same.
    """
    clean = text.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")
    return unicodedata.normalize("NFC", clean)


def terms(text: str) -> list[str]:
    """Return the terms of a text, for the lexical arm.

    Latin and other spaced scripts give case-folded words, and the parts of words joined by
    `.`, `-`, `_` or an apostrophe besides the whole; a run of Chinese, Japanese or Korean gives
    each character and each pair of neighbours.

    Args:
        text: Any text.

    Returns:
        Terms in order of appearance, with repeats.

    Source:
        Bigrams plus unigrams matched a BM25 library with a word segmenter on XQuAD zh.
    """
    found: list[str] = []
    for match in _TOKEN.finditer(normalise(text).casefold()):
        token = match.group()
        if _IS_CJK.match(token):
            found.extend(token)
            found.extend(token[i : i + 2] for i in range(len(token) - 1))
            continue
        found.append(token)
        parts = _PARTS.split(token)
        if len(parts) > 1:
            found.extend(part for part in parts if part)
    return found


def stem(term: str) -> str:
    """Return an English term without its commonest endings; other terms come back as they are.

    Plural and verb endings go (`-s`, `-es`, `-ies`, `-ed`, `-ing`), then a final `e`, so that
    "makes", "making" and "make" meet. The result is a key, not always a word.

    Args:
        term: One term, case-folded.

    Source:
        BM25 on LoCoMo part a, recall@10: 0.591 without, 0.620 with.
    """
    if len(term) <= _MIN_STEM_CHARS or not (term.isascii() and term.isalpha()):
        return term
    if term.endswith("ies") and len(term) > _MIN_STEM_CHARS + 1:
        return term[:-3] + "y"
    found = term
    if not term.endswith(("ss", "us")):
        ending = next((end for end in ("ing", "ed", "es", "s") if _may_drop(term, end)), "")
        found = term.removesuffix(ending)
        doubled = len(found) > _MIN_STEM_CHARS and found[-1] == found[-2]
        if ending in ("ing", "ed") and doubled and found[-1] not in "lsz":
            found = found[:-1]
    return found[:-1] if len(found) > _MIN_STEM_CHARS and found.endswith("e") else found


def _may_drop(term: str, ending: str) -> bool:
    return term.endswith(ending) and len(term) - len(ending) >= _MIN_STEM_CHARS


@lru_cache(maxsize=65_536)
def term_hash(term: str) -> int:
    """Return the 64-bit hash under which a term is stored; the same in every process."""
    return int.from_bytes(hashlib.blake2b(term.encode("utf-8"), digest_size=8).digest(), "little")


def term_counts(text: str) -> TermCounts:
    """Return the hashed counts of the stems of a text's terms.

    Args:
        text: Any text; blank text gives no terms.
    """
    return _count(terms(text))


def query_term_counts(text: str) -> TermCounts:
    """Return the term counts to search with: function words are dropped, if others are left.

    Args:
        text: The question.
    """
    found = terms(text)
    telling = [term for term in found if term not in FUNCTION_WORDS]
    return _count(telling or found)


def _count(found: list[str]) -> TermCounts:
    counted = sorted(Counter(term_hash(stem(term)) for term in found).items())
    return TermCounts(
        terms=np.array([term for term, _ in counted], dtype=np.uint64),
        counts=np.array([min(count, 65_535) for _, count in counted], dtype=np.uint16),
        length=len(found),
    )


def pack_terms(counts: TermCounts) -> bytes:
    """Return term counts as bytes: number of terms, length, terms, counts, little-endian."""
    return (
        _HEADER.pack(len(counts.terms), counts.length)
        + counts.terms.astype(_TERM_TYPE).tobytes()
        + counts.counts.astype(_COUNT_TYPE).tobytes()
    )


def unpack_terms(packed: bytes) -> TermCounts:
    """Return what `pack_terms` packed.

    Raises:
        ValueError: If the bytes are cut short.
    """
    number, length = _HEADER.unpack_from(packed)
    split = _HEADER.size + _TERM_TYPE.itemsize * number
    return TermCounts(
        terms=np.frombuffer(packed, _TERM_TYPE, number, _HEADER.size),
        counts=np.frombuffer(packed, _COUNT_TYPE, number, split),
        length=length,
    )


def estimate_tokens(text: str) -> int:
    """Return an estimate of the tokens a model would count, never below what CJK text needs.

    One token for each Chinese, Japanese or Korean character and one for every four others.

    Args:
        text: Any text.

    Source:
        Four characters a token is the usual rule for English; CJK takes 0.6-1.0 tokens a
        character with current tokenizers, so one is on the safe side.
    """
    cjk = len(_IS_CJK.findall(text))
    return int(cjk * TOKENS_PER_CJK_CHAR + -(-(len(text) - cjk) // CHARS_PER_TOKEN))


def cut_tokens(text: str, budget_tokens: int) -> str:
    """Return the longest head of a text within a token budget, with `…` where it was cut.

    Args:
        text: Any text.
        budget_tokens: Budget for the result, mark included, at least 0.
    """
    if estimate_tokens(text) <= budget_tokens:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if estimate_tokens(text[:middle] + "…") <= budget_tokens:
            low = middle
        else:
            high = middle - 1
    return text[:low].rstrip() + "…" if low else ""


def split_tokens(text: str, limit_tokens: int) -> list[str]:
    """Return a text in pieces of at most a number of estimated tokens; joined they are the text.

    A piece ends at a line break where its last quarter holds one.

    Args:
        text: Any text.
        limit_tokens: Most tokens of a piece, at least 1.

    Returns:
        The pieces in order, none empty; one empty piece for an empty text.
    """
    cjk = [match.start() for match in _IS_CJK.finditer(text)]
    pieces: list[str] = []
    start = 0
    while start < len(text):
        end = start + _chars_within(limit_tokens, start=start, stop=len(text), cjk=cjk)
        if end < len(text):
            broken = text.rfind("\n", end - (end - start) // 4, end) + 1
            end = broken or end
        pieces.append(text[start:end])
        start = end
    return pieces or [""]


def head_chars(text: str, limit_tokens: int) -> int:
    """Return how many characters from the start of a text a number of tokens holds.

    Args:
        text: Any text.
        limit_tokens: Most tokens, at least 0.
    """
    cjk = [match.start() for match in _IS_CJK.finditer(text)]
    return _chars_within(limit_tokens, start=0, stop=len(text), cjk=cjk) if limit_tokens else 0


def _chars_within(limit_tokens: int, *, start: int, stop: int, cjk: Sequence[int]) -> int:
    """Number of characters from a place that fit a limit; at least 1 where any are left."""
    first = bisect_left(cjk, start)
    low, high = 1, min(stop - start, int(limit_tokens * CHARS_PER_TOKEN))
    while low < high:
        middle = (low + high + 1) // 2
        wide = bisect_left(cjk, start + middle) - first
        if int(wide * TOKENS_PER_CJK_CHAR + -(-(middle - wide) // CHARS_PER_TOKEN)) <= limit_tokens:
            low = middle
        else:
            high = middle - 1
    return min(low, stop - start)


def one_line(text: str, *, limit_chars: int) -> str:
    """Return the text on one line, cut with `…` at a number of characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit_chars else flat[: max(limit_chars - 1, 0)].rstrip() + "…"


def cjk_share(text: str) -> float:
    """Return the share of letters that are Chinese, Japanese or Korean, in [0, 1]."""
    letters = sum(char.isalpha() for char in text)
    return len(_IS_CJK.findall(text)) / letters if letters else 0.0


def language_of(text: str) -> Language:
    """Return `zh` where at least a third of the letters are CJK, else `en`."""
    return "zh" if cjk_share(text) >= 1 / 3 else "en"


def is_farewell(text: str) -> bool:
    """Whether an answer begins with thanks or a farewell, and so tells nothing of the task.

    Args:
        text: What an agent said.
    """
    return _FAREWELL.match(text) is not None
