"""Recall has a hard limit: a slow stage costs an answer, never a run, and the log says which."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psycopg
import pytest
from pydantic_ai import Agent

from agentkit import Hindsight, Kit
from agentkit.errors import EmbedderError
from agentkit.kit.recalling import TOO_LATE
from agentkit.ports import EmbedKind
from agentkit.recall import ScopeIndex
from agentkit.records import Float32Array, Retrieval, Scope
from agentkit.store.embedders.threaded import ThreadedEmbedder
from agentkit.testing import HashEmbedder, scripted

ALICE = Scope("alice")
FACT = "The boat is called Petrel"
QUESTION = "What is the boat called?"
SLOW_S = 5.0
# The limit of the shipped policy, and what may be lost around it.
LIMIT_S = 2.2


class HeldEmbedder(HashEmbedder):
    """Answers a query only when it is let go, or fails then."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = asyncio.Event()
        self.error: EmbedderError | None = None

    async def embed(self, texts: Sequence[str], *, kind: EmbedKind) -> Float32Array:
        if kind == "query":
            await self.go_on.wait()
            if self.error is not None:
                raise self.error
        return await super().embed(texts, kind=kind)


class SlowEmbedder(HashEmbedder):
    """A provider that takes its time over a query."""

    async def embed(self, texts: Sequence[str], *, kind: EmbedKind) -> Float32Array:
        if kind == "query":
            await asyncio.sleep(SLOW_S)
        return await super().embed(texts, kind=kind)


class Blocking:
    """A model in this process that computes, and yields to nobody, while it is told to."""

    def __init__(self) -> None:
        self.slow = False

    def __call__(self, texts: list[str]) -> Float32Array:
        if self.slow:
            time.sleep(SLOW_S)
        return np.tile(np.array([1.0, 0.0], dtype=np.float32), (len(texts), 1))


def hasty(folder: Path) -> Path:
    """A project with next to no time for a recall."""
    (folder / "memory").mkdir()
    (folder / "memory" / "recall.yaml").write_text("timeout_s: 0.05\n", encoding="utf-8")
    return folder


async def logged(kit: Kit) -> list[Retrieval]:
    await kit.background.join()
    return list(await kit.retrievals(scope=ALICE))


@pytest.fixture
def held() -> HeldEmbedder:
    return HeldEmbedder()


@pytest.fixture
async def kit(tmp_path: Path, held: HeldEmbedder) -> AsyncIterator[Kit]:
    async with Kit.open(hasty(tmp_path), embedder=held, index="none", worker="external") as opened:
        await opened.remember(FACT, scope=ALICE)
        yield opened
        held.go_on.set()


async def test_over_the_limit_nothing_comes_back_and_the_late_answer_is_logged_alone(
    kit: Kit, held: HeldEmbedder
) -> None:
    result = await kit.recall(QUESTION, scope=ALICE)
    assert (result.hits, result.pool, result.timed_out) == ((), (), True)
    assert result.degraded == "over the limit of 0.05 s in stage embed"
    async with asyncio.timeout(20):
        while not (early := await kit.retrievals(scope=ALICE)):
            pass
    assert (early[0].result.timed_out, early[0].result.pool) == (True, ())
    assert early[0].result.degraded == result.degraded
    held.go_on.set()
    (late,) = await logged(kit)
    assert late.retrieval_id == result.retrieval_id
    assert (late.result.timed_out, late.result.degraded) == (True, result.degraded)
    assert [(one.returned, one.why_not) for one in late.result.pool] == [(False, TOO_LATE)]
    (memory,) = await kit.memories(scope=ALICE)
    assert memory.recalled_count == 0, "nobody saw it"


async def test_a_stage_that_fails_after_the_limit_leaves_the_record_of_the_limit(
    kit: Kit, held: HeldEmbedder
) -> None:
    await kit.recall(QUESTION, scope=ALICE)
    held.error = EmbedderError("the provider is gone")
    held.go_on.set()
    (late,) = await logged(kit)
    assert late.result.timed_out
    assert late.result.degraded == (
        "over the limit of 0.05 s in stage embed; no vectors: the provider is gone"
    )


async def test_a_run_over_the_limit_completes_without_a_briefing(
    kit: Kit, held: HeldEmbedder
) -> None:
    agent = Agent(scripted("I do not know."), capabilities=[Hindsight(kit, user_id="alice")])
    done = await agent.run(QUESTION)
    assert done.output == "I do not know."
    held.go_on.set()
    (late,) = await logged(kit)
    assert late.result.timed_out
    (episode,) = await kit.episodes(scope=ALICE)
    assert (await kit.trajectory(episode.episode_id, scope=ALICE)).steps


async def test_a_database_that_does_not_answer_is_over_the_limit_too(
    tmp_path: Path, postgres_url: str
) -> None:
    async with Kit.open(
        hasty(tmp_path),
        embedder=HashEmbedder(),
        database_url=postgres_url,
        index="none",
        worker="external",
    ) as kit:
        await kit.remember(FACT, scope=ALICE)
        async with await psycopg.AsyncConnection.connect(postgres_url) as other:
            await other.execute("LOCK TABLE memory IN ACCESS EXCLUSIVE MODE")
            result = await kit.recall(QUESTION, scope=ALICE)
        assert (result.hits, result.timed_out) == ((), True)
        assert result.degraded == "over the limit of 0.05 s in stage refresh"
        (late,) = await logged(kit)
        assert late.result.degraded == result.degraded
        assert len(late.result.pool) == 1


@contextmanager
def holding(index: ScopeIndex) -> Generator[threading.Thread]:
    """Keep an index, as a refresh of many memories does on its thread."""
    held, let_go = threading.Event(), threading.Event()

    def hold() -> None:
        with index.lock:
            held.set()
            let_go.wait(timeout=20)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(timeout=20)
    try:
        yield thread
    finally:
        let_go.set()
        thread.join()


def index_of(kit: Kit, scope: Scope) -> ScopeIndex:
    return kit._recaller._cache.get(scope.user_id)  # pyright: ignore[reportPrivateUsage] - has no door


@pytest.mark.parametrize("question", [QUESTION, "What was the boat called today?"])
@pytest.mark.parametrize("is_changed", [False, True])
async def test_an_index_that_is_held_is_over_the_limit_too(
    tmp_path: Path, question: str, is_changed: bool
) -> None:
    """The limit needs the event loop, so the loop never waits for an index itself."""
    async with Kit.open(
        hasty(tmp_path), embedder=HashEmbedder(), index="none", worker="external"
    ) as kit:
        await kit.remember(FACT, scope=ALICE)
        await kit.recall(question, scope=ALICE)
        await kit.background.join()
        if is_changed:
            await kit.remember("The boat is painted blue", scope=ALICE)
        with holding(index_of(kit, ALICE)) as holder:
            result = await kit.recall(question, scope=ALICE)
            assert holder.is_alive()
            assert (result.hits, result.timed_out) == ((), True)
        await kit.background.join()


@pytest.mark.parametrize("is_cold", [False, True])
async def test_no_user_waits_for_the_refresh_of_another(tmp_path: Path, is_cold: bool) -> None:
    bob = Scope("bob")
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "recall.yaml").write_text("timeout_s: 60\n", encoding="utf-8")
    async with Kit.open(tmp_path, embedder=HashEmbedder(), index="none", worker="external") as kit:
        for scope in (ALICE, bob):
            await kit.remember(FACT, scope=scope)
            if not is_cold:
                await kit.recall(QUESTION, scope=scope)
                await kit.remember("The boat is painted blue", scope=scope)
        with holding(index_of(kit, ALICE)):
            waiting = asyncio.create_task(kit.recall(QUESTION, scope=ALICE))
            async with asyncio.timeout(10):
                for _ in range(3):
                    assert (await kit.recall(QUESTION, scope=bob)).hits
            assert not waiting.done()
        assert (await waiting).hits
        await kit.background.join()


async def slow_recall(kit: Kit) -> float:
    """The promise itself: in time, empty, told; and a run that takes no harm. Seconds spent."""
    started = time.perf_counter()
    result = await kit.recall(QUESTION, scope=ALICE)
    spent_s = time.perf_counter() - started
    assert (result.hits, result.timed_out) == ((), True)
    assert "in stage embed" in result.degraded
    agent = Agent(scripted("I do not know."), capabilities=[Hindsight(kit, user_id="alice")])
    assert (await agent.run(QUESTION)).output == "I do not know."
    log = await logged(kit)
    assert len(log) == 2
    for one in log:
        assert one.result.timed_out
        assert one.result.degraded.startswith("over the limit of 2 s in stage embed")
        assert {member.returned for member in one.result.pool} == {False}
        assert one.result.latency_ms["embed"] >= SLOW_S * 900
    (memory,) = await kit.memories(scope=ALICE, memory_type="semantic")
    assert memory.recalled_count == 0
    return spent_s


@pytest.mark.slow
async def test_an_embedder_of_five_seconds_costs_two_seconds_and_no_run(tmp_path: Path) -> None:
    async with Kit.open(tmp_path, embedder=SlowEmbedder(), index="none", worker="external") as kit:
        await kit.remember(FACT, scope=ALICE)
        assert await slow_recall(kit) < LIMIT_S


@pytest.mark.slow
async def test_a_blocking_embedder_of_five_seconds_costs_two_seconds_and_no_run(
    tmp_path: Path,
) -> None:
    encode = Blocking()
    embedder = ThreadedEmbedder(name="blocking", dim=2, load=lambda: encode)
    async with Kit.open(tmp_path, embedder=embedder, index="none", worker="external") as kit:
        await kit.remember(FACT, scope=ALICE)
        encode.slow = True
        assert await slow_recall(kit) < LIMIT_S
