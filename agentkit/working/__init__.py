"""The bounded workbench of a running task, and where the task ends. Pure throughout."""

from agentkit.working.boundaries import Moment, Turn, decide, open_to_meaning, turns_of
from agentkit.working.closing import ClosingJudge, parts_of
from agentkit.working.handles import Page, find_result, handle_of, page_of
from agentkit.working.pins import (
    OPEN_TOOL,
    PIN_TOOL,
    UNPIN_TOOL,
    Pin,
    note_pin,
    pins_of,
    result_pin,
    said_of,
    with_pin,
    without_pin,
)
from agentkit.working.remember import to_remember
from agentkit.working.seal import Sealing, seal
from agentkit.working.window import BenchItem, View, fit, pinned_tokens, shorten

__all__ = [
    "OPEN_TOOL",
    "PIN_TOOL",
    "UNPIN_TOOL",
    "BenchItem",
    "ClosingJudge",
    "Moment",
    "Page",
    "Pin",
    "Sealing",
    "Turn",
    "View",
    "decide",
    "find_result",
    "fit",
    "handle_of",
    "note_pin",
    "open_to_meaning",
    "page_of",
    "parts_of",
    "pinned_tokens",
    "pins_of",
    "result_pin",
    "said_of",
    "seal",
    "shorten",
    "to_remember",
    "turns_of",
    "with_pin",
    "without_pin",
]
