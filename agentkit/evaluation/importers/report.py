"""What reading a file of recorded sessions gives."""

from dataclasses import dataclass

from agentkit.records import Recording


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedLine:
    """A part of a file that could not be used.

    Attributes:
        line: Line on which it begins, from 1.
        reason: Why, in words.
    """

    line: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """The tasks found in one file, and what was left out of it.

    Attributes:
        format: Format it was read as.
        recordings: In the order of the file; source ids are unique within it.
        skipped: In the order of the file; a damaged message inside of a good record is listed
            too, while the record is kept without it.
    """

    format: str
    recordings: tuple[Recording, ...]
    skipped: tuple[SkippedLine, ...]
