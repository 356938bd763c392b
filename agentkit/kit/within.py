"""A time range out of what any door was given: a phrase, an ISO 8601 interval, or two ends."""

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import cast

from agentkit.errors import InputError
from agentkit.recall import read_time
from agentkit.records import TimeRange, epoch_instant

OPEN = ".."
_EPOCH = re.compile(r"\d{9,13}(?:\.\d+)?")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_HOW = (
    'give a phrase such as "last week" or "上周", or FROM/TO as ISO 8601 dates or times, '
    "with .. for an open end"
)


def read_within(value: object, *, now: datetime, zone: tzinfo) -> TimeRange | None:
    """Return the range that a caller asks for, or None for None.

    Args:
        value: A `TimeRange`; a phrase; `FROM/TO`, where a date as TO counts to its end and `..`
            leaves an end open; or a pair of ends, each a datetime, ISO 8601 text, seconds or
            milliseconds since 1970, or None.
        now: Current time, aware.
        zone: Time zone of what names none.

    Raises:
        InputError: If it is none of these, or no instant could lie in it.
    """
    if value is None or isinstance(value, TimeRange):
        return value
    ends: Sequence[object]
    if isinstance(value, str):
        ends = value.split("/")
        if len(ends) == 1:
            found = read_time(value, now=now, zone=zone)
            if found is None:
                raise _refused(value)
            return found
    elif isinstance(value, list | tuple):
        ends = cast("Sequence[object]", value)
    else:
        raise _refused(value)
    if len(ends) != 2:
        raise _refused(ends)
    start = _end(ends[0], zone=zone, last=False, whole=ends)
    end = _end(ends[1], zone=zone, last=True, whole=ends)
    try:
        return TimeRange(start, end)
    except InputError as error:
        raise InputError(f"within, {error}") from error


def read_instant(value: object, *, now: datetime, zone: tzinfo) -> datetime:
    """Return the instant that a caller asks for; a date is its first instant.

    Args:
        value: A datetime, ISO 8601 text, or seconds or milliseconds since 1970.
        now: Current time, aware; what lies after it is refused.
        zone: Time zone of what names none.

    Raises:
        InputError: If it is none of these or lies ahead.
    """
    problem = f"as_of is {value!r}; give a time up to now, such as 2026-11-01 or a datetime"
    try:
        at = _end(value, zone=zone, last=False, whole=value)
    except InputError as error:
        raise InputError(problem) from error
    if at is None or at > now:
        raise InputError(problem)
    return at


def _end(value: object, *, zone: tzinfo, last: bool, whole: object) -> datetime | None:
    """One end; a date as the last one counts to its end."""
    if isinstance(value, str):
        value = value.strip()
    if value is None or value in ("", OPEN):
        return None
    if isinstance(value, datetime):
        return _aware(value, zone)
    if isinstance(value, str) and _DATE.fullmatch(value):
        try:
            value = date.fromisoformat(value)
        except ValueError as error:
            raise _refused(whole) from error
    if isinstance(value, date):
        on = value + timedelta(days=1) if last else value
        return _aware(datetime.combine(on, time()), zone)
    if isinstance(value, str) and not _EPOCH.fullmatch(value):
        try:
            return _aware(datetime.fromisoformat(value), zone)
        except ValueError as error:
            raise _refused(whole) from error
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise _refused(whole)
    return _epoch(float(value), whole)


def _epoch(number: float, whole: object) -> datetime:
    at = epoch_instant(number)
    if at is None:
        raise _refused(whole)
    return at


def _aware(at: datetime, zone: tzinfo) -> datetime:
    return (at if at.tzinfo is not None else at.replace(tzinfo=zone)).astimezone(UTC)


def _refused(value: object) -> InputError:
    text = repr(value)
    shown = text if len(text) <= 60 else text[:57] + "..."
    return InputError(f"within is {shown}; {_HOW}")
