"""PostgreSQL: the schema, the way to it, and what it says when something is wrong."""

import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest
from alembic import command
from psycopg import sql
from sqlalchemy import event, text
from sqlmodel import Session

from agentkit.errors import MissingExtraError, SchemaError, StoreError
from agentkit.records import Scope
from agentkit.store import Store
from agentkit.store.database import Database
from agentkit.store.engine import database_address, open_engine
from agentkit.store.migrate import SchemaPlan, alembic_config, head_revision
from agentkit.store.migrations import LOCATION, REVISIONS
from agentkit.store.postgres import CONNECTIONS
from agentkit.testing import FixedClock, MemoryBlobs, new_memory
from tests.databases import PostgresServer

ALICE = Scope("alice")
NOW = datetime(2026, 11, 30, 9, 30, tzinfo=UTC)


def opened(url: str) -> Store:
    return Store.open(
        database_url=url,
        blobs=MemoryBlobs(),
        index_path=None,
        embedder=None,
        clock=FixedClock(NOW),
    )


def asked(url: str, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(statement.encode()).fetchall()


def told(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement.encode())


@pytest.fixture
def database(postgres_url: str) -> Iterator[Database]:
    held = Database(open_engine(database_address(postgres_url)))
    yield held
    held.close()


def test_the_tables_and_the_migrations_say_the_same_on_postgresql(postgres_url: str) -> None:
    engine = open_engine(database_address(postgres_url))
    with engine.begin() as connection:
        command.check(alembic_config(connection, plan=SchemaPlan()))
        assert head_revision(connection) == REVISIONS[-1]
    engine.dispose()


def test_every_name_is_sorted_byte_for_byte_whatever_the_database_sorts_by(
    postgres_url: str,
) -> None:
    strange = asked(
        postgres_url,
        "SELECT table_name, column_name FROM information_schema.columns "
        "WHERE table_schema = 'public' AND data_type = 'character varying' "
        "AND table_name <> 'alembic_version' AND collation_name IS DISTINCT FROM 'C'",
    )
    assert strange == []


async def test_an_empty_database_is_filled_and_opening_again_changes_nothing(
    bare_postgres_url: str,
) -> None:
    for content in ("one", "two"):
        store = opened(bare_postgres_url)
        await store.add(ALICE, [new_memory(content)], actor="t")
        await store.close()
    store = opened(bare_postgres_url)
    assert len(await store.memories(ALICE)) == 2
    schema = {check.name: check for check in await store.check()}["schema"]
    assert schema.ok
    assert "PostgreSQL" in schema.detail
    await store.close()


def test_a_newer_database_is_refused_and_left_as_it_is(postgres_url: str) -> None:
    told(postgres_url, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(SchemaError, match="has schema 9999, this release knows up to"):
        opened(postgres_url)
    assert asked(postgres_url, "SELECT version_num FROM alembic_version") == [("9999",)]


def test_an_upgrade_that_fails_leaves_nothing_behind(
    bare_postgres_url: str, tmp_path: Path
) -> None:
    told(bare_postgres_url, "CREATE TABLE memory_tag (facet text)")
    with pytest.raises(StoreError, match=r"could not be upgraded.*it is as it was"):
        opened(bare_postgres_url)
    tables = asked(
        bare_postgres_url,
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'",
    )
    assert tables == [("memory_tag",)]
    assert LOCATION.is_dir()
    assert list(tmp_path.iterdir()) == []


def test_a_database_that_cannot_hold_every_text_is_refused(
    postgres_server: PostgresServer,
) -> None:
    create = "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0"
    postgres_server.run(sql.SQL(create))
    with pytest.raises(StoreError, match="'latin' is encoded in LATIN1; memories need UTF8"):
        opened(postgres_server.address("latin"))
    postgres_server.drop("latin")


def test_a_server_that_is_not_there_is_said_in_one_line_without_the_password() -> None:
    with pytest.raises(StoreError, match=r"127\.0\.0\.1.*see that the server runs") as caught:
        opened("postgresql://agent:blue-falcon@127.0.0.1:1/memory?connect_timeout=2")
    assert caught.value.retryable
    assert "blue-falcon" not in str(caught.value)


def test_a_driver_that_is_not_installed_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match=r"agentkit-hindsight\[postgres\]"):
        opened("postgresql://agent@127.0.0.1/memory")


@pytest.mark.parametrize("driver", ["postgres", "postgresql", "postgresql+psycopg"])
def test_an_address_of_postgresql_may_be_written_in_three_ways(driver: str) -> None:
    url = database_address(f"{driver}://agent@db.internal/memory")
    assert (url.drivername, url.host) == ("postgresql+psycopg", "db.internal")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql+asyncpg://x/y", r"write postgresql\+psycopg://"),
        ("mysql://x/y", "names mysql; this release stores in SQLite and PostgreSQL"),
        ("agent:blue-falcon", "no database address"),
    ],
)
def test_an_address_of_another_kind_says_what_to_write(url: str, said: str) -> None:
    with pytest.raises(StoreError, match=said) as caught:
        database_address(url)
    assert "blue-falcon" not in str(caught.value)


async def test_a_row_that_another_holds_too_long_is_a_typed_error_and_nothing_is_half_written(
    postgres_url: str,
) -> None:
    joint = "&" if "?" in postgres_url else "?"
    store = opened(f"{postgres_url}{joint}options=-c%20lock_timeout%3D100")
    await store.add(ALICE, [new_memory("one")], actor="t")
    with psycopg.connect(postgres_url) as holder:
        holder.execute("SELECT * FROM scope_revision FOR UPDATE")
        with pytest.raises(StoreError, match="try again") as caught:
            await store.add(ALICE, [new_memory("two")], actor="t")
        assert caught.value.retryable
        assert len(await store.memories(ALICE)) == 1
        # Another user's memories are not held up by it.
        await store.add(Scope("bob"), [new_memory("his")], actor="t")
    await store.add(ALICE, [new_memory("two")], actor="t")
    assert len(await store.memories(ALICE)) == 2
    await store.close()


def cut(url: str) -> None:
    """Cut every other connection to a database, as a server that is started anew does."""
    told(
        url,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )


async def test_connections_that_were_cut_while_idle_are_no_trouble(postgres_url: str) -> None:
    store = opened(postgres_url)
    await store.add(ALICE, [new_memory("one")], actor="t")
    cut(postgres_url)
    assert len(await store.memories(ALICE)) == 1
    cut(postgres_url)
    await store.add(ALICE, [new_memory("two")], actor="t")
    assert len(await store.memories(ALICE)) == 2
    await store.close()


def insert_policy(session: Session) -> None:
    session.connection().execute(
        text("INSERT INTO policy_version VALUES ('f', 'content', '2026-11-30T00:00:00Z')")
    )


def count_policies(session: Session) -> int:
    return session.connection().execute(text("SELECT count(*) FROM policy_version")).scalar_one()


def cut_before_next_statement(url: str) -> Callable[[Session], None]:
    def work(session: Session) -> None:
        insert_policy(session)
        cut(url)
        session.connection().execute(text("SELECT 1"))

    return work


def cut_before_commit(url: str) -> Callable[[Session], None]:
    def work(session: Session) -> None:
        insert_policy(session)

        def before_commit(_session: Session) -> None:
            cut(url)

        event.listen(session, "before_commit", before_commit)

    return work


def test_a_connection_cut_in_the_middle_is_told_and_may_be_tried_again(
    database: Database, postgres_url: str
) -> None:
    with pytest.raises(StoreError, match="nothing was written, try again") as caught:
        database.write_now(cut_before_next_statement(postgres_url))
    assert caught.value.retryable
    assert database.read_now(count_policies) == 0


def test_a_connection_lost_while_committing_is_not_called_unwritten(
    database: Database, postgres_url: str
) -> None:
    with pytest.raises(StoreError, match="may be written or not") as caught:
        database.write_now(cut_before_commit(postgres_url))
    assert caught.value.retryable


def test_a_key_that_is_there_for_good_is_an_error_and_not_tried_forever(
    database: Database,
) -> None:
    database.write_now(insert_policy)
    with pytest.raises(StoreError, match="duplicate key"):
        database.write_now(insert_policy)
    assert database.read_now(count_policies) == 1


def test_a_read_cannot_write_and_sees_one_moment(database: Database) -> None:
    with pytest.raises(StoreError, match="read-only"):
        database.read_now(insert_policy)

    def twice(session: Session) -> tuple[int, int]:
        before = count_policies(session)
        database.write_now(insert_policy)
        return before, count_policies(session)

    assert database.read_now(twice) == (0, 0)
    assert database.read_now(count_policies) == 1


async def test_more_readers_than_connections_wait_for_their_turn(postgres_url: str) -> None:
    import asyncio

    store = opened(postgres_url)
    await store.add(ALICE, [new_memory("one")], actor="t")
    found = await asyncio.gather(*(store.memories(ALICE) for _ in range(3 * CONNECTIONS)))
    assert {len(memories) for memories in found} == {1}
    await store.close()
