"""Purge: gone from every file, and nothing else is."""

import gzip
import json
import sqlite3
import zlib
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest
from pydantic_ai import Agent

from agentkit import Hindsight, Kit
from agentkit.errors import NotFoundError
from agentkit.records import Memory, MemoryLink, Scope, Step, Verdict
from agentkit.testing import FixedClock, HashEmbedder, Script, scripted_with
from tests.index_servers import chroma_server
from tests.project_process import run_script

NOW = datetime(2026, 11, 30, 9, 30, tzinfo=UTC)
ALICE, BOB = Scope("alice-marked"), Scope("bob")
MARK = "blue-falcon"
SECRET = f"The door code is {MARK}"
OTHER = "Invoices are archived on the third floor"


SETTLE = """
import asyncio, sys
from agentkit import Kit
from agentkit.testing import HashEmbedder

async def main() -> None:
    async with Kit.open(sys.argv[1], embedder=HashEmbedder(), worker="external") as kit:
        await kit.settle()
        proof = await kit.prove()
        print(f"{proof.indexed} keys indexed, proven: {proof.ok}")

asyncio.run(main())
"""


def open_kit(folder: Path, **settings: object) -> Kit:
    return Kit.open(
        folder, embedder=HashEmbedder(), clock=FixedClock(NOW), worker="external", **settings
    )


def traces(folder: Path, mark: str) -> list[str]:
    """The files in which a text stands, packed or not."""
    forms = {mark.encode(), json.dumps(mark)[1:-1].encode()}
    return [
        str(path.relative_to(folder))
        for path in sorted(folder.rglob("*"))
        if path.is_file() and any(form in _unpacked(path) for form in forms)
    ]


def _unpacked(path: Path) -> bytes:
    data = path.read_bytes()
    if path.suffix == ".gz":
        return data + gzip.decompress(data)
    if path.suffix == ".db":
        with closing(sqlite3.connect(path)) as connection:
            rows = connection.execute("SELECT packed FROM retrieval").fetchall()
        return data + b"".join(zlib.decompress(cast("bytes", row[0])) for row in rows)
    return data


async def written(kit: Kit, text: str, scope: Scope) -> Memory:
    report = await kit.remember(text, scope=scope)
    assert report.memory is not None
    return report.memory


async def briefed_run(kit: Kit, prompt: str, scope: Scope) -> Script:
    """A live task whose prompt brings back memories, and whose model repeats one."""
    script = Script(["Noted."])
    agent = Agent(scripted_with(script), capabilities=[Hindsight(kit, user_id=scope.user_id)])
    await agent.run(prompt)
    await kit.background.join()
    return script


async def test_a_purged_memory_leaves_no_trace_in_any_file(tmp_path: Path) -> None:
    async with open_kit(tmp_path) as kit:
        memory = await written(kit, SECRET, ALICE)
        kept = await written(kit, OTHER, ALICE)
        await written(kit, "The gate code is green-heron", BOB)
        await kit.edit(memory.memory_id, scope=ALICE, content=f"{SECRET} until Friday", reason="x")
        await kit.edit(memory.memory_id, scope=ALICE, content=f"{SECRET}, always", cues=["door"])
        await briefed_run(kit, "Which door code do I need?", ALICE)
        result = await kit.recall(f"is it true that the door code is {MARK}?", scope=ALICE)
        assert [hit.memory.memory_id for hit in result.hits][:1] == [memory.memory_id]
        await kit.feedback(
            result.retrieval_id,
            [
                Verdict(
                    memory_id=memory.memory_id,
                    kind="helpful",
                    source="person",
                    reason=f"yes, {SECRET}",
                )
            ],
            scope=ALICE,
        )
        store = await kit._parts.store(ALICE)  # pyright: ignore[reportPrivateUsage] - links have no door yet
        rationale = f"one says {MARK}, the other does not"
        link = MemoryLink(
            from_id=memory.memory_id,
            to_id=kept.memory_id,
            relation="contradicts",
            rationale=rationale,
        )
        await store.link(ALICE, link)
        await store.change_status(ALICE, kept.memory_id, "disputed", actor="t", reason=rationale)
        await store.append_steps(
            ALICE, "open", [Step(step_id="s0001", kind="user", text=f"so {SECRET.upper()}, right?")]
        )
        await kit.settle()
        assert set(traces(tmp_path, MARK)) >= {".agentkit/agentkit.db"}
        assert any(name.endswith(".jsonl.gz") for name in traces(tmp_path, MARK))

        rehearsed = await kit.purge_memory(memory.memory_id, scope=ALICE, rehearse=True)
        assert (await kit.memory(memory.memory_id, scope=ALICE)).content.startswith(SECRET)
        report = await kit.purge_memory(memory.memory_id, scope=ALICE)
        assert report.erased == rehearsed.erased
        assert report.erased["memories"] == 1
        assert report.erased["keys"] == report.erased["vectors"] == 2
        assert report.rewritten["trajectories"] == 1
        assert report.rewritten["retrievals"] >= 2
        assert report.rewritten["events"] == 1
        assert report.rewritten["steps"] == 1
        assert report.left == ()

        for mark in (MARK, MARK.upper(), memory.memory_id):
            assert traces(tmp_path, mark) == []
        with pytest.raises(NotFoundError):
            await kit.memory(memory.memory_id, scope=ALICE)
        with pytest.raises(NotFoundError):
            await kit.history(memory.memory_id, scope=ALICE)
        with pytest.raises(NotFoundError):
            await kit.restore(memory.memory_id, scope=ALICE)
        again = await kit.recall("Which door code do I need?", scope=ALICE)
        assert memory.memory_id not in {member.memory_id for member in again.pool}
        assert kept.memory_id in {one.memory_id for one in await kit.memories(scope=ALICE)}
        for retrieval in await kit.retrievals(scope=ALICE):
            assert memory.memory_id not in {one.memory_id for one in retrieval.result.pool}
        (episode,) = await kit.episodes(scope=ALICE)
        trajectory = await kit.trajectory(episode.episode_id, scope=ALICE)
        assert "[erased]" in "".join(step.text for step in trajectory.steps)
        assert all(check.ok for check in await kit.doctor())
        assert len(await kit.memories(scope=BOB)) == 1


@pytest.mark.parametrize(
    ("prompt", "mark"),
    [
        ("Remember that the door code is blue-falcon.", "blue-falcon"),
        ("记住：门禁密码是蓝隼五十二", "蓝隼五十二"),
    ],
)
async def test_what_was_said_in_a_task_is_purged_with_the_memory_of_it(
    tmp_path: Path, prompt: str, mark: str
) -> None:
    async with open_kit(tmp_path) as kit:
        await briefed_run(kit, prompt, ALICE)
        await briefed_run(kit, "Please clean orders.csv", ALICE)
        (memory,) = await kit.memories(scope=ALICE, memory_type="semantic")
        assert mark in memory.content
        assert len(await kit.memories(scope=ALICE, memory_type="episodic")) == 2
        await kit.settle()
        report = await kit.purge_memory(memory.memory_id, scope=ALICE)
        assert report.left == ()
        assert traces(tmp_path, mark) == []
        assert len(await kit.memories(scope=ALICE, memory_type="episodic")) == 2
        assert (await kit.settle()).problem == ""
        assert all(check.ok for check in await kit.doctor())


async def test_a_purged_user_leaves_no_trace_and_others_keep_everything(tmp_path: Path) -> None:
    async with open_kit(tmp_path) as kit:
        for scope in (ALICE, BOB):
            await briefed_run(kit, f"Remember that {SECRET} for {scope.user_id}.", scope)
            await briefed_run(kit, "Please clean orders.csv", scope)
            for _ in range(3):
                await kit.recall("what is the door code?", scope=scope)
        await kit.reflect()
        before = [*await kit.memories(scope=BOB), *await kit.episodes(scope=BOB)]
        logged = len(await kit.retrievals(scope=BOB))
        rehearsed = await kit.purge_user(scope=ALICE, rehearse=True)
        report = await kit.purge_user(scope=ALICE)
        assert report.erased == rehearsed.erased
        assert {"memories", "keys", "vectors", "events", "episodes", "trajectories"} <= set(
            report.erased
        )
        assert report.left == ()
        assert traces(tmp_path, ALICE.user_id) == []
        assert await kit.memories(scope=ALICE) == ()
        assert await kit.episodes(scope=ALICE) == ()
        assert await kit.retrievals(scope=ALICE) == ()
        assert await kit.jobs(scope=ALICE) == ()
        assert (await kit.recall("what is the door code?", scope=ALICE)).hits == ()
        assert [*await kit.memories(scope=BOB), *await kit.episodes(scope=BOB)] == before
        assert len(await kit.retrievals(scope=BOB)) == logged
        assert all(check.ok for check in await kit.doctor())
    async with open_kit(tmp_path) as again:
        assert await again.memories(scope=ALICE) == ()
        assert (await again.recall("what is the door code?", scope=BOB)).hits
        assert (await again.purge_user(scope=ALICE)).erased.keys() <= {"retrievals"}


@pytest.mark.parametrize("index", ["chroma", "qdrant"])
async def test_the_files_of_every_embedded_index_lose_a_purged_key(
    tmp_path: Path, index: str
) -> None:
    async with open_kit(tmp_path, index=index) as kit:
        memory = await written(kit, SECRET, ALICE)
        kept = await written(kit, OTHER, ALICE)
        await kit.settle()
        assert index in {Path(name).parts[1] for name in traces(tmp_path, memory.memory_id)}
        report = await kit.purge_memory(memory.memory_id, scope=ALICE)
        assert report.left == ()
        assert (await kit.prove()).ok
        assert [hit.memory for hit in (await kit.recall("archive", scope=ALICE)).hits] == [kept]
    assert traces(tmp_path, memory.memory_id) == []
    async with open_kit(tmp_path, index=index) as kit:
        await kit.settle()
        proof = await kit.prove()
        assert (proof.ok, proof.indexed) == (True, 1)


async def test_after_a_purge_another_process_builds_the_embedded_index(tmp_path: Path) -> None:
    async with open_kit(tmp_path) as kit:
        memory = await written(kit, SECRET, ALICE)
        await written(kit, OTHER, ALICE)
        await kit.settle()
        assert (await kit.purge_memory(memory.memory_id, scope=ALICE)).left == ()
        later = await written(kit, "The archive opens at nine", ALICE)
        await kit.settle()
        chroma = tmp_path / ".agentkit" / "chroma"
        assert [path.name for path in chroma.iterdir()] == ["owner.lock"]
        recalled = await kit.recall("when does the archive open?", scope=ALICE)
        assert recalled.hits[0].memory == later
        checks = {check.name: check for check in await kit.doctor()}
        assert all(check.ok for check in checks.values())
        assert "the next process rebuilds" in checks["index"].detail
        assert checks["outbox"].detail == "2 keys waiting for the index"
        assert "next process" in (await kit.reindex()).problem
        done = run_script(SETTLE, str(tmp_path))
        assert (done.returncode, done.stdout) == (0, "2 keys indexed, proven: True\n"), done.stderr
        assert traces(tmp_path, memory.memory_id) == []
        # It may have been written by another process since, so a second purge empties it again.
        assert (await kit.purge_memory(later.memory_id, scope=ALICE)).left == ()
        assert [path.name for path in chroma.iterdir()] == ["owner.lock"]


async def test_an_index_that_the_settings_no_longer_name_is_told_as_left(tmp_path: Path) -> None:
    async with open_kit(tmp_path) as kit:
        memory = await written(kit, SECRET, ALICE)
        await kit.settle()
    async with open_kit(tmp_path, index="qdrant") as kit:
        report = await kit.purge_memory(memory.memory_id, scope=ALICE)
    (left,) = report.left
    assert str(tmp_path / ".agentkit" / "chroma") in left


async def test_a_purge_from_an_index_server_says_what_the_server_may_keep(tmp_path: Path) -> None:
    with chroma_server(tmp_path / "server") as address:
        async with open_kit(tmp_path / "p", index_url=f"{address}/notes") as kit:
            memory = await written(kit, SECRET, ALICE)
            await written(kit, OTHER, ALICE)
            await kit.settle()
            report = await kit.purge_memory(memory.memory_id, scope=ALICE)
            (left,) = report.left
            assert "index server" in left
            proof = await kit.prove()
            assert (proof.ok, proof.indexed) == (True, 1)


async def test_a_task_that_was_left_open_is_not_sealed_behind_a_purge(tmp_path: Path) -> None:
    async with open_kit(tmp_path, index="none") as kit:
        store = await kit._parts.store(ALICE)  # pyright: ignore[reportPrivateUsage] - writes as a run does
        for number in range(20):
            said = Step(step_id="s0001", kind="user", text=f"{SECRET}, says note {number}")
            await store.append_steps(ALICE, f"session {number}", [said])
    days_later = FixedClock(datetime(2026, 12, 9, 9, 30, tzinfo=UTC))
    kit = Kit.open(
        tmp_path, embedder=HashEmbedder(), clock=days_later, worker="external", index="none"
    )
    async with kit:
        # What was left is being taken up at this moment.
        await kit.purge_user(scope=ALICE)
    async with open_kit(tmp_path, index="none") as again:
        assert await again.episodes(scope=ALICE) == ()
        assert await again.memories(scope=ALICE) == ()
    assert traces(tmp_path, MARK) == []
