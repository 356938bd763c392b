"""The bounded workbench of a running task, and where the task ends. Pure throughout."""

from agentkit.working.boundaries import Moment, Turn, decide, open_to_meaning, turns_of
from agentkit.working.carry_over import CarriedCall, CarryOver, carried, fitted
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
    "CarriedCall",
    "CarryOver",
    "ClosingJudge",
    "Moment",
    "Page",
    "Pin",
    "Sealing",
    "Turn",
    "View",
    "carried",
    "decide",
    "find_result",
    "fit",
    "fitted",
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
