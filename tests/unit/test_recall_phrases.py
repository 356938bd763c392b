"""Plain time phrases: what is a time, which one, and what only looks like one."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from agentkit.recall.phrases import find_time, read_time

FOLDER = Path(__file__).parent / "phrases"
BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 18, 15, 30, tzinfo=BERLIN)


@dataclass(frozen=True, slots=True)
class Labelled:
    """A sentence, and the time in it as its two ends, or None."""

    language: str
    text: str
    ends: tuple[datetime | None, datetime | None] | None


def labelled(name: str) -> list[Labelled]:
    lines = (FOLDER / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    return [Labelled(language, text, ends(start, end)) for language, text, start, end in rows]


def ends(start: str, end: str) -> tuple[datetime | None, datetime | None] | None:
    return None if start == "-" else (instant(start), instant(end))


def instant(text: str) -> datetime | None:
    return None if text == ".." else datetime.fromisoformat(text).replace(tzinfo=BERLIN)


def understood(text: str) -> tuple[datetime | None, datetime | None] | None:
    found = find_time(text, now=NOW, zone=BERLIN)
    return None if found is None else (found.within.start, found.within.end)


@pytest.mark.parametrize("case", labelled("before_rules"), ids=lambda case: case.text)
def test_a_sentence_labelled_before_the_rules_is_read_as_labelled(case: Labelled) -> None:
    assert understood(case.text) == case.ends


def test_sentences_written_after_the_rules_are_mostly_read_right() -> None:
    cases = labelled("after_rules")
    answers = [(understood(case.text), case.ends) for case in cases]
    right = sum(found == wanted for found, wanted in answers if found is not None)
    precision = right / sum(found is not None for found, _ in answers)
    recall = right / sum(wanted is not None for _, wanted in answers)
    assert (len(cases), precision >= 0.9, recall >= 0.9) == (40, True, True), (precision, recall)


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("what broke last week", "what broke"),
        ("What did we decide yesterday, about tea?", "What did we decide, about tea?"),
        ("上周出了什么问题", "出了什么问题"),
        ("last week", "last week"),
        ("errors before 2024 in the import", "errors in the import"),
    ],
)
def test_the_phrase_is_taken_out_of_the_words_unless_nothing_else_is_there(
    text: str, rest: str
) -> None:
    found = find_time(text, now=NOW, zone=BERLIN)
    assert found is not None
    assert found.rest == rest


def test_two_different_times_and_times_ahead_are_no_time() -> None:
    assert understood("was it yesterday or last week") is None
    assert understood("what happens on 2027-01-01") is None


@pytest.mark.parametrize("text", ["March", "2025", "Monday", "last week", " 上周 ", "since May"])
def test_an_option_may_name_a_month_weekday_or_year_alone(text: str) -> None:
    assert read_time(text, now=NOW, zone=BERLIN) is not None


@pytest.mark.parametrize("text", ["", "soon", "tomorrow", "what broke last week", "May I"])
def test_an_option_holds_a_time_and_nothing_else(text: str) -> None:
    assert read_time(text, now=NOW, zone=BERLIN) is None


def test_yesterday_is_another_day_in_another_zone() -> None:
    late = datetime(2026, 11, 18, 20, 0, tzinfo=UTC)
    here = read_time("yesterday", now=late, zone=UTC)
    there = read_time("昨天", now=late, zone=ZoneInfo("Asia/Shanghai"))
    assert here is not None
    assert there is not None
    assert here.start == datetime(2026, 11, 17, tzinfo=UTC)
    assert there.start == datetime(2026, 11, 17, 16, tzinfo=UTC)
