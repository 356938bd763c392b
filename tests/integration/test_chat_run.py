"""One task with the project's agent: recalled before, learnt after, failures in one line."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from agentkit import Kit
from agentkit.chat import Event, Learnt, Recalled, ToolUsed, Words, make_agent, run_task
from agentkit.errors import ConfigError, InputError, RunError
from agentkit.testing import HashEmbedder, Script, scripted, scripted_with

PREFERENCE = "Clean orders.csv. I prefer reports in metric units."


@pytest.fixture
async def kit(tmp_path: Path) -> AsyncIterator[Kit]:
    """A project with one tool of its own; rules look back."""
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "reflection.yaml").write_text("mode: external\n", encoding="utf-8")
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "stock.py").write_text(
        'def count(item: str) -> int:\n    """Count an item."""\n    return {"bolts": 7}[item]\n',
        encoding="utf-8",
    )
    async with Kit.open(tmp_path, embedder=HashEmbedder(), index="none") as opened:
        yield opened


def said(told: list[Event]) -> str:
    return "".join(event.text for event in told if isinstance(event, Words))


@pytest.mark.parametrize("stream", [True, False])
async def test_what_one_task_taught_is_recalled_before_the_next_answer(
    kit: Kit, stream: bool
) -> None:
    script = Script(["Cleaned."])
    agent = make_agent(kit, model=scripted_with(script))
    first: list[Event] = []
    await run_task(kit, agent, PREFERENCE, user_id="u1", tell=first.append, stream=stream)
    (learnt,) = [event for event in first if isinstance(event, Learnt)]
    assert [memory for memory in learnt.memories if "metric units" in memory.content]
    second: list[Event] = []
    done = await run_task(
        kit,
        agent,
        "Write the report with its units.",
        user_id="u1",
        tell=second.append,
        stream=stream,
    )
    (recalled,) = [event for event in second if isinstance(event, Recalled)]
    assert any("metric units" in one.memory.content for one in recalled.memories)
    assert all(one.explanation.startswith("score ") for one in recalled.memories)
    assert second.index(recalled) < next(
        at for at, event in enumerate(second) if isinstance(event, Words)
    )
    assert said(second).strip() == done.answer.text.strip() == "Cleaned."


async def test_the_agent_has_the_projects_instructions_and_tools(kit: Kit) -> None:
    seen: list[AgentInfo] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        del messages
        seen.append(info)
        return ModelResponse(parts=[TextPart("好的。")])

    agent = make_agent(kit, model=FunctionModel(answer))
    await run_task(kit, agent, "数一数螺栓", user_id="u1", tell=lambda event: None, stream=False)
    assert "stock_count" in {tool.name for tool in seen[0].function_tools}
    assert f"{kit.now():%Y-%m-%d}" in (seen[0].instructions or "")
    assert "用户的语言" in (seen[0].instructions or "")


async def test_calls_of_tools_are_told_as_they_happen(kit: Kit) -> None:
    from pydantic_ai.models.test import TestModel

    agent = make_agent(kit, model=TestModel(call_tools=["files_list_folder"]))
    told: list[Event] = []
    await run_task(kit, agent, "What is here?", user_id="u1", tell=told.append, stream=True)
    assert ToolUsed("files_list_folder") in told


async def test_a_tool_that_breaks_fails_the_run_in_one_line(kit: Kit) -> None:
    from pydantic_ai.models.test import TestModel

    agent = make_agent(kit, model=TestModel(call_tools=["stock_count"]))
    with pytest.raises(RunError, match=r"the run failed: KeyError: 'a'") as raised:
        await run_task(kit, agent, "Count.", user_id="u1", tell=lambda event: None, stream=False)
    assert "\n" not in str(raised.value)
    await kit.background.join(lane="record")
    (episode,) = await kit.episodes(scope=kit.scope("u1"))
    assert episode.outcome == "failure"


@pytest.mark.parametrize("stream", [True, False])
async def test_an_empty_answer_is_a_failure(kit: Kit, stream: bool) -> None:
    agent = make_agent(kit, model=scripted("  "))
    with pytest.raises(RunError):
        await run_task(kit, agent, "Hello.", user_id="u1", tell=lambda event: None, stream=stream)


async def test_a_project_without_a_model_says_how_to_set_one(kit: Kit) -> None:
    with pytest.raises(ConfigError, match=r"no model is set.*local OpenAI-compatible server"):
        make_agent(kit)


async def test_a_model_that_cannot_be_used_is_told_by_its_name(tmp_path: Path) -> None:
    async with Kit.open(tmp_path, embedder="none", index="none", model="nonsense:x") as kit:
        with pytest.raises(ConfigError, match="model 'nonsense:x' cannot be used"):
            make_agent(kit)


async def test_a_local_server_takes_plain_names_and_no_other_provider(tmp_path: Path) -> None:
    at = "http://127.0.0.1:9/v1"
    options: dict[str, Any] = {"embedder": "none", "index": "none", "base_url": at}
    for name in ("qwen3:8b", "openai:qwen3:8b"):
        async with Kit.open(tmp_path, model=name, **options) as kit:
            model = make_agent(kit).model
            assert getattr(model, "model_name", None) == "qwen3:8b"
            assert str(getattr(model, "base_url", "")).rstrip("/") == at
    async with Kit.open(tmp_path, model="anthropic:claude", **options) as kit:
        with pytest.raises(InputError, match="leave base_url out"):
            make_agent(kit)


async def test_where_others_reflect_the_task_says_who_will(tmp_path: Path) -> None:
    told: list[Event] = []
    async with Kit.open(tmp_path, embedder="none", index="none", worker="external") as kit:
        agent = make_agent(kit, model=scripted("Cleaned."))
        await run_task(kit, agent, PREFERENCE, user_id="u1", tell=told.append, stream=False)
    (learnt,) = [event for event in told if isinstance(event, Learnt)]
    assert learnt.problem == "`agentkit worker` looks back on it"
    assert learnt.memories == ()
