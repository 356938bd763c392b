"""Sessions: tasks end at boundaries, the bench is cleared, two users never meet."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from agentkit import Hindsight, Kit
from agentkit.errors import InputError
from agentkit.steps import is_briefing
from agentkit.testing import (
    FixedClock,
    HashEmbedder,
    Script,
    TableEmbedder,
    scripted,
    scripted_with,
)


@pytest.fixture
async def kit(tmp_path: Path) -> AsyncIterator[Kit]:
    async with Kit.open(tmp_path, embedder=HashEmbedder(), index="none") as opened:
        yield opened


async def test_the_history_goes_on_until_the_user_says_it_is_done(kit: Kit) -> None:
    script = Script(["Which file?", "Sorted.", "You are welcome.", "Hello again."])
    agent = Agent(scripted_with(script))
    async with kit.session(agent, user_id="analyst", session_id="daily") as session:
        await session.run("Sort the orders by date.")
        await session.run("orders.csv")
        assert "Sort the orders by date." in script.sent(1)
        await session.run("Thanks, that's it.")
        await session.run("What is the weather on the roof sensor?")
        (last,) = [request for request in script.requests if "roof sensor" in prompts(request)]
        assert "Sort the orders" not in prompts(last)
    episodes = await kit.episodes(scope=kit.scope("analyst"))
    assert [episode.end_reason for episode in episodes] == ["closed", "done"]
    assert episodes[1].goal == "Sort the orders by date."
    assert {episode.session_id for episode in episodes} == {"daily"}


async def test_the_caller_says_how_it_ended(kit: Kit) -> None:
    agent = Agent(scripted("Cancelled."))
    async with kit.session(agent, user_id="analyst") as session:
        await session.run("Cancel the booking.")
        episode = await session.end(outcome="failure")
        assert episode is not None
        assert (episode.outcome, episode.outcome_source) == ("failure", "caller")
        with pytest.raises(InputError, match="has ended"):
            await session.run("And the next one.")


async def test_two_users_with_one_session_name_never_meet(kit: Kit) -> None:
    script = Script(["ok"])
    agent = Agent(scripted_with(script))
    async with (
        kit.session(agent, user_id="alice", session_id="daily") as hers,
        kit.session(agent, user_id="bob", session_id="daily") as his,
    ):
        await hers.run("My badge is 4471.")
        await his.run("What is my badge?")
        assert "4471" not in script.sent(1)
    assert len(await kit.episodes(scope=kit.scope("alice"))) == 1
    assert len(await kit.episodes(scope=kit.scope("bob"))) == 1


async def test_an_agent_with_a_memory_of_its_own_is_not_given_a_second_one(kit: Kit) -> None:
    script = Script(["ok"])
    agent = Agent(scripted_with(script), capabilities=[Hindsight(kit, user_id="somebody")])
    async with kit.session(agent, user_id="analyst") as session:
        await session.run("Count the rows.")
    assert len(await kit.episodes(scope=kit.scope("analyst"))) == 1
    assert await kit.episodes(scope=kit.scope("somebody")) == ()


async def test_what_is_sent_fits_the_budget_and_what_is_stored_is_whole(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "working.yaml").write_text(
        "budget_tokens: 400\nlarge_result_tokens: 100\nresult_head_chars: 80\n"
        "result_tail_chars: 40\n",
        encoding="utf-8",
    )
    script = Script([ToolCallPart("read_log", {"day": day}) for day in range(12)] + ["Nothing."])
    async with Kit.open(tmp_path, embedder=HashEmbedder(), index="none") as kit:
        agent = Agent(scripted_with(script), capabilities=[Hindsight(kit, user_id="analyst")])

        @agent.tool_plain
        def read_log(day: int) -> str:
            """Read the log of a day."""
            return f"day {day}: " + "all quiet on the line; " * 60

        del read_log
        result = await agent.run("Look for errors in the logs of the last twelve days.")
        assert len(result.all_messages()) == 26
        for request in script.requests:
            paired(request)
            assert "last twelve days" in prompts(request)
        assert len(script.requests[-1]) < 26
        await kit.background.join(lane="record")
        (episode,) = await kit.episodes(scope=kit.scope("analyst"))
        assert episode.step_count == 26


async def test_a_long_silence_or_another_topic_ends_the_task_before_the_next_prompt(
    tmp_path: Path,
) -> None:
    clock = FixedClock(datetime(2026, 11, 30, 12, tzinfo=UTC))
    sorting = "Sort the orders in the file by date, newest first."
    weather = "Will there be rain over the northern harbour on Sunday evening?"
    near, far = [1.0, 0.0], [0.0, 1.0]
    embedder = TableEmbedder({sorting: near, f"{sorting}\nAnd by name.": near, weather: far})
    script = Script(["Sorted."])
    async with Kit.open(
        tmp_path, embedder=embedder, index="none", worker="external", clock=clock
    ) as kit:
        agent = Agent(scripted_with(script))
        async with kit.session(agent, user_id="analyst") as session:
            await session.run(sorting)
            await session.run("And by name.")
            assert sorting in prompts(script.requests[1])
            await session.run(weather)
            assert sorting not in prompts(script.requests[2])
            await kit.background.join(lane="record")
            clock.advance(hours=2)
            await session.run("And on Monday?")
            assert weather not in prompts(script.requests[3])
        episodes = await kit.episodes(scope=kit.scope("analyst"))
        assert sorted(episode.end_reason for episode in episodes) == ["closed", "idle", "topic"]


def prompts(request: list[ModelMessage]) -> str:
    """What users said; a carry-over tells of the task before, and is no step of it."""
    return "\n".join(
        str(part.content)
        for message in request
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, UserPromptPart) and not is_briefing(part)
    )


def paired(request: list[ModelMessage]) -> None:
    calls: set[str] = set()
    returns: set[str] = set()
    for message in request:
        if isinstance(message, ModelResponse):
            calls |= {part.tool_call_id for part in message.tool_calls}
        else:
            returns |= {
                part.tool_call_id for part in message.parts if isinstance(part, ToolReturnPart)
            }
    assert calls == returns
