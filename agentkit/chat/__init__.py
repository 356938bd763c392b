"""The project's agent at work: one task, or a conversation."""

from agentkit.chat.agent import make_agent
from agentkit.chat.asking import Answer, ask
from agentkit.chat.conversation import Conversation
from agentkit.chat.events import (
    Event,
    Learnt,
    Note,
    Recalled,
    RecalledMemory,
    Tell,
    ToolUsed,
    Words,
)
from agentkit.chat.once import Done, run_task

__all__ = [
    "Answer",
    "Conversation",
    "Done",
    "Event",
    "Learnt",
    "Note",
    "Recalled",
    "RecalledMemory",
    "Tell",
    "ToolUsed",
    "Words",
    "ask",
    "make_agent",
    "run_task",
]
