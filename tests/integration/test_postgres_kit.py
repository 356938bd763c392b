"""A project whose truth is in PostgreSQL: the whole loop, the doctor, and the same ranking."""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pydantic_ai import Agent, ModelRetry
from pydantic_ai.messages import ToolCallPart
from sqlalchemy import insert, select

from agentkit import Hindsight, Kit
from agentkit.records import Scope, Verdict
from agentkit.store import FolderBlobs, Store
from agentkit.store.engine import database_address, open_engine
from agentkit.store.tables import Row
from agentkit.testing import FixedClock, HashEmbedder, Script, new_memory, scripted_with

NOW = datetime(2026, 11, 30, 9, 30, tzinfo=UTC)
AGENTKIT = str(Path(sys.executable).with_name("agentkit"))


def project(folder: Path, url: str) -> Path:
    """Return a project whose settings name a database."""
    folder.mkdir(exist_ok=True)
    settings = f"database_url: {json.dumps(url)}\nindex: none\n"
    (folder / "agentkit.yaml").write_text(settings, encoding="utf-8")
    return folder


@pytest.fixture
def root(tmp_path: Path, postgres_url: str) -> Path:
    return project(tmp_path / "agent", postgres_url)


async def test_what_is_said_and_what_a_run_teaches_comes_back(root: Path) -> None:
    async with Kit.open(root, embedder=HashEmbedder()) as kit:
        scope = kit.scope("analyst")
        await kit.remember("Reports go out on Fridays.", scope=scope)
        script = Script(
            [
                ToolCallPart("fill_missing", {"path": "orders.csv", "strategy": "mean"}),
                ToolCallPart("fill_missing", {"path": "orders.csv", "strategy": "median"}),
                "Done: the gaps are filled with the median.",
            ]
        )
        await cleaning_agent(kit, script).run("Fill the missing values in orders.csv.")
        await kit.background.join()
    async with Kit.open(root, embedder=HashEmbedder()) as again:
        (episode,) = await again.episodes(scope=scope)
        assert episode.reflected_at is not None
        lessons = await again.memories(scope=scope, memory_type="procedural")
        assert lessons
        found = await again.recall("How do I fill missing values in orders.csv?", scope=scope)
        assert lessons[0].memory_id in [hit.memory.memory_id for hit in found.hits]
        asked = await again.recall("When do reports go out?", scope=scope)
        assert asked.hits[0].memory.content == "Reports go out on Fridays."
        helped = Verdict(memory_id=asked.hits[0].memory.memory_id, kind="helpful", source="person")
        await again.feedback(asked.retrieval_id, [helped], scope=scope)
        await again.settle()
        assert [check for check in await again.doctor() if not check.ok] == []
    assert not (root / ".agentkit" / "agentkit.db").exists()


def cleaning_agent(kit: Kit, script: Script) -> Agent[None, str]:
    agent = Agent(scripted_with(script), capabilities=[Hindsight(kit, user_id="analyst")])

    @agent.tool_plain(retries=3)
    def fill_missing(path: str, strategy: str) -> str:
        """Fill the missing values of a table."""
        if strategy == "mean":
            raise ModelRetry("cannot take the mean: column 'amount' holds the text 'N/A'")
        return f"filled 3 values in {path} with the {strategy}"

    del fill_missing
    return agent


def doctor(root: Path) -> tuple[int, dict[str, dict[str, object]]]:
    """Return the exit code of `agentkit doctor`, and what it found by name."""
    done = subprocess.run(
        [AGENTKIT, "doctor", "--project", str(root), "--json"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, {check["name"]: check for check in json.loads(done.stdout)["checks"]}


def test_the_doctor_looks_a_project_in_postgresql_over(root: Path) -> None:
    code, found = doctor(root)
    assert code == 0, found
    assert "PostgreSQL" in str(found["schema"]["detail"])


def test_the_doctor_says_that_the_server_is_not_there(tmp_path: Path) -> None:
    url = "postgresql://agent:blue-falcon@127.0.0.1:1/memory"
    code, found = doctor(project(tmp_path / "agent", url))
    assert code == 1
    assert "see that the server runs" in str(found["store"]["detail"])
    assert "blue-falcon" not in json.dumps(found)


WORDS = "orders invoices median mean gaps report friday csv parquet 绿茶 报表 schema".split()


async def fill(url: str, clock: FixedClock, folder: Path) -> None:
    """Write memories of several ages, kinds and beliefs, some of them equal but for their id."""
    store = Store.open(
        database_url=url,
        blobs=FolderBlobs(folder),
        index_path=None,
        embedder=HashEmbedder(),
        clock=clock,
    )
    for number in range(120):
        words = [WORDS[(number * step) % len(WORDS)] for step in (1, 5, 7)]
        new = new_memory(
            f"{' '.join(words)} {number % 40}",
            memory_type=("semantic", "procedural")[number % 2],
            cues=(words[0], f"{words[1]} {words[2]}"),
            tags=(f"tool:{words[0]}",),
            confidence=0.3 + (number % 7) / 10,
            created_at=NOW - timedelta(days=number % 50, microseconds=number),
        )
        await store.add(Scope("analyst", ("a", "A", None)[number % 3]), [new], actor="t")
    await store.settle()
    await store.close()


def copy(source_url: str, target_url: str) -> None:
    """Copy every row of one database into another; its own numbers start at 1 still."""
    source, target = (open_engine(database_address(url)) for url in (source_url, target_url))
    with source.begin() as reading, target.begin() as writing:
        for table in Row.metadata.sorted_tables:
            rows = [dict(row) for row in reading.execute(select(table)).mappings()]
            if rows:
                writing.execute(insert(table), rows)
    source.dispose()
    target.dispose()


async def answers(url: str, folder: Path, clock: FixedClock) -> list[tuple[object, ...]]:
    """Return what a project answers to the same questions, to the last digit."""
    told: list[tuple[object, ...]] = []
    async with Kit.open(project(folder, url), clock=clock, embedder=HashEmbedder()) as kit:
        for number in range(40):
            first, second = WORDS[number % len(WORDS)], WORDS[(number * 3 + 1) % len(WORDS)]
            scope = kit.scope("analyst", (None, "a", "A")[number % 3])
            query = kit.query(f"{first} or {second}, {number}?", top_k=10)
            found = await kit.recall(query, scope=scope)
            assert found.hits
            hits = [(hit.memory, hit.score, hit.similarity, hit.factors) for hit in found.hits]
            told.append((hits, found.pool, found.normalisers))
            # The log counts recalls, and a hit shows the count.
            await kit.background.join(lane="log")
    return told


async def test_both_databases_answer_the_same_to_the_last_digit(
    tmp_path: Path, postgres_url: str
) -> None:
    sqlite_url = f"sqlite:///{tmp_path / 'agentkit.db'}"
    await fill(sqlite_url, FixedClock(NOW), tmp_path / "blobs")
    copy(sqlite_url, postgres_url)
    in_sqlite = await answers(sqlite_url, tmp_path / "one", FixedClock(NOW))
    in_postgres = await answers(postgres_url, tmp_path / "two", FixedClock(NOW))
    assert in_postgres == in_sqlite
