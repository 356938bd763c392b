"""A small agent runtime whose agents learn from hindsight.

An agent works on a task inside a bounded working memory; when the task ends it looks back on
its own trajectory and keeps what is worth keeping; next time only the judged part comes back.

Importing this package is silent, reads nothing, and loads nothing heavy: each name below is
loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentkit.capability import Hindsight
    from agentkit.errors import AgentkitError
    from agentkit.kit import Kit
    from agentkit.records import (
        Briefing,
        Hit,
        Lesson,
        Memory,
        Query,
        RecallResult,
        Scope,
        Tag,
        Verdict,
    )
    from agentkit.session import Session

__version__ = "0.1.0"

_HOMES = {
    "AgentkitError": "agentkit.errors",
    "Briefing": "agentkit.records",
    "Hindsight": "agentkit.capability",
    "Hit": "agentkit.records",
    "Kit": "agentkit.kit",
    "Lesson": "agentkit.records",
    "Memory": "agentkit.records",
    "Query": "agentkit.records",
    "RecallResult": "agentkit.records",
    "Scope": "agentkit.records",
    "Session": "agentkit.session",
    "Tag": "agentkit.records",
    "Verdict": "agentkit.records",
}

__all__ = [
    "AgentkitError",
    "Briefing",
    "Hindsight",
    "Hit",
    "Kit",
    "Lesson",
    "Memory",
    "Query",
    "RecallResult",
    "Scope",
    "Session",
    "Tag",
    "Verdict",
]


def __getattr__(name: str) -> object:
    """Load a public name from its home when it is first used."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'agentkit' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted([*globals(), *__all__])
