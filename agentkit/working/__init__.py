"""The bounded workbench of a running task, and where the task ends. Pure throughout."""

from agentkit.working.boundaries import Moment, Turn, decide, turns_of
from agentkit.working.remember import to_remember
from agentkit.working.seal import Sealing, seal
from agentkit.working.window import BenchItem, View, fit, shorten

__all__ = [
    "BenchItem",
    "Moment",
    "Sealing",
    "Turn",
    "View",
    "decide",
    "fit",
    "seal",
    "shorten",
    "to_remember",
    "turns_of",
]
