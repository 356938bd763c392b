"""Links: a disagreement is resolved once, with a trace, by its owner alone."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agentkit.errors import NotFoundError
from agentkit.records import MemoryLink, Scope
from agentkit.store import FolderBlobs, Store
from agentkit.testing import FixedClock, memory_store, new_memory
from tests.databases import DATABASES, database_of

NOW = datetime(2026, 11, 30, 9, 30, tzinfo=UTC)
ALICE = Scope("alice")


@pytest.fixture(params=["memory", *DATABASES])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    clock = FixedClock(NOW)
    if request.param == "memory":
        opened = memory_store(clock=clock, embedder=None)
    else:
        opened = Store.open(
            database_url=database_of(request, request.param, tmp_path),
            blobs=FolderBlobs(tmp_path / "blobs"),
            index_path=None,
            embedder=None,
            clock=clock,
        )
    yield opened
    await opened.close()


async def disagreeing(store: Store, scope: Scope) -> tuple[str, str]:
    """Write two memories that cannot both be true; return the ids, the newer first."""
    news = [new_memory("Ports are open"), new_memory("Ports are closed")]
    new, old = (one.memory.memory_id for one in await store.add(scope, news, actor="test"))
    link = MemoryLink(from_id=new, to_id=old, relation="contradicts", rationale="differs")
    assert await store.link(scope, link)
    return new, old


async def resolve(store: Store, scope: Scope, one: str, other: str) -> bool:
    return await store.resolve_link(scope, one, other, actor="person", reason="asked the team")


@pytest.mark.parametrize("turned", [False, True])
async def test_a_disagreement_is_resolved_once_and_both_histories_say_so(
    store: Store, turned: bool
) -> None:
    new, old = await disagreeing(store, ALICE)
    pair = (old, new) if turned else (new, old)
    before = await store.revision(ALICE)
    assert await resolve(store, ALICE, *pair)
    assert await store.revision(ALICE) == before + 1
    assert not await resolve(store, ALICE, *pair)
    assert await store.revision(ALICE) == before + 1
    (link,) = await store.links(ALICE, new)
    assert (link.status, link.from_id, link.rationale) == ("resolved", new, "differs")
    for memory_id, other in ((new, old), (old, new)):
        history = await store.history(ALICE, memory_id)
        assert [event.kind for event in history] == ["created", "resolved"]
        last = history[-1]
        assert (last.actor, last.reason) == ("person", "asked the team")
        assert other not in f"{last.old}{last.new}"
        assert (await store.memory(ALICE, memory_id)).status == "active"


async def test_a_foreign_link_and_a_missing_one_look_the_same(store: Store) -> None:
    new, old = await disagreeing(store, Scope("alice", "cook"))
    (mine,) = await store.add(Scope("bob"), [new_memory("mine")], actor="test")
    for scope in (Scope("bob"), Scope("alice", "writer")):
        for pair in ((new, old), (old, new), (mine.memory.memory_id, new)):
            said: list[str] = []
            for one, other in (pair, (pair[0].replace(new, "ghost").replace(old, "ghost"), old)):
                with pytest.raises(NotFoundError) as caught:
                    await resolve(store, scope, one, other)
                said.append(str(caught.value).replace(caught.value.thing_id, "ID"))
            assert said[0] == said[1] == "no memory 'ID' here; check the id and the user"
    (link,) = await store.links(Scope("alice", "cook"), new)
    assert link.status == "open"


async def test_memories_that_are_not_linked_so_have_nothing_to_resolve(store: Store) -> None:
    new, old = await disagreeing(store, ALICE)
    with pytest.raises(NotFoundError, match="no related link"):
        await store.resolve_link(ALICE, new, old, relation="related", actor="t", reason="r")
    with pytest.raises(NotFoundError, match="no contradicts link"):
        await resolve(store, ALICE, new, new)
    assert len(await store.history(ALICE, new)) == 1
