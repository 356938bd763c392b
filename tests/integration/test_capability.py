"""`Hindsight` on real pydantic-ai agents: whatever happens, the run is recorded and unharmed."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from pydantic_ai import Agent, RunContext
from pydantic_ai.messages import ModelMessage, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from agentkit import Hindsight, Kit
from agentkit.errors import InputError, StoreError
from agentkit.testing import HashEmbedder, Script, scripted, scripted_with

FACT = "The staging database is called heron."
QUESTION = "What is the staging database called?"


@pytest.fixture
async def kit(tmp_path: Path) -> AsyncIterator[Kit]:
    async with Kit.open(tmp_path, embedder=HashEmbedder(), index="none") as opened:
        yield opened


async def known(kit: Kit, user_id: str = "analyst") -> None:
    await kit.remember(FACT, scope=kit.scope(user_id))


async def test_the_briefing_reaches_the_model_once_and_stays_out_of_the_steps_of_the_user(
    kit: Kit,
) -> None:
    await known(kit)
    script = Script(["It is heron."])
    agent = Agent(scripted_with(script), capabilities=[Hindsight(kit, user_id="analyst")])
    await agent.run(QUESTION)
    assert script.sent(0).count("heron") == 1
    await kit.background.join(lane="record")
    (episode,) = await kit.episodes(scope=kit.scope("analyst"))
    steps = (await kit.trajectory(episode.episode_id, scope=kit.scope("analyst"))).steps
    assert [step.kind for step in steps] == ["user", "briefing", "model"]
    assert episode.goal == QUESTION


async def test_streaming_and_iterating_runs_are_briefed_and_recorded_too(kit: Kit) -> None:
    await known(kit)
    script = Script(["It is heron."])
    agent = Agent(scripted_with(script), capabilities=[Hindsight(kit, user_id="analyst")])
    async with agent.run_stream(QUESTION) as stream:
        assert (await stream.get_output()).strip() == "It is heron."
    async with agent.iter(QUESTION) as nodes:
        async for _ in nodes:
            pass
    await kit.background.join(lane="record")
    assert "heron" in script.sent(0)
    assert "heron" in script.sent(1)
    assert len(await kit.episodes(scope=kit.scope("analyst"))) == 2


async def test_a_failed_run_is_recorded_as_a_failure_with_every_step(kit: Kit) -> None:
    script = Script([ToolCallPart("explode", {})])
    agent = Agent(scripted_with(script), capabilities=[Hindsight(kit, user_id="analyst")])

    @agent.tool_plain
    def explode() -> str:
        """Break."""
        raise RuntimeError("the disk is full")

    del explode
    with pytest.raises(RuntimeError, match="the disk is full"):
        await agent.run("Clean up the disk.")
    await kit.background.join(lane="record")
    (episode,) = await kit.episodes(scope=kit.scope("analyst"))
    assert episode.outcome == "failure"
    steps = (await kit.trajectory(episode.episode_id, scope=kit.scope("analyst"))).steps
    assert [step.kind for step in steps][:2] == ["user", "tool_call"]


async def test_a_cancelled_run_is_recorded(kit: Kit) -> None:
    started = asyncio.Event()

    async def hang(messages: list[ModelMessage], info: AgentInfo) -> object:
        del messages, info
        started.set()
        await asyncio.Event().wait()

    agent = Agent(
        FunctionModel(hang),  # pyright: ignore[reportArgumentType] - it never returns
        capabilities=[Hindsight(kit, user_id="analyst")],
    )
    run = asyncio.create_task(agent.run("Wait for the deploy."))
    await started.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    await kit.background.join(lane="record")
    (episode,) = await kit.episodes(scope=kit.scope("analyst"))
    assert episode.goal == "Wait for the deploy."
    assert episode.outcome == "failure"


async def test_parallel_runs_of_one_agent_for_two_users_do_not_mix(kit: Kit) -> None:
    await kit.remember("The badge of this user is 4471.", scope=kit.scope("alice"))
    script = Script(["ok"])
    agent: Agent[str, str] = Agent(
        scripted_with(script),
        deps_type=str,
        capabilities=[Hindsight(kit, user_id=lambda ctx: str(ctx.deps))],
    )
    users = ["alice", "bob"] * 5
    await asyncio.gather(*(agent.run("What is my badge?", deps=user) for user in users))
    briefed = sum("4471" in script.sent(number) for number in range(len(users)))
    assert briefed == 5
    await kit.background.join(lane="record")
    assert len(await kit.episodes(scope=kit.scope("bob"))) == 5


async def test_a_broken_store_never_costs_the_user_the_answer(
    kit: Kit, caplog: pytest.LogCaptureFixture
) -> None:
    def nobody(_: RunContext[None]) -> str:
        raise StoreError("the database is on fire")

    agent = Agent(scripted("42"), capabilities=[Hindsight(kit, user_id=nobody)])
    assert (await agent.run("What is the answer?")).output == "42"
    assert "the database is on fire" in caplog.text


async def test_the_agents_own_tools_search_and_propose_memories(kit: Kit) -> None:
    await known(kit)
    script = Script(
        [
            ToolCallPart("memory_search", {"query": QUESTION}),
            ToolCallPart(
                "memory_write",
                {"content": "The audit wants CSV files.", "memory_type": "semantic"},
            ),
            "Done.",
        ]
    )
    agent = Agent(scripted_with(script), capabilities=[Hindsight(kit, user_id="analyst")])
    await agent.run("Prepare the audit.")
    scope = kit.scope("analyst")
    contents = [memory.content for memory in await kit.memories(scope=scope)]
    assert "The audit wants CSV files." not in contents
    await kit.background.join()
    contents = [memory.content for memory in await kit.memories(scope=scope)]
    assert "The audit wants CSV files." in contents


async def test_an_agent_cannot_forget_what_the_user_asked_to_remember(kit: Kit) -> None:
    await known(kit)
    scope = kit.scope("analyst")
    (memory,) = await kit.memories(scope=scope)
    with pytest.raises(InputError, match="came from the user"):
        await kit.forget([memory.memory_id], scope=scope, reason="cleaning up", actor="agent")
    done = await kit.forget([memory.memory_id], scope=scope, reason="renamed")
    assert done.forgotten == (memory.memory_id,)
    assert (await kit.recall(QUESTION, scope=scope)).hits == ()


async def test_remember_that_is_written_at_once_and_for_good(kit: Kit) -> None:
    agent = Agent(scripted("Noted."), capabilities=[Hindsight(kit, user_id="analyst")])
    await agent.run("Remember that the fiscal year starts in April.")
    (memory,) = [one for one in await kit.memories(scope=kit.scope("analyst")) if one.permanent]
    assert memory.content == "the fiscal year starts in April."
    assert memory.source == "user"


async def test_secrets_reach_neither_memory_nor_trajectory_nor_log(kit: Kit) -> None:
    secret = "tok_9f8e7d6c5b4a3f2e1d0c"
    agent = Agent(scripted("Noted."), capabilities=[Hindsight(kit, user_id="analyst")])
    await agent.run(f"Remember that export API_TOKEN={secret} goes into the deploy script.")
    await kit.background.join()
    scope = kit.scope("analyst")
    kept: Sequence[object] = [
        *(await kit.memories(scope=scope)),
        *(await kit.retrievals(scope=scope)),
    ]
    (episode,) = await kit.episodes(scope=scope)
    trajectory = await kit.trajectory(episode.episode_id, scope=scope)
    assert secret not in repr([*kept, episode, trajectory])
    assert "[secret]" in repr(trajectory)


def test_a_missing_user_is_told_before_any_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="needs a user"):
        Hindsight(Kit.open(tmp_path))
    with pytest.raises(InputError, match="means everybody"):
        Hindsight(Kit.open(tmp_path), user_id="all")
