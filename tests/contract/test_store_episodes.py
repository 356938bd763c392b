"""Episodes and open tasks: sealed once, whole, and apart for each user."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agentkit.errors import InputError, NotFoundError, StoreError
from agentkit.records import Scope, Step
from agentkit.store import FolderBlobs, Store
from agentkit.testing import FixedClock, HashEmbedder, MemoryBlobs, new_episode, new_memory

NOW = datetime(2026, 11, 30, 9, 30, tzinfo=UTC)
ALICE = Scope("alice")
BOB = Scope("bob")


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOW)


@pytest.fixture
async def store(database_url: str, tmp_path: Path, clock: FixedClock) -> AsyncIterator[Store]:
    opened = Store.open(
        database_url=database_url,
        blobs=FolderBlobs(tmp_path / "blobs"),
        index_path=None,
        embedder=HashEmbedder(),
        clock=clock,
    )
    yield opened
    await opened.close()


def step(number: int, text: str) -> Step:
    return Step(step_id=f"s{number:04d}", kind="user", text=text, at=NOW)


async def test_a_sealed_task_comes_back_step_by_step(store: Store) -> None:
    new = new_episode("Fill the gaps \x00 \ud83d 绿茶", "Done", "Thanks", at=NOW)
    sealed = await store.seal(
        ALICE, new, episodic=new_memory("Filled gaps", memory_type="episodic")
    )
    episode = sealed.episode
    assert not sealed.duplicate
    assert sealed.memory is not None
    assert sealed.memory.episode_id == episode.episode_id
    assert await store.episode(ALICE, episode.episode_id) == episode
    assert await store.trajectory(ALICE, episode.episode_id) == new.trajectory
    assert (episode.goal, episode.step_count) == ("Fill the gaps ? 绿茶", 3)
    assert await store.episodes(ALICE) == (episode,)
    (job,) = await store.jobs(ALICE)
    assert (job.kind, job.subject_id, job.state) == ("reflect", episode.episode_id, "pending")


async def test_a_task_may_be_sealed_without_memory_or_reflection(store: Store) -> None:
    sealed = await store.seal(ALICE, new_episode("Hello", at=NOW), episodic=None, reflect=False)
    assert sealed.memory is None
    assert await store.jobs(ALICE) == ()
    assert await store.memories(ALICE) == ()


async def test_importing_a_task_again_adds_nothing(store: Store, tmp_path: Path) -> None:
    new = new_episode("Cancel my flight", at=NOW, source_id="task 3 trial 1")
    memory = new_memory("Cancelled", memory_type="episodic")
    first = await store.seal(ALICE, new, episodic=memory)
    again = await store.seal(ALICE, new, episodic=memory)
    assert (again.duplicate, again.episode) == (True, first.episode)
    assert (len(await store.jobs(ALICE)), len(await store.memories(ALICE))) == (1, 1)
    other = await store.seal(BOB, new, episodic=memory)
    assert not other.duplicate
    assert len([path for path in (tmp_path / "blobs").rglob("*") if path.is_file()]) == 2


async def test_sealing_under_the_same_id_is_harmless(store: Store) -> None:
    new = replace(new_episode("Hello", at=NOW), episode_id="01234567-0000-7000-8000-000000000000")
    first = await store.seal(ALICE, new, episodic=None)
    assert (await store.seal(ALICE, new, episodic=None)).duplicate
    assert await store.episodes(ALICE) == (first.episode,)


async def test_the_same_thing_done_twice_is_two_episodic_memories(store: Store) -> None:
    memory = new_memory("Cleaned a table", memory_type="episodic")
    for _ in range(2):
        await store.seal(ALICE, new_episode("Clean it", at=NOW), episodic=memory)
    assert len(await store.memories(ALICE)) == 2


async def test_a_task_that_cannot_be_stored_leaves_no_row(store: Store) -> None:
    with pytest.raises(InputError):
        await store.seal(ALICE, new_episode("Hello", at=NOW), episodic=new_memory(" "))
    assert await store.episodes(ALICE) == ()
    assert await store.jobs(ALICE) == ()


async def test_an_episode_of_another_user_is_not_found(store: Store) -> None:
    sealed = await store.seal(BOB, new_episode("Secret", at=NOW), episodic=None)
    for scope in (ALICE, Scope("bobby"), Scope("bo")):
        for call in (
            store.episode(scope, sealed.episode.episode_id),
            store.trajectory(scope, sealed.episode.episode_id),
            store.recalled(scope, sealed.episode.episode_id),
            store.reflection(scope, sealed.episode.episode_id),
            store.attach_retrievals(scope, [], sealed.episode.episode_id),
        ):
            with pytest.raises(NotFoundError):
                await call
    lesson = replace(new_memory("x"), episode_id=sealed.episode.episode_id)
    with pytest.raises(InputError, match="not known here"):
        await store.add(ALICE, [lesson], actor="t")


async def test_a_changed_blob_is_noticed(store: Store, tmp_path: Path) -> None:
    sealed = await store.seal(ALICE, new_episode("Hello", at=NOW), episodic=None)
    other = await store.seal(ALICE, new_episode("Goodbye", at=NOW), episodic=None)
    blobs = FolderBlobs(tmp_path / "blobs")
    path = tmp_path / "blobs" / sealed.episode.trajectory_uri.removeprefix("blob:")
    path.write_bytes(blobs.get(other.episode.trajectory_uri))
    with pytest.raises(StoreError, match="hash differs"):
        await store.trajectory(ALICE, sealed.episode.episode_id)
    path.write_bytes(b"no gzip")
    with pytest.raises(StoreError, match="damaged"):
        await store.trajectory(ALICE, sealed.episode.episode_id)
    path.unlink()
    with pytest.raises(StoreError, match="missing"):
        await store.trajectory(ALICE, sealed.episode.episode_id)
    check = {item.name: item for item in await store.check()}["blobs"]
    assert (check.ok, "1 of 2" in check.detail) == (False, True)


async def test_two_users_and_two_agents_may_share_a_session_name(store: Store) -> None:
    scopes = (ALICE, BOB, Scope("alice", "cook"), Scope("alice", "writer"))
    for number, scope in enumerate(scopes):
        await store.append_steps(scope, "daily", [step(1, f"badge {number}")])
    for number, scope in enumerate(scopes):
        (kept,) = await store.open_steps(scope, "daily")
        assert kept.text == f"badge {number}"
    assert len(await store.open_tasks()) == 4
    assert len(await store.open_tasks(BOB)) == 1
    await store.seal(BOB, new_episode("badge 1", at=NOW), episodic=None)
    assert await store.open_steps(BOB, "daily") == ()
    assert len(await store.open_tasks()) == 3


async def test_importing_into_a_session_name_leaves_the_live_one_alone(store: Store) -> None:
    await store.append_steps(ALICE, "daily", [step(1, "live")])
    recording = new_episode("recorded", at=NOW, source_id="file 1")
    await store.seal(ALICE, recording, episodic=None)
    assert [kept.text for kept in await store.open_steps(ALICE, "daily")] == ["live"]


async def test_steps_written_twice_are_there_once(store: Store, clock: FixedClock) -> None:
    first, second = step(1, "one \ud83d"), step(2, "two")
    await store.append_steps(ALICE, "s", [first], instructions="Be brief.", model="test")
    clock.advance(minutes=5)
    await store.append_steps(ALICE, "s", [first, second])
    (task,) = await store.open_tasks(ALICE)
    assert task.steps == (first, second)
    assert (task.instructions, task.model) == ("Be brief.", "test")
    assert (task.opened_at, task.last_step_at) == (NOW, NOW + timedelta(minutes=5))
    assert task.owner is not None
    assert task.owner.is_alive()
    await store.clear_steps(ALICE, "s")
    assert await store.open_task(ALICE, "s") is None


async def test_a_failing_disk_leaves_no_row(clock: FixedClock, database_url: str) -> None:
    class FullDisk(MemoryBlobs):
        def put(self, name: str, data: bytes) -> str:
            raise StoreError("no space left", retryable=True)

    store = Store.open(
        database_url=database_url,
        blobs=FullDisk(),
        index_path=None,
        embedder=None,
        clock=clock,
    )
    with pytest.raises(StoreError, match="no space"):
        await store.seal(ALICE, new_episode("Hello", at=NOW), episodic=None)
    assert await store.episodes(ALICE) == ()
    await store.close()


async def test_names_of_a_task_are_kept_without_nul_bytes_or_refused(store: Store) -> None:
    odd = Step(step_id="s\x001", kind="user", text="Hello \x00 there", at=NOW)
    for _ in range(2):
        await store.append_steps(ALICE, "dai\x00ly", [odd], model="mod\x00el")
    task = await store.open_task(ALICE, "daily")
    assert task is not None
    assert (task.session_id, task.model, task.steps) == ("daily", "model", (odd,))
    with pytest.raises(InputError, match="session_id has 300 characters"):
        await store.append_steps(ALICE, "s" * 300, [odd])
    with pytest.raises(InputError, match="source_id has 300 characters"):
        await store.seal(ALICE, new_episode("Hi", at=NOW, source_id="s" * 300), episodic=None)
    assert await store.episodes(ALICE) == ()


async def test_open_tasks_of_equal_age_come_in_the_order_of_bytes(store: Store) -> None:
    names = ["b", "a-c", "ab", "B", "a", "\u00e1", "A", "a_c", "\u8336"]
    for name in names:
        await store.append_steps(Scope(name), "daily", [step(1, name)])
    found = [task.scope.user_id for task in await store.open_tasks()]
    assert found == sorted(names, key=lambda name: name.encode("utf-8"))
