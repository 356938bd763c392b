"""What the user asks to have remembered, in the middle of a task. It is no boundary."""

import re

from agentkit.policy.working import RememberPolicy
from agentkit.text import normalise
from agentkit.working.phrases import present, tidy

# A full stop inside a number or a file name ends no sentence.
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_LEAD = re.compile(r"^[\s,:;，：；、。.\-]+")
_POLITE = re.compile(
    r"^(?:(?:please|and|also|so|ok|okay|hey|now)\b[\s,]*|(?:请你|请|麻烦|那|好的|好|嗯)[\s,，]*)+",
    re.IGNORECASE,
)


def to_remember(text: str, *, policy: RememberPolicy) -> str | None:
    """Return what the user asks to have remembered, or None.

    Args:
        text: What the user said.
        policy: The words: `asked` ones are cut off ("remember that X" gives X), a sentence with a
            `standing` one is kept whole ("from now on, X"), `questions` are never remembered.

    Returns:
        The sentences to remember, in order, on one line each; a phrase such as "remember this:"
        with nothing behind it takes the rest of the message.
    """
    if not policy.enabled:
        return None
    sentences = [part.strip() for part in _SENTENCE.split(normalise(text)) if part.strip()]
    found: list[str] = []
    for place, sentence in enumerate(sentences):
        said = tidy(sentence)
        if "?" in said or present(said, policy.questions):
            continue
        wanted = _asked(sentence, policy=policy)
        if wanted == "":
            found.extend(sentences[place + 1 :])
            break
        if wanted is None and present(said, policy.standing):
            wanted = sentence
        if wanted is not None:
            found.append(wanted)
    return "\n".join(found) or None


def _asked(sentence: str, *, policy: RememberPolicy) -> str | None:
    """Return what follows an asking phrase at the head of a sentence, or None without one."""
    head = _POLITE.sub("", sentence)
    folded = head.casefold().replace("’", "'")
    words = sorted((*policy.asked.en, *policy.asked.zh), key=len, reverse=True)
    for phrase in words:
        lead = phrase.casefold()
        if not folded.startswith(lead):
            continue
        rest = head[len(lead) :]
        if lead.isascii() and rest[:1].isalnum():
            continue
        return _LEAD.sub("", rest)
    return None
