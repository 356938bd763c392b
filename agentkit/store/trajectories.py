"""Trajectories as bytes: gzip JSON lines, a header and then a step a line."""

import gzip
import hashlib
import json
import zlib
from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

from agentkit.errors import StoreError
from agentkit.records import Step, Trajectory

VERSION = 1
_STEP: TypeAdapter[Step] = TypeAdapter(Step)


@dataclass(frozen=True, slots=True)
class PackedTrajectory:
    """A trajectory ready to be stored.

    Attributes:
        data: Compressed bytes; the same trajectory always gives the same bytes.
        sha256: Hex digest of the uncompressed content.
    """

    data: bytes
    sha256: str


@dataclass(frozen=True, slots=True)
class _Header:
    """First line of the file."""

    version: int
    instructions: str
    model: str | None


_HEADER: TypeAdapter[_Header] = TypeAdapter(_Header)


def pack_trajectory(trajectory: Trajectory) -> PackedTrajectory:
    """Return the bytes of a trajectory and the digest that proves them.

    Args:
        trajectory: Any trajectory; NUL bytes and lone surrogates come back as they are.
    """
    header = _Header(VERSION, trajectory.instructions, trajectory.model)
    lines = [_line(_HEADER.dump_python(header, mode="python"))]
    lines += [_line(step_dict(step)) for step in trajectory.steps]
    content = "".join(lines).encode("ascii")
    return PackedTrajectory(pack_content(content), hashlib.sha256(content).hexdigest())


def pack_content(content: bytes) -> bytes:
    """Return the lines of a trajectory as they are stored; the same lines give the same bytes."""
    return gzip.compress(content, compresslevel=6, mtime=0)


def unpack_trajectory(data: bytes, *, sha256: str) -> Trajectory:
    """Return the trajectory that `pack_trajectory` packed.

    Args:
        data: Compressed bytes.
        sha256: Expected hex digest of the uncompressed content.

    Raises:
        StoreError: If the bytes are damaged, changed, or of a newer format.
    """
    head, *rest = unpack_content(data, sha256=sha256).decode("ascii").splitlines()
    try:
        header = _HEADER.validate_python(json.loads(head))
        steps = tuple(_STEP.validate_python(json.loads(line)) for line in rest)
    except (ValidationError, json.JSONDecodeError) as error:
        raise StoreError(
            f"a trajectory of another format cannot be read: {error}; it is version {VERSION} here"
        ) from error
    return Trajectory(steps=steps, instructions=header.instructions, model=header.model)


def unpack_content(data: bytes, *, sha256: str) -> bytes:
    """Return the lines of a trajectory out of what is stored, proven by their digest.

    Args:
        data: Compressed bytes.
        sha256: Expected hex digest of the lines.

    Raises:
        StoreError: If the bytes are damaged or changed.
    """
    try:
        content = gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise StoreError(f"a trajectory is damaged: {error}; restore the blob") from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise StoreError("a trajectory is not what was sealed: its hash differs; restore the blob")
    return content


def dump_step(step: Step) -> str:
    """Return a step as one line of JSON text, ASCII only."""
    return json.dumps(step_dict(step), separators=(",", ":"))


def load_step(text: str) -> Step:
    """Return the step that `dump_step` wrote."""
    return _STEP.validate_python(json.loads(text))


def step_dict(step: Step) -> dict[str, object]:
    """Return the fields of a step that are set, as JSON holds them."""
    fields: dict[str, object] = {"step_id": step.step_id, "kind": step.kind, "text": step.text}
    optional = {"tool": step.tool, "call_id": step.call_id, "outcome": step.outcome}
    fields.update({name: value for name, value in optional.items() if value is not None})
    if step.at is not None:
        fields["at"] = step.at.isoformat()
    return fields


def _line(fields: object) -> str:
    # ASCII escapes keep lone surrogates, which UTF-8 cannot.
    return json.dumps(fields, separators=(",", ":")) + "\n"
