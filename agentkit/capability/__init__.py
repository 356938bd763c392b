"""The pydantic-ai capability: recall before a run, a bounded bench within it, hindsight after."""

from agentkit.capability.hindsight import Hindsight, is_equipped

__all__ = ["Hindsight", "is_equipped"]
