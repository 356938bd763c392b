"""A record as one JSON object, and back; every value is checked on the way in."""

import base64
import binascii
import hashlib
import json
import zlib
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import cast

from sqlalchemy import Boolean, Float, Integer, LargeBinary
from sqlalchemy.types import TypeEngine

from agentkit.store.tables import Row
from agentkit.store.transfer.kinds import KIND_BY_NAME, Kind, Part, Record, Values
from agentkit.store.utc import UtcDateTime

Document = dict[str, object]

# What a 64-bit column holds.
_LARGEST = 2**63 - 1
# As the retrieval log is packed: it is read far less often than it is written.
_PACK_LEVEL = 1


class DamagedError(ValueError):
    """A line does not hold what its kind must have; says what is wrong."""


def encode(record: Record) -> Document:
    """Return a record as a JSON object.

    Args:
        record: As it was read from the tables; the hash of its trajectory was checked.
    """
    kind = record.kind
    document: Document = {"record": kind.name}
    document.update(_encoded(record.values, left_out=kind.left_out))
    for part in kind.parts:
        left_out = part.implied | part.left_out
        document[part.name] = [
            _encoded(values, left_out=left_out) for values in record.parts.get(part.name, ())
        ]
    if "trajectory" in kind.extra:
        content = record.trajectory
        document["trajectory"] = None if content is None else content.decode("ascii")
        if content is not None:
            # Each store gives it an address of its own.
            document["trajectory_uri"] = ""
    if "recall" in kind.extra:
        document["recall"] = unpacked(record.values["packed"])
    return document


def decode(document: Document) -> Record:
    """Return the record that a JSON object stands for.

    A column that an older release did not write gets its default; columns that are made anew when
    the record is written are left out.

    Raises:
        DamagedError: If something in it cannot be a record.
    """
    kind = KIND_BY_NAME.get(str(document.get("record")))
    if kind is None:
        raise DamagedError(f"no record of kind {document.get('record')!r} is known")
    values = _own_values(kind, document)
    trajectory = _trajectory(document, values) if "trajectory" in kind.extra else None
    return Record(
        kind=kind,
        values=values,
        parts={part.name: _part_values(part, document, kind, values) for part in kind.parts},
        trajectory=trajectory,
    )


def unpacked(packed: object) -> object:
    """Return what the packed column of a retrieval holds, as JSON values."""
    return cast("object", json.loads(zlib.decompress(cast("bytes", packed))))


def _encoded(values: Mapping[str, object], *, left_out: frozenset[str]) -> Document:
    return {name: _to_json(value) for name, value in values.items() if name not in left_out}


def _to_json(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    return value


def _own_values(kind: Kind, document: Document) -> Values:
    known = kind.extra | {part.name for part in kind.parts} | {"record"}
    fields = {name: value for name, value in document.items() if name not in known}
    values = _decoded(kind.table, fields, left_out=kind.left_out)
    if "recall" in kind.extra:
        values["packed"] = _packed(document.get("recall"))
    return values


def _part_values(part: Part, document: Document, kind: Kind, owner: Values) -> list[Values]:
    rows = document.get(part.name, [])
    if not isinstance(rows, list):
        raise DamagedError(f"{part.name} is no list")
    implied: Values = {"user_id": owner["user_id"]}
    implied.update((name, owner[own]) for name, own in zip(part.owner, kind.key, strict=True))
    found: list[Values] = []
    for row in cast("list[object]", rows):
        if not isinstance(row, dict):
            raise DamagedError(f"{part.name} holds something that is no object")
        fields = cast("Document", row)
        values = _decoded(part.table, fields, left_out=part.implied | part.left_out)
        found.append(values | implied)
    return found


def _decoded(table: type[Row], fields: Document, *, left_out: frozenset[str]) -> Values:
    readers = _readers(str(table.__tablename__))
    unknown = fields.keys() - readers.keys() | fields.keys() & left_out
    if unknown:
        raise DamagedError(f"field {min(unknown)!r} is not known")
    values: Values = {}
    for name, read in readers.items():
        if name in left_out:
            continue
        if name in fields:
            values[name] = read(name, fields[name])
        else:
            values[name] = _default(table, name)
    return values


def _default(table: type[Row], name: str) -> object:
    field = table.model_fields[name]
    if field.is_required():
        raise DamagedError(f"field {name!r} is missing")
    return cast("object", field.default)


_Reader = Callable[[str, object], object]


@lru_cache(maxsize=64)
def _readers(table_name: str) -> Mapping[str, _Reader]:
    """Return, for each column of a table, what reads its value out of JSON."""
    return {
        column.name: _nullable(_reader(column.type)) if column.nullable else _reader(column.type)
        for column in Row.metadata.tables[table_name].columns
    }


def _reader(kind: TypeEngine[object]) -> _Reader:
    for column_type, reader in (
        (UtcDateTime, _read_time),
        (LargeBinary, _read_bytes),
        (Boolean, _read_bool),
        (Integer, _read_int),
        (Float, _read_float),
    ):
        if isinstance(kind, column_type):
            return reader
    return _read_text


def _nullable(reader: _Reader) -> _Reader:
    return lambda name, value: None if value is None else reader(name, value)


def _read_text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise DamagedError(f"field {name!r} is no text")
    if value.isascii():
        keepable = "\x00" not in value
    else:
        keepable = "\x00" not in value and not any("\ud800" <= char <= "\udfff" for char in value)
    if not keepable:
        raise DamagedError(f"field {name!r} holds a character that no database keeps")
    return value


def _read_time(name: str, value: object) -> datetime:
    try:
        at = datetime.fromisoformat(_read_text(name, value))
    except ValueError as error:
        raise DamagedError(f"field {name!r} is no time: {error}") from error
    if at.tzinfo is None:
        raise DamagedError(f"field {name!r} is a time without a zone")
    return at


def _read_bytes(name: str, value: object) -> bytes:
    try:
        return binascii.a2b_base64(_read_text(name, value), strict_mode=True)
    except ValueError as error:
        raise DamagedError(f"field {name!r} is no base64: {error}") from error


def _read_bool(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise DamagedError(f"field {name!r} is neither true nor false")
    return value


def _read_int(name: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > _LARGEST:
        raise DamagedError(f"field {name!r} is no whole number of 64 bits")
    return value


def _read_float(name: str, value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise DamagedError(f"field {name!r} is no number")
    return float(value)


def _packed(recall: object) -> bytes:
    if not isinstance(recall, dict):
        raise DamagedError("field 'recall' is no object")
    text = json.dumps(recall, ensure_ascii=False, separators=(",", ":"))
    return zlib.compress(text.encode("utf-8"), _PACK_LEVEL)


def _trajectory(document: Document, values: Values) -> bytes | None:
    text = document.get("trajectory")
    if text is None:
        return None
    if not isinstance(text, str) or not text.isascii():
        raise DamagedError("field 'trajectory' is no ASCII text")
    content = text.encode("ascii")
    if hashlib.sha256(content).hexdigest() != values["trajectory_sha256"]:
        raise DamagedError("its trajectory is not what its hash says")
    return content
