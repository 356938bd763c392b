"""What was told one way in English is found when it is asked for another way in Chinese."""

import asyncio
from pathlib import Path

import pytest

from agentkit.cli.edge import run
from agentkit.evaluation.corpora.pairs import read_pairs
from agentkit.kit import Kit
from agentkit.records import Scope

QUERY = "这份数据有缺失，你看着办"
MEMORY = "fill the nulls in this CSV with the median"
# Writing embeds each of them: a fiftieth of the thousand keeps the test short.
EVERY = 50


async def fill(project: Path, *, texts: list[str]) -> None:
    async with Kit.open(project, worker="external") as kit:
        for text in texts:
            await kit.remember(text, scope=Scope("u1"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "agentkit.yaml").write_text("index: none\nembedder: local\n", encoding="utf-8")
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "recall.yaml").write_text("timeout_s: 60\n", encoding="utf-8")
    return tmp_path


async def test_the_tag_finds_an_english_memory_for_a_chinese_query_and_is_named(
    project: Path, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (group,) = read_pairs(repository / "evals" / "pairs").groups
    answers = {answer for query in group.queries for answer in query.gold}
    others = [one.text for one in group.documents if one.doc_id not in answers][::EVERY]
    await fill(project, texts=[MEMORY, *others])
    words = ["recall", QUERY, "--user", "u1", "--project", str(project), "--explain"]
    assert await asyncio.to_thread(run, words) == 0
    table, first, *_ = capsys.readouterr().out.split("   score ")
    hits = [line for line in table.splitlines() if line.startswith(("│ 0", "│ 1"))]
    assert MEMORY in hits[0]
    assert "tag task_type:missing_values" in " ".join(first.split())
