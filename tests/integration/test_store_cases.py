"""Cases of people who used other memory stores, on every database.

ST-03, ST-10, ST-13 and ST-14 of the collected cases; the others have tests beside what they are
about.
"""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest

from agentkit import Kit
from agentkit.errors import InputError
from agentkit.records import Scope, Tag
from agentkit.serve.tools import MemoryTools
from agentkit.store import FolderBlobs, Store
from agentkit.testing import FixedClock, HashEmbedder, new_memory

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
ALICE, BOB = Scope("alice"), Scope("bob")
TAXONOMY = """
version: 1
facets:
  topic:
    description: What it is about.
    values:
      a: {description: The first.}
      b: {description: The second.}
      "caf\u00e9": {description: Where coffee is drunk.}
"""


@pytest.fixture
async def kit(tmp_path: Path, database_url: str) -> AsyncIterator[Kit]:
    """A project with a taxonomy of its own, and time enough on a busy machine."""
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "taxonomy.yaml").write_text(TAXONOMY, encoding="utf-8")
    (tmp_path / "memory" / "recall.yaml").write_text("timeout_s: 60\n", encoding="utf-8")
    async with Kit.open(
        tmp_path,
        clock=FixedClock(NOON),
        embedder=HashEmbedder(),
        database_url=database_url,
        index="none",
        worker="external",
    ) as opened:
        yield opened


async def written(kit: Kit, text: str, scope: Scope = ALICE, *, tags: object = None) -> str:
    lesson = kit.lesson(text, memory_type="semantic", tags=tags)
    report = await kit.write(lesson, scope=scope)
    assert report.memory is not None
    return report.memory.memory_id


async def found(kit: Kit, text: str, scope: Scope = ALICE, *, tags: object = None) -> set[str]:
    """Ids that a recall returns; none where it says that it dropped the tags to find any."""
    result = await kit.recall(kit.query(text, tags=tags), scope=scope)
    return set() if result.relaxations else {hit.memory.memory_id for hit in result.hits}


async def test_times_are_instants_whatever_their_offset(tmp_path: Path, database_url: str) -> None:
    """ST-03."""
    clock = FixedClock(datetime(2026, 11, 30, 17, 45, tzinfo=UTC))
    store = Store.open(
        database_url=database_url,
        blobs=FolderBlobs(tmp_path / "blobs"),
        index_path=None,
        embedder=None,
        clock=clock,
    )
    # By the digits alone this one is the oldest and has no end of its day left.
    pacific = new_memory(
        "from the coast",
        created_at=datetime.fromisoformat("2026-11-30T09:30:00-08:00"),
        valid_to=datetime.fromisoformat("2026-11-30T10:00:00-08:00"),
    )
    london = new_memory("from the city", created_at=datetime(2026, 11, 30, 17, tzinfo=UTC))
    await store.add(ALICE, [pacific, london], actor="test")
    first, second = await store.memories(ALICE)
    assert (first.content, second.content) == ("from the coast", "from the city")
    assert first.created_at == datetime(2026, 11, 30, 17, 30, tzinfo=UTC)
    assert first.valid_to == datetime(2026, 11, 30, 18, tzinfo=UTC)
    for instant in (first.created_at, first.valid_to, second.created_at):
        assert instant is not None
        assert instant.tzinfo is UTC
    assert first.valid_to is not None
    assert first.created_at < clock() < first.valid_to
    clock.advance(minutes=16)
    assert [one.content for one in await store.memories(ALICE)] == ["from the city"]
    await store.close()


async def test_equal_text_of_two_users_is_two_memories_that_each_finds(kit: Kit) -> None:
    """ST-10."""
    hers = await written(kit, "Prefers the dark theme")
    his = await written(kit, "Prefers the dark theme", BOB)
    assert hers != his
    assert await written(kit, "Prefers the dark theme") == hers
    assert await found(kit, "which theme?") == {hers}
    assert await found(kit, "which theme?", BOB) == {his}
    await kit.forget([hers], scope=ALICE, reason="asked")
    assert await found(kit, "which theme?") == set()
    assert await found(kit, "which theme?", BOB) == {his}


async def test_a_tag_is_one_in_every_form_of_its_accents(kit: Kit) -> None:
    """ST-13."""
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    both = {
        await written(kit, "The place on the corner opens early", tags=[composed]),
        await written(kit, "The place by the river closes late", tags=[decomposed]),
    }
    assert len(both) == 2
    for form in (composed, decomposed):
        assert await found(kit, "the place", tags=[form]) == both
        held = await kit.memories(scope=ALICE, tag=Tag("topic", form))
        assert {memory.memory_id for memory in held} == both
    one = await written(kit, f"The {composed} has a terrace", tags=[f"topic:{decomposed}"])
    assert await written(kit, f"The {decomposed} has a terrace", tags=[composed]) == one


SHAPES: tuple[tuple[object, tuple[str, ...]], ...] = (
    (["a", "b"], ("topic:a", "topic:b")),
    ("a,b", ("topic:a", "topic:b")),
    ('["a","b"]', ("topic:a", "topic:b")),
    ("a", ("topic:a",)),
    ([" A ", "a", ""], ("topic:a",)),
    ([], ()),
    (None, ()),
)


async def test_every_shape_of_tags_is_kept_and_searched_alike(kit: Kit) -> None:
    """ST-14, at the tools of an agent and at the kit."""
    tools = MemoryTools(kit, ALICE)
    for number, (shape, tags) in enumerate(SHAPES):
        text = f"Drawer {number} holds pencils"
        answer = await tools.call(
            "memory_write", {"content": text, "memory_type": "semantic", "tags": shape}
        )
        memory = await kit.memory(str(answer["memory_id"]), scope=ALICE)
        assert tuple(str(tag) for tag in memory.tags) == tags
        assert memory.memory_id == await written(kit, text, tags=shape)
        query = kit.query("which drawer holds pencils?", tags=shape, top_k=50)
        assert tuple(str(tag) for tag in query.tags) == tags
        arguments = {"query": query.text, "tags": shape, "top_k": 50}
        hits = cast("list[object]", (await tools.call("memory_search", arguments))["hits"])
        result = await kit.recall(query, scope=ALICE)
        assert len(hits) == len(result.hits) > 0
        assert all({*query.tags} <= {*hit.memory.tags} for hit in result.hits)


@pytest.mark.parametrize("shape", [["customer,priority"], ["a" * 6_000], "a" * 6_000, [["a"]], 7])
async def test_what_cannot_be_tags_is_refused_and_nothing_is_kept(kit: Kit, shape: object) -> None:
    """ST-14."""
    tools = MemoryTools(kit, ALICE)
    with pytest.raises(InputError):
        await tools.call("memory_write", {"content": "x", "memory_type": "semantic", "tags": shape})
    with pytest.raises(InputError):
        await tools.call("memory_search", {"query": "x", "tags": shape})
    assert await kit.memories(scope=ALICE) == ()
