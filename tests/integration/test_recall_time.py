"""Time in recall at the doors of the kit and the command line; cases RC-06 and DC-05."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agentkit import Kit
from agentkit.cli.edge import run
from agentkit.errors import ConfigError, InputError
from agentkit.records import RecallResult, Scope, TimeRange
from agentkit.serve.tools import MemoryTools
from agentkit.testing import FixedClock, HashEmbedder

NOW = datetime(2026, 11, 18, 14, 30, tzinfo=UTC)
ANALYST = Scope("analyst")
OLD, NEW = "The import broke on commas", "The import broke on a blank column"


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOW - timedelta(days=60))


@pytest.fixture
async def kit(tmp_path: Path, clock: FixedClock) -> AsyncIterator[Kit]:
    async with Kit.open(
        tmp_path, embedder=HashEmbedder(), clock=clock, index="none", worker="external"
    ) as opened:
        await opened.remember(OLD, scope=ANALYST)
        clock.advance(days=53)
        await opened.remember(NEW, scope=ANALYST)
        clock.advance(days=7)
        yield opened


def contents(result: RecallResult) -> list[str]:
    return sorted(hit.memory.content for hit in result.hits)


@pytest.mark.parametrize(
    "within",
    [
        "last week",
        "上周",
        "2026-11-09/2026-11-15",
        "2026-11-01/..",
        ("2026-11-01T00:00:00+08:00", None),
        (datetime(2026, 11, 1, tzinfo=UTC), None),
        (1_793_491_200, None),
        (1_793_491_200_000, None),
        TimeRange(datetime(2026, 11, 1, tzinfo=UTC), None),
    ],
)
async def test_a_callers_time_filters_in_whatever_form_it_comes(kit: Kit, within: object) -> None:
    result = await kit.recall(kit.query("why did the import break", within=within), scope=ANALYST)
    assert contents(result) == [NEW]
    assert result.within is not None
    assert NOW - timedelta(days=7) in result.within


async def test_a_callers_time_filters_strictly_even_when_nothing_is_left(kit: Kit) -> None:
    result = await kit.recall(kit.query("import", within="yesterday"), scope=ANALYST)
    assert (result.hits, result.relaxations) == ((), ())


@pytest.mark.parametrize("text", ["why did the import break last week", "上周 import 出了什么问题"])
async def test_a_phrase_in_the_question_filters_and_is_no_word_of_it(kit: Kit, text: str) -> None:
    assert contents(await kit.recall(text, scope=ANALYST)) == [NEW]


@pytest.mark.parametrize("text", ["why did the import break yesterday", "昨天 import 怎么了"])
async def test_a_phrase_that_leaves_nothing_is_relaxed_and_said(kit: Kit, text: str) -> None:
    result = await kit.recall(text, scope=ANALYST)
    assert contents(result) == sorted([OLD, NEW])
    assert "dropped the time" in result.relaxations[0]
    assert result.within is None


async def test_a_briefing_reads_no_time_out_of_a_task(kit: Kit) -> None:
    briefing = await kit.brief("Repair the import of last week", scope=ANALYST)
    assert OLD in briefing.text


@pytest.mark.parametrize(
    "within",
    [
        "soon",
        "",
        5,
        True,
        [1, 2, 3],
        "2026-11-08/2026-11-01",
        "../..",
        "2026-13-01/..",
        ("x", None),
        (0, None),
        (-1, None),
        (99_999_999_999_999, None),
    ],
)
async def test_a_time_that_cannot_be_read_is_refused_in_one_sentence(
    kit: Kit, within: object
) -> None:
    with pytest.raises(InputError, match="within"):
        kit.query("import", within=within)


async def test_the_tool_of_mcp_takes_a_time_and_tells_which_it_was(kit: Kit) -> None:
    tools = MemoryTools(kit, ANALYST)
    answer = await tools.call("memory_search", {"query": "import", "within": "上周"})
    assert json.dumps(answer["applied"]).count("2026-11-09T00:00:00+00:00/2026-11-16") == 1
    with pytest.raises(InputError, match="within"):
        await tools.call("memory_search", {"query": "import", "within": "soon"})


async def test_the_log_keeps_the_time_that_was_asked_for(kit: Kit) -> None:
    result = await kit.recall(kit.query("import", within="last week"), scope=ANALYST)
    await kit.background.join(lane="log")
    (kept,) = await kit.retrievals(scope=ANALYST)
    assert kept.query.within == kept.result.within == result.within


def test_the_command_line_takes_a_time_in_both_languages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "agentkit.yaml").write_text(
        "index: none\nembedder: none\ntimezone: Asia/Shanghai\n", encoding="utf-8"
    )
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "recall.yaml").write_text("timeout_s: 60\n", encoding="utf-8")
    own = ["--user", "analyst", "--project", str(tmp_path)]
    assert run(["remember", NEW, *own]) == 0
    for within, hits in (("today", 1), ("今天", 1), ("last year", 0), ("去年", 0)):
        capsys.readouterr()
        assert run(["recall", "import column", "--within", within, "--json", *own]) == 0
        assert len(json.loads(capsys.readouterr().out)["hits"]) == hits, within
    capsys.readouterr()
    assert run(["recall", "import", "--as-of", "2020-01-01", "--json", *own]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["hits"] == []
    assert document["applied"]["as_of"] == "2019-12-31T16:00:00+00:00"
    assert run(["recall", "import", "--within", "soon", *own]) != 0
    assert 'such as "last week"' in capsys.readouterr().err


def test_an_unknown_time_zone_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Atlantis"):
        Kit.open(tmp_path, timezone="Sea/Atlantis")


async def test_the_past_is_asked_as_it_stood_and_nothing_counts_as_recalled(kit: Kit) -> None:
    then = NOW - timedelta(days=30)
    result = await kit.recall("why did the import break", scope=ANALYST, as_of=then)
    assert contents(result) == [OLD]
    (hit,) = result.hits
    await kit.edit(
        hit.memory.memory_id, scope=ANALYST, content="The import is fine", reason="mended"
    )
    again = await kit.recall("导入 import break commas", scope=ANALYST, as_of=then.isoformat())
    assert contents(again) == [OLD]
    assert "ranked by words alone" in again.degraded
    assert OLD not in contents(await kit.recall("import", scope=ANALYST))
    await kit.background.join(lane="log")
    log = await kit.retrievals(scope=ANALYST)
    assert [one.query.as_of for one in log if one.query.as_of == then] == [then, then]
    assert {one.asked_at for one in log} == {NOW}
    memory = await kit.memory(hit.memory.memory_id, scope=ANALYST)
    assert memory.recalled_count == 1


async def test_nothing_was_known_in_2020_and_phrases_count_from_the_instant(kit: Kit) -> None:
    assert (await kit.recall("import", scope=ANALYST, as_of="2020-01-01")).hits == ()
    asked = kit.query("import", within="上个月", as_of="2026-10-15")
    assert contents(await kit.recall(asked, scope=ANALYST)) == [OLD]


@pytest.mark.parametrize("as_of", ["soon", "2027-01-01", "", True, []])
async def test_an_instant_that_is_none_or_lies_ahead_is_refused(kit: Kit, as_of: object) -> None:
    with pytest.raises(InputError, match="as_of"):
        await kit.recall("import", scope=ANALYST, as_of=as_of)
