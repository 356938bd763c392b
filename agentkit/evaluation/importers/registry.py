"""Reading a file of recorded sessions in any of the known formats."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from agentkit.errors import InputError, RecordingError
from agentkit.evaluation.importers.openai_chat import OPENAI_CHAT
from agentkit.evaluation.importers.pydantic_messages import PYDANTIC_AI
from agentkit.evaluation.importers.reading import Format
from agentkit.evaluation.importers.report import ImportReport, SkippedLine
from agentkit.evaluation.importers.source import Found, JsonValue, as_list, read_values
from agentkit.evaluation.importers.tau_bench import TAU_BENCH
from agentkit.records import Recording, Trajectory

FORMATS: dict[str, Format] = {known.name: known for known in (TAU_BENCH, OPENAI_CHAT, PYDANTIC_AI)}


def read_recordings(path: Path, *, format: str | None = None, strict: bool = False) -> ImportReport:
    """Return the tasks recorded in a file, and what had to be left out.

    A damaged part is skipped and reported; what stands before and after it is kept.

    Args:
        path: JSON or JSON Lines, UTF-8.
        format: Name of a known format, or None to tell it from the content.
        strict: True to refuse the file at the first thing that would be skipped.

    Raises:
        InputError: If there is no format of that name.
        RecordingError: If the file cannot be read or holds nothing of the format; with
            `strict`, if anything in it is damaged.
    """
    if format is not None and format not in FORMATS:
        raise InputError(f"no format {format!r}; known are {', '.join(sorted(FORMATS))}")
    found = read_values(path)
    detected = _detect(found)
    chosen = detected if format is None else FORMATS[format]
    if chosen is None or not any(map(chosen.recognises, _values(found))):
        raise _unknown(path, found, chosen=chosen, detected=detected)
    taken = _Taken(format=chosen)
    for item in _gathered(found) if chosen.gather else found:
        taken.take(item)
    skipped = tuple(sorted(taken.skipped, key=lambda part: part.line))
    if strict and skipped:
        raise RecordingError(skipped[0].reason, file=path, line=skipped[0].line)
    return ImportReport(format=chosen.name, recordings=tuple(taken.recordings), skipped=skipped)


def _values(found: Sequence[Found]) -> Iterator[JsonValue]:
    return (item.value for item in found if not item.problem)


def _detect(found: Sequence[Found]) -> Format | None:
    """Return the format of the first value that any format recognises."""
    for value in _values(found):
        for known in FORMATS.values():
            if known.recognises(value):
                return known
    return None


def _unknown(
    path: Path, found: Sequence[Found], *, chosen: Format | None, detected: Format | None
) -> RecordingError:
    """Say why a file gives nothing: all of it damaged, or of another format."""
    if not found:
        return RecordingError("the list is empty; nothing to import", file=path)
    if all(item.problem for item in found):
        first = found[0]
        return RecordingError(f"no record can be read: {first.problem}", file=path, line=first.line)
    if chosen is not None:
        hint = f"; it looks like {detected.name}, read it as that" if detected else ""
        return RecordingError(
            f"holds nothing of the format {chosen.name}: {chosen.expects}{hint}", file=path
        )
    wanted = "; ".join(f"{known.name}: {known.expects}" for known in FORMATS.values())
    return RecordingError(f"is of no known format ({wanted})", file=path)


def _gathered(found: Sequence[Found]) -> Iterator[Found]:
    """Put the loose messages of one document together as one session, damage apart."""
    loose = [item for item in found if not item.problem and as_list(item.value) is None]
    for item in found:
        if item.problem or as_list(item.value) is not None:
            yield item
    if loose:
        yield Found(line=loose[0].line, value=[item.value for item in loose])


@dataclass(slots=True, kw_only=True)
class _Taken:
    """What was taken out of a file so far."""

    format: Format
    recordings: list[Recording] = field(default_factory=list[Recording])
    skipped: list[SkippedLine] = field(default_factory=list[SkippedLine])
    _by_id: dict[str, list[Trajectory]] = field(default_factory=dict[str, list[Trajectory]])

    def take(self, item: Found) -> None:
        """Read one value of the file."""
        if item.problem:
            self._skip(item, item.problem)
        elif not self.format.recognises(item.value):
            self._skip(item, f"not of the format {self.format.name}: {self.format.expects}")
        else:
            reading = self.format.read(item.value)
            for problem in reading.problems:
                self._skip(item, problem)
            if reading.recording is not None:
                self._keep(item, reading.recording)

    def _skip(self, item: Found, reason: str) -> None:
        self.skipped.append(SkippedLine(line=item.line, reason=reason))

    def _keep(self, item: Found, recording: Recording) -> None:
        """Keep a record once; others under the same id get one of their own."""
        same = self._by_id.setdefault(recording.source_id, [])
        if recording.trajectory in same:
            self._skip(item, f"the same as an earlier record ({recording.source_id})")
            return
        same.append(recording.trajectory)
        if len(same) > 1:
            recording = replace(recording, source_id=f"{recording.source_id} copy {len(same)}")
        self.recordings.append(recording)
