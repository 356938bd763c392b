"""The one public door: documented, sorted, complete."""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

import agentkit

PACKAGE = Path(agentkit.__file__).resolve().parent


def test_the_public_names_are_sorted_and_each_can_be_imported() -> None:
    assert list(agentkit.__all__) == sorted(agentkit.__all__)
    for name in agentkit.__all__:
        assert getattr(agentkit, name) is not None


def test_dir_lists_the_public_names() -> None:
    assert set(agentkit.__all__) <= set(dir(agentkit))


def test_an_unknown_name_is_an_attribute_error_naming_it() -> None:
    with pytest.raises(AttributeError, match="Hindsigth"):
        agentkit.Hindsigth  # noqa: B018 # pyright: ignore[reportAttributeAccessIssue, reportUnusedExpression] - the misspelling is the test


@pytest.mark.parametrize("name", agentkit.__all__)
def test_every_public_class_and_function_has_a_docstring(name: str) -> None:
    thing = getattr(agentkit, name)
    if inspect.isclass(thing) or inspect.isfunction(thing):
        assert inspect.getdoc(thing)


def undocumented(body: list[ast.stmt], *, where: str) -> Iterator[str]:
    """What is public here, at the top or in a public class, and has no docstring."""
    for node in body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if node.name.startswith("_"):
            continue
        if not ast.get_docstring(node):
            yield f"{where}:{node.lineno} {node.name}"
        if isinstance(node, ast.ClassDef):
            yield from undocumented(node.body, where=where)


def test_every_public_definition_inside_is_documented() -> None:
    missing: list[str] = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if "_defaults" not in path.parts and "versions" not in path.parts:
            tree = ast.parse(path.read_text(encoding="utf-8"))
            missing += undocumented(tree.body, where=str(path.relative_to(PACKAGE)))
    assert missing == []
