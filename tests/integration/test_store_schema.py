"""Opening databases: new, older, newer, damaged."""

import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from alembic import command
from alembic.script import ScriptDirectory

from agentkit.errors import SchemaError, StoreError
from agentkit.records import Scope
from agentkit.store import FolderBlobs, Store
from agentkit.store.engine import open_engine, sqlite_url
from agentkit.store.migrate import SchemaPlan, alembic_config, head_revision, migrate
from agentkit.store.migrations import LOCATION, REVISIONS
from agentkit.testing import FixedClock, new_memory

ALICE = Scope("alice")
NOW = datetime(2026, 11, 30, 9, 30, tzinfo=UTC)

HEAD, NEXT = REVISIONS[-1], f"{len(REVISIONS) + 1:04}"
NEXT_REVISION = f"""
import sqlalchemy as sa
from alembic import op

revision, down_revision, branch_labels, depends_on = "{NEXT}", "{HEAD}", None, None


def upgrade() -> None:
    columns = {{column["name"] for column in sa.inspect(op.get_bind()).get_columns("memory")}}
    if "mood" not in columns:
        op.add_column("memory", sa.Column("mood", sa.String(32)))
    op.create_index("ix_memory_mood", "memory", ["mood"], if_not_exists=True)
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "agentkit.db"


def opened(file: Path) -> Store:
    return Store.open(
        database_url=f"sqlite:///{file}",
        blobs=FolderBlobs(file.parent / "blobs"),
        index_path=None,
        embedder=None,
        clock=FixedClock(NOW),
    )


async def filled(file: Path) -> None:
    store = opened(file)
    await store.add(ALICE, [new_memory(f"memory {number}") for number in range(5)], actor="t")
    await store.close()


@pytest.fixture
def next_plan(tmp_path: Path) -> SchemaPlan:
    """The plan of a release that adds a column and an index."""
    location = tmp_path / "migrations"
    shutil.copytree(LOCATION, location)
    (location / "versions" / f"{NEXT}_mood.py").write_text(NEXT_REVISION, encoding="utf-8")
    return SchemaPlan(location, (*REVISIONS, NEXT))


def upgraded(file: Path, plan: SchemaPlan) -> None:
    engine = open_engine(sqlite_url(f"sqlite:///{file}"))
    migrate(engine, file=file, now=NOW, plan=plan)
    engine.dispose()


def count(file: Path) -> int:
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute("SELECT count(*) FROM memory").fetchone()[0]


def backups(file: Path) -> list[Path]:
    return sorted(file.parent.glob(f"{file.name}.*.backup"))


def test_the_tables_and_the_migrations_say_the_same(file: Path) -> None:
    engine = open_engine(sqlite_url(f"sqlite:///{file}"))
    migrate(engine, file=file, now=NOW, plan=SchemaPlan())
    with engine.begin() as connection:
        config = alembic_config(connection, plan=SchemaPlan())
        command.check(config)
        assert ScriptDirectory.from_config(config).get_heads() == [REVISIONS[-1]]
        assert head_revision(connection) == REVISIONS[-1]
    engine.dispose()


async def test_opening_again_changes_nothing(file: Path) -> None:
    await filled(file)
    await filled(file)
    assert count(file) == 5
    assert backups(file) == []
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


async def test_an_older_file_is_upgraded_once_with_a_backup_beside_it(
    file: Path, next_plan: SchemaPlan
) -> None:
    await filled(file)
    upgraded(file, next_plan)
    upgraded(file, next_plan)
    assert count(file) == 5
    (backup,) = backups(file)
    assert HEAD in backup.name
    assert count(backup) == 5
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("SELECT mood FROM memory").fetchone() == (None,)


async def test_a_column_that_is_there_under_an_old_stamp_is_no_trouble(
    file: Path, next_plan: SchemaPlan
) -> None:
    await filled(file)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("ALTER TABLE memory ADD COLUMN mood VARCHAR(32)")
    upgraded(file, next_plan)
    assert count(file) == 5


async def test_a_lost_stamp_is_repaired(file: Path) -> None:
    await filled(file)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("DROP TABLE alembic_version")
        connection.execute("DROP INDEX ix_memory_user_revision")
    store = opened(file)
    assert len(await store.memories(ALICE)) == 5
    assert {check.name: check for check in await store.check()}["schema"].ok
    await store.close()
    assert len(backups(file)) == 1


async def test_a_newer_file_is_refused_and_left_as_it_is(file: Path, next_plan: SchemaPlan) -> None:
    await filled(file)
    upgraded(file, next_plan)
    before = file.read_bytes()
    with pytest.raises(SchemaError, match=f"schema {NEXT}, this release knows up to {HEAD}"):
        opened(file)
    assert file.read_bytes() == before
    assert len(backups(file)) == 1


async def test_an_upgrade_that_fails_leaves_the_old_schema(
    file: Path, next_plan: SchemaPlan
) -> None:
    await filled(file)
    broken = NEXT_REVISION + '    op.add_column("nowhere", sa.Column("x", sa.Integer))\n'
    (next_plan.location / "versions" / f"{NEXT}_mood.py").write_text(broken, encoding="utf-8")
    with pytest.raises(StoreError, match="a copy from before is"):
        upgraded(file, next_plan)
    store = opened(file)
    assert len(await store.memories(ALICE)) == 5
    await store.close()


def test_a_file_that_is_no_database_is_refused(file: Path) -> None:
    file.write_bytes(b"these are notes, not a database" * 100)
    with pytest.raises(StoreError, match="cannot be read as a database"):
        opened(file)


@pytest.mark.parametrize(
    ("url", "said"), [("nonsense", "no database address"), ("postgresql://x/y", "SQLite")]
)
def test_an_address_that_cannot_be_used_says_what_to_write(url: str, said: str) -> None:
    with pytest.raises(StoreError, match=said):
        sqlite_url(url)
