"""What a query is taken to be about, at the door of the kit: out of one user's own memories."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agentkit import Kit
from agentkit.kit.intent import IntentFinder
from agentkit.kit.opening import open_parts
from agentkit.ports import EmbedderIdentity, EmbedKind
from agentkit.recall import ScopeIndex
from agentkit.records import Float32Array, Memory, Query, Scope, Tag
from agentkit.store import open_embedder
from agentkit.testing import FixedClock, TableEmbedder

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
ALICE, BOB = Scope("alice"), Scope("bob")
CSV, LIKES = "data_form:csv", "domain:preferences"
ROWS = ("rows are kept apart", "rows end in a line", "rows have a head")
DEEDS = ("deeds are signed", "deeds are sealed", "deeds are filed")
TABLE = {
    "what of rows": (1.0, 0.1, 0.0),
    "what of deeds": (0.1, 1.0, 0.0),
    # Nearer ones would be taken for one and the same memory.
    **{text: (1.0, 0.0, lift) for text, lift in zip(ROWS, (0.0, 0.7, -0.7), strict=True)},
    **{text: (0.0, 1.0, lift) for text, lift in zip(DEEDS, (0.0, 0.7, -0.7), strict=True)},
}


class Counting:
    """An embedder that notes what it was asked for."""

    def __init__(self) -> None:
        self._inner = TableEmbedder(TABLE)
        self.asked: list[str] = []

    async def identity(self) -> EmbedderIdentity:
        return await self._inner.identity()

    async def load(self) -> None:
        await self._inner.load()

    async def embed(self, texts: Sequence[str], *, kind: EmbedKind) -> Float32Array:
        self.asked += texts
        return await self._inner.embed(texts, kind=kind)


@pytest.fixture
def embedder() -> Counting:
    return Counting()


@pytest.fixture
async def kit(tmp_path: Path, embedder: Counting) -> AsyncIterator[Kit]:
    async with Kit.open(
        tmp_path, embedder=embedder, clock=FixedClock(NOW), worker="external"
    ) as opened:
        yield opened


async def write(kit: Kit, texts: Sequence[str], tag: str, *, scope: Scope) -> list[Memory]:
    found: list[Memory] = []
    for text in texts:
        lesson = kit.lesson(text, memory_type="semantic", tags=[tag])
        report = await kit.write(lesson, scope=scope)
        assert report.memory is not None, report.admission.reason
        found.append(report.memory)
    await kit.settle()
    return found


async def inferred(kit: Kit, text: str, *, scope: Scope) -> list[str]:
    result = await kit.recall(text, scope=scope)
    return [str(one.tag) for one in result.intent if one.origin == "prototype"]


async def test_a_tag_is_inferred_once_enough_memories_carry_it_and_no_longer_when_forgotten(
    kit: Kit,
) -> None:
    first, *_ = await write(kit, ROWS[:2], CSV, scope=ALICE)
    assert await inferred(kit, "what of rows", scope=ALICE) == []
    await write(kit, ROWS[2:], CSV, scope=ALICE)
    assert await inferred(kit, "what of rows", scope=ALICE) == [CSV]
    await kit.forget([first.memory_id], scope=ALICE, reason="wrong")
    assert await inferred(kit, "what of rows", scope=ALICE) == []


async def test_memories_of_another_user_never_move_what_is_inferred(kit: Kit) -> None:
    await write(kit, ROWS, CSV, scope=ALICE)
    await write(kit, ROWS[:1], CSV, scope=BOB)
    before = (await kit.recall("what of rows", scope=ALICE)).intent
    assert await inferred(kit, "what of rows", scope=BOB) == []
    await write(kit, DEEDS, CSV, scope=BOB)
    assert await inferred(kit, "what of deeds", scope=BOB) == [CSV]
    assert (await kit.recall("what of rows", scope=ALICE)).intent == before
    assert await inferred(kit, "what of deeds", scope=ALICE) == []


async def test_tags_of_the_caller_win_over_what_would_be_inferred(kit: Kit) -> None:
    await write(kit, ROWS, CSV, scope=ALICE)
    await write(kit, DEEDS, LIKES, scope=ALICE)
    assert await inferred(kit, "what of rows", scope=ALICE) == [CSV]
    result = await kit.recall(kit.query("what of rows", tags=[LIKES]), scope=ALICE)
    assert [(str(one.tag), one.origin) for one in result.intent] == [(LIKES, "caller")]
    assert {hit.memory.content for hit in result.hits} == set(DEEDS)


async def test_what_is_inferred_never_filters(kit: Kit) -> None:
    await write(kit, ROWS, CSV, scope=ALICE)
    await write(kit, DEEDS, LIKES, scope=ALICE)
    result = await kit.recall(kit.query("what of rows", top_k=10), scope=ALICE)
    assert {hit.memory.content for hit in result.hits} == {*ROWS, *DEEDS}


async def test_examples_that_another_process_embedded_meanwhile_are_taken_in(
    tmp_path: Path,
) -> None:
    embedder = open_embedder("local")
    assert embedder is not None
    parts = await asyncio.to_thread(
        open_parts, tmp_path, clock=FixedClock(NOW), embedder=embedder, overrides={}
    )
    example = parts.policy.taxonomy.examples()[0]
    (vector,) = await embedder.embed([example.text], kind="query")
    early, other = (IntentFinder(parts, aliases=parts.aliases) for _ in range(2))

    async def tags_of(finder: IntentFinder) -> set[Tag]:
        await finder.ready()
        found = finder.find(
            Query(text="x"), text="x", vector=vector, scope=ALICE, index=ScopeIndex()
        )
        return {one.tag for one in found}

    assert await tags_of(early) == set()
    await other.prepare()
    assert example.tag in await tags_of(other)
    await early.prepare()
    assert example.tag in await tags_of(early)


async def test_inferring_embeds_nothing_but_the_query(kit: Kit, embedder: Counting) -> None:
    await write(kit, ROWS, CSV, scope=ALICE)
    embedder.asked.clear()
    for _ in range(3):
        assert await inferred(kit, "what of rows", scope=ALICE) == [CSV]
    await kit.background.join(lane="log")
    assert embedder.asked == ["what of rows"] * 3
