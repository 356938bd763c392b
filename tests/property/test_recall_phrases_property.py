"""Ranges of time phrases, at any time and in any zone: they hold their anchor, never inverted."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from agentkit.recall.moment import Moment
from agentkit.recall.phrases import read_time

ZONES = [
    ZoneInfo(name)
    for name in ("UTC", "Europe/Berlin", "America/New_York", "Asia/Shanghai", "Asia/Kathmandu")
]
# From 1990 to 2090.
NOW = st.integers(631_152_000, 3_786_912_000).map(lambda at: datetime.fromtimestamp(at, UTC))
UNITS = {
    "minute": "分钟",
    "hour": "小时",
    "day": "天",
    "week": "周",
    "month": "个月",
    "year": "年",
}
HELD_TODAY = ("today", "this week", "this month", "this year", "since yesterday", "今天", "本周")
SHORT_AGO = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1)}


@given(now=NOW, zone=st.sampled_from(ZONES))
def test_what_is_called_now_holds_now(now: datetime, zone: ZoneInfo) -> None:
    for phrase in HELD_TODAY:
        found = read_time(phrase, now=now, zone=zone)
        assert found is not None
        assert now in found, phrase


@given(
    now=NOW,
    zone=st.sampled_from(ZONES),
    number=st.integers(1, 18),
    unit=st.sampled_from(sorted(UNITS)),
)
def test_so_long_ago_means_one_unit_of_the_calendar_in_the_past_in_both_languages(
    now: datetime, zone: ZoneInfo, number: int, unit: str
) -> None:
    found = read_time(f"{number} {unit}s ago", now=now, zone=zone)
    assert found is not None
    assert found == read_time(f"{number}{UNITS[unit]}前", now=now, zone=zone)
    assert found.start is not None
    assert found.end is not None
    assert found.start < found.end <= now
    if unit in SHORT_AGO:
        assert now - number * SHORT_AGO[unit] in found


@given(now=NOW, zone=st.sampled_from(ZONES), number=st.integers(1, 60))
def test_a_day_begins_at_local_midnight_whatever_the_clocks_do(
    now: datetime, zone: ZoneInfo, number: int
) -> None:
    moment = Moment(now, zone)
    found = moment.ago(number, "day")
    assert found.start is not None
    assert found.end is not None
    first, after = found.start.astimezone(zone), found.end.astimezone(zone)
    assert first.date() == moment.today - timedelta(days=number)
    assert (first.hour, first.minute, after.hour, after.minute) == (0, 0, 0, 0)
    assert timedelta(hours=23) <= found.end - found.start <= timedelta(hours=25)
    assert moment.ago(number + 1, "day").end == found.start


@given(now=NOW, zone=st.sampled_from(ZONES), number=st.integers(1, 60))
def test_weeks_begin_on_monday_and_follow_each_other(
    now: datetime, zone: ZoneInfo, number: int
) -> None:
    moment = Moment(now, zone)
    found = moment.week(number)
    assert found.start is not None
    assert found.start.astimezone(zone).weekday() == 0
    assert found.end == moment.week(number - 1).start
