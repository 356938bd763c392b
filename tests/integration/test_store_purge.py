"""Purge in the store: what goes along, what stays, and what other processes find out."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agentkit.errors import InputError, NotFoundError
from agentkit.records import Evidence, Scope, Source
from agentkit.store import FolderBlobs, NewMemory, Store
from agentkit.store.erasing import Eraser
from agentkit.testing import FixedClock, HashEmbedder, new_episode, new_memory

NOW = datetime(2026, 11, 30, 9, 30, tzinfo=UTC)
ALICE = Scope("alice")


def opened(folder: Path) -> Store:
    return Store.open(
        database_url=f"sqlite:///{folder / 'agentkit.db'}",
        blobs=FolderBlobs(folder / "blobs"),
        index_path=folder / "index",
        embedder=HashEmbedder(),
        clock=FixedClock(NOW),
    )


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    held = opened(tmp_path)
    yield held
    await held.close()


async def seal(store: Store, said: str) -> str:
    sealed = await store.seal(ALICE, new_episode(said, "done", at=NOW), episodic=None)
    return sealed.episode.episode_id


def drawn_from(episode_id: str, content: str, *, source: Source = "rule_critic") -> NewMemory:
    new = new_memory(content, source=source)
    lesson = replace(new.lesson, evidence=(Evidence("s0001", content),))
    return replace(new, lesson=lesson, episode_id=episode_id)


async def add(store: Store, new: NewMemory) -> str:
    (result,) = await store.add(ALICE, [new], actor="t")
    return result.memory.memory_id


async def test_with_an_episode_goes_what_rests_on_it_alone(store: Store, tmp_path: Path) -> None:
    episode, other = await seal(store, "clean orders"), await seal(store, "clean invoices")
    resting = await add(store, drawn_from(episode, "Gaps are filled with the median"))
    again = await add(store, drawn_from(episode, "Dates are in ISO form"))
    users = await add(store, drawn_from(episode, "Reports are in metric units", source="user"))
    elsewhere = await add(store, drawn_from(other, "Invoices have two pages"))
    await store.verify(ALICE, again, actor="reflection", reason="learnt again")
    report = await store.purge_episode(ALICE, episode)
    assert report.target.memory_ids == (resting,)
    assert report.target.episode_ids == (episode,)
    assert (report.erased["episodes"], report.erased["trajectories"]) == (1, 1)
    assert (report.erased["jobs"], report.rewritten["memories"]) == (1, 2)
    kept = {memory.memory_id: memory for memory in await store.memories(ALICE)}
    assert kept.keys() == {again, users, elsewhere}
    for memory_id in (again, users):
        assert (kept[memory_id].episode_id, kept[memory_id].evidence) == (None, ())
    assert kept[elsewhere].episode_id == other
    assert kept[elsewhere].evidence
    with pytest.raises(NotFoundError):
        await store.episode(ALICE, episode)
    assert len(list((tmp_path / "blobs").rglob("*.gz"))) == 1
    assert all(check.ok for check in await store.check() if check.name == "blobs")


async def test_the_episode_of_a_memory_goes_too_unless_it_is_to_be_kept(store: Store) -> None:
    episode = await seal(store, "my door code is blue-falcon")
    first = await add(store, drawn_from(episode, "The door code is blue-falcon"))
    beside = await add(store, drawn_from(episode, "The door is painted green"))
    report = await store.purge_memories(ALICE, [first], with_episodes=False)
    assert report.target.memory_ids == (first,)
    assert (await store.trajectory(ALICE, episode)).steps[0].text == "my door code is blue-falcon"
    report = await store.purge_memories(ALICE, [beside])
    assert report.target.episode_ids == (episode,)
    assert await store.episodes(ALICE) == ()


async def test_what_replaced_a_purged_memory_is_named_no_more(store: Store) -> None:
    old, new = await add(store, new_memory("old way")), await add(store, new_memory("new way"))
    await store.change_status(ALICE, old, "superseded", actor="t", reason="r", superseded_by=new)
    await store.purge_memories(ALICE, [new])
    assert (await store.memory(ALICE, old)).superseded_by is None
    assert new not in "".join(f"{one.old}{one.new}" for one in await store.history(ALICE, old))


async def test_another_reader_starts_anew_after_a_purge(store: Store) -> None:
    first = await add(store, new_memory("The gate opens at six"))
    second = await add(store, new_memory("The gate closes at nine"))
    held = (await store.changes(ALICE, since=0)).revision
    await store.purge_memories(ALICE, [first])
    after = await store.changes(ALICE, since=held)
    assert after.complete
    assert [entry.memory_id for entry in after.entries] == [second]
    await store.purge_user(ALICE)
    gone = await store.changes(ALICE, since=after.revision)
    assert (gone.complete, gone.entries) == (True, ())
    for n in range(9):
        await add(store, new_memory(f"Shelf {n} holds paper"))
    anew = await store.changes(ALICE, since=after.revision)
    assert anew.complete
    assert len(anew.entries) == 9


async def test_the_owner_of_the_index_erases_there_what_another_process_purged(
    store: Store, tmp_path: Path
) -> None:
    memory_id = await add(store, new_memory("The gate opens at six"))
    kept = await add(store, new_memory("The gate closes at nine"))
    await store.settle()
    other = opened(tmp_path)
    report = await other.purge_memories(ALICE, [memory_id])
    await other.close()
    assert len(report.left) == 1
    assert "owned by process" in report.left[0]
    assert (await store.settle()).waiting == 1
    files = [path for path in (tmp_path / "index").rglob("*") if path.is_file()]
    assert [path.name for path in files] == ["owner.lock"]
    checks = {check.name: check for check in await store.check()}
    assert "the next process rebuilds" in checks["index"].detail
    assert all(check.ok for check in checks.values())
    anew = opened(tmp_path)
    assert (await anew.settle()).waiting == 0
    files = [path for path in (tmp_path / "index").rglob("*") if path.is_file()]
    assert any(kept.encode() in path.read_bytes() for path in files)
    checks = {check.name: check for check in await anew.check()}
    await anew.close()
    assert checks["index"].detail == "1 keys, 0 missing, 0 too many"


async def test_a_purge_that_cannot_be_meant_erases_nothing(store: Store) -> None:
    memory_id = await add(store, new_memory("The gate opens at six"))
    with pytest.raises(NotFoundError):
        await store.purge_memories(ALICE, [memory_id, "ghost"])
    with pytest.raises(NotFoundError):
        await store.purge_memories(Scope("bob"), [memory_id])
    with pytest.raises(InputError, match="not an agent"):
        await store.purge_memories(Scope("alice", "cook"), [memory_id])
    assert len(await store.memories(ALICE)) == 1


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("so THE  DOOR code\nis: blue-falcon!", "so [erased]!"),
        ("the door code is blue-falcons", None),
        ("the door code is &lt;blue&gt; falcon", "[erased]"),
        ("记住门禁密码是蓝隼吧", "记住[erased]吧"),
        ("cafe\u0301 ouvert ici", "[erased] ici"),
        ("tea", None),
    ],
)
def test_words_are_found_however_they_are_spaced_and_cased(text: str, found: str | None) -> None:
    texts = ["The door code is blue-falcon", "门禁密码是蓝隼", "caf\u00e9 ouvert", "tea"]
    assert Eraser(texts=texts, ids=()).text(text) == (text if found is None else found)
