"""The telling words of a short text, so that two wordings of one thing can be compared."""

import re
from functools import lru_cache

from agentkit.text import normalise

_WORD = re.compile(
    r"[\u3400-\u4dbf\u4e00-\u9fff\u3040-\u30ff\uac00-\ud7af]+"
    r"|[^\W_\u3400-\u9fff\u3040-\u30ff\uac00-\ud7af]+(?:[.'’_-][^\W_\u3400-\u9fff]+)*"
)
_IS_CJK = re.compile(r"[\u3400-\u9fff\u3040-\u30ff\uac00-\ud7af]")
_STOP = frozenset(
    "a about after all also am an and any are as at be been before being but by can could did do "
    "does each for from had has have he her here him his how i if in into is it its itself just "
    "longer may me more most must my no nor not now of off on only or other our out over own per "
    "please she should so some such than that the their them then there these they this those to "
    "too under until up upon us very was we were what when where which while who whom why will "
    "might with would you your user users user's said says via".split()
)
# Function characters that separate Chinese words; splitting at them keeps bigrams telling.
_STOP_CJK = re.compile("[的了是在和与及也都就而且把被为于着吗呢吧啊请我你您他她它们这那有用户说]")
_SAME = {
    "favor": "prefer",
    "favour": "prefer",
    "like": "prefer",
    "love": "prefer",
    "want": "prefer",
    "wish": "prefer",
    "start": "begin",
    "delete": "remove",
    "cancellation": "cancel",
    "deployment": "deploy",
}
_SAME_CJK = (("喜欢", "偏好"), ("希望", "偏好"), ("想要", "偏好"), ("更爱", "偏好"))


# One memory is compared with many, so its terms are asked for again and again.
@lru_cache(maxsize=4_096)
def gist(text: str) -> tuple[str, ...]:
    """Return the telling terms of a text, in order, each once.

    Words are case-folded and lose a plural or verb ending, filler words are left out, and words
    of liking count as one; a run of Chinese gives its pairs of neighbours.

    Args:
        text: A short text, such as the content of a memory.
    """
    folded = normalise(text).casefold()
    for word, same in _SAME_CJK:
        folded = folded.replace(word, same)
    found: dict[str, None] = {}
    for match in _WORD.finditer(folded):
        token = match.group()
        if _IS_CJK.match(token):
            found.update(dict.fromkeys(_pairs(token)))
        elif token not in _STOP:
            found[fold(token)] = None
    return tuple(found)


def fold(word: str) -> str:
    """Return a word without a plural or verb ending; words of one meaning come out the same.

    Args:
        word: One word, case-folded.
    """
    bare = word.removesuffix("'s").removesuffix("’s")
    for ending, least in (("ies", 5), ("ing", 6), ("ed", 5), ("es", 6), ("s", 4)):
        if bare.endswith(ending) and len(bare) >= least and not bare.endswith("ss"):
            bare = _stem(bare, ending)
            break
    return _SAME.get(bare, bare)


def jaccard(left: str, right: str) -> float:
    """Return the share of telling terms that two texts have in common, in [0, 1].

    Args:
        left: One text.
        right: The other; two texts without telling terms have nothing in common.
    """
    ours, theirs = set(gist(left)), set(gist(right))
    return len(ours & theirs) / len(ours | theirs) if ours and theirs else 0.0


def covered(part: str, whole: str) -> float:
    """Return the share of the telling terms of `part` that stand in `whole`, in [0, 1]."""
    terms = set(gist(part))
    return len(terms & set(gist(whole))) / len(terms) if terms else 0.0


def plain(text: str) -> str:
    """Return a text for comparison: one form of letters, case, spaces and no end marks."""
    return " ".join(normalise(text).casefold().split()).strip(" .!?。！？;；,，\"'“”‘’")


def _stem(word: str, ending: str) -> str:
    stem = word.removesuffix(ending)
    if ending == "ies":
        return stem + "y"
    if ending == "es":
        return stem if stem.endswith(("x", "z", "ch", "sh", "ss")) else stem + "e"
    if ending in ("ing", "ed") and len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in "ls":
        return stem[:-1]
    return stem


def _pairs(run: str) -> list[str]:
    """Return the pairs of neighbours of a Chinese run, not across function characters."""
    found: list[str] = []
    for piece in _STOP_CJK.split(run):
        if len(piece) == 1:
            found.append(piece)
        found.extend(piece[at : at + 2] for at in range(len(piece) - 1))
    return found
