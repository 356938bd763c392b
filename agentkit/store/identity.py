"""When two texts are the same memory."""

import hashlib

from agentkit.text import normalise

_ENDINGS = " .。!！;；,，"


def identity_of(content: str) -> str:
    """Return the hash that equal contents share.

    Letter case, white space, the form of accents and closing punctuation do not count; a digit,
    a word or a question mark does.

    Args:
        content: The content of a memory.
    """
    flat = " ".join(normalise(content).casefold().split())
    return hashlib.sha256((flat.rstrip(_ENDINGS) or flat).encode("utf-8")).hexdigest()


def quote_hash(quote: str) -> str:
    """Return the hash of a quote, to find again memories that rest on the same words."""
    return hashlib.sha256(quote.encode("utf-8")).hexdigest()
