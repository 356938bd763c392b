"""`doctor --consistency`: whatever is broken is found, and mended where that can be."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncGenerator, Callable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest

from agentkit.cli.edge import EXIT_FAILED, run
from agentkit.records import Scope
from agentkit.store import Consistency, FolderBlobs, Store
from agentkit.testing import FixedClock, HashEmbedder, MemoryVectorIndex, new_episode, new_memory

ALICE = Scope("alice")
NOW = datetime(2026, 11, 30, 9, 30, tzinfo=UTC)


class Place:
    """A store of three memories and two episodes, with its parts in hand."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = FixedClock(NOW)
        self.index = MemoryVectorIndex()
        self.blobs = FolderBlobs(folder / "blobs")
        self.store = Store.open(
            database_url=f"sqlite:///{folder / 'agentkit.db'}",
            blobs=self.blobs,
            index_path=None,
            embedder=HashEmbedder(8),
            clock=self.clock,
            index=self.index,
        )

    async def fill(self) -> None:
        new = [new_memory(f"memory {place}", cues=(f"cue {place}",)) for place in range(3)]
        await self.store.add(ALICE, new, actor="t")
        for goal in ("one", "two"):
            await self.store.seal(ALICE, new_episode(goal, at=NOW), episodic=None)
        await self.store.settle()

    def sql(self, statement: str, *values: object) -> None:
        """Change the database behind the store's back."""
        with closing(sqlite3.connect(self.folder / "agentkit.db")) as connection, connection:
            assert connection.execute(statement, values).rowcount > 0

    def key(self, number: int) -> str:
        """Id of a key that the index holds."""
        return sorted(self.index.ids())[number]


@pytest.fixture
async def place(tmp_path: Path) -> AsyncGenerator[Place]:
    made = Place(tmp_path)
    await made.fill()
    yield made
    await made.store.close()


def kinds(found: Consistency) -> list[tuple[str, int]]:
    return [(item.kind, len(item.subjects)) for item in found.disagreements]


async def test_a_sound_project_agrees_and_says_what_was_compared(place: Place) -> None:
    told: list[tuple[int, int]] = []
    found = await place.store.prove(progress=lambda done, total: told.append((done, total)))
    assert (found.ok, found.keys, found.indexed, found.blobs) == (True, 6, 6, 2)
    assert told == [(6, 8), (8, 8)]


def id_of(moment: datetime) -> str:
    """An id made at that moment, however late other tests made theirs."""
    return str(UUID(int=int(moment.timestamp() * 1_000) << 80 | 0x7 << 76 | 0x2 << 62))


def lose_from_index(place: Place) -> None:
    place.index.delete([place.key(0), place.key(1)])


def add_stranger(place: Place) -> None:
    (held,) = place.index.get([place.key(0)])
    place.index.upsert([replace(held, key_id="ghost:0"), replace(held, key_id=f"{held.key_id}7")])


def change_vector(place: Place) -> None:
    (held,) = place.index.get([place.key(0)])
    place.index.upsert([replace(held, vector=np.roll(held.vector, 1))])


def give_to_another_user(place: Place) -> None:
    (held,) = place.index.get([place.key(0)])
    place.index.upsert([replace(held, user_id="mallory")])


def lose_vector(place: Place) -> None:
    memory_id, _, ordinal = place.key(0).rpartition(":")
    place.index.delete([place.key(0)])
    place.sql("DELETE FROM embedding WHERE memory_id = ? AND ordinal = ?", memory_id, ordinal)


def cut_vector(place: Place) -> None:
    memory_id, _, ordinal = place.key(0).rpartition(":")
    statement = "UPDATE embedding SET vector = ? WHERE memory_id = ? AND ordinal = ?"
    place.sql(statement, b"\0" * 12, memory_id, ordinal)


def forget_behind_the_back(place: Place) -> None:
    memory_id = place.key(0).rpartition(":")[0]
    place.sql("UPDATE memory SET status = 'forgotten' WHERE id = ?", memory_id)


def queue_again(place: Place) -> None:
    place.sql("INSERT INTO outbox (user_id, memory_id, ordinal) VALUES ('alice', 'gone', 0)")


def break_off_rebuild(place: Place) -> None:
    place.index.clear()
    place.index.set_building(True)


def leave_orphan(place: Place) -> None:
    place.blobs.put(f"trajectories/x/{id_of(NOW)}.jsonl.gz", b"half a sealing")
    place.clock.advance(hours=2)


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (lose_from_index, [("index lacks key", 2)]),
        (add_stranger, [("index has foreign key", 2)]),
        (change_vector, [("index differs", 1)]),
        (give_to_another_user, [("index differs", 1)]),
        (lose_vector, [("key without vector", 1)]),
        (cut_vector, [("vector damaged", 1), ("index has foreign key", 1)]),
        (forget_behind_the_back, [("index has foreign key", 2)]),
        (queue_again, [("outbox waiting", 1)]),
        (break_off_rebuild, [("rebuild unfinished", 1), ("index lacks key", 6)]),
        (leave_orphan, [("blob orphaned", 1)]),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
async def test_what_is_broken_is_found_and_mended(
    place: Place, damage: Callable[[Place], None], expected: list[tuple[str, int]]
) -> None:
    before = {memory.memory_id for memory in await place.store.memories(ALICE)}
    damage(place)
    found = await place.store.prove()
    assert kinds(found) == expected
    assert all(item.mendable and "--mend" in item.fix for item in found.disagreements)
    await place.store.mend(found)
    assert kinds(await place.store.prove()) == []
    assert all(check.ok for check in await place.store.check())
    after = {memory.memory_id for memory in await place.store.memories(ALICE)}
    assert after <= before
    for memory_id in after:
        assert {f"{memory_id}:0", f"{memory_id}:1"} <= place.index.ids()


async def test_a_lost_or_changed_trajectory_stays_wrong_until_it_is_restored(place: Place) -> None:
    uris = sorted(place.blobs.uris())
    kept = {uri: place.blobs.get(uri) for uri in uris}
    files = [place.folder / "blobs" / uri.removeprefix("blob:") for uri in uris]
    files[0].unlink()
    files[1].write_bytes(kept[uris[1]][:-9])
    found = await place.store.prove()
    assert kinds(found) == [("blob missing", 1), ("blob damaged", 1)]
    assert not any(item.mendable for item in found.disagreements)
    await place.store.mend(found)
    assert kinds(await place.store.prove()) == kinds(found)
    for file, uri in zip(files, uris, strict=True):
        file.write_bytes(kept[uri])
    assert (await place.store.prove()).ok


async def test_a_blob_of_a_task_that_is_being_sealed_is_let_be(place: Place) -> None:
    fresh = place.blobs.put(f"trajectories/x/{id_of(NOW)}.jsonl.gz", b"its row comes next")
    assert (await place.store.prove()).ok
    strange = place.blobs.put("notes.txt", b"a person put it there")
    place.clock.advance(hours=2)
    found = await place.store.prove()
    assert kinds(found) == [("blob orphaned", 1), ("blob unknown", 1)]
    await place.store.mend(found)
    assert fresh not in place.blobs.uris()
    assert strange in place.blobs.uris()


async def test_a_proof_never_holds_a_moving_key_against_the_store(place: Place) -> None:
    stop = asyncio.Event()

    async def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            new = new_memory(f"meanwhile {number}")
            (result,) = await place.store.add(ALICE, [new], actor="t")
            await place.store.settle()
            await place.store.forget(
                ALICE, [result.memory.memory_id], actor="t", reason="only for a moment"
            )
            await place.store.settle()

    writing = asyncio.create_task(write())
    moving = {"outbox waiting", "key without vector"}
    for _ in range(40):
        assert {kind for kind, _ in kinds(await place.store.prove())} <= moving
    stop.set()
    await writing
    assert (await place.store.prove()).ok


async def test_a_key_that_sql_lost_leaves_the_index_by_the_outbox(place: Place) -> None:
    key = place.key(0)
    memory_id, _, ordinal = key.rpartition(":")
    place.sql("DELETE FROM embedding WHERE memory_id = ? AND ordinal = ?", memory_id, ordinal)
    place.sql("DELETE FROM memory_key WHERE memory_id = ? AND ordinal = ?", memory_id, ordinal)
    statement = "INSERT INTO outbox (user_id, memory_id, ordinal) VALUES ('alice', ?, ?)"
    place.sql(statement, memory_id, ordinal)
    assert (await place.store.settle()).waiting == 0
    assert key not in place.index.ids()


def test_the_command_finds_mends_and_tells_the_truth(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--project", str(tmp_path)]
    assert run(["remember", "Reports go out on Fridays.", "--user", "a", *where]) == 0
    assert run(["reindex", *where]) == 0
    capsys.readouterr()
    database = tmp_path / ".agentkit" / "agentkit.db"
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE embedding SET vector = zeroblob(4)")
    assert run(["doctor", "--consistency", "--json", *where]) == EXIT_FAILED
    told = json.loads(capsys.readouterr().out)
    assert told["ok"] is False
    assert "vector damaged" in {item["kind"] for item in told["disagreements"]}
    assert run(["doctor", "--consistency", *where]) == EXIT_FAILED
    shown = capsys.readouterr()
    assert "--mend" in shown.out
    assert "error: vector damaged" in shown.err
    assert run(["doctor", "--mend", *where]) == 0
    assert "agree" in capsys.readouterr().out
    assert run(["doctor", "--consistency", *where]) == 0
