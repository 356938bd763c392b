"""A scope of memories as recall sees it, for tests of the recall room."""

from typing import Any

import numpy as np

from agentkit.recall import ScopeIndex
from agentkit.records import Float32Array, KeyEntry, MemoryEntry, ScopeChanges
from agentkit.text import term_counts

DAY_S = 86_400.0
NOW_S = 1_796_040_000.0
BASE = MemoryEntry(
    memory_id="base",
    memory_type="semantic",
    confidence=0.8,
    trust=1.0,
    created_s=NOW_S,
    keys=(),
)


def unit(*numbers: float) -> Float32Array:
    """The direction of some numbers."""
    vector = np.array(numbers, dtype=np.float32)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def at_cosine(cosine: float) -> Float32Array:
    """A vector at a cosine to (1, 0)."""
    return unit(cosine, (1.0 - cosine**2) ** 0.5)


def memory(
    memory_id: str, text: str = "", vector: Float32Array | None = None, **changes: Any
) -> MemoryEntry:
    """A memory with one key."""
    key = KeyEntry(key_id=f"{memory_id}:0", kind="content", terms=term_counts(text), vector=vector)
    return BASE._replace(memory_id=memory_id, keys=(key,), **changes)


def holding(*entries: MemoryEntry) -> ScopeIndex:
    """The index of a scope that holds these memories."""
    index = ScopeIndex()
    index.apply(ScopeChanges(revision=1, complete=True, entries=entries))
    return index
