"""A day is the person's own: its borders in a time zone whose clocks change, at every door."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from agentkit import Kit
from agentkit.cli.edge import run
from agentkit.records import Scope
from agentkit.serve.tools import MemoryTools
from agentkit.testing import FixedClock, HashEmbedder, new_memory

ANALYST = Scope("analyst")
BERLIN = ZoneInfo("Europe/Berlin")
# Berlin: 29 March 2026 has 23 hours and 25 October 2026 has 25.
SPRING, AUTUMN = "2026-03-29", "2026-10-25"
BORDERS = {
    SPRING: ("2026-03-28T23:00:00+00:00", "2026-03-29T22:00:00+00:00"),
    AUTUMN: ("2026-10-24T22:00:00+00:00", "2026-10-25T23:00:00+00:00"),
}


def second(at: str, *, before: bool) -> datetime:
    """The instant itself, or the second before it."""
    return datetime.fromtimestamp(datetime.fromisoformat(at).timestamp() - before, UTC)


@pytest.fixture(params=[SPRING, AUTUMN])
def day(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def kit(tmp_path: Path, day: str) -> AsyncIterator[Kit]:
    """A memory on either side of both borders of a day, asked on the morning after."""
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "recall.yaml").write_text("timeout_s: 60\n", encoding="utf-8")
    start, end = BORDERS[day]
    morning = datetime.fromisoformat(end).astimezone(BERLIN).replace(hour=9)
    async with Kit.open(
        tmp_path,
        embedder=HashEmbedder(),
        clock=FixedClock(morning),
        timezone="Europe/Berlin",
        index="none",
        worker="external",
    ) as opened:
        store = await opened._parts.store(ANALYST)  # pyright: ignore[reportPrivateUsage] - the door below
        moments = {
            "pump stopped the day before": second(start, before=True),
            "pump started with the day": second(start, before=False),
            "pump ran to the end of the day": second(end, before=True),
            "pump stopped the day after": second(end, before=False),
        }
        new = [new_memory(text, created_at=at) for text, at in moments.items()]
        await store.add(ANALYST, new, actor="test")
        yield opened


THE_DAY = ["pump ran to the end of the day", "pump started with the day"]


@pytest.mark.parametrize("form", ["yesterday", "昨天", "DAY/DAY", "DAY", "pair", "question"])
async def test_a_day_holds_its_first_instant_and_not_the_next_days(
    kit: Kit, day: str, form: str
) -> None:
    within: object = form.replace("DAY", day)
    if form == "pair":
        after = f"{day[:8]}{int(day[8:]) + 1}"
        within = (f"{day}T00:00:00", f"{after}T00:00:00")
    text = "what did the pump do yesterday" if form == "question" else "what did the pump do"
    asked = kit.query(text, within=None if form == "question" else within, top_k=10)
    result = await kit.recall(asked, scope=ANALYST)
    assert sorted(hit.memory.content for hit in result.hits) == THE_DAY
    assert result.within is not None
    assert (str(result.within.start), str(result.within.end)) == tuple(
        border.replace("T", " ") for border in BORDERS[day]
    )


async def test_the_tool_of_mcp_means_the_same_day(kit: Kit, day: str) -> None:
    answer = await MemoryTools(kit, ANALYST).call(
        "memory_search", {"query": "what did the pump do", "within": "yesterday", "top_k": 10}
    )
    applied = answer["applied"]
    assert isinstance(applied, dict)
    assert applied["within"] == "/".join(BORDERS[day])


@pytest.mark.parametrize("day", [AUTUMN])
async def test_a_repeated_hour_is_two_instants(kit: Kit) -> None:
    """Half past two came twice on the long day; an offset tells which of them is meant."""
    first = kit.query("pump", within=("2026-10-25T02:30:00+02:00", None)).within
    again = kit.query("pump", within=("2026-10-25T02:30:00+01:00", None)).within
    assert first is not None
    assert again is not None
    assert (str(first.start), str(again.start)) == (
        "2026-10-25 00:30:00+00:00",
        "2026-10-25 01:30:00+00:00",
    )


def test_the_past_is_asked_at_the_command_line_in_the_projects_own_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A date is the first instant of the day there: what came during it is not known yet."""
    (tmp_path / "agentkit.yaml").write_text(
        "index: none\nembedder: none\ntimezone: Europe/Berlin\n", encoding="utf-8"
    )
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "recall.yaml").write_text("timeout_s: 60\n", encoding="utf-8")
    own = ["--user", "analyst", "--project", str(tmp_path)]
    before = datetime.now(UTC)
    assert run(["remember", "The pump was oiled", *own]) == 0
    after = datetime.now(UTC)
    asked: dict[str, tuple[str | None, int]] = {
        "2020-10-25": ("2020-10-24T22:00:00+00:00", 0),
        "2020-10-25T02:30:00+01:00": ("2020-10-25T01:30:00+00:00", 0),
        before.isoformat(): (before.isoformat(), 0),
        after.isoformat(): (after.isoformat(), 1),
    }
    for at, (instant, hits) in asked.items():
        capsys.readouterr()
        assert run(["recall", "pump oiled", "--as-of", at, "--json", *own]) == 0
        answer = json.loads(capsys.readouterr().out)
        assert (answer["applied"]["as_of"], len(answer["hits"])) == (instant, hits), at
    for wrong in ("soon", "2099-01-01", ""):
        assert run(["recall", "pump", "--as-of", wrong, *own]) != 0
        said = capsys.readouterr().err
        assert f"as_of is {wrong!r}" in said
        assert "2026-11-01" in said
