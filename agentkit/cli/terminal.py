"""What is told of the agent's work, for a person: the answer on one stream, asides on the other."""

from typing import TYPE_CHECKING, TextIO, assert_never

from agentkit.text import one_line

if TYPE_CHECKING:
    from agentkit.chat import Event, Learnt, Recalled

SHOWN_CHARS = 160


class Terminal:
    """Writes events to two streams; a line begun on the one is ended before the other speaks."""

    def __init__(self, *, out: TextIO, aside: TextIO) -> None:
        """Bind the streams.

        Args:
            out: Where answers go.
            aside: Where everything else goes, a line each.
        """
        self._out = out
        self._aside = aside
        self._within_line = False

    def tell(self, event: "Event") -> None:
        """Write what there is to tell."""
        from agentkit.chat import Learnt, Note, Recalled, ToolUsed, Words

        match event:
            case Words(text=text):
                self._out.write(text)
                self._out.flush()
                self._within_line = not text.endswith("\n")
            case Recalled():
                self._lines(_recalled_lines(event))
            case ToolUsed(name=name):
                self._lines([f"tool: {name}"])
            case Learnt():
                self._lines(_learnt_lines(event))
            case Note(text=text, failed=failed):
                self._lines([f"error: {text}" if failed else text])
            case _:
                assert_never(event)

    def tell_nothing(self, event: "Event") -> None:
        """Take an event that a document tells afterwards."""

    def end_line(self) -> None:
        """End the line of an answer that was begun."""
        if self._within_line:
            self._out.write("\n")
            self._out.flush()
            self._within_line = False

    def _lines(self, lines: list[str]) -> None:
        self.end_line()
        for line in lines:
            self._aside.write(line + "\n")
        self._aside.flush()


def _recalled_lines(event: "Recalled") -> list[str]:
    return [
        f"recalled: {one_line(one.memory.content, limit_chars=SHOWN_CHARS)}"
        for one in event.memories
    ]


def _learnt_lines(event: "Learnt") -> list[str]:
    if event.problem:
        return [f"task ended ({event.episode.outcome}); {event.problem}"]
    lessons = [
        f"learnt: {one_line(memory.content, limit_chars=SHOWN_CHARS)} [{memory.memory_id}]"
        for memory in event.memories
    ]
    return [f"task ended ({event.episode.outcome})", *(lessons or ["learnt: nothing new"])]
