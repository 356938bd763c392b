"""A YAML file as a checked model, or one line that says what is wrong and where."""

import difflib
import json
import re
import types
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from agentkit.errors import ConfigError
from agentkit.policy.document import Entry, dotted, must_quote, parse, to_plain

T = TypeVar("T", bound=BaseModel)

# Below this likeness a suggestion confuses more than it helps (difflib's own default).
NEAREST_CUTOFF = 0.6
_UNKNOWN_KEY = "extra_forbidden"
_QUOTED = re.compile(r"'([^']*)'")
_WANTED = {
    "string_type": "wants text",
    "int_type": "wants a whole number",
    "int_from_float": "wants a whole number",
    "float_type": "wants a number",
    "bool_type": "wants true or false",
    "literal_error": "wants {expected}",
    "enum": "wants {expected}",
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be below {lt}",
    "less_than_equal": "must be at most {le}",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "too_short": "must hold at least {min_length} entries",
    "too_long": "must hold at most {max_length} entries",
    "string_pattern_mismatch": "must match {pattern}",
    "tuple_type": "wants a list",
    "list_type": "wants a list",
    "dict_type": "wants `key: value` lines",
    "model_type": "wants `key: value` lines",
    "dataclass_type": "wants `key: value` lines",
    "value_error": "{error}",
}


def load_yaml(path: Path, model: type[T]) -> T:
    """Return the checked content of a YAML file; an empty file gives the defaults.

    Args:
        path: An existing file, UTF-8.
        model: What the file must hold.

    Raises:
        ConfigError: With file, line and dotted key, if the file cannot be read, is broken YAML,
            holds an unknown key or a value of the wrong type or range.
    """
    root = _read(path)
    plain: object = {} if root is None else to_plain(root)
    try:
        # As JSON, so that a strict model takes lists for tuples and nothing else.
        return model.model_validate_json(json.dumps(plain))
    except ValidationError as error:
        raise _first_problem(error, root=root, model=model, file=path) from error


def line_of(path: Path, *keys: str | int) -> int | None:
    """Return the line on which a key stands in a YAML file, or None if it does not.

    Args:
        path: An existing file that `load_yaml` could read.
        keys: Keys and list positions from the top level down.
    """
    found, entry = _locate(_read(path), keys)
    return None if entry is None or len(found) < len(keys) else entry.line


def nearest(name: str, known: Sequence[str]) -> str:
    """Return `; did you mean 'x'?` for the likeliest of the known names, or "".

    Args:
        name: The name as written.
        known: Names that would be right.
    """
    found = difflib.get_close_matches(name, known, n=1, cutoff=NEAREST_CUTOFF)
    return f"; did you mean {found[0]!r}?" if found else ""


def describe(problem: ErrorDetails) -> str:
    """Return what a value should be, in plain words.

    Args:
        problem: One entry of pydantic's `ValidationError.errors()`.
    """
    context = {key: str(value) for key, value in problem.get("ctx", {}).items()}
    wanted = _WANTED.get(problem["type"])
    if wanted is None:
        return problem["msg"]
    expected = wanted.format(**context)
    given: object = problem["input"]
    if problem["type"] in ("value_error", "too_short", "too_long"):
        return expected
    if isinstance(given, str):
        choices = _QUOTED.findall(context.get("expected", ""))
        return f"{expected}, not {given!r}{nearest(given, choices)}"
    shown = json.dumps(given, ensure_ascii=False, default=str)
    return f"{expected}, not {shown if len(shown) <= 60 else type(given).__name__}"


def _read(path: Path) -> Entry | None:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError("the file is not UTF-8; save it as UTF-8", file=path) from error
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", file=path) from error
    return parse(text, file=path)


def _first_problem(
    error: ValidationError, *, root: Entry | None, model: type[BaseModel], file: Path
) -> ConfigError:
    """Turn pydantic's list into one line about the first place in the file."""
    by_key: dict[str, tuple[int, str]] = {}
    problems = error.errors(include_url=False)
    misspelt = {problem["loc"][:-1] for problem in problems if problem["type"] == _UNKNOWN_KEY}
    for problem in problems:
        # Beside an unknown key a missing one is most likely that key, misspelt.
        if problem["type"] == "missing" and problem["loc"][:-1] in misspelt:
            continue
        path, entry = _locate(root, problem["loc"])
        key = ""
        for piece in path:
            key = dotted(key, piece)
        if problem["type"] == "missing":
            key = dotted(key, problem["loc"][-1])
        line = entry.line if entry is not None else 1
        said = _say(problem, path=path, entry=entry, model=model)
        if key in by_key:
            # A union gives one problem for each of its members.
            earlier = by_key[key][1]
            said = earlier if said in earlier else f"{earlier}; or {said}"
        by_key[key] = (line, said)
    first, *others = sorted((line, key, said) for key, (line, said) in by_key.items())
    line, key, said = first
    more = f" ({len(others)} more problem{'s' if len(others) > 1 else ''})" if others else ""
    return ConfigError(said + more, file=file, line=line, key=key or None)


def _locate(root: Entry | None, loc: Sequence[str | int]) -> tuple[list[str | int], Entry | None]:
    """Follow a pydantic location as far as the file goes; labels of unions are skipped."""
    path: list[str | int] = []
    entry = root
    for piece in loc:
        value = None if entry is None else entry.value
        if isinstance(value, Mapping) and isinstance(piece, str) and piece in value:
            entry = value[piece]
        elif isinstance(value, tuple) and isinstance(piece, int) and piece < len(value):
            entry = value[piece]
        else:
            continue
        path.append(piece)
    return path, entry


def _say(
    problem: ErrorDetails,
    *,
    path: Sequence[str | int],
    entry: Entry | None,
    model: type[BaseModel],
) -> str:
    """Say what is wrong with one place."""
    kind = problem["type"]
    if kind == _UNKNOWN_KEY and path:
        name = str(path[-1])
        return f"unknown key {name!r}{nearest(name, sorted(_fields(model, path[:-1])))}"
    if kind == "missing":
        return "this key is missing; add it"
    if problem["loc"] and problem["loc"][-1] == "[key]":
        return f"as a key: {describe(problem)}"
    text_wanted = kind in ("string_type", "literal_error", "enum")
    if text_wanted and entry is not None and not isinstance(entry.value, str | tuple | Mapping):
        return must_quote(entry.raw)
    return describe(problem)


def _fields(model: type[BaseModel], path: Sequence[str | int]) -> set[str]:
    """Return the keys that the model knows at a place of the file."""
    here: list[object] = [model]
    for piece in path:
        here = [below for shape in here for below in _below(shape, piece)]
    return {
        field.alias or name
        for shape in here
        for part in _models(shape)
        for name, field in part.model_fields.items()
    }


def _below(shape: object, piece: str | int) -> Iterator[object]:
    """Give the annotations that may stand under a key of an annotation."""
    for part in _models(shape):
        if isinstance(piece, str) and piece in part.model_fields:
            yield part.model_fields[piece].annotation
    origin = get_origin(shape)
    arguments: tuple[object, ...] = get_args(shape)
    if origin is Annotated:
        yield from _below(arguments[0], piece)
    elif origin in (Union, types.UnionType):
        for argument in arguments:
            yield from _below(argument, piece)
    elif isinstance(origin, type) and issubclass(origin, Mapping | Sequence) and arguments:
        yield arguments[1] if issubclass(origin, Mapping) else arguments[0]


def _models(shape: object) -> Iterator[type[BaseModel]]:
    """Give the models among an annotation, through unions and annotations."""
    if isinstance(shape, type) and issubclass(shape, BaseModel):
        yield shape
    elif get_origin(shape) in (Annotated, Union, types.UnionType):
        for argument in get_args(shape):
            yield from _models(argument)
