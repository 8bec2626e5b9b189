"""RFC 3339 dates as Go reads and writes them in metadata: whole seconds, in UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from nagaya.apiserver.meta import gostring

_LAYOUT: Final = "2006-01-02T15:04:05Z07:00"
# Each element of the layout with the texts that fit it.
_ELEMENTS: Final = tuple(
    (element, re.compile(pattern, re.ASCII))
    for element, pattern in (
        ("2006", r"\d{4}"),
        ("-", "-"),
        ("01", r"\d\d"),
        ("-", "-"),
        ("02", r"\d\d"),
        ("T", "T"),
        ("15", r"\d\d"),
        (":", ":"),
        ("04", r"\d\d"),
        (":", ":"),
        ("05", r"\d\d"),
        ("Z07:00", r"(?:[.,]\d+)?(?:Z|[+-]\d\d:\d\d)"),
    )
)
_PARTS: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,]\d+)?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII)
_DAYS: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def problem(text: str) -> str:
    """Why a text is not a date, in Go's words; empty if it is one."""
    rest = text
    for element, pattern in _ELEMENTS:
        found = pattern.match(rest)
        if found is None:
            quoted = f"{gostring.quote(text)} as {gostring.quote(_LAYOUT)}"
            return f"parsing time {quoted}: cannot parse {gostring.quote(rest)} as {gostring.quote(element)}"
        rest = rest[found.end() :]
    if rest:
        return f"parsing time {gostring.quote(text)}: extra text: {gostring.quote(rest)}"
    out_of_range = _out_of_range(text)
    return f"parsing time {gostring.quote(text)}: {out_of_range} out of range" if out_of_range else ""


def _out_of_range(text: str) -> str:
    found = _PARTS.fullmatch(text)
    assert found is not None
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    zone_hour, zone_minute = int(found[8] or 0), int(found[9] or 0)
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    for name, within in (
        ("month", 1 <= month <= 12),
        ("hour", hour < 24),
        ("minute", minute < 60),
        ("second", second < 60),
        ("time zone offset hour", zone_hour <= 24),
        ("time zone offset minute", zone_minute < 60),
    ):
        if not within:
            return name
    longest = 28 if month == 2 and not leap else _DAYS[month - 1]
    return "" if 1 <= day <= longest else "day"


def in_utc(text: str) -> str:
    """A valid date as it is written back; empty for the first instant, which stands for no date."""
    found = _PARTS.fullmatch(text)
    assert found is not None
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    if year == 0:
        return text
    moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    if found[7]:
        offset = timedelta(hours=int(found[8]), minutes=int(found[9]))
        try:
            moment = moment - offset if found[7] == "+" else moment + offset
        except OverflowError:
            return text
    return "" if moment == datetime(1, 1, 1, tzinfo=UTC) else f"{moment.year:04d}{moment.strftime('-%m-%dT%H:%M:%SZ')}"
