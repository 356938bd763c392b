"""What moving a store came to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportReport:
    """What an export wrote.

    Attributes:
        file: The file, whole.
        counts: Records of each kind.
        size_bytes: Size of the file.
        sha256: Hex digest that the file's last line names.
        lost: Episodes whose trajectory is missing or damaged in this store: they are in the file
            without it.
    """

    file: Path
    counts: Mapping[str, int]
    size_bytes: int
    sha256: str
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreReport:
    """What a restore did.

    Attributes:
        file: The export.
        added: Records of each kind that were not here before.
        known: Records of each kind that were here already, the same or further on.
        purged: Records of each kind that were left out, for a purge erased them here since.
        kept: Records that are here in another state and stay so, for the file is from before a
            purge of their user, which takes words out of what it leaves.
        embedder_note: What becomes of the vectors where this store is not pinned to the embedder
            that made them, or "".
    """

    file: Path
    added: Mapping[str, int]
    known: Mapping[str, int]
    purged: Mapping[str, int] = field(default_factory=dict[str, int])
    kept: int = 0
    embedder_note: str = ""
