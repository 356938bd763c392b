"""After a purge no byte of it is left: every column of every table, and every file, is searched.

What is searched is read off the database itself, and every table must have held the mark before:
a table that is added later cannot escape.
"""

import asyncio
import gzip
import json
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from sqlalchemy import LargeBinary, MetaData, String, Text, select

from agentkit import Kit
from agentkit.cli.edge import run
from agentkit.records import MemoryLink, Scope, Step
from agentkit.store import FolderBlobs, Store
from agentkit.store.engine import database_address, open_engine
from agentkit.testing import FixedClock, HashEmbedder
from tests.lived_in import NOW, kit_at, live_in, store_at
from tests.project_process import run_script

MARK = "zq7falcon"
OWNER, OTHER = Scope(f"owner-{MARK}"), Scope("other")
# What belongs to nobody, and never holds a word of a user.
NOBODYS = {"alembic_version", "pinned_embedder", "policy_version", "purge_mark", "store_owner"}


GO_ON = """
import asyncio, pathlib, sys
from agentkit import Kit
from agentkit.testing import HashEmbedder

async def main() -> None:
    root = pathlib.Path(sys.argv[1])
    async with Kit.open(root, embedder=HashEmbedder(), worker="external") as kit:
        await kit.export_to(root / "after.jsonl.gz", scope=None)
        await kit.settle()
        print(f"proven: {(await kit.prove()).ok}")

asyncio.run(main())
"""


def forms(mark: str) -> set[bytes]:
    """The bytes of a text as texts, JSON and UTF-16 files hold it."""
    return {mark.encode(), json.dumps(mark)[1:-1].encode(), mark.encode("utf-16-le")}


def unpacked(data: bytes) -> Iterator[bytes]:
    """The bytes themselves, and what they hold where they are packed."""
    yield data
    with suppress(zlib.error):
        yield zlib.decompress(data)
    with suppress(OSError, EOFError, zlib.error):
        yield gzip.decompress(data)


def holds(data: bytes, mark: str) -> bool:
    wanted = forms(mark)
    return any(form.lower() in part.lower() for part in unpacked(data) for form in wanted)


def columns_with(url: str, mark: str) -> set[str]:
    """Every `table.column` of text or bytes in which a mark stands, whoever made the table."""
    engine = open_engine(database_address(url))
    held = MetaData()
    found: set[str] = set()
    try:
        with engine.connect() as connection:
            held.reflect(connection)
            for table in held.tables.values():
                wanted = [
                    column
                    for column in table.columns
                    if isinstance(column.type, String | Text | LargeBinary)
                ]
                for row in connection.execute(select(*wanted)) if wanted else ():
                    for column, value in zip(wanted, row, strict=True):
                        data = value.encode() if isinstance(value, str) else value
                        if data is not None and holds(data, mark):
                            found.add(f"{table.name}.{column.name}")
    finally:
        engine.dispose()
    return found


def tables_of(url: str) -> set[str]:
    engine = open_engine(database_address(url))
    held = MetaData()
    try:
        with engine.connect() as connection:
            held.reflect(connection)
    finally:
        engine.dispose()
    return set(held.tables)


def files_with(folder: Path, mark: str) -> list[str]:
    """Every file, WAL and shared memory of SQLite included, in which a mark stands."""
    return [
        str(path.relative_to(folder))
        for path in sorted(folder.rglob("*"))
        if path.is_file() and holds(path.read_bytes(), mark)
    ]


def assert_every_table_holds(url: str, mark: str) -> None:
    found = {name.split(".")[0] for name in columns_with(url, mark)}
    missing = tables_of(url) - NOBODYS - found
    assert not missing, f"{missing} held nothing, so this test proves nothing of them"


async def shell(*words: str) -> None:
    """Run a command as a shell does, on a thread that has no event loop yet."""
    assert await asyncio.to_thread(run, list(words)) == 0


async def test_a_user_purged_from_the_shell_is_in_no_column_and_in_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "p"
    url = f"sqlite:///{root / '.agentkit' / 'agentkit.db'}"
    await live_in(root, OWNER.user_id, mark=MARK)
    await live_in(root, OTHER.user_id, mark="kept", sessions=1)
    async with with_chroma(root) as kit:
        await kit.reindex()
        (known,) = {memory.memory_id for memory in await kit.memories(scope=OWNER, limit=1)}
        await kit.remember(f"The door code is {MARK}", scope=OWNER)
        await kit.export_to(root / ".agentkit" / "export.jsonl.gz", scope=OTHER)
        assert_every_table_holds(url, MARK)
    (root / "agentkit.yaml").write_text("embedder: none\n", encoding="utf-8")
    # Chroma holds ids and names, trajectories hold texts.
    before = {Path(name).parts[1] for name in files_with(root, MARK)}
    assert before >= {"agentkit.db", "chroma", "trajectories"}
    await shell("purge", "--user", OWNER.user_id, "--yes", "--project", str(root))
    capsys.readouterr()
    for mark in (MARK, known):
        assert columns_with(url, mark) == set()
        assert files_with(root, mark) == []
    assert columns_with(url, "kept")
    # Chroma writes whatever its process's memory held before, and this one knew the words.
    gone_on = await asyncio.to_thread(run_script, GO_ON, str(root))
    assert gone_on.stdout == "proven: True\n", gone_on.stderr
    assert files_with(root, MARK) == []


def with_chroma(root: Path) -> Kit:
    return Kit.open(root, clock=FixedClock(NOW), embedder=HashEmbedder(), worker="external")


async def test_a_user_purged_on_postgresql_is_in_no_column(
    tmp_path: Path, postgres_url: str
) -> None:
    root, file = tmp_path / "p", tmp_path / "all.jsonl"
    await live_in(root, OWNER.user_id, mark=MARK)
    await live_in(root, OTHER.user_id, mark="kept", sessions=1)
    source = store_at(root)
    await source.export_to(file, scope=None)
    await source.close()
    store = on_postgres(postgres_url, tmp_path)
    await store.restore_from(file)
    assert_every_table_holds(postgres_url, MARK)
    await store.purge_user(OWNER)
    assert columns_with(postgres_url, MARK) == set()
    assert files_with(tmp_path / "blobs", MARK) == []
    assert len({name.split(".")[0] for name in columns_with(postgres_url, "kept")}) >= 8
    await store.settle()
    assert (await store.prove()).ok
    await store.close()


def on_postgres(url: str, folder: Path) -> Store:
    return Store.open(
        database_url=url,
        blobs=FolderBlobs(folder / "blobs"),
        index_path=None,
        embedder=HashEmbedder(),
        clock=FixedClock(NOW),
    )


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
async def test_a_memory_that_is_purged_is_in_no_column_of_what_stays(
    tmp_path: Path, request: pytest.FixtureRequest, kind: str
) -> None:
    secret = f"The door code is {MARK} until Friday"
    async with kit_on(tmp_path, request, kind) as kit:
        store: Store = await kit._parts.store(OTHER)  # pyright: ignore[reportPrivateUsage] - links have no door
        url = kit.settings.database_url or ""
        report = await kit.remember(secret, scope=OTHER)
        kept = (await kit.remember("Invoices are on floor three", scope=OTHER)).memory
        memory = report.memory
        assert memory is not None
        assert kept is not None
        await kit.edit(memory.memory_id, scope=OTHER, cues=[f"code {MARK}"], reason="asked")
        await kit.recall(f"is it so that {secret}?", scope=OTHER, session_id="daily")
        await kit.background.join()
        link = MemoryLink(
            from_id=memory.memory_id,
            to_id=kept.memory_id,
            relation="contradicts",
            rationale=f"the one says: {secret}",
        )
        await store.link(OTHER, link)
        await store.change_status(
            OTHER, kept.memory_id, "disputed", actor="judge", reason=link.rationale
        )
        step = Step(step_id="s0001", kind="user", text=f"so, {secret.upper()}?", at=NOW)
        await store.append_steps(OTHER, "open", [step], instructions=f"Know: {secret}", model=None)
        before = {name.split(".")[0] for name in columns_with(url, MARK)}
        assert before >= {"memory", "memory_key", "memory_event", "memory_link", "retrieval"}
        assert before >= {"task_step", "session"}
        await kit.purge_memory(memory.memory_id, scope=OTHER)
        for mark in (MARK, memory.memory_id):
            assert columns_with(url, mark) == set()
        if kind == "sqlite":
            assert files_with(tmp_path, MARK) == []
        held = {one.memory_id for one in await kit.memories(scope=OTHER)}
        assert kept.memory_id in held


def kit_on(folder: Path, request: pytest.FixtureRequest, kind: str) -> Kit:
    url = f"sqlite:///{folder / 'agentkit.db'}"
    if kind == "postgresql":
        url = request.getfixturevalue("postgres_url")
    return Kit.open(
        folder,
        clock=FixedClock(NOW),
        embedder=HashEmbedder(),
        index="none",
        worker="external",
        database_url=url,
    )


async def test_the_search_finds_what_is_there(tmp_path: Path) -> None:
    """The other tests say little if the search overlooks packed columns and files."""
    async with kit_at(tmp_path) as kit:
        await kit.recall(f"where is {MARK}?", scope=OTHER)
        await kit.background.join()
    url = f"sqlite:///{tmp_path / '.agentkit' / 'agentkit.db'}"
    assert columns_with(url, MARK) == {"retrieval.packed"}
    (tmp_path / "x.gz").write_bytes(gzip.compress(MARK.upper().encode()))
    assert "x.gz" in files_with(tmp_path, MARK)
