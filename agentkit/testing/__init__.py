"""Doubles for tests of agents that remember: no network, no key, the same answer every time."""

from agentkit.testing.clock import FixedClock
from agentkit.testing.embedders import HashEmbedder, TableEmbedder
from agentkit.testing.memories import new_episode, new_memory
from agentkit.testing.models import Script, scripted, scripted_agent, scripted_with
from agentkit.testing.stores import MemoryBlobs, MemoryVectorIndex, memory_store

__all__ = [
    "FixedClock",
    "HashEmbedder",
    "MemoryBlobs",
    "MemoryVectorIndex",
    "Script",
    "TableEmbedder",
    "memory_store",
    "new_episode",
    "new_memory",
    "scripted",
    "scripted_agent",
    "scripted_with",
]
