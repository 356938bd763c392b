import inspect
import sys
from pathlib import Path

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from agentkit.toolbox import Toolbox, inside, load_toolbox, toolset

GOOD = '''
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from agentkit.toolbox import inside

@dataclass
class Row:
    name: str

LIMIT = 3

def size(path: str, times: int = 1, *, root: Path) -> int:
    """Return the size of a file.

    Args:
        path: The file.
        times: How often to count it.
        root: Filled in.
    """
    return times * inside(path, root=root).stat().st_size

async def later(word: str, *, root: Path) -> Row:
    """Say it later."""
    return Row(word)

def refuse() -> str:
    """Always refuse."""
    raise ValueError("not today; ask tomorrow")

def crash() -> str:
    """Have a defect."""
    return {}["nothing"]

def _private(x):
    return x
'''


def write(folder: Path, **files: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return folder


def box(tmp_path: Path, **files: str) -> Toolbox:
    return load_toolbox([write(tmp_path / "tools", **files)], root=tmp_path)


def test_public_functions_become_tools_named_after_their_file(tmp_path: Path) -> None:
    loaded = box(tmp_path, good=GOOD)
    assert loaded.problems == ()
    assert [tool.name for tool in loaded.functions] == [
        "good_crash",
        "good_later",
        "good_refuse",
        "good_size",
    ]
    assert loaded.names() == frozenset(tool.name for tool in loaded.functions)
    assert loaded.functions[-1].description == "Return the size of a file."


def test_root_is_filled_in_and_not_shown(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("12345", encoding="utf-8")
    size = box(tmp_path, good=GOOD).functions[-1].function
    assert list(inspect.signature(size).parameters) == ["path", "times"]
    assert size("a.txt", times=2) == 10


def test_a_tool_may_touch_its_own_root_only(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    (one / "a.txt").write_text("1", encoding="utf-8")
    folder = write(tmp_path / "tools", good=GOOD)
    first, second = (load_toolbox([folder], root=root).functions[-1] for root in (one, two))
    assert first.function("a.txt") == 1
    with pytest.raises(FileNotFoundError):
        second.function("a.txt")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("def x(:\n", "cannot be loaded: .* in line 1"),
        ("import no_such_library\n", "cannot be loaded: ModuleNotFoundError"),
        ("raise RuntimeError('no key')\n", "cannot be loaded: RuntimeError: no key"),
        ("import sys\nsys.exit(3)\n", "cannot be loaded: SystemExit: 3"),
        ("1 / 0\n", "cannot be loaded: ZeroDivisionError"),
        ("\x00\n", "cannot be loaded"),
        ("LIMIT = 3\n", "holds no public function"),
        ("def x(a: int) -> int:\n    return a\n", "bad_x has no docstring"),
        ('def x(a) -> int:\n    """Doc."""\n    return a\n', "bad_x lacks a type for a"),
        ('def x(a: int):\n    """Doc."""\n    return a\n', "lacks a type for what it returns"),
        (
            'def x(a: "Nope") -> int:\n    """Doc."""\n    return 1\n',
            "bad_x has a type that cannot be found",
        ),
    ],
)
def test_a_broken_file_is_reported_and_the_others_load(
    tmp_path: Path, text: str, problem: str
) -> None:
    loaded = box(tmp_path, bad=text, good=GOOD)
    assert len(loaded.functions) == 4
    (error,) = loaded.problems
    assert error.file.name == "bad.py"
    with pytest.raises(type(error), match=problem):
        raise error


def test_a_broken_file_leaves_no_module_behind(tmp_path: Path) -> None:
    before = set(sys.modules)
    box(tmp_path, bad="x = 1\nraise RuntimeError('no')\n")
    assert not [name for name in set(sys.modules) - before if name.startswith("agentkit_tools_")]


def test_loading_leaves_no_cache_in_the_folder(tmp_path: Path) -> None:
    folder = write(tmp_path / "tools", good=GOOD)
    load_toolbox([folder], root=tmp_path)
    assert [path.name for path in folder.iterdir()] == ["good.py"]


def test_an_edited_file_is_loaded_anew(tmp_path: Path) -> None:
    text = 'def word() -> str:\n    """Say it."""\n    return "{}"\n'
    first = box(tmp_path, said=text.format("old")).functions[0]
    second = box(tmp_path, said=text.format("new")).functions[0]
    assert (first.function(), second.function()) == ("old", "new")


def test_a_file_of_the_first_folder_replaces_its_namesake(tmp_path: Path) -> None:
    text = 'def word() -> str:\n    """Say it."""\n    return "{}"\n'
    mine = write(tmp_path / "mine", said=text.format("mine"))
    shipped = write(tmp_path / "shipped", said=text.format("shipped"), good=GOOD)
    loaded = load_toolbox([mine, shipped, tmp_path / "missing"], root=tmp_path)
    assert loaded.problems == ()
    assert {tool.name: tool.file.parent.name for tool in loaded.functions}["said_word"] == "mine"
    assert len(loaded.functions) == 5


def test_two_tools_of_one_name_are_reported_and_the_first_stays(tmp_path: Path) -> None:
    text = 'def {}() -> str:\n    """Say it."""\n    return "{}"\n'
    loaded = box(tmp_path, a=text.format("b_c", "first"), a_b=text.format("c", "second"))
    assert [(tool.name, tool.function()) for tool in loaded.functions] == [("a_b_c", "first")]
    assert "is in a.py too" in str(loaded.problems[0])


def test_a_file_name_that_cannot_begin_a_tool_name_is_reported(tmp_path: Path) -> None:
    folder = write(tmp_path / "tools", _hidden=GOOD)
    (folder / "my-tool.py").write_text(GOOD, encoding="utf-8")
    loaded = load_toolbox([folder], root=tmp_path)
    assert loaded.functions == ()
    assert [error.file.name for error in loaded.problems] == ["my-tool.py"]


def script(*calls: ToolCallPart) -> FunctionModel:
    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        done = any(isinstance(message, ModelResponse) for message in messages)
        return ModelResponse(parts=[TextPart("done")] if done else list(calls))

    return FunctionModel(model)


async def test_an_agent_is_told_what_a_tool_returned_or_refused(tmp_path: Path) -> None:
    tools = toolset(box(tmp_path, good=GOOD))
    calls = (
        ToolCallPart("good_size", {"path": "tools/good.py"}, "1"),
        ToolCallPart("good_size", {"path": "/etc/passwd"}, "2"),
        ToolCallPart("good_size", {"path": "missing.txt"}, "3"),
        ToolCallPart("good_later", {"word": "hello"}, "4"),
        ToolCallPart("good_refuse", {}, "5"),
    )
    result = await Agent(script(*calls), toolsets=[tools]).run("go")
    returns = {
        part.tool_call_id: part
        for message in result.all_messages()
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    }
    assert [returns[number].outcome for number in "12345"] == [
        "success",
        "failed",
        "failed",
        "success",
        "failed",
    ]
    assert "outside of the folder" in str(returns["2"].content)
    assert returns["3"].content == "Error: No such file or directory"
    assert "hello" in str(returns["4"].content)
    assert returns["5"].content == "Error: not today; ask tomorrow"


async def test_a_defect_of_a_tool_is_not_taken_for_a_refusal(tmp_path: Path) -> None:
    agent = Agent(
        script(ToolCallPart("good_crash", {})), toolsets=[toolset(box(tmp_path, good=GOOD))]
    )
    with pytest.raises(KeyError):
        await agent.run("go")


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", "link/x", "a\x00b"])
def test_a_path_that_leads_out_of_the_root_is_refused(tmp_path: Path, path: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "link").symlink_to(tmp_path)
    with pytest.raises(ValueError, match=r"outside|zero byte"):
        inside(path, root=root)


def test_a_path_inside_of_the_root_is_made_absolute(tmp_path: Path) -> None:
    assert inside("a/../b.txt", root=tmp_path) == tmp_path.resolve() / "b.txt"
    assert inside(".", root=tmp_path) == tmp_path.resolve()
