"""The file itself: written whole or not at all, and read with every line proven."""

import gzip
import hashlib
import json
import os
import tempfile
import zlib
from collections import Counter
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NoReturn, cast

from agentkit.errors import ArchiveError, StoreError
from agentkit.store.transfer.codec import Document
from agentkit.store.transfer.formats import END, FormatPlan, Header, header_document, parse_header

_GZIP_MAGIC = b"\x1f\x8b"
# Level 6 saves 2 % over level 1 where most of the bytes are vectors, and takes twice as long.
_GZIP_LEVEL = 1


class ArchiveWriter:
    """Writes the lines of an export and keeps count."""

    def __init__(self, out: BinaryIO, header: Header) -> None:
        """Write the first line.

        Args:
            out: Where the lines go.
            header: What the first line says.
        """
        self._out = out
        self._hash = hashlib.sha256()
        self.counts: Counter[str] = Counter()
        self._write(header_document(header))

    def write(self, document: Document) -> None:
        """Write a record."""
        self.counts[str(document["record"])] += 1
        self._write(document)

    def finish(self) -> str:
        """Write the last line and return the digest of the lines before it."""
        digest = self._hash.hexdigest()
        self._write({"record": END, "counts": dict(self.counts), "sha256": digest})
        return digest

    def _write(self, document: Document) -> None:
        text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
        line = text.encode("utf-8") + b"\n"
        self._hash.update(line)
        self._out.write(line)


@contextmanager
def written_whole(file: Path) -> Generator[BinaryIO]:
    """Yield a stream whose bytes become the file once the block ends well; else nothing is left.

    The file can be read by its owner alone: it holds everything.

    Args:
        file: Where it goes; one that is there is replaced. Compressed where it ends in `.gz`.

    Raises:
        StoreError: If the disk refuses.
    """
    try:
        with tempfile.NamedTemporaryFile(
            dir=file.parent, prefix=f".{file.name}.", suffix=".part", delete=False
        ) as raw:
            part = Path(raw.name)
            try:
                if file.suffix == ".gz":
                    with gzip.GzipFile("", "wb", _GZIP_LEVEL, raw, mtime=0) as packed:
                        yield cast("BinaryIO", packed)
                else:
                    yield cast("BinaryIO", raw)
                raw.flush()
                os.fsync(raw.fileno())
                part.replace(file)
                _sync_folder(file.parent)
            finally:
                part.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"cannot write {file}: {error.strerror or error}") from error


def _sync_folder(folder: Path) -> None:
    """Make a new name in a folder survive a crash of the machine."""
    directory = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A line of an export.

    Attributes:
        number: Its number, from 1.
        size_bytes: Its length.
        document: What it holds, in the current format, or None where it is damaged.
        problem: What is wrong with it, or "".
    """

    number: int
    size_bytes: int
    document: Document | None = None
    problem: str = ""


class ArchiveReader:
    """Reads an export, as often as wanted; each time all of it is proven again."""

    def __init__(self, file: Path, *, plan: FormatPlan) -> None:
        """Read the first line.

        Args:
            file: The export, compressed or not.
            plan: Formats that can be read.

        Raises:
            ArchiveError: If it is no export, or cannot be read.
            SchemaError: If it is of a newer format or schema.
        """
        self.file = file
        self._plan = plan
        with closing(self._lines()) as lines:
            _, line = next(lines, (0, b""))
        document = _parsed(line)
        if not isinstance(document, dict):
            raise ArchiveError("is no export of agentkit: its first line is no JSON", file=file)
        self.header = parse_header(document, plan=plan, file=file)

    def entries(self, *, only: str | None = None) -> Iterator[Entry]:
        """Yield the lines between the first and the last, damaged ones too.

        Args:
            only: Kind of record that alone is wanted, or None; of the others few come along, since
                lines of the current format that do not hold the word are not parsed.

        Raises:
            ArchiveError: If the file is cut, goes on after its end, or is not what its hash says.
        """
        digest = hashlib.sha256()
        counts: Counter[str] = Counter()
        wanted = None if only is None or self._is_older else f'"{only}"'.encode()
        held = b""
        number = 0
        for number, line in self._lines():
            if held:
                # Only the line after it shows that a line was not the last one.
                digest.update(held)
                if number > 2:
                    yield from self._entry(number - 1, held, counts, wanted=wanted)
            held = line
        self._check_end(number, held, digest.hexdigest(), counts if wanted is None else None)

    @property
    def _is_older(self) -> bool:
        return self.header.format < self._plan.current

    def _entry(
        self, number: int, line: bytes, counts: Counter[str], *, wanted: bytes | None
    ) -> Iterator[Entry]:
        if wanted is not None and wanted not in line:
            return
        document = _parsed(line)
        if isinstance(document, str):
            yield Entry(number=number, size_bytes=len(line), problem=document)
            return
        counts[str(document.get("record"))] += 1
        upgraded = self._plan.upgrade(document, version=self.header.format)
        if upgraded is not None:
            yield Entry(number=number, size_bytes=len(line), document=upgraded)

    def _check_end(
        self, number: int, line: bytes, digest: str, counts: Mapping[str, int] | None
    ) -> None:
        end = _parsed(line)
        if not isinstance(end, dict) or end.get("record") != END or not line.endswith(b"\n"):
            self._refuse_cut(number)
        if end.get("sha256") != digest:
            raise ArchiveError(
                "is not what was exported: its lines do not have the hash that its last line names",
                file=self.file,
            )
        if counts is not None and end.get("counts") != dict(counts):
            raise ArchiveError("holds not as many records as its last line says", file=self.file)

    def _refuse_cut(self, number: int) -> NoReturn:
        raise ArchiveError(
            "is cut off, or goes on after its end: the last line is not the closing one",
            file=self.file,
            line=number,
        )

    def _lines(self) -> Generator[tuple[int, bytes]]:
        number = 0
        try:
            with self._open() as lines:
                for number, line in enumerate(lines, start=1):
                    yield number, line
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ArchiveError(
                f"is cut off or damaged, nothing can be unpacked from here on: {error}",
                file=self.file,
                line=number + 1,
            ) from error
        except OSError as error:
            raise ArchiveError(f"cannot be read: {error.strerror}", file=self.file) from error

    def _open(self) -> BinaryIO:
        with self.file.open("rb") as probe:
            packed = probe.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
        return cast("BinaryIO", gzip.open(self.file, "rb")) if packed else self.file.open("rb")


def _parsed(line: bytes) -> Document | str:
    """Return the object that a line holds, or what is wrong with it."""
    try:
        found = cast("object", json.loads(line, parse_constant=_refuse_constant))
    except (ValueError, RecursionError) as error:
        return f"is no JSON: {error}"
    return cast("Document", found) if isinstance(found, dict) else "is no JSON object"


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")
