"""YAML text as a tree that knows its lines, with the words that YAML takes for something else."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from agentkit.errors import ConfigError
from agentkit.text import normalise

Scalar = str | int | float | bool | None

_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?")
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_VARIABLE = re.compile(r"\$\{[^}]*\}")
# What readers of YAML 1.1 and 1.2 do not agree on: each is refused where it stands unquoted.
_TRAPS = (
    (re.compile(r"(?i:yes|no|on|off)"), "a yes/no word (write true or false for a switch)"),
    (re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt ].*)?"), "a date"),
    (re.compile(r"[-+]?[0-9]+(?::[0-9]{1,2})+(?:\.[0-9]*)?"), "a number to the base 60"),
    (re.compile(r"[-+]?0[0-9_]+"), "an octal number"),
    (re.compile(r"[-+]?0[xob][0-9a-fA-F_]+"), "a number in another base"),
    (re.compile(r"[-+]?[0-9][0-9_]*_[0-9_.]*"), "a number with underscores"),
    (re.compile(r"[-+]?\.(?i:inf|nan)"), "no finite number"),
    (re.compile(r"<<|="), "a special word"),
)
_KNOWN_TAGS = frozenset(f"tag:yaml.org,2002:{kind}" for kind in ("str", "map", "seq"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One node of a YAML file.

    Attributes:
        value: A scalar, entries in order, or entries by key; all text in NFC.
        line: Line on which it begins, from 1; for a value of a mapping the line of its key.
        raw: The scalar as it was written, or "" for a list or mapping.
    """

    value: "Scalar | tuple[Entry, ...] | Mapping[str, Entry]"
    line: int
    raw: str = ""


def parse(text: str, *, file: Path) -> Entry | None:
    """Return the tree of one YAML document whose top level is a mapping.

    Args:
        text: Content of the file.
        file: Where it came from, for messages.

    Returns:
        The top-level mapping, or None for a file that holds nothing but comments.

    Raises:
        ConfigError: If the syntax is broken, a key stands twice, a word would be read as
            something else than it looks, or the top level is no mapping.
    """
    try:
        node = yaml.compose(text, Loader=yaml.BaseLoader)
        if node is None:
            return None
        _refuse_aliases(text, file=file)
        entry = _entry(node, file=file, key="")
    except yaml.MarkedYAMLError as error:
        raise ConfigError(_syntax(error, text), file=file, line=_line_of(error)) from error
    except yaml.reader.ReaderError as error:
        line = text[: error.position].count("\n") + 1
        raise ConfigError("a control character; remove it", file=file, line=line) from error
    except RecursionError as error:
        raise ConfigError("lists or mappings are nested too deep", file=file) from error
    if entry.value is None:
        return None
    if not isinstance(entry.value, Mapping):
        raise ConfigError("the file must hold `key: value` lines", file=file, line=entry.line)
    return entry


def to_plain(entry: Entry) -> object:
    """Return the tree as lists, dicts and scalars, without lines."""
    value = entry.value
    if isinstance(value, Mapping):
        return {key: to_plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [to_plain(item) for item in value]
    return value


def dotted(parent: str, piece: str | int) -> str:
    """Return the name of a child key: `a.b` for a key, `a[0]` for an item of a list."""
    if isinstance(piece, int):
        return f"{parent}[{piece}]"
    return f"{parent}.{piece}" if parent else piece


def _entry(node: yaml.Node, *, file: Path, key: str) -> Entry:
    """Turn a node into an entry, refusing what could be read in two ways."""
    line = node.start_mark.line + 1
    if node.tag not in _KNOWN_TAGS:
        raise ConfigError(f"the tag {node.tag!r} is not known; remove it", file=file, line=line)
    if isinstance(node, yaml.MappingNode):
        return Entry(value=_mapping(node, file=file, key=key), line=line)
    if isinstance(node, yaml.SequenceNode):
        items = [
            _entry(item, file=file, key=dotted(key, place))
            for place, item in enumerate(_children(node))
        ]
        return Entry(value=tuple(items), line=line)
    return Entry(value=_scalar(node, file=file, key=key), line=line, raw=str(node.value))


def _children(node: yaml.SequenceNode) -> list[yaml.Node]:
    return node.value


def _pairs(node: yaml.MappingNode) -> list[tuple[yaml.Node, yaml.Node]]:
    return node.value


def _mapping(node: yaml.MappingNode, *, file: Path, key: str) -> dict[str, Entry]:
    """Read the pairs of a mapping; keys are text, and each stands once."""
    found: dict[str, Entry] = {}
    for key_node, value_node in _pairs(node):
        line = key_node.start_mark.line + 1
        if not isinstance(key_node, yaml.ScalarNode):
            raise ConfigError("a key must be a word", file=file, line=line, key=key or None)
        name = _scalar(key_node, file=file, key=key)
        if not isinstance(name, str):
            raise ConfigError(
                must_quote(str(key_node.value)), file=file, line=line, key=key or None
            )
        here = dotted(key, name)
        if name in found:
            first = found[name].line
            problem = f"the key stands twice (first in line {first}); keep one of them"
            raise ConfigError(problem, file=file, line=line, key=here)
        below = _entry(value_node, file=file, key=here)
        found[name] = Entry(value=below.value, line=line, raw=below.raw)
    return found


def must_quote(raw: str) -> str:
    """Return the sentence for a scalar that is not text unless it is quoted."""
    shown = f"`{raw}`" if raw else "an empty place"
    word = "nothing" if raw in _NULL else "a switch" if raw in _BOOL else "a number"
    return f'{shown} is read as {word}; text is wanted here, so quote this: "{raw}"'


def _scalar(node: yaml.Node, *, file: Path, key: str) -> Scalar:
    """Resolve a scalar: quoted is text, plain is what it looks like, traps are refused."""
    raw = str(node.value)
    line = node.start_mark.line + 1
    variable = _VARIABLE.search(raw)
    if variable:
        problem = (
            f"{variable.group()} is not filled in here; write the value itself, "
            "or set it as an AGENTKIT_... environment variable"
        )
        raise ConfigError(problem, file=file, line=line, key=key or None)
    if not isinstance(node, yaml.ScalarNode) or node.style is not None:
        return normalise(raw)
    for pattern, what in _TRAPS:
        if pattern.fullmatch(raw):
            problem = f'`{raw}` would be read as {what}; quote this: "{raw}"'
            raise ConfigError(problem, file=file, line=line, key=key or None)
    return _plain(raw, file=file, line=line, key=key)


def _plain(raw: str, *, file: Path, line: int, key: str) -> Scalar:
    if raw in _NULL:
        return None
    if raw in _BOOL:
        return _BOOL[raw]
    if _INT.fullmatch(raw):
        return int(raw)
    if _FLOAT.fullmatch(raw):
        number = float(raw)
        if math.isfinite(number):
            return number
        raise ConfigError(f"{raw} is too large a number", file=file, line=line, key=key or None)
    return normalise(raw)


def _refuse_aliases(text: str, *, file: Path) -> None:
    """Refuse `*name`: values are to be read where they stand."""
    for event in yaml.parse(text, Loader=yaml.BaseLoader):
        if isinstance(event, yaml.AliasEvent):
            mark = event.start_mark
            line = None if mark is None else mark.line + 1
            raise ConfigError("`*` begins an alias; write the value out", file=file, line=line)


def _line_of(error: yaml.MarkedYAMLError) -> int | None:
    mark = error.problem_mark or error.context_mark
    return None if mark is None else mark.line + 1


def _syntax(error: yaml.MarkedYAMLError, text: str) -> str:
    """Say in one line what is wrong with the syntax."""
    line = _line_of(error)
    lines = text.splitlines()
    at_fault = lines[line - 1] if line is not None and line <= len(lines) else ""
    indent = at_fault[: len(at_fault) - len(at_fault.lstrip())]
    if "\t" in indent:
        return "a tab is used to indent; use spaces"
    return f"not valid YAML: {error.problem or error.context or 'the text breaks off'}"
