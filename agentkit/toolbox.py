"""Loading the tool files that a project's owner drops into `tools/`.

A tool is a public function of such a file: typed, with a docstring, not beginning with `_`. It is
called `<file>_<function>`. A parameter named `root` is not shown to the model: it is filled with
the folder that the tools may touch.
"""

import functools
import hashlib
import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING

from agentkit.errors import AgentkitError, ToolboxError

if TYPE_CHECKING:
    from pydantic_ai.toolsets import AbstractToolset

ROOT_PARAMETER = "root"
# What running somebody's file at import is known to end in. `SystemExit` is a file that calls
# `sys.exit`: it must not end the agent.
_LOAD_FAILURES = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    EOFError,
    ImportError,
    LookupError,
    NameError,
    OSError,
    RuntimeError,
    SyntaxError,
    SystemExit,
    TypeError,
    ValueError,
    AgentkitError,
)
# What a tool raises to tell the model that this call cannot be done.
_REFUSALS = (AgentkitError, OSError, ValueError)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFunction:
    """One tool.

    Attributes:
        name: Name that the model sees, such as `tables_profile_csv`.
        function: To be called with the arguments that the model sees; `root` is filled in.
        description: First paragraph of its docstring.
        file: Where it comes from.
    """

    name: str
    function: Callable[..., object]
    description: str
    file: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolbox:
    """The tools that could be loaded, and what could not.

    Attributes:
        functions: Sorted by name; names are unique.
        problems: One for each file or function that was left out.
    """

    functions: tuple[ToolFunction, ...]
    problems: tuple[ToolboxError, ...]

    def names(self) -> frozenset[str]:
        """Return the names of the tools."""
        return frozenset(tool.name for tool in self.functions)


def load_toolbox(folders: Sequence[Path], *, root: Path) -> Toolbox:
    """Return the tools of all files in some folders.

    Args:
        folders: Searched in order; a file of an earlier folder replaces one of the same name in
            a later folder. Missing folders are passed over, and so are files beginning with `_`.
        root: Folder that the tools may read and write.

    Returns:
        Every tool that could be loaded. A broken file is a problem; the others are loaded.
    """
    files: dict[str, Path] = {}
    for folder in folders:
        for file in sorted(folder.glob("*.py")):
            if not file.name.startswith("_"):
                files.setdefault(file.name, file)
    tools: dict[str, ToolFunction] = {}
    problems: list[ToolboxError] = []
    for file in files.values():
        for found in _load_file(file, root=root.resolve()):
            if isinstance(found, ToolboxError):
                problems.append(found)
            elif found.name in tools:
                other = tools[found.name].file.name
                problem = f"tool {found.name!r} is in {other} too; rename one of them"
                problems.append(ToolboxError(problem, file=file))
            else:
                tools[found.name] = found
    return Toolbox(functions=tuple(tools[name] for name in sorted(tools)), problems=tuple(problems))


def toolset(toolbox: Toolbox) -> "AbstractToolset[object]":
    """Return the tools for a pydantic-ai agent.

    A `ValueError`, `OSError` or agentkit error of a tool is told to the model as a failed call,
    and the run goes on; any other error is a defect of the tool and ends the run.

    Args:
        toolbox: What `load_toolbox` returned.
    """
    from pydantic_ai import FunctionToolset, RunContext, ToolsetTool, WrapperToolset
    from pydantic_ai.exceptions import ToolFailed

    class Refusing(WrapperToolset[object]):
        """Tells the model what a tool refused."""

        async def call_tool(
            self,
            name: str,
            tool_args: dict[str, object],
            ctx: RunContext[object],
            tool: ToolsetTool[object],
        ) -> object:
            try:
                return await super().call_tool(name, tool_args, ctx, tool)
            except _REFUSALS as error:
                raise ToolFailed(_refusal(error)) from error

    functions: FunctionToolset[object] = FunctionToolset()
    for tool in toolbox.functions:
        functions.add_function(tool.function, name=tool.name, takes_ctx=False)
    return Refusing(functions)


def inside(path: str, *, root: Path) -> Path:
    """Return the absolute place of a path that a model gave, if it lies inside of the root.

    Args:
        path: Relative to the root.
        root: Folder that may be touched.

    Raises:
        ValueError: If it leads out of the root, by `..`, as an absolute path, or by a link.
    """
    base = root.resolve()
    if "\x00" in path:
        raise ValueError("the path holds a zero byte; give a plain path inside of the root")
    place = (base / path).resolve()
    if not place.is_relative_to(base):
        raise ValueError(f"{path!r} lies outside of the folder for tools; stay inside of it")
    return place


class _UncachedLoader(SourceFileLoader):
    """Loads a source file without leaving a `__pycache__` in the owner's folder."""

    def set_data(self, path: str, data: object, *, _mode: int = 0o666) -> None:
        """Write nothing."""


def _load_file(file: Path, *, root: Path) -> Iterator[ToolFunction | ToolboxError]:
    """Give the tools of one file, or why there are none."""
    if not file.stem.isidentifier():
        yield ToolboxError("the name cannot begin a tool's name; use letters and _", file=file)
        return
    try:
        module = _run(file)
    except _LOAD_FAILURES as error:
        yield ToolboxError(f"cannot be loaded: {_reason(error)}", file=file)
        return
    functions = {
        name: value
        for name, value in vars(module).items()
        if inspect.isfunction(value)
        and value.__module__ == module.__name__
        and not name.startswith("_")
    }
    if not functions:
        yield ToolboxError("holds no public function; add one, or rename it _...", file=file)
    for name, function in functions.items():
        yield _as_tool(function, name=f"{file.stem}_{name}", file=file, root=root)


def _run(file: Path) -> types.ModuleType:
    """Run a tool file as a module under a name that nothing else has."""
    unique = hashlib.sha256(str(file.resolve()).encode()).hexdigest()[:8]
    name = f"agentkit_tools_{unique}_{file.stem}"
    spec = spec_from_file_location(name, file, loader=_UncachedLoader(name, str(file)))
    if not isinstance(spec, ModuleSpec) or spec.loader is None:
        raise ImportError(f"no module can be made of {file.name}")
    module = module_from_spec(spec)
    # Dataclasses and type hints look their module up by name.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _reason(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return f"{error.msg} in line {error.lineno}"
    return f"{type(error).__name__}: {error}"


def _as_tool(
    function: Callable[..., object], *, name: str, file: Path, root: Path
) -> ToolFunction | ToolboxError:
    """Return a function as a tool, or what it lacks."""
    doc = inspect.getdoc(function)
    if not doc:
        return ToolboxError(f"{name} has no docstring; say what it does", file=file)
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError, AttributeError) as error:
        return ToolboxError(f"{name} has a type that cannot be found: {error}", file=file)
    signature = inspect.signature(function)
    untyped = [parameter for parameter in signature.parameters if parameter not in hints]
    if untyped or "return" not in hints:
        lacking = ", ".join(untyped) or "what it returns"
        return ToolboxError(f"{name} lacks a type for {lacking}; add it", file=file)
    return ToolFunction(
        name=name,
        function=_rooted(function, signature=signature, hints=hints, root=root),
        description=doc.split("\n\n", maxsplit=1)[0],
        file=file,
    )


def _rooted(
    function: Callable[..., object],
    *,
    signature: inspect.Signature,
    hints: dict[str, object],
    root: Path,
) -> Callable[..., object]:
    """Return the function with `root` filled in, and types that need no lookup."""
    fixed: dict[str, object] = {ROOT_PARAMETER: root} if ROOT_PARAMETER in hints else {}
    shown = [
        parameter.replace(annotation=hints[name])
        for name, parameter in signature.parameters.items()
        if name not in fixed
    ]

    if inspect.iscoroutinefunction(function):

        async def call_async(*args: object, **kwargs: object) -> object:
            return await function(*args, **kwargs, **fixed)

        result: Callable[..., object] = call_async
    else:

        def call(*args: object, **kwargs: object) -> object:
            return function(*args, **kwargs, **fixed)

        result = call
    functools.update_wrapper(result, function)
    # A schema is made from these three; the function under the wrapper would show `root` again.
    del result.__wrapped__  # pyright: ignore[reportFunctionMemberAccess]
    result.__signature__ = signature.replace(  # pyright: ignore[reportFunctionMemberAccess]
        parameters=shown, return_annotation=hints["return"]
    )
    result.__annotations__ = {name: hint for name, hint in hints.items() if name not in fixed}
    return result


def _refusal(error: BaseException) -> str:
    """Return what the model is told; never a path outside of what it gave."""
    if isinstance(error, OSError) and error.strerror:
        return f"Error: {error.strerror}"
    return f"Error: {error}"
