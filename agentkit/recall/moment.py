"""Days, weeks, months and years around now, as ranges of instants in a person's time zone."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Literal

from agentkit.records import TimeRange

Unit = Literal["minute", "hour", "day", "week", "month", "quarter", "year"]
DayPart = Literal["dawn", "morning", "noon", "afternoon", "evening", "night"]

MONTHS_PER_YEAR = 12
MONTHS_PER_QUARTER = 3
DAYS_PER_WEEK = 7
# What "a few days" reaches back to, at most.
FEW_DAYS = 7
_SATURDAY = 5
# First hour of a part of a day and its length in hours; a night reaches into the next day.
_PARTS_HOURS: dict[DayPart, tuple[int, int]] = {
    "dawn": (0, 6),
    "morning": (5, 7),
    "noon": (11, 3),
    "afternoon": (12, 6),
    "evening": (18, 6),
    "night": (18, 12),
}


@dataclass(frozen=True, slots=True)
class Moment:
    """Now, and where. Days begin at local midnight and weeks on Monday.

    Attributes:
        now: Current time, aware.
        zone: Time zone of the person.
    """

    now: datetime
    zone: tzinfo

    @property
    def today(self) -> date:
        """The local date."""
        return self.now.astimezone(self.zone).date()

    @property
    def monday(self) -> date:
        """The first day of this week."""
        return self.today - timedelta(days=self.today.weekday())

    def days(self, first: date, after: date) -> TimeRange:
        """Return the days from `first` up to, and without, `after`."""
        return TimeRange(self._midnight(first), self._midnight(after))

    def day(self, on: date) -> TimeRange:
        """Return one day."""
        return self.days(on, on + timedelta(days=1))

    def days_ago(self, number: int) -> date:
        """Return the local date of some days ago, at most 20,000."""
        return self.today - timedelta(days=number)

    def part(self, on: date, name: DayPart) -> TimeRange:
        """Return a part of a day."""
        first, length = _PARTS_HOURS[name]
        last = first + length
        end_day = on + timedelta(days=last // 24)
        return TimeRange(self._instant(on, time(first)), self._instant(end_day, time(last % 24)))

    def week(self, weeks_ago: int) -> TimeRange:
        """Return the week of some weeks ago; 0 for this one."""
        first = self.monday - timedelta(days=DAYS_PER_WEEK * weeks_ago)
        return self.days(first, first + timedelta(days=DAYS_PER_WEEK))

    def weekend(self, weeks_ago: int) -> TimeRange:
        """Return Saturday and Sunday of the week of some weeks ago."""
        first = self.weekday_of(_SATURDAY, weeks_ago=weeks_ago)
        return self.days(first, first + timedelta(days=2))

    def weekday_of(self, weekday: int, *, weeks_ago: int) -> date:
        """Return a weekday (0 for Monday) of the week of some weeks ago."""
        return self.monday + timedelta(days=weekday - DAYS_PER_WEEK * weeks_ago)

    def latest_weekday(self, weekday: int, *, with_today: bool) -> date:
        """Return the last such weekday (0 for Monday), today counted or not."""
        back = (self.today.weekday() - weekday) % DAYS_PER_WEEK
        return self.days_ago(back if back or with_today else DAYS_PER_WEEK)

    def month(self, year: int, month: int, *, months: int = 1) -> TimeRange:
        """Return a month, or several that follow each other."""
        return self.days(date(year, month, 1), _shifted(date(year, month, 1), months))

    def months_ago(self, number: int) -> TimeRange:
        """Return the month of some months ago; 0 for this one."""
        first = _shifted(self.today.replace(day=1), -number)
        return self.month(first.year, first.month)

    def latest_month(self, month: int) -> TimeRange:
        """Return the last such month (1 to 12) that has begun."""
        year = self.today.year - (month > self.today.month)
        return self.month(year, month)

    def latest_date(self, month: int, day: int) -> TimeRange:
        """Return the last such date that has begun.

        Raises:
            ValueError: If there is no such day.
        """
        on = date(self.today.year, month, day)
        return self.day(on if on <= self.today else date(self.today.year - 1, month, day))

    def quarters_ago(self, number: int) -> TimeRange:
        """Return the quarter of some quarters ago; 0 for this one."""
        into = (self.today.month - 1) % MONTHS_PER_QUARTER
        first = _shifted(self.today.replace(day=1), -into - MONTHS_PER_QUARTER * number)
        return self.month(first.year, first.month, months=MONTHS_PER_QUARTER)

    def year(self, year: int) -> TimeRange:
        """Return a year."""
        return self.month(year, 1, months=MONTHS_PER_YEAR)

    def ago(self, number: int, unit: Unit) -> TimeRange:
        """Return the hour, day, week ... of the calendar that so many of them ago lies in."""
        if unit in ("minute", "hour"):
            return self._clock_ago(number, minutes=1 if unit == "minute" else 60)
        if unit == "day":
            return self.day(self.days_ago(number))
        if unit == "week":
            return self.week(number)
        if unit == "month":
            return self.months_ago(number)
        if unit == "quarter":
            return self.quarters_ago(number)
        return self.year(self.today.year - number)

    def past(self, number: int, unit: Unit) -> TimeRange:
        """Return the time from so many units ago to the end of today."""
        end = self._midnight(self.today + timedelta(days=1))
        if unit in ("minute", "hour"):
            back = timedelta(minutes=number if unit == "minute" else 60 * number)
            return TimeRange(self.now.astimezone(UTC) - back, end)
        if unit in ("day", "week"):
            days = number if unit == "day" else DAYS_PER_WEEK * number
            return TimeRange(self._midnight(self.days_ago(days)), end)
        months = {"month": 1, "quarter": MONTHS_PER_QUARTER, "year": MONTHS_PER_YEAR}[unit]
        return TimeRange(self._midnight(_shifted(self.today, -number * months)), end)

    def _clock_ago(self, number: int, *, minutes: int) -> TimeRange:
        then = (self.now.astimezone(UTC) - timedelta(minutes=number * minutes)).astimezone(
            self.zone
        )
        first = then.replace(minute=0 if minutes > 1 else then.minute, second=0, microsecond=0)
        start = first.astimezone(UTC)
        return TimeRange(start, start + timedelta(minutes=minutes))

    def _midnight(self, on: date) -> datetime:
        return self._instant(on, time())

    def _instant(self, on: date, at: time) -> datetime:
        return datetime.combine(on, at, tzinfo=self.zone).astimezone(UTC)


def _shifted(on: date, months: int) -> date:
    """The same day some months on, or the last day of that month where it is shorter."""
    place = on.year * MONTHS_PER_YEAR + on.month - 1 + months
    year, month = divmod(place, MONTHS_PER_YEAR)
    after = date(year + month // 11, (month + 1) % MONTHS_PER_YEAR + 1, 1)
    last = (after - timedelta(days=1)).day
    return date(year, month + 1, min(on.day, last))
