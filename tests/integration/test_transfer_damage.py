"""A file that is cut, changed, too new or no export is refused, and nothing is written."""

import asyncio
import gzip
import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentkit.errors import ArchiveError, SchemaError, StoreError
from agentkit.records import MemoryLink, Scope
from agentkit.store import Store
from agentkit.store.transfer.archive import ArchiveReader
from agentkit.store.transfer.codec import Document
from agentkit.store.transfer.formats import FormatPlan
from agentkit.store.transfer.selecting import Selection, Sieve
from agentkit.testing import FixedClock, HashEmbedder, memory_store, new_episode, new_memory
from tests.lived_in import NOW, store_at

ALICE = Scope("alice")


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("scene") / "export.jsonl"
    asyncio.run(write_export(file))
    return file


@pytest.fixture
def exported(scene: Path, tmp_path: Path) -> Path:
    """An export of two users with an episode, memories, vectors and a link."""
    return Path(shutil.copy(scene, tmp_path))


async def write_export(file: Path) -> None:
    store = memory_store(clock=FixedClock(NOW), embedder=HashEmbedder())
    for scope in (ALICE, Scope("bob")):
        await store.seal(scope, new_episode("Clean it", at=NOW), episodic=new_memory("Cleaned"))
        written = await store.add(scope, [new_memory("a b c"), new_memory("d e f")], actor="t")
        one, two = (item.memory.memory_id for item in written)
        await store.link(scope, MemoryLink(from_id=one, to_id=two, relation="related"))
    await store.settle()
    await store.export_to(file, scope=None)
    await store.close()


@pytest.fixture
async def target(tmp_path: Path) -> Store:
    return store_at(tmp_path / "target")


async def check_refused(target: Store, file: Path, *, said: str) -> None:
    """The file is refused in these words, and nothing of it is here."""
    with pytest.raises((ArchiveError, SchemaError), match=said) as caught:
        await target.restore_from(file)
    assert "\n" not in str(caught.value)
    assert await target.count(ALICE) == {}
    assert await target.episodes(ALICE) == ()
    assert await target.jobs() == ()
    await target.close()


def sealed(lines: list[dict[str, Any]], file: Path) -> Path:
    """Write lines with an end that goes with them, as somebody who means it would."""
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines[:-1])
    counts: dict[str, int] = {}
    for line in lines[1:-1]:
        counts[line["record"]] = counts.get(line["record"], 0) + 1
    end = {"record": "end", "counts": counts, "sha256": hashlib.sha256(data).hexdigest()}
    file.write_bytes(data + json.dumps(end).encode() + b"\n")
    return file


def parsed(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def first(lines: list[dict[str, Any]], record: str) -> dict[str, Any]:
    return next(line for line in lines if line["record"] == record)


@pytest.mark.parametrize("kept", ["half a line", "whole lines", "all but the last byte"])
async def test_a_file_that_was_cut_is_noticed(exported: Path, target: Store, kept: str) -> None:
    data = exported.read_bytes()
    lines = data.splitlines(keepends=True)
    cut = {
        "half a line": data[: len(data) // 2],
        "whole lines": b"".join(lines[:-1]),
        "all but the last byte": data[:-1],
    }[kept]
    exported.write_bytes(cut)
    await check_refused(target, exported, said=r"export.jsonl:?\d*: .*(cut off|damaged)")


async def test_a_compressed_file_that_was_cut_is_noticed(exported: Path, target: Store) -> None:
    packed = gzip.compress(exported.read_bytes())
    exported.write_bytes(packed[: len(packed) * 2 // 3])
    await check_refused(target, exported, said=r"export.jsonl:\d+: is cut off or damaged")


async def test_damaged_lines_are_named_with_their_numbers(exported: Path, target: Store) -> None:
    lines = exported.read_bytes().splitlines(keepends=True)
    lines[2] = b"\xff\xfe not a line\n"
    lines[4] = b'{"record": "memory", "id": \n'
    exported.write_bytes(b"".join(lines))
    await check_refused(target, exported, said=r"damaged, nothing was written: line 3 .*; line 5 ")


async def test_one_changed_letter_is_noticed(exported: Path, target: Store) -> None:
    exported.write_bytes(exported.read_bytes().replace(b"a b c", b"a b x", 1))
    await check_refused(target, exported, said="is not what was exported")


def spoil(which: str, /, **fields: object) -> Callable[[list[dict[str, Any]]], None]:
    return lambda lines: first(lines, which).update(fields)


def remove(record: str, field: str) -> Callable[[list[dict[str, Any]]], None]:
    return lambda lines: first(lines, record).pop(field)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (spoil("memory", mood="good"), r"line \d+: field 'mood' is not known"),
        (remove("memory", "content"), r"line \d+: field 'content' is missing"),
        (spoil("memory", content=7), r"line \d+: field 'content' is no text"),
        (spoil("memory", content="a\x00b"), r"holds a character that no database keeps"),
        (spoil("memory", content="\ud800"), r"holds a character that no database keeps"),
        (spoil("memory", revision=2**70), r"no whole number of 64 bits"),
        (spoil("memory", revision=True), r"no whole number of 64 bits"),
        (spoil("memory", confidence="high"), r"field 'confidence' is no number"),
        (spoil("memory", permanent=1), r"neither true nor false"),
        (spoil("memory", created_at="2026-11-30T09:30:00"), r"a time without a zone"),
        (spoil("memory", created_at="yesterday"), r"is no time"),
        (spoil("memory", vectors=[{"ordinal": 0, "vector": "?"}]), r"line \d+: field"),
        (spoil("memory", keys="none"), r"keys is no list"),
        (spoil("memory", tags=["x"]), r"tags holds something that is no object"),
        (spoil("memory", user_id="*"), r"line \d+: user_id '\*'"),
        (spoil("memory", record="mood"), r"no record of kind 'mood' is known"),
        (spoil("episode", trajectory="{}\n"), r"trajectory is not what its hash says"),
    ],
)
def test_a_line_that_no_export_holds_is_refused_even_with_a_right_hash(
    exported: Path, change: Callable[[list[dict[str, Any]]], None], said: str
) -> None:
    lines = parsed(exported)
    change(lines)
    reader = ArchiveReader(sealed(lines, exported), plan=FormatPlan())
    sieve = Sieve(Selection())
    assert list(sieve.pages(reader.entries()))
    with pytest.raises(ArchiveError, match=said):
        sieve.refuse_damaged(exported)


async def test_a_record_that_is_there_twice_is_refused(exported: Path, target: Store) -> None:
    lines = parsed(exported)
    place = lines.index(first(lines, "memory"))
    lines.insert(place, lines[place])
    await check_refused(target, sealed(lines, exported), said=r"line \d+ repeats line \d+")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "its first line is no JSON"),
        (b"these are notes\n", "its first line is no JSON"),
        (b'{"messages": []}\n', "its first line does not say so"),
        (b"\x1f\x8bno gzip", "is cut off or damaged"),
    ],
)
async def test_what_is_no_export_is_refused(
    exported: Path, target: Store, data: bytes, said: str
) -> None:
    exported.write_bytes(data)
    await check_refused(target, exported, said=said)


async def test_a_missing_file_is_refused(target: Store, tmp_path: Path) -> None:
    await check_refused(target, tmp_path / "nowhere.jsonl", said="cannot be read: No such file")


async def test_a_newer_format_is_refused_in_one_line_that_names_both(
    exported: Path, target: Store
) -> None:
    lines = parsed(exported)
    lines[0] |= {"format": 9, "agentkit": "7.0.0", "more": "fields"}
    said = r"has format 9 \(written by agentkit 7\.0\.0\), this release reads up to format 1"
    await check_refused(target, sealed(lines, exported), said=said)


async def test_a_newer_schema_is_refused_in_one_line_that_names_both(
    exported: Path, target: Store
) -> None:
    lines = parsed(exported)
    lines[0]["schema"] = "9999"
    await check_refused(
        target, sealed(lines, exported), said=r"has schema 9999 .* reads up to schema "
    )


async def test_an_older_format_goes_through_its_upgrades(exported: Path, target: Store) -> None:
    """A made-up format 0 called a memory a note, and had a record that is no more."""
    lines = parsed(exported)
    lines[0]["format"] = 0
    lines[0]["embedding"] = lines[0].pop("embedder")
    for line in lines:
        if line["record"] == "memory":
            line["record"] = "note"
            line["text"] = line.pop("content")
    lines.insert(1, {"record": "weather", "sky": "blue"})
    sealed(lines, exported)

    def from_0(line: Document) -> Document | None:
        if line["record"] == "weather":
            return None
        if line["record"] == "note":
            return {**{k: v for k, v in line.items() if k != "text"}, "record": "memory"} | {
                "content": line["text"]
            }
        if "embedding" in line:
            return {**{k: v for k, v in line.items() if k != "embedding"}} | {
                "embedder": line["embedding"]
            }
        return line

    with pytest.raises(SchemaError, match="export format 0, this release reads format 1 and"):
        await target.restore_from(exported)
    report = await target.restore_from(exported, formats=FormatPlan(upgrades={0: from_0}))
    assert report.added["memory"] == 6
    assert {memory.content for memory in await target.memories(ALICE)} == {
        "Cleaned",
        "a b c",
        "d e f",
    }
    (episode,) = await target.episodes(ALICE)
    assert (await target.trajectory(ALICE, episode.episode_id)).steps
    await target.close()


async def test_a_column_that_an_older_release_did_not_have_gets_its_default(
    exported: Path, target: Store
) -> None:
    lines = parsed(exported)
    for line in lines:
        if line["record"] == "memory":
            del line["position"]
            del line["edited_at"]
    await target.restore_from(sealed(lines, exported))
    assert (await target.memories(ALICE))[0].edited_at is None
    (episode,) = await target.episodes(ALICE)
    assert (await target.trajectory(ALICE, episode.episode_id)).steps
    await target.close()


async def test_users_without_a_revision_in_the_file_are_seen_all_the_same(
    exported: Path, target: Store
) -> None:
    lines = [line for line in parsed(exported) if line["record"] != "scope"]
    sealed(lines, exported)
    await target.restore_from(exported)
    assert len((await target.changes(ALICE, since=0)).entries) == 3
    await target.close()


async def test_an_export_that_fails_leaves_the_older_file_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "backup.jsonl"
    file.write_text("the older one", encoding="utf-8")
    store = memory_store(clock=FixedClock(NOW), embedder=None)
    await store.add(ALICE, [new_memory(f"memory {n}") for n in range(120)], actor="t")

    def stop(done: int, total: int) -> None:
        assert (done, total) == (50, 121)
        raise StoreError("the disk is full")

    with pytest.raises(StoreError, match="the disk is full"):
        await store.export_to(file, scope=ALICE, progress=stop)
    assert file.read_text(encoding="utf-8") == "the older one"
    assert list(tmp_path.iterdir()) == [file]
    with pytest.raises(StoreError, match="cannot write"):
        await store.export_to(tmp_path / "no folder" / "x.jsonl", scope=ALICE)
    report = await store.export_to(file, scope=ALICE)
    assert report.size_bytes == file.stat().st_size
    assert file.stat().st_mode & 0o077 == 0
    await store.close()
