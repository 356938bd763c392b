"""Keep notes in one Markdown file inside of the folder for tools."""

import re
import threading
from pathlib import Path

from agentkit.toolbox import inside

NOTES_FILE = "notes.md"
MAX_NOTE_CHARS = 2_000
MAX_SHOWN = 50
# Parallel calls of one agent run on several threads; two notes must not get one number.
_WRITING = threading.Lock()
_NOTE = re.compile(r"^(\d+)\. (.*)$", re.MULTILINE)


def add(text: str, *, root: Path) -> str:
    """Add a note and return its number.

    Args:
        text: The note; line breaks become spaces.
        root: Folder that holds the notes; filled in.

    Raises:
        ValueError: If the note is blank or too long.
    """
    flat = " ".join(text.split())
    if not flat:
        raise ValueError("the note is blank; say what to keep")
    if len(flat) > MAX_NOTE_CHARS:
        raise ValueError(f"the note has {len(flat)} characters; keep it below {MAX_NOTE_CHARS}")
    place = inside(NOTES_FILE, root=root)
    with _WRITING, place.open("a", encoding="utf-8", newline="\n") as stream:
        number = max((number for number, _ in _notes(root)), default=0) + 1
        start = "" if place.stat().st_size else "# Notes\n\n"
        stream.write(f"{start}{number}. {flat}\n")
    return f"note {number} added"


def recent(limit: int = 10, *, root: Path) -> str:
    """Return the newest notes, newest first.

    Args:
        limit: Most notes to return, 1 to 50.
        root: Folder that holds the notes; filled in.

    Raises:
        ValueError: If limit is out of range.
    """
    return _show(_notes(root)[::-1], limit=limit)


def search(words: str, limit: int = 10, *, root: Path) -> str:
    """Return the notes that hold all of some words, newest first.

    Args:
        words: Words separated by spaces; case makes no difference.
        limit: Most notes to return, 1 to 50.
        root: Folder that holds the notes; filled in.

    Raises:
        ValueError: If there are no words, or limit is out of range.
    """
    wanted = words.casefold().split()
    if not wanted:
        raise ValueError("there is nothing to search for; give one word or more")
    found = [
        (number, text)
        for number, text in _notes(root)[::-1]
        if all(word in text.casefold() for word in wanted)
    ]
    return _show(found, limit=limit)


def _notes(root: Path) -> list[tuple[int, str]]:
    place = inside(NOTES_FILE, root=root)
    if not place.exists():
        return []
    return [(int(number), text) for number, text in _NOTE.findall(place.read_text("utf-8"))]


def _show(notes: list[tuple[int, str]], *, limit: int) -> str:
    if not 1 <= limit <= MAX_SHOWN:
        raise ValueError(f"limit must be 1 to {MAX_SHOWN}")
    lines = [f"{number}. {text}" for number, text in notes[:limit]]
    if len(notes) > limit:
        lines.append(f"... and {len(notes) - limit} more")
    return "\n".join(lines) or "no notes found"
