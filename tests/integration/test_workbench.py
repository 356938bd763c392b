"""The workbench tools on a real agent: large results opened again, pins that stay, isolation."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from agentkit import Hindsight, Kit
from agentkit.capability.bench import part_handle, tool_returns
from agentkit.records import Scope
from agentkit.steps import prompt_text
from agentkit.testing import HashEmbedder, Script, scripted_with
from agentkit.text import estimate_tokens

POLICY = (
    "budget_tokens: 1200\nlarge_result_tokens: 200\nresult_head_chars: 200\n"
    "result_tail_chars: 100\npage_tokens: 150\n"
)
LOG = "".join(f"{number:04d} all quiet on the northern line\n" for number in range(200))
HANDLE = re.compile(r"kept as (r-[a-z2-7]{10}),")


def open_kit(folder: Path, *, policy: str = POLICY) -> Kit:
    (folder / "memory").mkdir(parents=True, exist_ok=True)
    (folder / "memory" / "working.yaml").write_text(policy, encoding="utf-8")
    return Kit.open(folder, embedder=HashEmbedder(), index="none", worker="external")


def with_log(agent: Agent[None, str], text: str = LOG) -> Agent[None, str]:
    """Give an agent a tool that returns a long log."""

    @agent.tool_plain
    def read_log() -> str:
        """Read the log."""
        return text

    del read_log
    return agent


class Reader:
    """A model that reads the log, then does what it is told with the handle that it was shown."""

    def __init__(self, *calls: tuple[str, Mapping[str, object]]) -> None:
        """Take the calls to make, in order; `HANDLE` in an argument is the handle shown."""
        self._calls = list(calls)
        self.handle = ""
        self.requests: list[list[ModelMessage]] = []

    def answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        """Read, then call, then say that it is done."""
        del info
        self.requests.append(messages)
        for part in tool_returns(messages):
            found = HANDLE.search(str(part.content))
            self.handle = found.group(1) if found else self.handle
        if len(self.requests) == 1:
            return ModelResponse(parts=[ToolCallPart("read_log", {})])
        if not self._calls:
            return ModelResponse(parts=[TextPart("Done.")])
        tool, arguments = self._calls.pop(0)
        filled = {
            key: self.handle if value == "HANDLE" else value for key, value in arguments.items()
        }
        return ModelResponse(parts=[ToolCallPart(tool, filled)])

    def returned(self, tool: str) -> list[str]:
        """What a tool returned, as the model saw it in the end."""
        last = self.requests[-1]
        return [str(part.content) for part in tool_returns(last) if part.tool_name == tool]


def agent_of(reader: Reader, kit: Kit, *, user_id: str = "analyst") -> Agent[None, str]:
    agent = Agent(FunctionModel(reader.answer), capabilities=[Hindsight(kit, user_id=user_id)])
    return with_log(agent)


def shown(request: list[ModelMessage]) -> str:
    """All user parts of a request."""
    return "\n".join(
        prompt_text(part.content)
        for message in request
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, UserPromptPart)
    )


async def test_a_large_result_is_cut_on_the_bench_and_opened_again_page_by_page(
    tmp_path: Path,
) -> None:
    pages = [("workbench_open", {"handle": "HANDLE", "page": page}) for page in (1, 2)]
    reader = Reader(*pages)
    async with open_kit(tmp_path) as kit:
        result = await agent_of(reader, kit).run("Look for trouble in the log.")
    (cut,) = reader.returned("read_log")
    assert cut.startswith("0000 all quiet")
    assert cut.rstrip().endswith("0199 all quiet on the northern line")
    assert estimate_tokens(cut) <= 200
    first, second = reader.returned("workbench_open")
    assert first.startswith(f"[{reader.handle}, page 1 of ")
    assert second.startswith(f"[{reader.handle}, page 2 of ")
    bodies = [page.split("]\n", 1)[1] for page in (first, second)]
    assert LOG.startswith("".join(bodies))
    whole = [part.content for part in tool_returns(result.all_messages())]
    assert whole[0] == LOG


async def test_the_same_messages_give_the_same_handle_after_they_were_stored(
    tmp_path: Path,
) -> None:
    reader = Reader()
    async with open_kit(tmp_path) as kit:
        result = await agent_of(reader, kit).run("Look for trouble in the log.")
    stored = ModelMessagesTypeAdapter.validate_json(result.all_messages_json())
    assert [part_handle(part) for part in tool_returns(stored)] == [reader.handle]


async def test_what_was_cut_is_found_again_by_another_process_in_the_same_session(
    tmp_path: Path,
) -> None:
    reader = Reader()
    async with open_kit(tmp_path) as kit:
        async with kit.session(agent_of(reader, kit), user_id="analyst", session_id="s") as session:
            await session.run("Look for trouble in the log.")
        assert len(await kit.episodes(scope=kit.scope("analyst"))) == 1
    call = ToolCallPart("workbench_open", {"handle": reader.handle, "page": 1})
    script = Script([call, "Read."])
    async with open_kit(tmp_path) as kit:
        agent = Agent(scripted_with(script))
        async with kit.session(agent, user_id="analyst", session_id="s") as session:
            await session.run("Read the log of before once more.")
    (page,) = [str(part.content) for part in tool_returns(script.requests[1])]
    assert "0000 all quiet on the northern line" in page


async def test_a_handle_of_another_user_is_told_like_one_that_never_was(tmp_path: Path) -> None:
    reader = Reader()
    async with open_kit(tmp_path) as kit:
        async with kit.session(agent_of(reader, kit), user_id="alice", session_id="s") as hers:
            await hers.run("Look for trouble in the log.")
        told: list[str] = []
        for handle in (reader.handle, "r-aaaaaaaaaa"):
            script = Script([ToolCallPart("workbench_open", {"handle": handle}), "Gave up."])
            async with kit.session(
                Agent(scripted_with(script)), user_id="bob", session_id="s"
            ) as his:
                await his.run("Read the log.")
            (part,) = tool_returns(script.requests[1])
            assert part.outcome == "failed"
            told.append(str(part.content).replace(handle, "<handle>"))
    assert told[0] == told[1]
    assert "give a handle as it stands where a result was cut" in told[0]


async def test_a_purge_takes_cut_results_and_pins_with_it(tmp_path: Path) -> None:
    reader = Reader(("workbench_pin", {"handle": "HANDLE"}))
    async with open_kit(tmp_path) as kit:
        scope = kit.scope("analyst")
        session = kit.session(agent_of(reader, kit), user_id="analyst", session_id="s")
        await session.run("Look for trouble in the log.")
        await kit.background.join()
        assert len(await kit.workbench.pins_of_session(scope, "s")) == 1
        await kit.purge_user(scope=scope)
        assert await kit.workbench.pins_of_session(scope, "s") == ()
        script = Script([ToolCallPart("workbench_open", {"handle": reader.handle}), "No."])
        fresh = kit.session(Agent(scripted_with(script)), user_id="analyst", session_id="s")
        await fresh.run("Read the log.")
    (part,) = tool_returns(script.requests[1])
    assert part.outcome == "failed"


async def test_a_pinned_result_stays_while_newer_steps_leave(tmp_path: Path) -> None:
    busy = [("workbench_open", {"handle": "HANDLE", "page": page}) for page in range(1, 12)]
    reader = Reader(("workbench_pin", {"handle": "HANDLE"}), *busy)
    async with open_kit(tmp_path) as kit:
        await agent_of(reader, kit).run("Look for trouble in the log.")
    assert len(reader.returned("read_log")) == 1
    assert len(reader.returned("workbench_open")) < len(busy)
    unpinned = Reader(*busy)
    async with open_kit(tmp_path) as kit:
        await agent_of(unpinned, kit).run("Look for trouble in the log.")
    assert unpinned.returned("read_log") == []


async def test_pins_stay_past_the_end_of_a_task_and_go_with_the_session(tmp_path: Path) -> None:
    reader = Reader(
        ("workbench_pin", {"handle": "HANDLE"}),
        ("workbench_pin", {"note": "Bay 7 is shut </pin>."}),
    )
    async with open_kit(tmp_path) as kit:
        scope = kit.scope("analyst")
        async with kit.session(agent_of(reader, kit), user_id="analyst", session_id="s") as session:
            await session.run("Look for trouble in the log.")
            await session.run("Thanks, that's it.")
            await session.run("Which bay may the ferry use?")
            last = shown(reader.requests[-1])
            assert last.count("Look for trouble") == 1, "carried over, and no step of the task"
            assert "Asked: Look for trouble in the log." in last
            assert last.count("<pinned>") == 1
            assert last.count("</pin>") == 2
            assert "Bay 7 is shut" in last
            assert f'handle="{reader.handle}" kind="result" tool="read_log"' in last
            assert "0000 all quiet" in last
            pins = await kit.workbench.pins_of_session(scope, "s")
            assert [pin.kind for pin in pins] == ["result", "note"]
        assert await kit.workbench.pins_of_session(scope, "s") == ()


async def test_another_process_reads_the_pins_of_a_session_off_its_tasks(tmp_path: Path) -> None:
    reader = Reader(
        ("workbench_pin", {"note": "Bay 7 is shut."}),
        ("workbench_pin", {"handle": "HANDLE"}),
        ("workbench_unpin", {"handle": "HANDLE"}),
    )
    async with open_kit(tmp_path) as kit:
        session = kit.session(agent_of(reader, kit), user_id="analyst", session_id="s")
        await session.run("Look for trouble in the log.")
        await session.run("Thanks, that's it.")
        before = await kit.workbench.pins_of_session(kit.scope("analyst"), "s")
    async with open_kit(tmp_path) as kit:
        assert await kit.workbench.pins_of_session(kit.scope("analyst"), "s") == before
        assert [pin.text for pin in before] == ["Bay 7 is shut."]
        for other in (Scope("bob"), Scope("analyst", "other"), Scope("Analyst")):
            assert await kit.workbench.pins_of_session(other, "s") == ()
        assert await kit.workbench.pins_of_session(kit.scope("analyst"), "t") == ()
        script = Script(["Bay 6."])
        again = kit.session(Agent(scripted_with(script)), user_id="analyst", session_id="s")
        await again.run("Which bay may the ferry use?")
    assert "Bay 7 is shut." in script.sent(0)


async def test_pinning_too_much_is_told_with_both_sizes_and_pins_nothing(tmp_path: Path) -> None:
    reader = Reader(
        ("workbench_pin", {"note": "a short one"}), ("workbench_pin", {"note": "word " * 300})
    )
    small = POLICY + "pinned_tokens: 150\nnote_tokens: 300\n"
    async with open_kit(tmp_path, policy=small) as kit:
        await agent_of(reader, kit).run("Look for trouble in the log.", conversation_id="c")
        pins = await kit.workbench.pins_of_session(kit.scope("analyst"), "c")
    kept, refused = reader.returned("workbench_pin")
    assert kept.startswith("pinned as n-")
    assert re.search(r"would keep \d+ tokens in sight, over the 150 that may be pinned", refused)
    assert [pin.text for pin in pins] == ["a short one"]


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("workbench_pin", {}, "either the handle of a result or a note"),
        ("workbench_pin", {"handle": "r-a", "note": "b"}, "one of the two"),
        ("workbench_pin", {"handle": "r-a"}, "no result 'r-a' here"),
        ("workbench_unpin", {"handle": "r-a"}, "nothing is pinned as 'r-a'; pinned handles: none"),
        (
            "workbench_open",
            {"handle": "HANDLE", "page": 99},
            "has no page 99; give a page from 1 to",
        ),
    ],
)
async def test_a_wrong_argument_is_told_to_the_model_and_the_run_goes_on(
    tmp_path: Path, tool: str, arguments: dict[str, object], told: str
) -> None:
    reader = Reader((tool, arguments))
    async with open_kit(tmp_path) as kit:
        result = await agent_of(reader, kit).run("Look for trouble in the log.")
    (said,) = reader.returned(tool)
    assert told in said
    assert result.output == "Done."


async def test_without_the_tools_no_handle_is_named(tmp_path: Path) -> None:
    reader = Reader()
    async with open_kit(tmp_path) as kit:
        plain = Hindsight(kit, user_id="analyst", tools=False)
        agent = with_log(Agent(FunctionModel(reader.answer), capabilities=[plain]))
        await agent.run("Look for trouble in the log.")
    (cut,) = reader.returned("read_log")
    assert "characters left out ..." in cut
    assert "workbench_open" not in cut


async def test_how_the_workbench_tools_went_says_nothing_about_the_task(tmp_path: Path) -> None:
    reader = Reader(("workbench_open", {"handle": "r-a"}))
    async with open_kit(tmp_path) as kit:
        await agent_of(reader, kit).run("Look for trouble in the log.")
        await kit.background.join()
        (episode,) = await kit.episodes(scope=kit.scope("analyst"))
    assert episode.outcome == "success"


async def test_each_model_has_the_budget_that_the_policy_names(tmp_path: Path) -> None:
    async def sent(policy: str) -> int:
        script = Script([ToolCallPart("read_log", {})] * 6 + ["Done."])
        async with open_kit(tmp_path, policy=policy) as kit:
            agent = Agent(scripted_with(script), capabilities=[Hindsight(kit, user_id="analyst")])
            await with_log(agent).run("Look for trouble in the log.")
        return len([part for part in tool_returns(script.requests[-1])])

    assert await sent(POLICY) == 6
    assert await sent(POLICY + "models: {'function:script*': {budget_tokens: 300}}\n") < 3
    assert await sent(POLICY + "models: {'openai:*': {budget_tokens: 300}}\n") == 6


def test_a_tool_return_of_a_stored_history_counts_by_its_own_time() -> None:
    part = ToolReturnPart("read_log", "x", tool_call_id="c1")
    again = ToolReturnPart("read_log", "y", tool_call_id="c1", timestamp=part.timestamp)
    assert part_handle(again) == part_handle(part)
