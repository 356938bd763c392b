"""The floor and the fate of what is recalled without use, at the doors of the kit.

RC-02 and RC-05 of the collected cases.
"""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest

from agentkit import Kit
from agentkit.cli.edge import run
from agentkit.errors import InputError
from agentkit.records import Memory, Scope, Verdict
from agentkit.serve.tools import MemoryTools
from agentkit.testing import FixedClock, TableEmbedder

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
ALICE, BOB = Scope("alice"), Scope("bob")
TABLE = {
    "which one": (1.0, 0.0),
    "apples keep for weeks": (1.0, 0.0),
    "bread dries out": (0.8, 0.6),
    "cheese smells": (0.0, 1.0),
}


@pytest.fixture
async def kit(tmp_path: Path) -> AsyncIterator[Kit]:
    embedder = TableEmbedder(TABLE)
    async with Kit.open(
        tmp_path, embedder=embedder, clock=FixedClock(NOW), worker="external"
    ) as opened:
        yield opened


async def written(kit: Kit, text: str, scope: Scope = ALICE, *, tags: object = None) -> Memory:
    lesson = kit.lesson(text, memory_type="semantic", tags=tags)
    report = await kit.write(lesson, scope=scope)
    assert report.memory is not None, report.admission.reason
    return report.memory


async def three(kit: Kit) -> list[str]:
    found = [
        await written(kit, text)
        for text in ("apples keep for weeks", "bread dries out", "cheese smells")
    ]
    await kit.settle()
    return [memory.memory_id for memory in found]


async def test_similarity_is_a_cosine_and_a_threshold_on_it_works(kit: Kit) -> None:
    """RC-02."""
    a, b, c = await three(kit)
    result = await kit.recall(kit.query("which one", top_k=3), scope=ALICE)
    assert [hit.memory.memory_id for hit in result.hits] == [a, b, c]
    assert [hit.similarity for hit in result.hits] == pytest.approx([1.0, 0.8, 0.0], abs=1e-3)
    near = await kit.recall(kit.query("which one", top_k=3, least_similarity=0.7), scope=ALICE)
    assert [hit.memory.memory_id for hit in near.hits] == [a, b]
    tools = MemoryTools(kit, ALICE)
    answer = await tools.call("memory_search", {"query": "which one", "least_similarity": 0.7})
    hits = cast("list[dict[str, object]]", answer["hits"])
    assert [hit["memory_id"] for hit in hits] == [a, b]
    assert cast("dict[str, object]", answer["applied"])["least_similarity"] == 0.7


async def test_what_was_kept_back_is_in_the_log_and_was_not_recalled(kit: Kit) -> None:
    """RC-02."""
    _, _, c = await three(kit)
    result = await kit.recall(kit.query("which one", least_similarity=0.7), scope=ALICE)
    await kit.background.join(lane="log")
    (logged,) = await kit.retrievals(scope=ALICE)
    assert logged.query.least_similarity == 0.7
    assert logged.result.pool == result.pool
    kept = next(one for one in logged.result.pool if one.memory_id == c)
    assert kept.why_not.startswith("below the floor: similarity 0.000")
    assert (await kit.memory(c, scope=ALICE)).recalled_count == 0


@pytest.mark.parametrize("least", [1.5, -2, "high", True])
def test_a_threshold_that_is_no_cosine_is_refused_by_name(kit: Kit, least: object) -> None:
    with pytest.raises(InputError, match=r"least_similarity is .*; give a number from -1 to 1"):
        kit.query("which one", least_similarity=least)


def test_a_shell_says_that_the_best_was_not_near_enough(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "agentkit.yaml").write_text("index: none\n", encoding="utf-8")
    given = ("--user", "alice", "--project", str(tmp_path))
    assert run(["remember", "The pump at the north gate needs a new valve", *given]) == 0
    assert run(["recall", "which pump", "--least-similarity", "1", *given]) == 0
    assert "nothing found: the best is below the floor: similarity" in capsys.readouterr().out


async def test_being_recalled_often_does_not_pin_a_memory_on_top(kit: Kit) -> None:
    """RC-05: evaluation is not asked here, for it opens no project at all."""
    a, b, c = await three(kit)
    for _ in range(20):
        result = await kit.recall(kit.query("cheese smells", top_k=1), scope=ALICE)
        assert [hit.memory.memory_id for hit in result.hits] == [c]
    await kit.background.join(lane="log")
    assert (await kit.memory(c, scope=ALICE)).recalled_count == 20
    assert (await kit.memory(a, scope=ALICE)).recalled_count == 0
    for _ in range(20):
        result = await kit.recall(kit.query("bread dries out", top_k=1), scope=ALICE)
        assert [hit.memory.memory_id for hit in result.hits] == [b]


async def test_a_memory_recalled_without_use_sinks_once_another_was_of_use(kit: Kit) -> None:
    a, b, _ = await three(kit)
    for _ in range(40):
        result = await kit.recall(kit.query("which one", top_k=1), scope=ALICE)
        assert [hit.memory.memory_id for hit in result.hits] == [a]
    for _ in range(10):
        result = await kit.recall(kit.query("bread dries out", top_k=1), scope=ALICE)
        helped = Verdict(memory_id=b, kind="helpful", source="person")
        await kit.feedback(result.retrieval_id, [helped], scope=ALICE)
    result = await kit.recall(kit.query("which one", top_k=2), scope=ALICE)
    assert [hit.memory.memory_id for hit in result.hits] == [b, a]
    assert "x unused 0.50 (0 uses in 40 recalls)" in result.hits[1].explanation
