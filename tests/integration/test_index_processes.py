"""Several real processes on one project: nothing lost, nothing stale, one owner of the index."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from agentkit.kit import Kit
from agentkit.store.locks import FileLock
from agentkit.testing import HashEmbedder
from tests.index_servers import chroma_server
from tests.project_process import ProjectProcess

WRITERS = ("north", "south", "east", "west")

FORKED = """
import os, signal, sys
from pathlib import Path
from agentkit.store.locks import FileLock

lock = FileLock(Path(sys.argv[1]))
assert lock.acquire(wait=False)
child = os.fork()
if child == 0:
    print(lock.held, lock.acquire(wait=False), flush=True)
    sys.stdin.read()
    os._exit(0)
sys.stdout.write(f"{child}\\n")
sys.stdout.flush()
signal.pause()
"""


def opened(project: Path) -> Kit:
    return Kit.open(project, embedder=HashEmbedder(), worker="external")


async def contents(kit: Kit, query: str) -> list[str]:
    found = await kit.recall(query, scope=kit.scope("alice"))
    assert not found.timed_out
    return [hit.memory.content for hit in found.hits]


def generous(project: Path) -> None:
    """Give recall time enough on a busy machine."""
    (project / "memory").mkdir()
    (project / "memory" / "recall.yaml").write_text("timeout_s: 60\n", encoding="utf-8")


async def write_together(project: Path, repository: Path, *, number: int) -> int:
    """Let four processes write while this one recalls; return how often it did."""
    generous(project)
    kit = opened(project)
    recalls = 0
    with ExitStack() as stack:
        writers = [
            stack.enter_context(ProjectProcess(project, repository=repository)) for _ in WRITERS
        ]
        for name, writer in zip(WRITERS, writers, strict=True):
            writer.order("write", name, number)
        answers = asyncio.gather(*(asyncio.to_thread(writer.answer) for writer in writers))
        while not answers.done():
            await contents(kit, "who keeps entry 3 in drawer 21?")
            recalls += 1
        assert await answers == [number] * len(WRITERS)
        await check_all_see_all(kit, writers, last=number - 1)
    await settle_all(kit)
    await kit.aclose()
    return recalls


async def check_all_see_all(kit: Kit, writers: Sequence[ProjectProcess], *, last: int) -> None:
    held = await kit.memories(scope=kit.scope("alice"), limit=10_000)
    assert len({memory.content for memory in held}) == len(held) == len(WRITERS) * (last + 1)
    await kit.remember(
        "the fifth one keeps the master key under the stairs", scope=kit.scope("alice")
    )
    for name, writer in zip(WRITERS, [*writers[1:], writers[0]], strict=True):
        wanted = f"{name} keeps entry {last} in drawer {last * 7}"
        assert wanted in writer.ask("recall", wanted)
        assert "under the stairs" in writer.ask("recall", "where is the master key?")[0]


async def settle_all(kit: Kit) -> None:
    report = await kit.settle()
    assert (report.waiting, report.problem) == (0, "")
    found = await kit.prove()
    assert found.ok, found.disagreements


async def test_four_processes_write_fifty_each_and_none_is_lost(
    tmp_path: Path, repository: Path
) -> None:
    assert await write_together(tmp_path, repository, number=50) > 0


@pytest.mark.slow
async def test_four_processes_write_five_hundred_each_while_a_fifth_recalls(
    tmp_path: Path, repository: Path
) -> None:
    assert await write_together(tmp_path, repository, number=500) > 0


async def test_a_dead_owners_index_is_taken_over_and_its_work_done(
    tmp_path: Path, repository: Path
) -> None:
    generous(tmp_path)
    lock = tmp_path / ".agentkit" / "chroma" / "owner.lock"
    with ProjectProcess(tmp_path, repository=repository) as owner:
        owner.ask("remember", "the door code is blue-falcon")
        assert owner.ask("settle") == [1, 0, ""]
        kit = opened(tmp_path)
        assert "blue-falcon" in (await contents(kit, "door code"))[0]
        await kit.remember("the alarm code is red-heron", scope=kit.scope("alice"))
        assert (await kit.settle()).waiting == 1
        assert FileLock(lock).holder_pid() == owner.pid
        assert "red-heron" in owner.ask("recall", "alarm code")[0]
        owner.kill()
    report = await kit.settle()
    assert (report.indexed, report.waiting, report.problem) == (1, 0, "")
    assert FileLock(lock).holder_pid() == os.getpid()
    assert (await kit.prove()).ok
    await kit.aclose()


async def test_what_another_process_adds_and_forgets_shows_at_the_next_recall(
    tmp_path: Path, repository: Path
) -> None:
    generous(tmp_path)
    kit = opened(tmp_path)
    await kit.remember("the old meeting room is Aurora", scope=kit.scope("alice"))
    await kit.settle()
    assert await contents(kit, "meeting room") == ["the old meeting room is Aurora"]
    with ProjectProcess(tmp_path, repository=repository) as other:
        (old,) = await kit.memories(scope=kit.scope("alice"))
        other.ask("remember", "the new meeting room is Borealis")
        assert other.ask("forget", old.memory_id) == [old.memory_id]
        assert await contents(kit, "meeting room") == ["the new meeting room is Borealis"]
        assert other.ask("recall", "meeting room") == ["the new meeting room is Borealis"]
        await settle_all(kit)
    await kit.aclose()


def test_a_child_after_a_fork_neither_holds_the_lock_nor_keeps_it_from_others(
    tmp_path: Path, repository: Path
) -> None:
    path = tmp_path / "owner.lock"
    with subprocess.Popen(
        [sys.executable, "-c", FORKED, str(path)],
        cwd=repository,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        said = {parent.stdout.readline().strip(), parent.stdout.readline().strip()}
        assert "False False" in said
        lock = FileLock(path)
        assert not lock.acquire(wait=False)
        parent.kill()
        parent.wait(timeout=60)
        assert lock.acquire(wait=False)
        lock.release()
        parent.stdin.close()


@pytest.mark.slow
async def test_processes_share_a_chroma_server_without_an_owner(
    tmp_path: Path, repository: Path
) -> None:
    with chroma_server(tmp_path / "server") as url:
        (tmp_path / "agentkit.yaml").write_text(
            f"index: chroma\nindex_url: {url}/shared\n", encoding="utf-8"
        )
        await write_together(tmp_path, repository, number=40)
        with ProjectProcess(tmp_path, repository=repository) as other:
            kit = opened(tmp_path)
            for keeper in ("this one", "the other"):
                other.ask("remember", f"{keeper} has the spare key")
                await kit.settle()
                assert other.ask("settle") == [0, 0, ""]
            assert (await kit.reindex()).problem == ""
            await settle_all(kit)
            other.ask("remember", "written after the rebuild")
            assert other.ask("settle") == [1, 0, ""]
            assert (await kit.prove()).ok
            await kit.aclose()
