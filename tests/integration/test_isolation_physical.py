"""A store for each user: nothing is shared, nothing collides, nothing is hidden by a switch."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agentkit import Kit
from agentkit.errors import ConfigError, InputError, NotFoundError, StoreError
from agentkit.evaluation.importers import read_recordings
from agentkit.records import Scope
from agentkit.store.blobs import user_folder
from agentkit.store.layout import Layout
from agentkit.store.stores import StorePerUser
from agentkit.testing import FixedClock, HashEmbedder, new_memory
from tests.lived_in import NOW, SESSIONS

ALICE, BOB = Scope("alice"), Scope("bob")
NAMES = (
    "alice",
    "Alice",
    "álice",
    "a\u0301lice",
    "acme",
    "acme-corp",
    "acme/eu",
    "a%",
    "a_",
    "../etc",
    "/",
    "用户",
    "用户甲",
    "x" * 200,
)


def opened(
    root: Path,
    *,
    isolation: str = "physical",
    database_url: str | None = None,
) -> Kit:
    return Kit.open(
        root,
        embedder=HashEmbedder(),
        isolation=isolation,
        index="none",
        database_url=database_url,
        worker="external",
    )


def layout_of(root: Path) -> Layout:
    return Layout(
        state=root / ".agentkit", database_url=None, blobs_url=None, index="none", index_url=None
    )


def folder_of(root: Path, user_id: str) -> Path:
    return root / ".agentkit" / "users" / user_folder(user_id)


async def contents(kit: Kit, scope: Scope) -> set[str]:
    return {memory.content for memory in await kit.memories(scope=scope)}


async def test_names_that_resemble_each_other_have_stores_apart(tmp_path: Path) -> None:
    async with opened(tmp_path) as kit:
        for number, name in enumerate(NAMES):
            await kit.remember(f"marker{number:03d} of this user", scope=Scope(name))
        for number, name in enumerate(NAMES):
            assert await contents(kit, Scope(name)) == {f"marker{number:03d} of this user"}
            found = await kit.recall(kit.query("marker of this user"), scope=Scope(name))
            assert [hit.memory.scope.user_id for hit in found.hits] == [name]
    folders = [path.name for path in (tmp_path / ".agentkit" / "users").iterdir()]
    assert len(folders) == len({name.casefold() for name in folders}) == len(NAMES)
    assert not list(tmp_path.parent.glob("etc*"))


async def test_no_byte_of_a_user_lies_in_the_store_of_another(tmp_path: Path) -> None:
    async with opened(tmp_path) as kit:
        await kit.remember("The code word is xylophone-77", scope=ALICE)
        await kit.remember("Another thing entirely", scope=BOB)
        await kit.import_recordings(read_recordings(SESSIONS).recordings[:1], scope=BOB)
        await kit.reflect()
        await kit.settle()
    for path in folder_of(tmp_path, "bob").rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert b"xylophone-77" not in data, path
            assert b"alice" not in data, path


async def test_a_foreign_id_looks_like_a_missing_one(tmp_path: Path) -> None:
    async with opened(tmp_path) as kit:
        written = await kit.remember("The door is green", scope=ALICE)
        assert written.memory is not None
        with pytest.raises(NotFoundError) as foreign:
            await kit.memory(written.memory.memory_id, scope=BOB)
        missing_id = "0" * len(written.memory.memory_id)
        with pytest.raises(NotFoundError) as missing:
            await kit.memory(missing_id, scope=BOB)
    shown = str(foreign.value).replace(written.memory.memory_id, missing_id)
    assert shown == str(missing.value)


async def test_a_store_that_was_moved_to_another_user_is_refused(tmp_path: Path) -> None:
    async with opened(tmp_path) as kit:
        await kit.remember("The door is green", scope=ALICE)
    shutil.move(folder_of(tmp_path, "alice"), folder_of(tmp_path, "bob"))
    async with opened(tmp_path) as kit:
        with pytest.raises(StoreError, match="was moved: put it back"):
            await kit.memories(scope=BOB)


@pytest.mark.parametrize(("first", "second"), [("logical", "physical"), ("physical", "logical")])
async def test_a_switch_of_the_mode_never_hides_what_is_there(
    tmp_path: Path, first: str, second: str
) -> None:
    async with opened(tmp_path, isolation=first) as kit:
        await kit.remember("The door is green", scope=ALICE)
    with pytest.raises(ConfigError, match=r"isolation: .*export"):
        opened(tmp_path, isolation=second)


async def test_a_shared_project_moves_into_stores_of_their_own_and_back(tmp_path: Path) -> None:
    everybody, file = tmp_path / "shared", tmp_path / "all.jsonl"
    async with opened(everybody, isolation="logical") as kit:
        await kit.remember("The door is green", scope=ALICE)
        await kit.remember("The gate is blue", scope=BOB)
        await kit.import_recordings(read_recordings(SESSIONS).recordings[:1], scope=BOB)
        await kit.reflect()
        before = [await contents(kit, scope) for scope in (ALICE, BOB)]
        episodes = await kit.episodes(scope=BOB)
        await kit.export_to(file, scope=None)
    apart, files = tmp_path / "apart", (tmp_path / "alice.jsonl", tmp_path / "bob.jsonl")
    async with opened(apart) as kit:
        report = await kit.restore_from(file)
        assert report.added["memory"] == sum(map(len, before))
        assert [await contents(kit, scope) for scope in (ALICE, BOB)] == before
        assert (await kit.trajectory(episodes[0].episode_id, scope=BOB)).steps
        await kit.settle()
        assert (await kit.prove()).ok
        with pytest.raises(InputError, match="2 users, each with a store of his own"):
            await kit.export_to(tmp_path / "x", scope=None)
        for scope, target in zip((ALICE, BOB), files, strict=True):
            await kit.export_to(target, scope=scope)
    async with opened(tmp_path / "again", isolation="logical") as kit:
        for target in files:
            await kit.restore_from(target)
        assert [await contents(kit, scope) for scope in (ALICE, BOB)] == before


async def test_a_part_of_a_file_becomes_another_users_in_his_own_store(tmp_path: Path) -> None:
    file = tmp_path / "all.jsonl"
    async with opened(tmp_path / "from", isolation="logical") as kit:
        await kit.remember("The door is green", scope=ALICE)
        await kit.remember("The gate is blue", scope=BOB)
        await kit.export_to(file, scope=None)
    async with opened(tmp_path / "to") as kit:
        await kit.restore_from(file, scope=ALICE, as_scope=Scope("carol"))
        assert await contents(kit, Scope("carol")) == {"The door is green"}
        assert await contents(kit, ALICE) == set()


async def test_jobs_of_all_users_are_listed_and_take_turns(tmp_path: Path) -> None:
    recordings = read_recordings(SESSIONS).recordings
    async with opened(tmp_path) as kit:
        await kit.import_recordings(recordings, scope=ALICE)
        await kit.import_recordings(recordings[:1], scope=BOB)
        jobs = await kit.jobs()
        assert {job.scope for job in jobs} == {ALICE, BOB}
        assert [job.scope for job in await kit.jobs(scope=BOB)] == [BOB]
        order = [job.job_id for job in jobs]
        assert order == sorted(order)
        reports = await kit.reflect()
        of_bob = {episode.episode_id for episode in await kit.episodes(scope=BOB)}
        done = [report.episode_id in of_bob for report in reports]
        assert any(done[:2]), "the user with one job waits for all jobs of the other"
        assert await kit.jobs() == ()


async def test_a_purged_user_leaves_no_byte(tmp_path: Path) -> None:
    async with opened(tmp_path) as kit:
        await kit.remember("The code word is xylophone-77", scope=ALICE)
        await kit.recall(kit.query("xylophone-77"), scope=ALICE)
        await kit.purge_user(scope=ALICE)
        assert await contents(kit, ALICE) == set()
    for path in (tmp_path / ".agentkit").rglob("*"):
        assert path.is_dir() or b"xylophone-77" not in path.read_bytes(), path


async def test_stores_that_rest_wake_when_they_are_asked(tmp_path: Path) -> None:
    stores = StorePerUser(
        layout_of(tmp_path), embedder=HashEmbedder(), clock=FixedClock(NOW), most_awake=2
    )
    scopes = [Scope(f"user {number}") for number in range(6)]
    for _ in range(2):
        for scope in scopes:
            store = await stores.of(scope)
            await store.add(scope, [new_memory(f"for {scope.user_id}")], actor="t")
    for scope in scopes:
        found = await (await stores.of(scope)).memories(scope)
        assert [memory.content for memory in found] == [f"for {scope.user_id}"]
    assert len(await stores.all()) == 6
    await stores.close()


async def test_a_database_of_one_file_cannot_be_split(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"database_url: .*a SQLite file for each user"):
        opened(tmp_path, database_url=f"sqlite:///{tmp_path / 'one.db'}")


async def test_in_postgresql_each_user_has_a_schema(tmp_path: Path, bare_postgres_url: str) -> None:
    async with opened(tmp_path, database_url=bare_postgres_url) as kit:
        for number, name in enumerate(NAMES[:4]):
            await kit.remember(f"marker{number:03d} of this user", scope=Scope(name))
        for number, name in enumerate(NAMES[:4]):
            assert await contents(kit, Scope(name)) == {f"marker{number:03d} of this user"}
        await kit.import_recordings(read_recordings(SESSIONS).recordings[:1], scope=BOB)
        assert len(await kit.reflect()) == 1
        assert all(check.ok for check in await kit.doctor())
        assert (await kit.prove()).ok
    with pytest.raises(ConfigError, match="isolation"):
        opened(tmp_path, isolation="logical", database_url=bare_postgres_url)
    async with opened(tmp_path, database_url=bare_postgres_url) as again:
        assert await contents(again, ALICE) == {"marker000 of this user"}


async def test_in_postgresql_a_shared_database_is_not_taken_for_an_empty_one(
    tmp_path: Path, bare_postgres_url: str
) -> None:
    async with opened(tmp_path, isolation="logical", database_url=bare_postgres_url) as kit:
        await kit.remember("The door is green", scope=ALICE)
    with pytest.raises(ConfigError, match="keeps all users in one store"):
        opened(tmp_path, database_url=bare_postgres_url)


async def test_asking_by_an_unused_name_makes_no_store(tmp_path: Path) -> None:
    async with opened(tmp_path) as kit:
        await kit.remember("The door is green", scope=ALICE)
        for _ in range(3):
            found = await kit.recall("which door is green?", scope=Scope("ghost"))
            assert (found.hits, found.timed_out) == ((), False)
            assert (await kit.brief("which door?", scope=Scope("ghost"))).text == ""
        await kit.background.join()
    assert not folder_of(tmp_path, "ghost").exists()
    assert folder_of(tmp_path, "alice").exists()


async def test_the_policy_in_force_is_kept_in_each_store_that_logs_a_recall(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as kit:
        for scope in (ALICE, BOB):
            await kit.remember("The door is green", scope=scope)
            await kit.recall("which door is green?", scope=scope)
        await kit.background.join()
        for scope in (ALICE, BOB):
            (logged,) = await kit.retrievals(scope=scope)
            store = await kit._parts.store(scope)  # pyright: ignore[reportPrivateUsage] - has no door
            assert await store.policy(logged.policy_fingerprint) is not None


async def test_the_embedder_is_changed_in_every_store(tmp_path: Path) -> None:
    new = HashEmbedder(32, name="new")
    async with opened(tmp_path) as kit:
        for scope in (ALICE, BOB):
            for number in range(12):
                await kit.remember(f"Shelf {number} holds box {number * 7}", scope=scope)
            await kit.recall("which shelf holds box 21?", scope=scope)
        await kit.background.join()
        filled = await kit.fill_embedder(new)
        assert (filled.embedder, filled.embedded, filled.keys) == ("new@32", 24, 24)
        compared = await kit.compare_embedders(new)
        assert compared is not None
        assert (compared.logged, compared.overall.queries, compared.overall.telling) == (2, 2, 2)
        switched = await kit.switch_embedder(new)
        assert (switched.old, switched.new, switched.embedded) == ("hash@64", "new@32", 0)
    kit = Kit.open(tmp_path, embedder=new, isolation="physical", index="none", worker="external")
    async with kit:
        for scope in (ALICE, BOB):
            found = await kit.recall("which shelf holds box 21?", scope=scope)
            assert (found.degraded, found.hits[0].memory.content) == ("", "Shelf 3 holds box 21")
        (dropped,) = await kit.drop_embedder("hash")
        assert (dropped.fingerprint, dropped.vectors) == ("hash@64", 24)
        assert [(one.fingerprint, one.vectors) for one in await kit.kept_vectors()] == [
            ("new@32", 24)
        ]
        assert (await kit.switch_embedder(new)).old == "new@32"


async def test_what_disagrees_in_one_store_is_found_and_mended(tmp_path: Path) -> None:
    async with opened(tmp_path) as kit:
        for scope in (ALICE, BOB):
            await kit.remember("The door is green", scope=scope)
        await kit.settle()
        assert (await kit.prove()).ok
        with closing(sqlite3.connect(folder_of(tmp_path, "bob") / "agentkit.db")) as connection:
            connection.execute("UPDATE embedding SET vector = x'00'")
            connection.commit()
        found = await kit.prove()
        assert (found.keys, [one.kind for one in found.disagreements]) == (2, ["vector damaged"])
        await kit.mend(found)
        assert (await kit.prove()).ok
        assert all(check.ok for check in await kit.doctor())
