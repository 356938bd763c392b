"""What there is to tell while the agent works."""

from collections.abc import Callable
from dataclasses import dataclass

from agentkit.records import Episode, Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalledMemory:
    """A memory that was put in front of the model.

    Attributes:
        memory: The memory.
        explanation: How its score came about, in one line.
    """

    memory: Memory
    explanation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """What was recalled for a prompt.

    Attributes:
        retrieval_id: The recall, for feedback.
        memories: Best first; never empty.
    """

    retrieval_id: str
    memories: tuple[RecalledMemory, ...]


@dataclass(frozen=True, slots=True)
class Words:
    """A piece of the answer.

    Attributes:
        text: To be written right behind the piece before.
    """

    text: str


@dataclass(frozen=True, slots=True)
class ToolUsed:
    """The model calls a tool.

    Attributes:
        name: Name of the tool.
    """

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Learnt:
    """What came of a task that ended.

    Attributes:
        episode: The task.
        memories: Lessons drawn from it, newest first.
        problem: Why it was not looked back on yet, or "".
    """

    episode: Episode
    memories: tuple[Memory, ...]
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """One line for the person.

    Attributes:
        text: What there is to say.
        failed: Whether it says that something could not be done.
    """

    text: str
    failed: bool = False


Event = Recalled | Words | ToolUsed | Learnt | Note
Tell = Callable[[Event], None]
