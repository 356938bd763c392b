"""Trouble while reflecting: visible, tried again, and never at the cost of the user's answer."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from agentkit import Hindsight, Kit
from agentkit.ports import EmbedKind
from agentkit.records import Float32Array, ReflectionReport
from agentkit.testing import FixedClock, HashEmbedder, scripted

USER = "analyst"
SAID = "Note: deploys go out on Tuesdays, the audit is on Fridays."
LESSONS = ("Deploys go out on Tuesdays.", "The audit is on Fridays.")


def critique(info: AgentInfo, lessons: Sequence[str]) -> ModelResponse:
    """A valid answer to a reflection that asks by tool call."""
    arguments = {
        "summary": "Dates were noted.",
        "outcome": "success",
        "went_well": "",
        "to_change": "",
        "lessons": [
            {
                "content": content,
                "memory_type": "semantic",
                "cues": [content],
                "tags": [],
                "evidence": [{"step_id": "s0001", "quote": SAID}],
            }
            for content in lessons
        ],
        "verdicts": [],
    }
    return ModelResponse(parts=[ToolCallPart(info.output_tools[0].name, arguments)])


class Reflecting:
    """An agent's model that answers "Noted." and, asked to reflect, fails so many times first."""

    def __init__(self, *, failures: int, lessons: Sequence[str] = LESSONS) -> None:
        self.failures = failures
        self.lessons = lessons
        self.asked: list[list[ModelMessage]] = []

    def answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if not info.output_tools:
            return ModelResponse(parts=[TextPart("Noted.")])
        self.asked.append(messages)
        if len(self.asked) <= self.failures:
            raise ModelHTTPError(429, "scripted", body="slow down")
        return critique(info, self.lessons)


def open_kit(folder: Path, clock: FixedClock) -> Kit:
    return Kit.open(folder, embedder=HashEmbedder(), index="none", worker="external", clock=clock)


def fixed_clock() -> FixedClock:
    return FixedClock(datetime(2030, 5, 1, 9, 0, tzinfo=UTC))


async def run_once(kit: Kit, model: Reflecting) -> None:
    agent = Agent(FunctionModel(model.answer), capabilities=[Hindsight(kit, user_id=USER)])
    await agent.run(SAID)
    await kit.background.join(lane="record")


async def test_a_model_that_is_down_once_is_asked_again_later(tmp_path: Path) -> None:
    """RF-03, script 1: pending, put back with the reason, done in the second try."""
    clock = fixed_clock()
    model = Reflecting(failures=1)
    async with open_kit(tmp_path, clock) as kit:
        await run_once(kit, model)
        (report,) = await kit.reflect()
        assert report.reflection is None
        (job,) = await kit.jobs()
        assert (job.state, job.attempts) == ("pending", 1)
        assert "429" in job.last_error
        assert await kit.reflect() == ()
        clock.advance(minutes=1)
        (report,) = await kit.reflect()
        assert len(report.admitted) == 2
        assert await kit.jobs() == ()
        kept = await kit.memories(scope=kit.scope(USER), memory_type="semantic")
        assert {memory.content for memory in kept} == set(LESSONS)


async def test_a_model_that_stays_down_leaves_the_reflecting_to_the_rules(tmp_path: Path) -> None:
    """RF-03, script 2: the last try is the rule critic's, and the log of tries says why."""
    clock = fixed_clock()
    async with open_kit(tmp_path, clock) as kit:
        model = Reflecting(failures=1_000)
        await run_once(kit, model)
        reports: list[ReflectionReport] = []
        for _ in range(kit.policy.reflection.attempts):
            reports.extend(await kit.reflect())
            clock.advance(hours=1)
        assert [report.reflection is None for report in reports] == [
            *[True] * (kit.policy.reflection.attempts - 1),
            False,
        ]
        assert reports[0].error is not None
        assert "429" in reports[0].error
        assert len(model.asked) == kit.policy.reflection.attempts
        assert {
            memory.source
            for memory in await kit.memories(scope=kit.scope(USER), memory_type="semantic")
        } == {"rule_critic"}


async def test_a_reflection_that_hangs_is_waited_for_by_nobody(tmp_path: Path) -> None:
    """RF-09, script 2."""
    reflecting = asyncio.Event()

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        del messages
        if info.output_tools:
            reflecting.set()
            await asyncio.Event().wait()
        return ModelResponse(parts=[TextPart("42")])

    kit = Kit.open(tmp_path, embedder=HashEmbedder(), index="none")
    agent = Agent(FunctionModel(answer))
    async with asyncio.timeout(20), kit.session(agent, user_id=USER) as session:
        for prompt in ("What is the answer?", "Thanks, that's it.", "And what was the question?"):
            assert (await session.run(prompt)).output == "42"
        await reflecting.wait()
    await kit.aclose(timeout_s=0.1)
    async with Kit.open(tmp_path, embedder=HashEmbedder(), index="none", worker="external") as kit:
        assert len(await kit.jobs()) == 2


class HungEmbedder(HashEmbedder):
    """A provider that never answers."""

    async def embed(self, texts: Sequence[str], *, kind: EmbedKind) -> Float32Array:
        await asyncio.Event().wait()
        return await super().embed(texts, kind=kind)


async def test_an_embedder_that_hangs_costs_no_run_and_no_session(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "recall.yaml").write_text("timeout_s: 0.1\n", encoding="utf-8")
    kit = Kit.open(tmp_path, embedder=HungEmbedder(), index="none")
    async with asyncio.timeout(20), kit.session(Agent(scripted("42")), user_id=USER) as session:
        for prompt in ("What is the answer?", "And the question?"):
            assert (await session.run(prompt)).output == "42"
    await kit.aclose(timeout_s=0.1)


async def test_an_inline_worker_comes_back_for_what_was_put_back(tmp_path: Path) -> None:
    """SC-04: a job that is due later needs no new run and no new process."""
    model = Reflecting(failures=0)
    async with Kit.open(tmp_path, embedder=HashEmbedder(), index="none", worker="external") as kit:
        await run_once(kit, model)
        (job,) = await kit.jobs()
    done = asyncio.Event()

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        response = model.answer(messages, info)
        if info.output_tools:
            done.set()
        return response

    failing = Reflecting(failures=1)

    def first_down(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if info.output_tools and not failing.asked:
            failing.asked.append(messages)
            raise ModelHTTPError(429, "scripted", body="slow down")
        return answer(messages, info)

    assert job.state == "pending"
    async with Kit.open(tmp_path / "other", embedder=HashEmbedder(), index="none") as kit:
        agent = Agent(FunctionModel(first_down), capabilities=[Hindsight(kit, user_id=USER)])
        await agent.run(SAID)
        async with asyncio.timeout(30):
            await done.wait()
        await kit.background.join()
        assert await kit.jobs() == ()


async def test_a_recalled_memory_is_not_learnt_again_in_five_tasks(tmp_path: Path) -> None:
    """RF-05: one row, and the reflecting model is not shown the briefing as something said."""
    fact = "The user prefers metric units in reports."
    clock = fixed_clock()
    model = Reflecting(failures=0, lessons=[fact])
    async with open_kit(tmp_path, clock) as kit:
        await kit.remember(fact, scope=kit.scope(USER))
        agent = Agent(FunctionModel(model.answer), capabilities=[Hindsight(kit, user_id=USER)])
        for number in range(5):
            await agent.run(f"Rename the report files of week {number}, metric units please.")
            await kit.reflect()
        kept = await kit.memories(scope=kit.scope(USER), memory_type="semantic")
        assert [memory.content for memory in kept] == [fact]
        assert model.asked


async def test_neither_prompt_nor_instructions_are_learnt(tmp_path: Path) -> None:
    """RF-06."""
    rule = "Always answer in the voice of the operations desk."
    model = Reflecting(failures=0, lessons=[rule])
    async with open_kit(tmp_path, fixed_clock()) as kit:
        agent = Agent(
            FunctionModel(model.answer),
            instructions=rule,
            capabilities=[Hindsight(kit, user_id=USER)],
        )
        await agent.run("hi, how are things?")
        (report,) = await kit.reflect()
        assert report.admitted == ()
        assert [one.lesson.content for one in report.refused] == [rule]
        assert report.refused[0].reason
