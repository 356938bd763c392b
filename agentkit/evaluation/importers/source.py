"""JSON values out of a file that may be damaged: one a line, or the items of one document."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import cast

from agentkit.errors import RecordingError
from agentkit.text import one_line

JsonValue = str | int | float | bool | None | Sequence["JsonValue"] | Mapping[str, "JsonValue"]

# A whole file is held in memory; larger exports are split by whoever made them.
MAX_FILE_BYTES = 512 * 1024 * 1024
# Lines looked at to tell one value a line from one document over many lines.
_PROBED_LINES = 40
_SPACE = re.compile(r"\s*")
# How an item of a list begins: its brackets, and its first key.
_ITEM_START = re.compile(r'([\[{\s]*)"((?:[^"\\]|\\.)*)"\s*:')
# What bytes that are no UTF-8 become on reading.
_BAD_BYTE = re.compile("[\udc80-\udcff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One value of a file, or why there is none.

    Attributes:
        line: Line on which it begins, from 1.
        value: The value; None if there is a problem.
        problem: Why it cannot be used, or "".
    """

    line: int
    value: JsonValue = None
    problem: str = ""


def as_object(value: JsonValue) -> Mapping[str, JsonValue] | None:
    """Return the value if it is a JSON object, else None."""
    return value if isinstance(value, Mapping) else None


def as_list(value: JsonValue) -> Sequence[JsonValue] | None:
    """Return the value if it is a JSON list, else None."""
    return value if isinstance(value, Sequence) and not isinstance(value, str) else None


def as_text(value: JsonValue) -> str | None:
    """Return the value if it is a text, else None."""
    return value if isinstance(value, str) else None


def parse_object(text: str) -> Mapping[str, JsonValue] | None:
    """Return the JSON object that a text holds, or None if it holds none."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        return as_object(cast("JsonValue", json.loads(text)))
    except (ValueError, RecursionError):
        return None


def read_values(path: Path) -> tuple[Found, ...]:
    """Return the values of a JSON or JSON Lines file, good ones before and after damage.

    Lines hold one value each; a document that is a list gives its items, any other document
    itself. Empty lines between values are reported, those at the end are not.

    Args:
        path: The file, UTF-8, with or without a byte order mark.

    Returns:
        In the order of the file.

    Raises:
        RecordingError: If the file is missing, unreadable, too large, or blank.
    """
    text = _read(path)
    if not text.strip():
        raise RecordingError("the file is empty; nothing to import", file=path)
    found = _lines(text) if _is_lines(text, path=path) else _document(text)
    return tuple(found)


def compact(value: JsonValue) -> str:
    """Return a value as JSON text on one line, with its characters as they are.

    Args:
        value: Any JSON value.

    Returns:
        The text, or `…` where it is nested too deep to be written.
    """
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "…"


def _read(path: Path) -> str:
    try:
        size = path.stat().st_size
        if size > MAX_FILE_BYTES:
            raise RecordingError(
                f"the file has {size} bytes; split it into parts of at most {MAX_FILE_BYTES}",
                file=path,
            )
        data = path.read_bytes()
    except OSError as error:
        raise RecordingError(f"cannot be read: {error.strerror}", file=path) from error
    return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")


def _is_lines(text: str, *, path: Path) -> bool:
    """Whether each line is a value of its own."""
    lines = [line for line in islice(text.split("\n"), _PROBED_LINES) if line.strip()]
    if len(lines) == 1:
        return False
    whole = sum(isinstance(_parse(line, line=1).value, Mapping | list) for line in lines)
    # A list with one record a line ends its lines with commas, all but the last.
    share = 4 if path.suffix.casefold() in (".jsonl", ".ndjson") else 2
    return whole * share >= len(lines)


def _lines(text: str) -> Iterator[Found]:
    # Only \n ends a line: str.splitlines would cut a text at U+2028.
    for number, line in enumerate(text.rstrip().split("\n"), start=1):
        if line.strip():
            yield _parse(line.strip(), line=number)
        else:
            yield Found(line=number, problem="empty line")


def _parse(text: str, *, line: int) -> Found:
    problem = _damage(text)
    if problem:
        return Found(line=line, problem=problem)
    try:
        return Found(line=line, value=cast("JsonValue", json.loads(text)))
    except (ValueError, RecursionError) as error:
        return Found(line=line, problem=_explain(error))


def _damage(text: str) -> str:
    if "\x00" in text:
        return "holds zero bytes"
    if _BAD_BYTE.search(text):
        return "holds bytes that are not UTF-8"
    return ""


def _explain(error: ValueError | RecursionError) -> str:
    """Say in words why a text is no JSON value."""
    if isinstance(error, RecursionError):
        return "JSON nested too deep"
    if not isinstance(error, json.JSONDecodeError):
        return f"not usable JSON: {one_line(str(error), limit_chars=80)}"
    if error.msg.startswith("Unterminated string") or error.pos >= len(error.doc.rstrip()):
        return "JSON cut short"
    return f"not JSON: {error.msg} at column {error.colno}"


def _document(text: str) -> Iterator[Found]:
    start = _skip_space(text, 0)
    if text[start] != "[":
        yield _parse(text.strip(), line=1 + text.count("\n", 0, start))
        return
    yield from _items(text, start + 1)


def _items(text: str, start: int) -> Iterator[Found]:
    """Give the items of a list one by one, so that damage costs only the item that has it."""
    decoder = json.JSONDecoder()
    beginning = _beginning(text, start)
    line, counted = 1, 0
    at = _skip_space(text, start)
    while at < len(text) and text[at] != "]":
        line, counted = line + text.count("\n", counted, at), at
        whole = True
        try:
            value, end = cast("tuple[JsonValue, int]", decoder.raw_decode(text, at))
        except (ValueError, RecursionError) as error:
            whole, end = False, _resume(text, at, beginning)
            yield Found(line=line, problem=_damage(text[at:end]) or _item_problem(error, text))
        else:
            problem = _damage(text[at:end])
            yield Found(line=line, value=None if problem else value, problem=problem)
        at = _skip_space(text, end)
        if at < len(text) and text[at] == ",":
            at = _skip_space(text, at + 1)
        elif whole and at >= len(text):
            yield Found(line=line, problem="the list is not closed: the file was cut short")


def _item_problem(error: ValueError | RecursionError, text: str) -> str:
    if isinstance(error, json.JSONDecodeError) and error.pos < len(text.rstrip()):
        return f"not JSON: {error.msg} in line {error.lineno}"
    return _explain(error)


def _beginning(text: str, at: int) -> re.Pattern[str] | None:
    """Return the pattern by which the items of a list begin, told from its first item."""
    first = _ITEM_START.match(text, at)
    if first is None:
        return None
    brackets = r"\s*".join(re.escape(char) for char in first.group(1) if not char.isspace())
    return re.compile(rf'{brackets}\s*"{re.escape(first.group(2))}"\s*:')


def _resume(text: str, at: int, beginning: re.Pattern[str] | None) -> int:
    """Return where the next item begins after the damaged one at `at`, or the end."""
    following = beginning.search(text, at + 1) if beginning else None
    return following.start() if following else len(text)


def _skip_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at
