"""Assembly: the one place that sees every room and closes the loop."""

from agentkit.kit.kit import Kit

__all__ = ["Kit"]
