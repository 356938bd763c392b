"""Profile CSV tables and fill their gaps."""

import csv
import io
import os
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Literal

from agentkit.toolbox import inside

# A table is held in memory; more than this belongs into a database.
MAX_TABLE_BYTES = 50 * 1024 * 1024
_SHOWN_COLUMNS = 60
_SHOWN_EXAMPLES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """A table as text: header, full rows, and the numbers of rows with another width."""

    header: list[str]
    rows: list[list[str]]
    ragged: list[int]
    had_mark: bool


def profile_csv(
    path: str,
    *,
    missing_marks: list[str] | None = None,
    encoding: str = "utf-8",
    delimiter: str = ",",
    root: Path,
) -> str:
    """Describe a CSV table: rows, and for each column its type, missing cells and range.

    Args:
        path: The table, relative to the folder for tools.
        missing_marks: Texts that mean a missing value besides the empty cell, such as N/A.
        encoding: Encoding of the file, such as utf-8 or gbk.
        delimiter: The character between cells.
        root: Folder that may be read; filled in.

    Raises:
        ValueError: If there is no such table inside of the root, or it cannot be read as one.
    """
    table = _read(path, encoding=encoding, delimiter=delimiter, root=root)
    lines = [f"{path}: {len(table.rows)} rows, {len(table.header)} columns"]
    if table.ragged:
        lines.append(
            f"{len(table.ragged)} rows have another number of cells, first in row {table.ragged[0]}"
        )
    for place, name in enumerate(table.header[:_SHOWN_COLUMNS]):
        cells = [row[place] for row in table.rows]
        lines.append(f"- {name}: {_describe(cells, marks=_marks(missing_marks))}")
    if len(table.header) > _SHOWN_COLUMNS:
        lines.append(f"... and {len(table.header) - _SHOWN_COLUMNS} more columns")
    return "\n".join(lines)


def fill_missing(
    path: str,
    column: str,
    method: Literal["mean", "median", "mode", "constant"],
    *,
    value: str | None = None,
    missing_marks: list[str] | None = None,
    output: str | None = None,
    overwrite: bool = False,
    encoding: str = "utf-8",
    delimiter: str = ",",
    root: Path,
) -> str:
    """Fill the missing cells of one column and write the table to a new file.

    Args:
        path: The table, relative to the folder for tools.
        column: Name of the column as it stands in the header.
        method: mean and median need numbers; mode takes the most frequent value; constant
            takes the given value.
        value: The value for the method constant.
        missing_marks: Texts that mean a missing value besides the empty cell, such as N/A.
        output: Where to write; without it, beside the table as name.filled.csv.
        overwrite: True to replace a file that is already there.
        encoding: Encoding of the file, such as utf-8 or gbk; the output has the same.
        delimiter: The character between cells.
        root: Folder that may be read and written; filled in.

    Raises:
        ValueError: If the table cannot be read, the method does not suit the column, or the
            output is already there.
    """
    table = _read(path, encoding=encoding, delimiter=delimiter, root=root)
    if table.ragged:
        raise ValueError(
            f"row {table.ragged[0]} has another number of cells than the header; mend it first"
        )
    place = _place(column, header=table.header)
    marks = _marks(missing_marks)
    cells = [row[place] for row in table.rows]
    filling = _filling(cells, method=method, value=value, marks=marks, column=column)
    filled = [filling if _is_missing(cell, marks) else cell for cell in cells]
    rows = [
        [*row[:place], new, *row[place + 1 :]] for row, new in zip(table.rows, filled, strict=True)
    ]
    target = output or f"{path.removesuffix('.csv')}.filled.csv"
    changed = sum(_is_missing(cell, marks) for cell in cells)
    text = _as_text([table.header, *rows], delimiter=delimiter)
    mark = "utf-8-sig" if table.had_mark else encoding
    _write(inside(target, root=root), text.encode(mark), overwrite=overwrite, shown=target)
    return f"filled {changed} cells of {column} with {filling} ({method}); wrote {target}"


def _read(path: str, *, encoding: str, delimiter: str, root: Path) -> _Table:
    place = inside(path, root=root)
    if not place.is_file():
        raise ValueError(f"there is no file {path!r}; list the folder to see what there is")
    if place.stat().st_size > MAX_TABLE_BYTES:
        raise ValueError(f"{path!r} is larger than {MAX_TABLE_BYTES} bytes; split it")
    if len(delimiter) != 1:
        raise ValueError(f"the delimiter must be one character, not {delimiter!r}")
    data = place.read_bytes()
    text = _decode(data, encoding=encoding, path=path)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise ValueError(f"{path!r} is no CSV table: {error}") from error
    if not rows:
        raise ValueError(f"{path!r} is empty; there is no header line")
    header = [name.strip() for name in rows[0]]
    body = [row for row in rows[1:] if row]
    ragged = [number for number, row in enumerate(body, start=1) if len(row) != len(header)]
    full = [row for row in body if len(row) == len(header)]
    return _Table(
        header=header, rows=full, ragged=ragged, had_mark=data.startswith(b"\xef\xbb\xbf")
    )


def _decode(data: bytes, *, encoding: str, path: str) -> str:
    try:
        name = "utf-8-sig" if encoding.casefold() in ("utf-8", "utf8") else encoding
        return data.decode(name)
    except LookupError as error:
        raise ValueError(f"there is no encoding {encoding!r}; utf-8 and gbk are common") from error
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path!r} is not {encoding}: byte {error.start} cannot be read; "
            f"try encoding={'utf-8' if encoding.casefold() in ('gbk', 'gb18030') else 'gbk'}"
        ) from error


def _place(column: str, *, header: Sequence[str]) -> int:
    found = [place for place, name in enumerate(header) if name == column]
    if len(found) == 1:
        return found[0]
    if found:
        raise ValueError(f"the header has {column!r} {len(found)} times; rename one of them")
    raise ValueError(f"there is no column {column!r}; the header has {', '.join(header)}")


def _marks(marks: Sequence[str] | None) -> frozenset[str]:
    return frozenset(mark.strip().casefold() for mark in marks or ())


def _is_missing(cell: str, marks: frozenset[str]) -> bool:
    text = cell.strip()
    return not text or text.casefold() in marks


def _number(cell: str) -> float | None:
    try:
        number = float(cell)
    except ValueError:
        return None
    # float() takes "nan", "inf" and "1_000" for numbers, which no table means.
    return number if number == number and abs(number) < 1e308 and "_" not in cell else None


def _is_date(cell: str) -> bool:
    try:
        date.fromisoformat(cell.strip())
    except ValueError:
        return False
    return True


def _describe(cells: Sequence[str], *, marks: frozenset[str]) -> str:
    """Return type, missing cells and range of a column in words."""
    present = [cell.strip() for cell in cells if not _is_missing(cell, marks)]
    missing = f"{len(cells) - len(present)} missing"
    if not present:
        return f"no values, {missing}"
    numbers = [number for cell in present if (number := _number(cell)) is not None]
    if len(numbers) == len(present):
        kind = "whole numbers" if all(number.is_integer() for number in numbers) else "numbers"
        return f"{kind}, {missing}, {_spread(numbers)}"
    if numbers and len(numbers) * 2 >= len(present):
        odd = sorted({cell for cell in present if _number(cell) is None})[:_SHOWN_EXAMPLES]
        texts = len(present) - len(numbers)
        shown = ", ".join(map(repr, odd))
        return f"numbers with {texts} texts among them ({shown}), {missing}, {_spread(numbers)}"
    if all(map(_is_date, present)):
        return f"dates, {missing}, {min(present)} to {max(present)}"
    common = Counter(present).most_common(1)[0]
    return f"text, {missing}, {len(set(present))} distinct, most often {common[0]!r} ({common[1]})"


def _spread(numbers: Sequence[float]) -> str:
    low, high = _shown(min(numbers)), _shown(max(numbers))
    return f"{low} to {high}, median {_shown(statistics.median(numbers))}"


def _shown(number: float) -> str:
    return str(int(number)) if number.is_integer() else f"{number:.10g}"


def _filling(
    cells: Sequence[str],
    *,
    method: Literal["mean", "median", "mode", "constant"],
    value: str | None,
    marks: frozenset[str],
    column: str,
) -> str:
    """Return the text to put into missing cells."""
    if method == "constant":
        if value is None or not value.strip():
            raise ValueError("the method constant needs a value; give value")
        return value
    present = [cell for cell in cells if not _is_missing(cell, marks)]
    if not present:
        raise ValueError(f"column {column!r} has no value to learn from; use the method constant")
    if method == "mode":
        # Of values that are equally frequent the first of the table.
        return Counter(present).most_common(1)[0][0]
    odd = next((row for row, cell in enumerate(cells, start=1) if _is_text(cell, marks)), None)
    if odd is not None:
        text = cells[odd - 1].strip()
        raise ValueError(
            f"column {column!r} holds the text {text!r} in row {odd}; {method} needs numbers: "
            f'give missing_marks=["{text}"] if it means a missing value, or use mode or constant'
        )
    numbers = [float(cell) for cell in present]
    return _shown(statistics.fmean(numbers) if method == "mean" else statistics.median(numbers))


def _is_text(cell: str, marks: frozenset[str]) -> bool:
    return not _is_missing(cell, marks) and _number(cell) is None


def _as_text(rows: Sequence[Sequence[str]], *, delimiter: str) -> str:
    buffer = io.StringIO(newline="")
    csv.writer(buffer, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return buffer.getvalue()


def _write(place: Path, data: bytes, *, overwrite: bool, shown: str) -> None:
    """Write a file whole or not at all."""
    if place.exists() and not overwrite:
        raise ValueError(f"{shown!r} is already there; give another output, or overwrite=true")
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        draft.write_bytes(data)
        draft.replace(place)
    finally:
        draft.unlink(missing_ok=True)
