"""What the first line says, and how a file of an older format is brought to this one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import cast

from pydantic import TypeAdapter, ValidationError

from agentkit.errors import DISTRIBUTION, ArchiveError, SchemaError
from agentkit.ports import EmbedderIdentity
from agentkit.store.migrations import REVISIONS
from agentkit.store.transfer.codec import Document

HEADER = "agentkit-export"
END = "end"
FORMAT = 1

# Brings one line of a format to the next one, or drops it with None. The first line has
# `record` = HEADER, the last one END; the hash is proven before, over the lines as they were.
Upgrade = Callable[[Document], Document | None]


@dataclass(frozen=True, slots=True)
class FormatPlan:
    """Which formats can be read.

    A column or a table that is new needs no new format: a column that a file lacks gets its
    default. What cannot be had that way gets a function here, and `current` grows by one.

    Attributes:
        current: The format that is written, and the newest that can be read.
        upgrades: For each older format, what brings a line of it to the next one.
        schemas: Schema revisions that can be read, oldest first.
    """

    current: int = FORMAT
    upgrades: Mapping[int, Upgrade] = field(default_factory=dict[int, Upgrade])
    schemas: tuple[str, ...] = REVISIONS

    def upgrade(self, document: Document, *, version: int) -> Document | None:
        """Return a line of an older format as one of the current format, or None to drop it."""
        found: Document | None = document
        for step in range(version, self.current):
            if found is not None:
                found = self.upgrades[step](found)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The first line.

    Attributes:
        format: Format of the file as it was found.
        schema: Schema revision of the database it came from.
        agentkit: Release that wrote it.
        exported_at: When, UTC.
        embedder: Whose vectors that database was pinned to, or None.
        counts: Records of each kind.
    """

    format: int
    schema: str
    agentkit: str
    exported_at: datetime
    embedder: EmbedderIdentity | None
    counts: Mapping[str, int]


_HEADER: TypeAdapter[Header] = TypeAdapter(Header)


def header_document(header: Header) -> Document:
    """Return the first line as a JSON object."""
    return {"record": HEADER, **cast("Document", _HEADER.dump_python(header, mode="json"))}


def parse_header(document: Document, *, plan: FormatPlan, file: Path) -> Header:
    """Return what the first line says.

    Args:
        document: The first line.
        plan: Formats that can be read.
        file: The export, for messages.

    Raises:
        ArchiveError: If it is no first line of an export.
        SchemaError: If the file is of a newer format or schema, or of one too old to be read.
    """
    found = document.get("format")
    if document.get("record") != HEADER or not isinstance(found, int):
        raise ArchiveError("is no export of agentkit: its first line does not say so", file=file)
    writer = document.get("agentkit")
    if found > plan.current:
        raise _newer(file, f"format {found}", f"format {plan.current}", writer=writer)
    if any(step not in plan.upgrades for step in range(found, plan.current)):
        raise SchemaError(
            f"{file} has export format {found}, this release reads format {plan.current} and "
            f"cannot upgrade it; restore it with agentkit {writer} and export it anew"
        )
    upgraded = plan.upgrade(document, version=found) or {}
    try:
        header = _HEADER.validate_python(
            {name: value for name, value in upgraded.items() if name != "record"}
        )
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(map(str, problem["loc"]))
        raise ArchiveError(f"{place}: {problem['msg']}", file=file, line=1) from error
    if header.schema not in plan.schemas:
        raise _newer(file, f"schema {header.schema}", f"schema {plan.schemas[-1]}", writer=writer)
    return header


def release() -> str:
    """Return the version of the installed distribution; `0` for sources that are not installed."""
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "0"


def _newer(file: Path, found: str, known: str, *, writer: object) -> SchemaError:
    return SchemaError(
        f"{file} has {found} (written by agentkit {writer}), this release reads up to {known} "
        f"(agentkit {release()}); nothing was written: upgrade with pip install -U {DISTRIBUTION}"
    )
