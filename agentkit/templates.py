"""Prompt templates: files of the owner, rendered in a sandbox, checked before they are used.

A prompt is one file, `prompts/<name>.<language>.md.j2`. Values are data: nothing that a user,
a tool or a memory said is ever compiled as a template.
"""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from jinja2 import FileSystemLoader, StrictUndefined, Template, meta, nodes
from jinja2.exceptions import TemplateError as JinjaError
from jinja2.exceptions import TemplateNotFound, TemplateSyntaxError
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from agentkit.errors import TemplateError
from agentkit.records import Language

# A bound on what one prompt may grow to; the largest context windows hold about as much.
MAX_RENDERED_CHARS = 4_000_000
# The same bound that the sandbox of jinja2 sets for one range, here for all of one rendering.
MAX_RANGE_ITEMS = 100_000
MAX_LOOP_DEPTH = 2
SUFFIX = ".md.j2"
LANGUAGES: tuple[Language, ...] = ("en", "zh")

PROMPT_VARIABLES: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "agent": frozenset({"date"}),
        "briefing": frozenset({"memories"}),
        "carry_over": frozenset({"answer", "calls", "cut_off", "goal", "outcome"}),
        "conflict": frozenset({"new", "old", "schema"}),
        "extract": frozenset(
            {"lesson_limit", "recalled", "schema", "summary", "tags", "transcript"}
        ),
        "reflect": frozenset(
            {
                "goal",
                "lesson_limit",
                "outcome",
                "own_run",
                "recalled",
                "schema",
                "summary",
                "tags",
                "transcript",
            }
        ),
        "summarise": frozenset({"goal", "transcript"}),
        "workbench": frozenset({"pins"}),
    }
)
"""Variables that each prompt is given; a template may leave out all but the required ones."""

REQUIRED_VARIABLES: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "agent": frozenset(),
        "briefing": frozenset({"memories"}),
        "carry_over": frozenset({"goal"}),
        "conflict": frozenset({"new", "old"}),
        "extract": frozenset({"transcript"}),
        "reflect": frozenset({"transcript"}),
        "summarise": frozenset({"transcript"}),
        "workbench": frozenset({"pins"}),
    }
)
"""Variables without which a prompt could not do its work."""

_FILTERS = frozenset(
    "abs capitalize count d default e escape first float int join last length list lower max min "
    "reject rejectattr replace round select selectattr sort string sum title tojson trim truncate "
    "unique upper map".split()
)
_STRING_METHODS = frozenset({"endswith", "lower", "startswith", "strip", "title", "upper"})
_BANNED: Mapping[type[nodes.Node], str] = MappingProxyType(
    {
        nodes.Include: "include",
        nodes.Extends: "extends",
        nodes.Import: "import",
        nodes.FromImport: "import",
        nodes.Macro: "macro",
        nodes.CallBlock: "call",
        nodes.AssignBlock: "set ... endset",
        nodes.NSRef: "namespace",
        nodes.Concat: "~",
    }
)


class _Sandbox(ImmutableSandboxedEnvironment):
    """The sandbox of jinja2, narrowed so that a template cannot eat memory or time either."""

    intercepted_binops = frozenset({"*", "**", "%", "+"})

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Do arithmetic on numbers only: `'a' * 10 ** 9` and `'%999999999d' % 1` are refused."""
        numbers = isinstance(left, int | float) and isinstance(right, int | float)
        if not numbers or (operator == "**" and abs(right) > 8):
            raise TypeError(f"{operator!r} works on (small) numbers only in a prompt")
        return super().call_binop(context, operator, left, right)

    def wrap_str_format(self, value: Any) -> None:
        """Hand out no `str.format`: a width of a billion would be filled with spaces."""

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Allow the few string methods that cannot grow a text."""
        if isinstance(obj, str):
            return attr in _STRING_METHODS
        return super().is_safe_attribute(obj, attr, value)


class _RangeBudget:
    """A `range` that gives out a bounded number of items over one rendering."""

    def __init__(self) -> None:
        self._left = MAX_RANGE_ITEMS

    def __call__(self, *bounds: int) -> range:
        wanted = range(*bounds)
        self._left -= len(wanted)
        if self._left < 0:
            raise OverflowError(f"loops over more than {MAX_RANGE_ITEMS} numbers are refused")
        return wanted


class Templates:
    """The prompts of a project: the user's folder first, the packaged defaults after it."""

    def __init__(self, folders: Sequence[Path]) -> None:
        """Look for prompts in these folders.

        Args:
            folders: Folders in order of precedence; the first that holds a file wins, file by
                file. Missing folders are allowed.
        """
        self._folders = tuple(folders)
        self._loader = FileSystemLoader([str(folder) for folder in folders])
        self._compiled: dict[str, tuple[str, Template]] = {}
        environment = _Sandbox(
            loader=self._loader,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=False,
        )
        environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "sort_keys": True}
        environment.globals = {}
        environment.tests.pop("filter", None)
        environment.filters = {
            name: made for name, made in environment.filters.items() if name in _FILTERS
        }
        environment.filters["data"] = _data
        self._environment = environment

    def render(self, name: str, *, language: Language, **values: object) -> str:
        """Return the text of a prompt.

        Args:
            name: Name of the prompt, such as `reflect`.
            language: Language wanted; where that file is missing, the English one is used.
            **values: The variables of the prompt, see `PROMPT_VARIABLES`.

        Returns:
            The rendered text without white space at its ends.

        Raises:
            TemplateError: If the file is missing, broken, unsafe, or names what is not given.
        """
        file = self._file(name, language)
        template = self._template(name, file)
        try:
            return "".join(self._bounded(template, values)).strip()
        except (JinjaError, ArithmeticError, LookupError, RecursionError, TypeError) as error:
            raise TemplateError(str(error), file=_place(file, error)) from error
        except ValueError as error:
            raise TemplateError(str(error), file=_place(file, error)) from error

    def check(self) -> tuple[TemplateError, ...]:
        """Return what is wrong with the prompts, without rendering any.

        Returns:
            One error a file at most, in the order of file names: broken syntax, forbidden
            constructs, unknown variables, a missing required variable, a file of no prompt.
        """
        found: list[TemplateError] = []
        names = {f"{name}.en{SUFFIX}" for name in PROMPT_VARIABLES}
        for folder in self._folders:
            names.update(path.name for path in folder.glob("*.j2"))
        for file in sorted(names):
            try:
                self._template(_prompt_of(file), file)
            except TemplateError as error:
                found.append(error)
        return tuple(found)

    def _file(self, name: str, language: Language) -> str:
        """Return the file of a prompt in the language, or in English."""
        wanted = f"{name}.{language}{SUFFIX}"
        if any((folder / wanted).is_file() for folder in self._folders):
            return wanted
        return f"{name}.en{SUFFIX}"

    def _template(self, name: str, file: str) -> Template:
        """Return the compiled template of a file, checked once for each version of its text."""
        try:
            source, path, _ = self._loader.get_source(self._environment, file)
        except TemplateNotFound as error:
            raise TemplateError(_missing(name, self._folders), file=file) from error
        except UnicodeDecodeError as error:
            raise TemplateError("is not UTF-8 text; save it as UTF-8", file=file) from error
        held = self._compiled.get(file)
        if held is not None and held[0] == source:
            return held[1]
        try:
            tree = self._environment.parse(source, file, path)
            _check_tree(tree, name=name, file=file)
            code = self._environment.compile(tree, file, path)
        except TemplateSyntaxError as error:
            message = error.message or "cannot be parsed"
            raise TemplateError(message, file=f"{file}:{error.lineno}") from error
        template = Template.from_code(self._environment, code, {})
        self._compiled[file] = (source, template)
        return template

    def _bounded(self, template: Template, values: Mapping[str, object]) -> Iterator[str]:
        """Yield the pieces of a rendering, up to the bound."""
        size = 0
        for piece in template.generate({**values, "range": _RangeBudget()}):
            size += len(piece)
            if size > MAX_RENDERED_CHARS:
                raise OverflowError(f"the text grows past {MAX_RENDERED_CHARS} characters")
            yield piece


def _data(value: object) -> str:
    """Return text that cannot open or close a tag of the prompt around it."""
    return str(value).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _check_tree(tree: nodes.Template, *, name: str, file: str) -> None:
    """Refuse constructs that have no place in a prompt, and unknown or missing variables."""
    for node in tree.find_all(nodes.Node):
        banned = _BANNED.get(type(node))
        hidden = _hidden_attribute(node)
        if banned or hidden:
            what = f"{banned!r} is" if banned else f"hidden attribute {hidden!r} is"
            raise TemplateError(
                f"{what} refused; a prompt is one file", file=f"{file}:{node.lineno}"
            )
    _check_depth(tree, file=file, depth=0)
    used = meta.find_undeclared_variables(tree) - {"range"}
    known = PROMPT_VARIABLES.get(name)
    if known is None:
        close = difflib.get_close_matches(name, PROMPT_VARIABLES, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise TemplateError(f"no prompt is called {name!r}{hint}", file=file)
    for variable in sorted(used - known):
        close = difflib.get_close_matches(variable, known, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else f"; known: {', '.join(sorted(known))}"
        line = _line_of(tree, variable)
        raise TemplateError(f"unknown variable {variable!r}{hint}", file=f"{file}:{line}")
    missing = sorted(REQUIRED_VARIABLES[name] - used)
    if missing:
        raise TemplateError(
            f"never uses {missing[0]!r}, so what it is for could not reach the model", file=file
        )


def _check_depth(node: nodes.Node, *, file: str, depth: int) -> None:
    """Refuse loops that are nested too deeply or call themselves."""
    for child in node.iter_child_nodes():
        inner = depth
        if isinstance(child, nodes.For):
            inner = depth + 1
            if child.recursive or inner > MAX_LOOP_DEPTH:
                raise TemplateError(
                    f"loops nested more than {MAX_LOOP_DEPTH} deep, or recursive, are refused",
                    file=f"{file}:{child.lineno}",
                )
        _check_depth(child, file=file, depth=inner)


def _hidden_attribute(node: nodes.Node) -> str | None:
    """Return the name of an attribute that begins with an underscore, or None."""
    if isinstance(node, nodes.Getattr) and node.attr.startswith("_"):
        return node.attr
    if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const):
        key: object = node.arg.value
        return key if isinstance(key, str) and key.startswith("_") else None
    return None


def _line_of(tree: nodes.Template, variable: str) -> int:
    """Return the line where a variable is first named."""
    return next(node.lineno for node in tree.find_all(nodes.Name) if node.name == variable)


def _prompt_of(file: str) -> str:
    """Return the prompt that a file name is for: `reflect` for `reflect.zh.md.j2`."""
    for language in LANGUAGES:
        ending = f".{language}{SUFFIX}"
        if file.endswith(ending):
            return file.removesuffix(ending)
    return file


def _missing(name: str, folders: Sequence[Path]) -> str:
    """Say that a prompt is in none of the folders."""
    looked = ", ".join(str(folder) for folder in folders) or "no folder"
    return f"no such prompt file for {name!r}; looked in {looked}"


def _place(file: str, error: BaseException) -> str:
    """Return `file:line` of the template line at which an error left it."""
    line = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.endswith(file):
            line = trace.tb_lineno
        trace = trace.tb_next
    return file if line is None else f"{file}:{line}"
