"""What the retrieval log keeps, as `memory/recall.yaml` says, and what still works without it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agentkit import Kit
from agentkit.errors import InputError, NotFoundError
from agentkit.records import RecallResult, Scope, Verdict
from agentkit.testing import FixedClock, HashEmbedder

NOW = datetime(2026, 11, 18, 14, 30, tzinfo=UTC)
ANALYST = Scope("analyst")
FACTS = ("The atlas stands in the harbour branch", "The import broke on a comma", "Ink is blue")


@asynccontextmanager
async def opened(folder: Path, clock: FixedClock, log: str) -> AsyncGenerator[Kit]:
    (folder / "memory").mkdir()
    (folder / "memory" / "recall.yaml").write_text(f"log: {log}\n", encoding="utf-8")
    async with Kit.open(
        folder, embedder=HashEmbedder(), clock=clock, index="none", worker="external"
    ) as kit:
        for fact in FACTS:
            await kit.remember(fact, scope=ANALYST)
        yield kit


async def ask(kit: Kit) -> RecallResult:
    result = await kit.recall(kit.query("Where is the atlas?", top_k=1), scope=ANALYST)
    await kit.background.join(lane="log")
    return result


def helpful(memory_id: str) -> Verdict:
    return Verdict(memory_id=memory_id, kind="helpful", source="person")


async def test_a_recall_that_is_not_sampled_can_still_be_judged(tmp_path: Path) -> None:
    async with opened(tmp_path, FixedClock(NOW), "{sample: 0.0}") as kit:
        result = await ask(kit)
        (logged,) = await kit.retrievals(scope=ANALYST)
        assert len(result.pool) == len(FACTS)
        assert logged.result.pool == result.pool[:1]
        assert not logged.result.whole
        shown = result.hits[0].memory
        await kit.feedback(result.retrieval_id, [helpful(shown.memory_id)], scope=ANALYST)
        after = await kit.memory(shown.memory_id, scope=ANALYST)
        assert (after.recalled_count, after.used_count) == (1, 1)
        with pytest.raises(InputError, match="name one that it returned"):
            await kit.feedback(
                result.retrieval_id, [helpful(result.pool[1].memory_id)], scope=ANALYST
            )


async def test_by_default_every_recall_is_logged_with_its_whole_pool(tmp_path: Path) -> None:
    async with opened(tmp_path, FixedClock(NOW), "{}") as kit:
        result = await ask(kit)
        (logged,) = await kit.retrievals(scope=ANALYST)
        assert logged.result.pool == result.pool
        assert logged.result.whole


@pytest.mark.parametrize(("log", "left"), [("{keep_days: 30}", 1), ("{keep_days: 0}", 2)])
async def test_a_worker_drops_the_log_that_the_policy_keeps_no_longer(
    tmp_path: Path, log: str, left: int
) -> None:
    clock = FixedClock(NOW)
    async with opened(tmp_path, clock, log) as kit:
        old = await ask(kit)
        clock.advance(days=31)
        new = await ask(kit)
        await kit.reflect(scope=ANALYST)
        kept = [one.retrieval_id for one in await kit.retrievals(scope=ANALYST)]
        assert kept == [new.retrieval_id, old.retrieval_id][:left]
        shown = old.hits[0].memory.memory_id
        assert (await kit.memory(shown, scope=ANALYST)).recalled_count == 2
        if left == 1:
            with pytest.raises(NotFoundError):
                await kit.feedback(old.retrieval_id, [helpful(shown)], scope=ANALYST)
