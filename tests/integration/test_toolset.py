"""Drop-in tools of a project, on a real agent."""

from pathlib import Path

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ToolCallPart

from agentkit import Kit
from agentkit.testing import Script, scripted_with


async def test_a_project_s_own_tools_are_beside_the_shipped_ones_and_a_broken_file_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "greet.py").write_text(
        'def hello(name: str) -> str:\n    """Greet somebody."""\n    return f"hello {name}"\n',
        encoding="utf-8",
    )
    (tmp_path / "tools" / "broken.py").write_text("def (", encoding="utf-8")
    (tmp_path / "orders.csv").write_text("amount\n1\n\n3\n", encoding="utf-8")
    script = Script(
        [
            ToolCallPart("greet_hello", {"name": "world"}, "c1"),
            ToolCallPart("tables_profile_csv", {"path": "orders.csv"}, "c2"),
            "Done.",
        ]
    )
    async with Kit.open(tmp_path, index="none") as kit:
        agent = Agent(scripted_with(script), toolsets=[kit.toolset()])
        result = await agent.run("Say hello, then look at the orders.")
    returned = repr(result.all_messages())
    assert "hello world" in returned
    assert "amount" in returned
    assert "broken.py" in caplog.text
