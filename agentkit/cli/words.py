"""Words of the command line that stand for one of a few values."""

import difflib
from typing import cast, get_args

from agentkit.errors import InputError
from agentkit.records import (
    MEMORY_TYPES,
    MemoryStatus,
    MemoryType,
    VerdictKind,
)


def verdict_kind(word: str) -> VerdictKind:
    """Return the verdict that a word names.

    Raises:
        InputError: Naming the verdicts there are.
    """
    return cast("VerdictKind", _one_of(word, get_args(VerdictKind), what="verdict"))


def memory_status(word: str) -> MemoryStatus:
    """Return the status that a word names.

    Raises:
        InputError: Naming the statuses there are.
    """
    return cast("MemoryStatus", _one_of(word, get_args(MemoryStatus), what="status"))


def memory_type(word: str) -> MemoryType:
    """Return the memory type that a word names.

    Raises:
        InputError: Naming the types there are.
    """
    return cast("MemoryType", _one_of(word, MEMORY_TYPES, what="type"))


def _one_of(word: str, choices: tuple[str, ...], *, what: str) -> str:
    if word in choices:
        return word
    near = difflib.get_close_matches(word, choices, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"write one of {', '.join(choices)}"
    raise InputError(f"{what} {word!r} is unknown; {hint}")
