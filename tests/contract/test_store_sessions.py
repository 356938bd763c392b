"""Sessions as they are listed: one line each, whatever their tasks came to."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agentkit.errors import InputError
from agentkit.records import Scope, Step
from agentkit.store import FolderBlobs, NewEpisode, Store
from agentkit.testing import FixedClock, HashEmbedder, new_episode

NOW = datetime(2026, 11, 30, 9, 30, tzinfo=UTC)
ALICE = Scope("alice")


@pytest.fixture
async def store(database_url: str, tmp_path: Path) -> AsyncIterator[Store]:
    opened = Store.open(
        database_url=database_url,
        blobs=FolderBlobs(tmp_path / "blobs"),
        index_path=None,
        embedder=HashEmbedder(),
        clock=FixedClock(NOW),
    )
    yield opened
    await opened.close()


def task(*said: str, session_id: str, minutes: int) -> NewEpisode:
    at = NOW - timedelta(minutes=minutes)
    return replace(new_episode(*said, at=at), session_id=session_id)


def step(text: str) -> Step:
    return Step(step_id="s0001", kind="user", text=text, at=NOW)


async def test_a_session_is_listed_once_with_its_last_task(store: Store) -> None:
    first = task("Sort the orders", "Sorted", session_id="daily", minutes=30)
    await store.seal(ALICE, replace(first, end_reason="done"), episodic=None)
    last = task("Count the rows", "Nine", "Thanks", session_id="daily", minutes=20)
    await store.seal(ALICE, replace(last, end_reason="topic"), episodic=None)
    await store.seal(ALICE, task("Hello", session_id="other", minutes=10), episodic=None)
    other, daily = await store.sessions(ALICE)
    assert other.session_id == "other"
    assert (daily.session_id, daily.goal, daily.last_boundary) == (
        "daily",
        "Count the rows",
        "topic",
    )
    assert (daily.open, daily.tasks, daily.steps) == (False, 2, 5)
    assert (daily.started_at, daily.last_at) == (first.started_at, last.ended_at)


async def test_an_open_task_goes_before_what_was_sealed(store: Store) -> None:
    sealed = task("Sort the orders", "Sorted", session_id="daily", minutes=30)
    await store.seal(ALICE, replace(sealed, end_reason="done"), episodic=None)
    await store.append_steps(ALICE, "daily", [step("Count the rows")])
    await store.append_steps(ALICE, "new one", [step("Good morning")])
    found = {one.session_id: one for one in await store.sessions(ALICE)}
    daily, new = found["daily"], found["new one"]
    assert (daily.open, daily.goal, daily.last_boundary) == (True, "Count the rows", "done")
    assert (daily.tasks, daily.steps) == (1, 3)
    assert (daily.started_at, daily.last_at) == (sealed.started_at, NOW)
    assert (new.open, new.last_boundary, new.tasks, new.steps) == (True, None, 0, 1)


async def test_users_and_agents_with_one_session_name_are_kept_apart(store: Store) -> None:
    coder = Scope("alice", "coder")
    for scope in (ALICE, coder, Scope("bob")):
        await store.seal(scope, task("Hello", session_id="daily", minutes=5), episodic=None)
    assert [one.scope for one in await store.sessions(coder)] == [coder]
    assert {one.scope for one in await store.sessions(ALICE)} == {ALICE, coder}
    assert await store.sessions(Scope("carol")) == ()


async def test_sessions_come_in_pages_the_last_used_first(store: Store) -> None:
    for minutes in (1, 3, 2):
        name = f"{minutes} minutes ago"
        await store.seal(ALICE, task("Hi", session_id=name, minutes=minutes), episodic=None)
    (first,) = await store.sessions(ALICE, limit=1)
    rest = await store.sessions(ALICE, limit=5, offset=1)
    names = [one.session_id for one in (first, *rest)]
    assert names == ["1 minutes ago", "2 minutes ago", "3 minutes ago"]
    with pytest.raises(InputError, match="limit is 0"):
        await store.sessions(ALICE, limit=0)
