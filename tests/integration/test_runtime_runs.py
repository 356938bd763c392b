"""Runs as builders start them: conversations, nesting, deferred tools, failures, empty answers."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pydantic_ai import Agent, DeferredToolRequests, UnexpectedModelBehavior
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import DeferredToolResults

from agentkit import Hindsight, Kit
from agentkit.records import Episode
from agentkit.testing import HashEmbedder, Script, scripted, scripted_with

USER = "analyst"


@pytest.fixture
async def kit(tmp_path: Path) -> AsyncIterator[Kit]:
    async with Kit.open(tmp_path, embedder=HashEmbedder(), index="none") as opened:
        yield opened


async def episodes(kit: Kit, user_id: str = USER) -> tuple[Episode, ...]:
    await kit.background.join()
    return await kit.episodes(scope=kit.scope(user_id))


async def test_runs_of_one_conversation_lose_no_step(kit: Kit) -> None:
    agent = Agent(scripted("Done."), capabilities=[Hindsight(kit, user_id=USER, tools=False)])
    for prompt in ("Sort the orders.", "And by name.", "Thanks, that's it."):
        await agent.run(prompt, conversation_id="orders")
    (episode,) = await episodes(kit)
    steps = (await kit.trajectory(episode.episode_id, scope=kit.scope(USER))).steps
    assert [step.kind for step in steps if step.kind != "briefing"] == ["user", "model"] * 3
    assert episode.end_reason == "done"


async def test_a_history_passed_by_hand_goes_on_after_the_first_run_is_written(kit: Kit) -> None:
    def echo(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        # Not a script in order: the agent's own model is asked to reflect in between.
        del info
        asked = [
            part.content
            for message in messages
            for part in message.parts
            if isinstance(part, UserPromptPart) and isinstance(part.content, str)
        ]
        return ModelResponse(parts=[TextPart(f"Did: {asked[-1][:40]}")])

    agent = Agent(FunctionModel(echo), capabilities=[Hindsight(kit, user_id=USER)])
    first = await agent.run("Sort the orders by date.")
    second = await agent.run("And now by name.", message_history=first.all_messages())
    await agent.run("Thanks, that's it.", message_history=second.all_messages())
    scope = kit.scope(USER)
    said = {
        step.text
        for episode in await episodes(kit)
        for step in (await kit.trajectory(episode.episode_id, scope=scope)).steps
    }
    assert {
        "Did: Sort the orders by date.",
        "And now by name.",
        "Did: And now by name.",
        "Did: Thanks, that's it.",
    } <= said


async def test_two_runs_at_once_in_one_conversation_are_both_kept(kit: Kit) -> None:
    agent = Agent(scripted("ok"), capabilities=[Hindsight(kit, user_id=USER)])
    await asyncio.gather(
        *(agent.run(f"Question {number}, thanks.", conversation_id="c") for number in range(4))
    )
    await kit.end_task(kit.scope(USER), "c")
    scope = kit.scope(USER)
    said = [
        step.text
        for episode in await episodes(kit)
        for step in (await kit.trajectory(episode.episode_id, scope=scope)).steps
        if step.kind == "user"
    ]
    assert sorted(said) == [f"Question {number}, thanks." for number in range(4)]


async def test_what_is_said_at_once_in_a_session_is_answered_one_by_one(kit: Kit) -> None:
    async with kit.session(Agent(scripted("ok")), user_id=USER) as session:
        await asyncio.gather(*(session.run(f"question number {number}") for number in range(3)))
        assert len(session.messages) == 6
    (episode,) = await episodes(kit)
    assert episode.step_count == 6


async def test_an_agent_inside_an_agent_keeps_its_own_user_and_task(kit: Kit) -> None:
    inner = Agent(scripted("Sunny."), capabilities=[Hindsight(kit, user_id="forecaster")])
    outer = Agent(scripted(ToolCallPart("ask", {}), "It is sunny."))

    @outer.tool_plain
    async def ask() -> str:
        """Ask the other agent."""
        return (await inner.run("What is the weather on the roof?")).output

    del ask
    async with kit.session(outer, user_id=USER) as session:
        await session.run("Plan the roof works for tomorrow.")
    (own,) = await episodes(kit)
    steps = (await kit.trajectory(own.episode_id, scope=kit.scope(USER))).steps
    assert [step.kind for step in steps] == ["user", "tool_call", "tool_return", "model"]
    (other,) = await episodes(kit, "forecaster")
    assert other.goal == "What is the weather on the roof?"


async def test_a_task_that_waits_for_an_approval_is_not_over(kit: Kit) -> None:
    agent = Agent(
        scripted(ToolCallPart("remove", {"path": "a"}), "Removed a."),
        output_type=[str, DeferredToolRequests],
        capabilities=[Hindsight(kit, user_id=USER)],
    )

    @agent.tool_plain(requires_approval=True)
    def remove(path: str) -> str:
        """Remove a file."""
        return f"removed {path}"

    del remove
    asked = await agent.run("Remove the file a.")
    assert isinstance(asked.output, DeferredToolRequests)
    assert await episodes(kit) == ()
    approved = DeferredToolResults(
        approvals={call.tool_call_id: True for call in asked.output.approvals}
    )
    done = await agent.run(message_history=asked.all_messages(), deferred_tool_results=approved)
    assert done.output == "Removed a."
    await kit.background.join()
    episode = await kit.end_task(kit.scope(USER), done.conversation_id or "")
    assert episode is not None
    assert (episode.step_count, episode.outcome) == (4, "success")


async def test_a_session_answers_for_deferred_tools_without_a_prompt(kit: Kit) -> None:
    agent = Agent(
        scripted(ToolCallPart("remove", {}), "Removed."), output_type=[str, DeferredToolRequests]
    )

    @agent.tool_plain(requires_approval=True)
    def remove() -> str:
        """Remove a file."""
        return "removed"

    del remove
    async with kit.session(agent, user_id=USER) as session:
        asked = await session.run("Remove the file.")
        assert isinstance(asked.output, DeferredToolRequests)
        approved = DeferredToolResults(
            approvals={call.tool_call_id: True for call in asked.output.approvals}
        )
        assert (await session.run(deferred_tool_results=approved)).output == "Removed."
    (episode,) = await episodes(kit)
    assert episode.step_count == 4


async def test_a_session_goes_on_after_a_failed_run_with_its_calls_closed(kit: Kit) -> None:
    """WM-02: nothing is run twice, and the failed turn is not forgotten."""
    script = Script([[ToolCallPart("boom", {}), ToolCallPart("boom", {})], "Picked up again."])
    agent = Agent(scripted_with(script))
    calls: list[int] = []

    @agent.tool_plain
    def boom() -> str:
        """Break."""
        calls.append(1)
        raise RuntimeError("the disk is full")

    del boom
    async with kit.session(agent, user_id=USER) as session:
        with pytest.raises(RuntimeError, match="the disk is full"):
            await session.run("Clean up the disk.")
        ran = len(calls)
        assert (await session.run("continue")).output == "Picked up again."
        assert len(calls) == ran
        assert "Clean up the disk." in script.sent(1)


@pytest.mark.parametrize("reply", [[], [TextPart("")]])
async def test_an_empty_answer_is_a_failure_from_which_nothing_is_learnt(
    kit: Kit, reply: list[TextPart]
) -> None:
    """WM-08 (a) and (b)."""
    agent = Agent(scripted(reply), capabilities=[Hindsight(kit, user_id=USER)])
    with pytest.raises(UnexpectedModelBehavior):
        await agent.run("Say something about the orders.")
    (episode,) = await episodes(kit)
    assert episode.outcome == "failure"
    assert await kit.memories(scope=kit.scope(USER)) == ()


async def test_an_answer_after_an_empty_one_is_a_success(kit: Kit) -> None:
    """WM-08 (c)."""
    agent = Agent(scripted([], "ok"), capabilities=[Hindsight(kit, user_id=USER)])
    assert (await agent.run("Say something about the orders.")).output == "ok"
    (episode,) = await episodes(kit)
    assert episode.outcome == "success"
    assert await kit.memories(scope=kit.scope(USER), memory_type="procedural") == ()


async def test_a_tool_that_does_not_exist_ends_in_a_failure_and_is_never_recommended(
    kit: Kit,
) -> None:
    """WM-09, script 1."""
    replies = [
        [
            ToolCallPart("serch_docs", {"q": "x"}, tool_call_id=f"bad{turn}"),
            ToolCallPart("search_docs", {"q": f"x{turn}"}, tool_call_id=f"good{turn}"),
        ]
        for turn in range(3)
    ]
    agent = Agent(scripted(*replies), retries=1, capabilities=[Hindsight(kit, user_id=USER)])
    searched: list[str] = []

    @agent.tool_plain
    def search_docs(q: str) -> str:
        """Search the documents."""
        searched.append(q)
        return f"found {q}"

    del search_docs
    with pytest.raises(UnexpectedModelBehavior):
        await agent.run("Find the document about leave.")
    assert len(searched) == len(set(searched))
    (episode,) = await episodes(kit)
    assert episode.outcome == "failure"
    steps = (await kit.trajectory(episode.episode_id, scope=kit.scope(USER))).steps
    assert {"bad0", "good0", "bad1", "good1"} <= {step.call_id for step in steps}
    lessons = await kit.memories(scope=kit.scope(USER), memory_type="procedural")
    assert not any("serch_docs" in lesson.content for lesson in lessons)


async def test_a_stream_that_is_left_early_is_no_failure(kit: Kit) -> None:
    agent = Agent(scripted("one two three four"), capabilities=[Hindsight(kit, user_id=USER)])
    async with agent.run_stream("Count to four, slowly.") as stream:
        async for _ in stream.stream_text():
            break
    (episode,) = await episodes(kit)
    assert episode.outcome == "unknown"
    assert await kit.memories(scope=kit.scope(USER), memory_type="procedural") == ()


async def test_a_model_that_uses_the_memory_tools_wrongly_does_not_end_the_run(kit: Kit) -> None:
    agent = Agent(TestModel(), capabilities=[Hindsight(kit, user_id=USER)])
    assert "memory_forget" in (await agent.run("Use every tool once.")).output
    script = [ToolCallPart("memory_forget", {"memory_id": "m", "reason": "r"})] * 4
    agent = Agent(scripted(*script, "Gave up."), capabilities=[Hindsight(kit, user_id=USER)])
    assert (await agent.run("Forget what you were told.")).output == "Gave up."


async def test_a_run_taken_over_twice_is_one_episode(kit: Kit) -> None:
    agent = Agent(scripted("ok"), capabilities=[Hindsight(kit, user_id=USER)])
    await kit.start()
    await kit.background.join()
    loop_of_its_own = asyncio.new_event_loop()
    await asyncio.to_thread(loop_of_its_own.run_until_complete, agent.run("Count the rows."))
    assert len(await episodes(kit)) == 1
    await asyncio.to_thread(loop_of_its_own.run_until_complete, kit.background.join())
    await asyncio.to_thread(loop_of_its_own.close)
    assert len(await episodes(kit)) == 1


async def test_an_agent_from_a_file_has_the_memory_that_its_spec_names(tmp_path: Path) -> None:
    spec = tmp_path / "agent.yaml"
    spec.write_text(
        "model: test\ninstructions: Be brief.\ncapabilities:\n- Hindsight:\n    user_id: analyst\n"
        f"    project: {tmp_path / 'project'}\n    tools: false\n",
        encoding="utf-8",
    )
    agent = Agent.from_file(spec, custom_capability_types=[Hindsight])
    await agent.run("Greet the team.")
    async with Kit.open(tmp_path / "project", embedder=None) as kit:
        await agent.run("Greet the team again.")
        assert kit.settings.worker == "inline"


async def test_a_session_that_ends_reflects_with_its_own_live_model(kit: Kit) -> None:
    asked: list[str | None] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        del messages
        if not info.output_tools:
            return ModelResponse(parts=[TextPart("Noted.")])
        asked.append(info.instructions)
        lesson = {
            "content": "Deploys go out on Tuesdays.",
            "memory_type": "semantic",
            "cues": ["deploys"],
            "tags": [],
            "evidence": [{"step_id": "s0001", "quote": "deploys go out on Tuesdays"}],
        }
        critique = {
            "summary": "A date was noted.",
            "outcome": "success",
            "went_well": "",
            "to_change": "",
            "lessons": [lesson],
            "verdicts": [],
        }
        return ModelResponse(parts=[ToolCallPart(info.output_tools[0].name, critique)])

    agent = Agent(FunctionModel(answer), instructions="You run the deploys.")
    async with kit.session(agent, user_id=USER) as session:
        await session.run("Note: deploys go out on Tuesdays.")
    await kit.background.join()
    assert asked == ["You run the deploys."]
    (lesson,) = await kit.memories(scope=kit.scope(USER), memory_type="semantic")
    assert (lesson.content, lesson.source) == ("Deploys go out on Tuesdays.", "model_critic")
