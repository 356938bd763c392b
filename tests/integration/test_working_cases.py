"""Cases of people whose agents lost their thread, through the capability and the kit.

WM-01, WM-03 to WM-05 and WM-07 to WM-09 of the collected cases. Where the project decided otherwise
than a case, the test says so.
"""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from pydantic_ai import Agent, UnexpectedModelBehavior
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from agentkit import Hindsight, Kit
from agentkit.errors import InputError
from agentkit.records import Step
from agentkit.testing import HashEmbedder, Script, new_memory, scripted, scripted_with
from agentkit.text import estimate_tokens

USER = "ops"
SYSTEM = "You are the ops helper."
BUDGET = 400
J = "明日の定例会議は午前十時に第三会議室で行います"
HANGUL = "내일 정례회의는 오전 열시에 삼회의실에서"
ENGLISH = "the staff meeting is a"


def open_kit(folder: Path, *, policy: str = "") -> Kit:
    (folder / "memory").mkdir(parents=True, exist_ok=True)
    (folder / "memory" / "working.yaml").write_text(policy or "{}", encoding="utf-8")
    (folder / "memory" / "recall.yaml").write_text("timeout_s: 60\n", encoding="utf-8")
    return Kit.open(folder, embedder=HashEmbedder(), index="none", worker="external")


@pytest.fixture
async def kit(tmp_path: Path) -> AsyncIterator[Kit]:
    async with open_kit(tmp_path) as opened:
        yield opened


def disk_check() -> list[ModelMessage]:
    """What was said before "And on web-4?"."""
    return [
        ModelRequest([SystemPromptPart(SYSTEM), UserPromptPart("Check disk on web-3")]),
        ModelResponse(
            [
                ToolCallPart("df", {"host": "web-3"}, tool_call_id="c1"),
                ToolCallPart("uptime", {"host": "web-3"}, tool_call_id="c2"),
            ]
        ),
        ModelRequest(
            [
                ToolReturnPart("df", "91%", tool_call_id="c1"),
                ToolReturnPart("uptime", "12 days", tool_call_id="c2"),
            ]
        ),
        ModelResponse([TextPart("Disk is at 91%.")]),
    ]


class Listener:
    """A model that answers "ok", and keeps what it was sent."""

    def __init__(self) -> None:
        """Nothing was sent yet."""
        self.sent: list[ModelMessage] = []
        self.instructions: str | None = None

    def answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        """Keep what was sent."""
        self.sent = messages
        self.instructions = info.instructions
        return ModelResponse(parts=[TextPart("ok")])

    def system(self) -> list[str]:
        """Every system text that was sent, instructions among them."""
        parts = [part.content for part in parts_of(self.sent) if isinstance(part, SystemPromptPart)]
        told = {m.instructions for m in self.sent if isinstance(m, ModelRequest)} - {None, ""}
        return [*parts, *(text for text in told if text is not None)]

    def prompts(self) -> list[object]:
        """Every user part that was sent, in order."""
        return [part.content for part in parts_of(self.sent) if isinstance(part, UserPromptPart)]


def parts_of(messages: Sequence[ModelMessage]) -> list[object]:
    return [part for message in messages for part in message.parts]


def calls_and_returns(messages: Sequence[ModelMessage]) -> tuple[list[str], list[str]]:
    parts = parts_of(messages)
    calls = [part.tool_call_id for part in parts if isinstance(part, ToolCallPart)]
    returns = [part.tool_call_id for part in parts if isinstance(part, ToolReturnPart)]
    return sorted(calls), sorted(returns)


async def test_wm_01_every_budget_keeps_pairs_system_text_and_the_newest_prompt(
    tmp_path: Path,
) -> None:
    refused: list[str] = []
    sizes: set[int] = set()
    async with open_kit(tmp_path, policy=f"budget_tokens: {BUDGET}\n") as kit:
        # Instructions are part of every request, so that their length takes the budget away.
        for room in range(1, 90):
            listener = Listener()
            agent = Agent(
                FunctionModel(listener.answer),
                instructions=SYSTEM + "x" * 4 * (BUDGET - room),
                capabilities=[Hindsight(kit, user_id=USER, tools=False)],
            )
            try:
                await agent.run("And on web-4?", message_history=disk_check())
            except InputError as error:
                refused.append(str(error))
                continue
            calls, returns = calls_and_returns(listener.sent)
            assert calls == returns
            assert len(listener.system()) == 1
            assert listener.prompts()[-1] == "And on web-4?"
            sizes.add(len(parts_of(listener.sent)))
    assert len(sizes) >= 3
    assert all("over the working memory budget of" in line for line in refused)
    assert len(refused) in range(1, 89)


@pytest.mark.parametrize("last", [1, 2, 3, 4, 5])
async def test_wm_01_a_history_cut_anywhere_is_sent_whole_in_pairs(kit: Kit, last: int) -> None:
    listener = Listener()
    agent = Agent(
        FunctionModel(listener.answer),
        system_prompt=SYSTEM,
        capabilities=[Hindsight(kit, user_id=USER)],
    )
    kept = disk_check()[5 - last :] if last > 1 else []
    await agent.run("And on web-4?", message_history=kept)
    calls, returns = calls_and_returns(listener.sent)
    assert calls == returns
    assert (calls == ["c1", "c2"]) == (last >= 4)
    assert listener.system() == [SYSTEM]
    assert listener.prompts()[-1] == "And on web-4?"


SAVED = [
    ModelRequest([SystemPromptPart("RULES v1"), UserPromptPart("Hello")], instructions="RULES v1"),
    ModelResponse([TextPart("Hi.")]),
]
BARE = [ModelRequest([UserPromptPart("Hello")]), ModelResponse([TextPart("Hi.")])]
HEADLESS = [ModelResponse([TextPart("Hi.")])]


@pytest.mark.parametrize("history", [SAVED, BARE, HEADLESS], ids=["a", "b", "c"])
@pytest.mark.parametrize("way", ["system_prompt", "instructions", "dynamic"])
async def test_wm_03_the_current_system_text_reaches_every_request_once(
    kit: Kit, history: list[ModelMessage], way: str
) -> None:
    listener = Listener()
    agent = Agent(
        FunctionModel(listener.answer),
        system_prompt="RULES v2" if way == "system_prompt" else (),
        instructions="RULES v2" if way == "instructions" else None,
        capabilities=[Hindsight(kit, user_id=USER)],
    )
    if way == "dynamic":

        @agent.system_prompt(dynamic=True)
        def rules() -> str:
            """The rules of today."""
            return "RULES v2"

        del rules
    first = await agent.run("hi", message_history=history)
    assert listener.system() == ["RULES v2"]
    await agent.run("hi again", message_history=first.all_messages())
    assert listener.system() == ["RULES v2"]
    assert listener.prompts()[-1] == "hi again"


async def test_wm_03_an_agent_without_rules_of_its_own_keeps_those_of_the_history_once(
    kit: Kit,
) -> None:
    listener = Listener()
    agent = Agent(FunctionModel(listener.answer), capabilities=[Hindsight(kit, user_id=USER)])
    twice = [ModelRequest([SystemPromptPart("RULES v1"), UserPromptPart("Hello")])] * 2
    await agent.run("hi", message_history=[*twice, ModelResponse([TextPart("Hi.")])])
    assert listener.system() == ["RULES v1"]


async def test_wm_04_what_is_stored_is_the_full_session_and_not_the_view(tmp_path: Path) -> None:
    long = "all quiet on the northern line; " * 30
    script = Script([long, ToolCallPart("read_log", {}), long, long])
    async with open_kit(tmp_path, policy="budget_tokens: 330\ngoal_tokens: 20\n") as kit:
        agent = Agent(scripted_with(script))

        @agent.tool_plain
        def read_log() -> str:
            """Read the log."""
            return "one line"

        del read_log
        prompts = ("Read the first log.", "Now the second one.", "And the third.")
        async with kit.session(agent, user_id=USER) as session:
            results = [await session.run(prompt) for prompt in prompts]
            stored = session.messages
        (episode,) = await kit.episodes(scope=kit.scope(USER))
        steps = (await kit.trajectory(episode.episode_id, scope=kit.scope(USER))).steps
    assert [len(result.new_messages()) for result in results] == [2, 4, 2]
    assert len(stored) == 8
    assert all(message.parts for message in stored)
    told = [step for step in steps if step.kind != "briefing"]
    assert [step.kind for step in told] == [
        "user", "model", "user", "tool_call", "tool_return", "model", "user", "model",
    ]  # fmt: skip
    assert [step.text for step in told if step.kind == "model"] == [long] * 3
    assert len(script.requests[-1]) < len(stored)


@pytest.mark.parametrize("text", [J, HANGUL, ENGLISH])
async def test_wm_05_forty_turns_in_any_script_stay_within_the_budget(
    tmp_path: Path, text: str
) -> None:
    history: list[ModelMessage] = [ModelRequest([UserPromptPart(text)]) for _ in range(39)]
    listener = Listener()
    async with open_kit(tmp_path, policy="budget_tokens: 500\n") as kit:
        memory = Hindsight(kit, user_id=USER, tools=False)
        await Agent(FunctionModel(listener.answer), capabilities=[memory]).run(
            text, message_history=history
        )
    sent = [content for content in listener.prompts() if isinstance(content, str)]
    cjk = text != ENGLISH
    assert (estimate_tokens(text) >= 0.6 * len(text)) == cjk
    assert sum(estimate_tokens(one) for one in sent) <= 500
    assert sent[-1] == text
    assert len(sent) < 40 if cjk else len(sent) == 40


async def test_wm_07_the_memory_block_keeps_its_budget_wrapper_included(
    kit: Kit, caplog: pytest.LogCaptureFixture
) -> None:
    """The briefing says of every candidate what became of it; the log holds the candidates."""
    scope = kit.scope(USER)
    store = await kit._parts.store(scope)  # pyright: ignore[reportPrivateUsage] # no door writes in bulk
    texts = [f"The harbour log {number:02d} is kept in bay {number:02d} " for number in range(20)]
    await store.add(scope, [new_memory((text * 4)[:120]) for text in texts], actor="test")
    briefing = await kit.brief("Where is the harbour log kept?", scope=scope, budget_tokens=300)
    assert 0 < estimate_tokens(briefing.text) <= 300
    assert briefing.tokens == estimate_tokens(briefing.text)
    assert briefing.text.count("<memories>") == briefing.text.count("</memories>") == 1
    assert all(entry.included or entry.why_not for entry in briefing.entries)
    shown = [briefing.text.index(memory_id) for memory_id in briefing.memory_ids]
    assert shown == sorted(shown)
    assert not caplog.messages
    empty = await kit.brief("Where is the harbour log kept?", scope=scope, budget_tokens=10)
    assert empty.text == ""
    assert all("does not fit" in entry.why_not for entry in empty.entries)
    assert "fits a briefing of 10 tokens" in caplog.text


async def test_wm_07_a_short_memory_fills_the_gap_that_a_long_one_left(kit: Kit) -> None:
    scope = kit.scope(USER)
    store = await kit._parts.store(scope)  # pyright: ignore[reportPrivateUsage] # no door writes in bulk
    long = "harbour log bay seven " * 227
    short = ["harbour gate is blue", "log paper is thin", "bay nine floods"]
    await store.add(scope, [new_memory(text) for text in (long, *short)], actor="test")
    briefing = await kit.brief("harbour log bay seven", scope=scope, budget_tokens=300)
    assert long not in briefing.text
    assert briefing.entries[0].why_not.startswith("does not fit")
    assert len(briefing.memory_ids) == len(briefing.entries) - 1 > 0


@pytest.mark.parametrize("reply", [[], [TextPart("")]], ids=["a", "b"])
async def test_wm_08_an_empty_answer_is_a_recorded_failure_from_which_nothing_is_made(
    kit: Kit, reply: list[TextPart]
) -> None:
    """No command runs an agent, so that there is no exit code to look at."""
    agent = Agent(scripted(reply), capabilities=[Hindsight(kit, user_id=USER)])
    with pytest.raises(UnexpectedModelBehavior):
        await agent.run("Say something about the orders.")
    assert await outcome(kit) == "failure"
    assert [step.text for step in await steps_of(kit) if step.kind == "user"] == [
        "Say something about the orders."
    ]
    assert await kit.memories(scope=kit.scope(USER)) == ()


async def test_wm_08_an_answer_after_an_empty_one_is_a_success(kit: Kit) -> None:
    agent = Agent(scripted([], "ok"), capabilities=[Hindsight(kit, user_id=USER)])
    result = await agent.run("Say something about the orders.")
    assert result.output == "ok"
    assert await outcome(kit) == "success"


def searching(kit: Kit, replies: Sequence[object]) -> tuple[Agent[None, str], list[str]]:
    """An agent that can search the docs, and what it searched for."""
    agent = Agent(
        scripted(*replies),  # pyright: ignore[reportArgumentType] # replies of a script
        retries=1,
        capabilities=[Hindsight(kit, user_id=USER)],
    )
    searched: list[str] = []

    @agent.tool_plain
    def search_docs(q: str) -> str:
        """Search the documents."""
        searched.append(q)
        return f"found {q}"

    del search_docs
    return agent, searched


def turn(number: int, *, tool: str = "serch_docs") -> list[ToolCallPart]:
    return [
        ToolCallPart(tool, {"q": "x"}, tool_call_id=f"bad{number}"),
        ToolCallPart("search_docs", {"q": f"x{number}"}, tool_call_id=f"good{number}"),
    ]


async def test_wm_09_a_tool_that_does_not_exist_ends_in_a_recorded_failure(kit: Kit) -> None:
    agent, searched = searching(kit, [turn(number) for number in range(3)])
    with pytest.raises(UnexpectedModelBehavior):
        await agent.run("Find the document about leave.")
    steps = await steps_of(kit)
    assert len(searched) == len(set(searched)) > 0
    for number in range(len(searched)):
        kinds = {(step.kind, step.call_id) for step in steps}
        assert {("tool_call", f"bad{number}"), ("tool_return", f"bad{number}")} <= kinds
        assert {("tool_call", f"good{number}"), ("tool_return", f"good{number}")} <= kinds
    assert await outcome(kit) == "failure"
    await kit.reflect(scope=kit.scope(USER))
    lessons = await kit.memories(scope=kit.scope(USER), memory_type="procedural")
    assert not any("serch_docs" in lesson.content for lesson in lessons)


async def test_wm_09_one_typo_and_then_the_right_tool_is_a_success(kit: Kit) -> None:
    agent, searched = searching(kit, [turn(0), turn(1, tool="search_docs"), "It is document 4."])
    result = await agent.run("Find the document about leave.")
    assert result.output == "It is document 4."
    assert sorted(searched) == ["x", "x0", "x1"]
    assert await outcome(kit) == "success"


async def outcome(kit: Kit) -> str:
    await kit.background.join()
    (episode,) = await kit.episodes(scope=kit.scope(USER))
    return episode.outcome


async def steps_of(kit: Kit) -> tuple[Step, ...]:
    await kit.background.join()
    (episode,) = await kit.episodes(scope=kit.scope(USER))
    return (await kit.trajectory(episode.episode_id, scope=kit.scope(USER))).steps
