"""A store goes into a file and comes back as it was (EV-03)."""

import asyncio
import gzip
import json
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

from agentkit.errors import ArchiveError, InputError, StoreError
from agentkit.records import MemoryStatus, Scope
from agentkit.store import FolderBlobs, MemoryEdit, Store
from agentkit.testing import FixedClock, HashEmbedder, memory_store, new_memory
from tests.lived_in import NOW, QUERIES, answers, kit_at, live_in, store_at

USERS = ("alice", "Alice", "acme", "acme-corp", "中文")
ANALYST = Scope("analyst")


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that was lived in; living takes seconds, a copy of it does not."""
    root = tmp_path_factory.mktemp("scene") / "source"
    asyncio.run(live_in(root, "analyst"))
    return root


@pytest.fixture
def lived(scene: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(scene, tmp_path / "source"))


async def export(root: Path, file: Path, scope: Scope | None = None) -> Path:
    kit = kit_at(root)
    await kit.export_to(file, scope=scope)
    await kit.aclose()
    return file


def documents(file: Path) -> list[dict[str, Any]]:
    data = file.read_bytes()
    lines = gzip.decompress(data) if file.suffix == ".gz" else data
    return [json.loads(line) for line in lines.split(b"\n")[:-1]]


async def test_everything_comes_back_equal_and_nothing_is_done_again(
    lived: Path, tmp_path: Path
) -> None:
    file = await export(lived, tmp_path / "all.jsonl.gz")
    target = kit_at(tmp_path / "target")
    report = await target.restore_from(file)
    assert report.added == {name: n for name, n in documents(file)[0]["counts"].items() if n}
    assert report.known == {}
    assert report.embedder_note == ""

    before = [job for job in await target.jobs() if job.state == "dead"]
    assert [job.last_error for job in before] == ["the model never answered"]
    again = await export(tmp_path / "target", tmp_path / "again.jsonl")
    assert documents(again)[1:] == documents(file)[1:]
    assert documents(again)[0]["embedder"] == {"name": "hash", "dim": 64}
    assert await target.reflect() == ()
    settled = await target.settle()
    assert (settled.embedded, settled.problem) == (0, "")
    await target.aclose()


async def test_what_the_scene_holds_is_what_a_backup_is_for(lived: Path, tmp_path: Path) -> None:
    """The other tests say little if the scene is empty: each state is there at least once."""
    found = documents(await export(lived, tmp_path / "all.jsonl"))
    by_kind = Counter(item["record"] for item in found)
    statuses = {item["status"] for item in found if item["record"] == "memory"}
    assert statuses >= {"active", "disputed", "superseded", "forgotten", "archived"}
    assert statuses <= set(get_args(MemoryStatus))
    assert by_kind["episode"] == 3
    assert {item["status"] for item in found if item["record"] == "link"} >= {"open", "resolved"}
    assert {item["state"] for item in found if item["record"] == "job"} >= {"done", "dead"}
    assert any(item["recalled_count"] for item in found if item["record"] == "memory")
    assert any(item["used_count"] for item in found if item["record"] == "memory")
    assert any(item["valid_to"] for item in found if item["record"] == "memory")
    assert any(item["evidence"] for item in found if item["record"] == "memory")
    assert any(len(item["events"]) > 1 for item in found if item["record"] == "memory")
    assert any(item["steps"] for item in found if item["record"] == "session")
    assert all(item["trajectory"] for item in found if item["record"] == "episode")
    assert any(json.loads(item["verdicts"]) for item in found if item["record"] == "retrieval")
    assert all(item["recall"]["result"]["pool"] for item in found if item["record"] == "retrieval")
    assert by_kind["policy_version"] == 1


async def test_recall_answers_the_same_before_and_after(lived: Path, tmp_path: Path) -> None:
    file = await export(lived, tmp_path / "all.jsonl")
    target = kit_at(tmp_path / "target")
    await target.restore_from(file)
    await target.aclose()
    memories = [item for item in documents(file) if item["record"] == "memory"]
    contents = [key["text"] for memory in memories for key in memory["keys"]]
    queries = (*QUERIES, *contents, *(text.split(".")[0] for text in contents))
    assert len(queries) >= 50
    asked = await answers(lived, "analyst", queries)
    assert await answers(tmp_path / "target", "analyst", queries) == asked


async def test_history_states_and_trajectories_read_the_same(lived: Path, tmp_path: Path) -> None:
    file = await export(lived, tmp_path / "all.jsonl")
    source, target = store_at(lived), store_at(tmp_path / "target")
    await target.restore_from(file)
    assert await target.count(ANALYST) == await source.count(ANALYST)
    assert await target.revision(ANALYST) == await source.revision(ANALYST)
    statuses = get_args(MemoryStatus)
    memories = await source.memories(ANALYST, statuses=statuses, limit=999)
    assert await target.memories(ANALYST, statuses=statuses, limit=999) == memories
    for memory in memories:
        history = await source.history(ANALYST, memory.memory_id)
        assert await target.history(ANALYST, memory.memory_id) == history
        links = await source.links(ANALYST, memory.memory_id)
        assert await target.links(ANALYST, memory.memory_id) == links
    for episode in await source.episodes(ANALYST):
        held = await target.episode(ANALYST, episode.episode_id)
        # Each store gives the trajectory an address of its own.
        assert replace(held, trajectory_uri=episode.trajectory_uri) == episode
        assert await target.trajectory(ANALYST, episode.episode_id) == await source.trajectory(
            ANALYST, episode.episode_id
        )
        reflection = await source.reflection(ANALYST, episode.episode_id)
        assert await target.reflection(ANALYST, episode.episode_id) == reflection
    assert await target.open_tasks() == await source.open_tasks()
    assert await target.jobs() == await source.jobs()
    logs = await source.retrievals(ANALYST, limit=99)
    assert await target.retrievals(ANALYST, limit=99) == logs
    assert all(check.ok for check in await target.check() if check.name != "outbox")
    await source.close()
    await target.close()


async def test_a_restored_postgresql_numbers_new_rows_after_the_restored_ones(
    lived: Path, tmp_path: Path, postgres_url: str
) -> None:
    """Rows with numbers of their own would leave the sequences of PostgreSQL behind."""
    file = await export(lived, tmp_path / "all.jsonl")
    source = store_at(lived)
    target = Store.open(
        database_url=postgres_url,
        blobs=FolderBlobs(tmp_path / "blobs"),
        index_path=None,
        embedder=HashEmbedder(64),
        clock=FixedClock(NOW),
    )
    await target.restore_from(file)
    for memory in await source.memories(ANALYST):
        history = await source.history(ANALYST, memory.memory_id)
        await target.edit(ANALYST, memory.memory_id, MemoryEdit(cues=("after",)), actor="t")
        after = await target.history(ANALYST, memory.memory_id)
        assert after[:-1] == history
    (added,) = await target.add(ANALYST, [new_memory("written after")], actor="t")
    assert len(await target.history(ANALYST, added.memory.memory_id)) == 1
    assert (await target.settle()).problem == ""
    await source.close()
    await target.close()


async def test_restoring_twice_adds_nothing_also_after_the_store_lived_on(
    lived: Path, tmp_path: Path
) -> None:
    file = await export(lived, tmp_path / "all.jsonl")
    root = tmp_path / "target"
    store = store_at(root)
    first = await store.restore_from(file)
    second = await store.restore_from(file)
    assert (second.added, second.known) == ({}, first.added)
    (open_task,) = await store.open_tasks()
    await store.close()

    kit = kit_at(root, clock=FixedClock(NOW))
    scope = kit.scope("analyst")
    found = await kit.recall("where do invoices go?", scope=scope)
    await kit.background.join()
    await kit.forget([found.hits[0].memory.memory_id], scope=scope, reason="moved")
    await kit.end_task(scope, open_task.session_id)
    await kit.background.join()
    third = await kit.restore_from(file)
    assert (third.added, third.known) == ({}, first.added)
    assert (await kit.memory(found.hits[0].memory.memory_id, scope=scope)).status == "forgotten"
    await kit.aclose()


async def test_one_user_comes_back_alone_and_under_another_name(
    tmp_path: Path,
) -> None:
    root = tmp_path / "source"
    for user in ("alice", "bob"):
        await live_in(root, user, mark=f"mark-of-{user}", sessions=2)
    file = await export(root, tmp_path / "all.jsonl.gz")
    source, target = store_at(root), store_at(tmp_path / "target")
    report = await target.restore_from(file, scope=Scope("alice"), as_scope=Scope("carol"))
    assert sum(report.added.values())
    assert await target.count(Scope("carol")) == await source.count(Scope("alice"))
    await source.close()
    assert await target.revision(Scope("alice")) == 0
    assert await target.revision(Scope("bob")) == 0
    for episode in await target.episodes(Scope("carol")):
        assert (await target.trajectory(Scope("carol"), episode.episode_id)).steps
    await target.settle()
    assert all(check.ok for check in await target.check())
    with pytest.raises(ArchiveError, match="another user has it"):
        await target.restore_from(file, scope=Scope("alice"))
    assert await target.revision(Scope("alice")) == 0
    await target.close()
    carol = await answers(tmp_path / "target", "carol")
    assert len(carol) == len(await answers(root, "alice"))


async def test_an_export_of_one_user_holds_no_byte_of_another(tmp_path: Path) -> None:
    root = tmp_path / "source"
    for number, user in enumerate(USERS):
        await live_in(root, user, mark=f"zebra{number}quartz", sessions=1)
    ids: dict[str, set[str]] = {}
    whole = documents(await export(root, tmp_path / "all.jsonl"))
    for user in USERS:
        ids[user] = {item["id"] for item in whole if item.get("user_id") == user and "id" in item}
    for number, user in enumerate(USERS):
        file = await export(root, tmp_path / f"{number}.jsonl", Scope(user))
        held = file.read_text(encoding="utf-8")
        own = {item["user_id"] for item in documents(file) if "user_id" in item}
        assert own == {user}
        for other, name in enumerate(USERS):
            assert (f"zebra{other}quartz" in held) == (other == number)
            if name != user:
                assert f'"{name}"' not in held
                assert not [foreign for foreign in ids[name] if foreign in held]


async def test_what_does_not_go_with_what_is_here_is_refused_whole(
    lived: Path, tmp_path: Path
) -> None:
    file = await export(lived, tmp_path / "all.jsonl")
    found = documents(file)
    target = store_at(tmp_path / "target")
    await target.restore_from(file)
    memory = next(item for item in found if item["record"] == "memory")
    other = store_at(lived)
    await other.verify(ANALYST, memory["id"], actor="person", reason="seen again")
    await other.add(ANALYST, [new_memory("A new one")], actor="test")
    await other.close()
    newer = await export(lived, tmp_path / "newer.jsonl")
    before = await target.count(ANALYST)
    with pytest.raises(ArchiveError, match=rf"memory {memory['id']} \(line \d+\): history"):
        await target.restore_from(newer)
    assert await target.count(ANALYST) == before
    await target.close()


async def test_memories_that_join_others_are_seen_by_a_running_reader(
    lived: Path, tmp_path: Path
) -> None:
    file = await export(lived, tmp_path / "all.jsonl")
    target = store_at(tmp_path / "target")
    for number in range(60):
        await target.add(ANALYST, [new_memory(f"own {number}")], actor="test")
    held = await target.changes(ANALYST, since=0)
    await target.restore_from(file)
    news = await target.changes(ANALYST, since=held.revision)
    assert news.complete
    assert len(news.entries) > len(held.entries)
    again = await target.changes(ANALYST, since=news.revision)
    assert (again.complete, again.entries) == (False, ())
    await target.close()


async def test_another_embedder_is_told_and_the_vectors_are_kept(
    lived: Path, tmp_path: Path
) -> None:
    file = await export(lived, tmp_path / "all.jsonl")
    target = store_at(tmp_path / "target", name="other")
    await target.add(ANALYST, [new_memory("here before")], actor="test")
    await target.settle()
    report = await target.restore_from(file)
    assert "embedder hash@64, this store uses other@64" in report.embedder_note
    settled = await target.settle()
    assert settled.embedded > 0
    assert all(check.ok for check in await target.check())
    assert (await target.restore_from(file)).added == {}
    await target.close()
    vectors = [
        vector["fingerprint"]
        for item in documents(await export_of_store(tmp_path))
        if item["record"] == "memory"
        for vector in item["vectors"]
    ]
    assert {"hash@64", "other@64"} == set(vectors)


async def export_of_store(tmp_path: Path) -> Path:
    store = store_at(tmp_path / "target", name="other")
    report = await store.export_to(tmp_path / "both.jsonl", scope=None)
    await store.close()
    return report.file


async def test_a_lost_trajectory_is_told_and_mended_by_a_whole_export(
    lived: Path, tmp_path: Path
) -> None:
    whole = await export(lived, tmp_path / "whole.jsonl")
    store = store_at(lived)
    (first, second, *_) = await store.episodes(ANALYST)
    folder = lived / ".agentkit" / "trajectories"
    (folder / first.trajectory_uri.removeprefix("blob:")).unlink()
    (folder / second.trajectory_uri.removeprefix("blob:")).write_bytes(b"rotten")
    report = await store.export_to(tmp_path / "lost.jsonl", scope=ANALYST)
    assert set(report.lost) == {first.episode_id, second.episode_id}
    target = store_at(tmp_path / "target")
    await target.restore_from(report.file)
    assert not {check.name: check for check in await target.check()}["blobs"].ok
    for mended in (store, target):
        assert (await mended.restore_from(whole)).added == {}
        for episode in (first, second):
            assert (await mended.trajectory(ANALYST, episode.episode_id)).steps
        await mended.close()


async def test_a_scope_that_is_not_a_whole_user_is_refused(lived: Path, tmp_path: Path) -> None:
    kit = kit_at(lived)
    with pytest.raises(InputError, match="leave out the agent"):
        await kit.export_to(tmp_path / "x.jsonl", scope=Scope("analyst", "cleaner"))
    with pytest.raises(InputError, match="nothing of user 'ghost'"):
        await kit.export_to(tmp_path / "x.jsonl", scope=Scope("ghost"))
    assert not (tmp_path / "x.jsonl").exists()
    file = await export(lived, tmp_path / "all.jsonl")
    with pytest.raises(InputError, match="holds nothing of user 'ghost'; it holds 'analyst'"):
        await kit.restore_from(file, scope=Scope("ghost"))
    with pytest.raises(InputError, match="name that user too"):
        await kit.restore_from(file, as_scope=Scope("carol"))
    await kit.aclose()


async def test_a_store_in_memory_moves_too(lived: Path, tmp_path: Path) -> None:
    file = await export(lived, tmp_path / "all.jsonl")
    store = memory_store(clock=FixedClock(NOW), embedder=None)
    await store.restore_from(file)
    (episode, *_) = await store.episodes(ANALYST)
    assert (await store.trajectory(ANALYST, episode.episode_id)).steps
    await store.close()


async def test_a_trajectory_that_was_lost_on_the_way_between_stores_is_mended_too(
    lived: Path, tmp_path: Path
) -> None:
    whole = await export(lived, tmp_path / "whole.jsonl")
    shutil.rmtree(lived / ".agentkit" / "trajectories")
    lost = await export(lived, tmp_path / "lost.jsonl")
    store = memory_store(clock=FixedClock(NOW), embedder=None)
    await store.restore_from(lost)
    (episode, *_) = await store.episodes(ANALYST)
    with pytest.raises(StoreError, match="is missing"):
        await store.trajectory(ANALYST, episode.episode_id)
    assert (await store.restore_from(whole)).added == {}
    assert (await store.trajectory(ANALYST, episode.episode_id)).steps
    await store.close()
