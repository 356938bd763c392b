"""Many users in one store: what is held of them stays within its bytes, whoever asks."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from agentkit import Kit
from agentkit.kit.recalling import BYTES_PER_MB
from agentkit.recall import IndexCache
from agentkit.records import Scope
from agentkit.testing import HashEmbedder, new_memory

USERS, EACH = 30, 40
NAMES = tuple(f"user-{number:02d}" for number in range(USERS))


@pytest.fixture
async def kit(tmp_path: Path) -> AsyncIterator[Kit]:
    """Thirty users of forty memories each, and one MB for all of them."""
    embedder = HashEmbedder()
    (tmp_path / "memory").mkdir()
    policy = "timeout_s: 60\ncache_mb: 1\n"
    (tmp_path / "memory" / "recall.yaml").write_text(policy, encoding="utf-8")
    async with Kit.open(tmp_path, embedder=embedder, index="none", worker="external") as opened:
        for name in NAMES:
            texts = [f"Drawer {number} of {name} holds pencils" for number in range(EACH)]
            vectors = await embedder.embed(texts, kind="document")
            store = await opened._parts.store(Scope(name))  # pyright: ignore[reportPrivateUsage] - bulk writing has no door
            new = [
                replace(new_memory(text), vectors=vector[None])
                for text, vector in zip(texts, vectors, strict=True)
            ]
            await store.add(Scope(name), new, actor="test")
        yield opened


def cache_of(kit: Kit) -> IndexCache:
    return kit._recaller._cache  # pyright: ignore[reportPrivateUsage] - has no door


async def ask(kit: Kit, name: str) -> None:
    """Ask one user, who gets what is that user's own and all that was asked for."""
    hits = (await kit.recall("which drawer holds pencils?", scope=Scope(name))).hits
    assert len(hits) == 5
    assert all(name in hit.memory.content for hit in hits)


async def test_the_users_asked_last_are_held_and_their_bytes_stay_within_the_budget(
    kit: Kit,
) -> None:
    cache = cache_of(kit)
    asked: list[str] = []
    # Every second look is at one user, who therefore never goes.
    for name in (*NAMES, *reversed(NAMES)):
        for one in (name, "user-07"):
            await ask(kit, one)
            asked = [*(user for user in asked if user != one), one]
            assert cache.nbytes <= BYTES_PER_MB
            assert cache.users == tuple(asked[-len(cache) :])
    assert 2 < len(cache) < USERS
    counted = {name: index.nbytes for name in cache.users if (index := cache.held(name))}
    assert cache.nbytes == sum(counted.values())
    assert min(counted.values()) > EACH * 64 * 4, "vectors are counted"


async def test_users_who_ask_at_the_same_time_each_get_their_own(kit: Kit) -> None:
    for _ in range(2):
        await asyncio.gather(*(ask(kit, name) for name in NAMES))
        assert cache_of(kit).nbytes <= BYTES_PER_MB


async def test_a_user_who_grows_pushes_others_out(kit: Kit) -> None:
    for name in NAMES:
        await ask(kit, name)
    cache = cache_of(kit)
    before, last = len(cache), NAMES[-1]
    store = await kit._parts.store(Scope(last))  # pyright: ignore[reportPrivateUsage] - bulk writing has no door
    more = [new_memory(f"Shelf {number} of {last} holds paper") for number in range(400)]
    await store.add(Scope(last), more, actor="test")
    await ask(kit, last)
    assert cache.users[-1] == last
    assert len(cache) < before
    assert cache.nbytes <= BYTES_PER_MB
