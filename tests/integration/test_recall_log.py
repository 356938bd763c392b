"""The retrieval log is written beside the caller, many recalls at once, and none is lost."""

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentkit import Kit
from agentkit.kit.background import Background
from agentkit.kit.logbook import Asked, Logbook
from agentkit.records import Query, RecallResult, Scope, Verdict
from agentkit.testing import HashEmbedder

ANALYST = Scope("analyst")
CLERK = Scope("clerk")


@pytest.fixture
async def kit(tmp_path: Path) -> AsyncIterator[Kit]:
    async with Kit.open(
        tmp_path, embedder=HashEmbedder(), index="none", worker="external"
    ) as opened:
        await opened.remember("Fill the gaps with the median", scope=ANALYST)
        yield opened


async def logged(kit: Kit, scope: Scope) -> list[str]:
    found = await kit.retrievals(scope=scope, limit=500)
    return [one.retrieval_id for one in found]


async def test_every_recall_is_in_the_log_once_and_counted_once(kit: Kit) -> None:
    asked = [await kit.recall("gaps", scope=ANALYST) for _ in range(150)]
    asked += [await kit.recall("gaps", scope=CLERK) for _ in range(3)]
    await kit.background.join(lane="log")
    assert sorted(await logged(kit, ANALYST)) == sorted(one.retrieval_id for one in asked[:150])
    assert sorted(await logged(kit, CLERK)) == sorted(one.retrieval_id for one in asked[150:])
    (memory,) = await kit.memories(scope=ANALYST)
    assert memory.recalled_count == 150


async def test_feedback_finds_the_recall_that_was_just_made(kit: Kit) -> None:
    result = await kit.recall("gaps", scope=ANALYST)
    verdict = Verdict(memory_id=result.hits[0].memory.memory_id, kind="helpful", source="person")
    await kit.feedback(result.retrieval_id, [verdict], scope=ANALYST)
    (memory,) = await kit.memories(scope=ANALYST)
    assert memory.used_count == 1


async def test_a_recall_that_cannot_be_written_takes_no_other_with_it(
    kit: Kit, caplog: pytest.LogCaptureFixture
) -> None:
    before = await kit.recall("gaps", scope=ANALYST)
    broken = await kit.recall("gaps", scope=ANALYST, session_id="s" * 5_000)
    after = await kit.recall("gaps", scope=ANALYST)
    with caplog.at_level(logging.WARNING, logger="agentkit"):
        await kit.background.join(lane="log")
    assert sorted(await logged(kit, ANALYST)) == sorted([before.retrieval_id, after.retrieval_id])
    assert f"log recall {broken.retrieval_id}" in caplog.text


async def test_a_full_log_lets_go_of_the_newest_and_says_so(
    kit: Kit, caplog: pytest.LogCaptureFixture
) -> None:
    async def nothing() -> None:
        """There is no work at exit."""

    background = Background(exit_work=nothing)
    logbook = Logbook(kit._parts, background=background, most_waiting=2)  # pyright: ignore[reportPrivateUsage] - a small one has no door
    with caplog.at_level(logging.WARNING, logger="agentkit"):
        for name in ("first", "second", "third", "fourth"):
            asked = Asked(
                query=Query(text=name),
                scope=ANALYST,
                at=kit._parts.clock(),  # pyright: ignore[reportPrivateUsage] - the kit's own clock
                session_id=None,
            )
            logbook.add(RecallResult(retrieval_id=name), asked)
        await background.close()
    assert sorted(await logged(kit, ANALYST)) == ["first", "second"]
    assert caplog.text.count("cannot keep up") == 1


def test_what_a_loop_left_unwritten_is_written_in_the_next_one(tmp_path: Path) -> None:
    kit = Kit.open(tmp_path, embedder=HashEmbedder(), index="none", worker="external")

    async def ask() -> str:
        await kit.remember("Fill the gaps with the median", scope=ANALYST)
        return (await kit.recall("gaps", scope=ANALYST)).retrieval_id

    async def look() -> list[str]:
        try:
            await kit.background.join(lane="log")
            return await logged(kit, ANALYST)
        finally:
            await kit.aclose()

    asked = asyncio.run(ask())
    assert asyncio.run(look()) == [asked]
