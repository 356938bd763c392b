"""What commands print: one JSON document, or text and tables for a person."""

import json
import sys
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from agentkit.records import Memory

# Width of tables when the output is no terminal, so that a log or a pipe does not cut words.
PIPE_WIDTH_CHARS = 120
# Longer lines are hard to read, however wide the window.
WRAPPED_CHARS = 100
# Narrower columns than this are cut by the terminal instead of being broken into letters.
LEAST_CHARS = 20
# Columns of ids: they are copied into the next command, and only whole ids are taken there.
UNBROKEN = frozenset({"id", "episode"})
# About four lines of a table; the whole content is one `memories show` away.
PREVIEW_CHARS = 300


def print_json(document: Mapping[str, object] | Sequence[object]) -> None:
    """Print one JSON document on stdout, readable and in UTF-8.

    Args:
        document: Only texts, numbers, booleans, None, lists and string-keyed mappings.
    """
    print(json.dumps(document, ensure_ascii=False, indent=2))


def console() -> "Console":
    """Return a console on stdout; without colours and 120 wide where that is no terminal."""
    from rich.console import Console

    class Quiet(Console):
        """Leaves a closed pipe to the edge of the command line; rich would exit with code 1."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    width = None if sys.stdout.isatty() else PIPE_WIDTH_CHARS
    return Quiet(highlight=False, width=width)


def print_wrapped(text: str, *, lead: str = "", dim: bool = False) -> None:
    """Print a text wrapped at the width of the terminal, its lines level after the first.

    Args:
        text: Plain text, whatever it holds.
        lead: What stands before the first line, such as an indented bullet.
        dim: Whether it is an aside.
    """
    from rich.cells import cell_len
    from rich.text import Text

    out = console()
    indent = cell_len(lead)
    lines = Text(text).wrap(out, max(min(out.width, WRAPPED_CHARS) - indent, LEAST_CHARS))
    style = "dim" if dim else ""
    for at, line in enumerate(lines):
        before = " " * indent if at else lead
        out.print(Text(before + line.plain.rstrip(), style=style), soft_wrap=True)


def print_table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], *, title: str | None = None
) -> None:
    """Print a table; cells are plain text, whatever they hold.

    Args:
        headings: One a column.
        rows: As many cells as there are headings in each.
        title: Heading of the whole table, or None.
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", show_lines=False)
    for heading in headings:
        table.add_column(heading, overflow="fold", no_wrap=heading in UNBROKEN)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console().print(table)


def memory_cell(memory: "Memory", *, note: str = "") -> str:
    """Return a memory for a table: its content, and a line with what else is known.

    Args:
        memory: The memory.
        note: A warning for the reader, or "".
    """
    from agentkit.text import one_line

    known = [memory.memory_type, f"confidence {memory.confidence:.2f}", *map(str, memory.tags)]
    lines = [one_line(memory.content, limit_chars=PREVIEW_CHARS), ", ".join(known), note]
    return "\n".join(line for line in lines if line)


@contextmanager
def progress_bar(
    label: str, *, shown: bool
) -> Generator[Callable[[int, int | None], None], None, None]:
    """Show a progress bar on stderr while the block runs, then remove it.

    Args:
        label: What is being done.
        shown: False with `--json`; without a terminal nothing is shown either.

    Yields:
        Called with how many are done and how many there are (None: not known).
    """
    if not (shown and sys.stderr.isatty()):
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(label, total=None)

        def advance(done: int, total: int | None) -> None:
            progress.update(task, completed=done, total=total)

        yield advance
