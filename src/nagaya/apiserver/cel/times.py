"""Dates and durations in text, as Go reads and writes them. Failures are ValueErrors."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from nagaya.apiserver.cel import goformat
from nagaya.apiserver.cel.values import CelError, Duration, Timestamp

SECOND: Final = 1_000_000_000
_RFC3339: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d?):(\d\d):(\d\d)(?:[.,](\d+))?(?:(Z)|([+-])(\d\d):(\d\d))?", re.ASCII
)
_DATE: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
_SPAN: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_UNITS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3600 * SECOND,
}
# The second syntax that the `duration` format of schemas understands: a number and the beginning of a unit's name.
_WORDY: Final = re.compile(r"(\d+)\s*([A-Za-zµ]+)")
_WORDS: Final = (
    (("ns", "nano"), 1),
    (("us", "µs", "micro"), 1_000),
    (("ms", "milli"), 1_000_000),
    (("s", "sec"), SECOND),
    (("m", "min"), 60 * SECOND),
    (("h", "hr", "hour"), 3600 * SECOND),
    (("d", "day"), 24 * 3600 * SECOND),
    (("w", "wk", "week"), 7 * 24 * 3600 * SECOND),
)
_LIMIT: Final = 2**63


def parse_timestamp(text: str, *, zone_required: bool = True) -> Timestamp:
    """An RFC 3339 date with time."""
    found = _RFC3339.fullmatch(text)
    if found is None or (zone_required and not found[8] and not found[9]):
        raise ValueError(f'parsing time "{text}"')
    ns = _days(found[1], found[2], found[3]) * 86400 * SECOND
    hour, minute, second = int(found[4]), int(found[5]), int(found[6])
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError(f'parsing time "{text}": out of range')
    ns += (hour * 3600 + minute * 60 + second) * SECOND + int((found[7] or "0")[:9].ljust(9, "0"))
    offset = 0
    if found[9]:
        zone_hours, zone_minutes = int(found[10]), int(found[11])
        if zone_hours > 24 or zone_minutes > 60:
            raise ValueError(f'parsing time "{text}": out of range')
        offset = (zone_hours * 3600 + zone_minutes * 60) * (-1 if found[9] == "-" else 1)
    return Timestamp(ns - offset * SECOND, offset)


def parse_date(text: str) -> Timestamp:
    """A date without a time: its beginning in UTC."""
    found = _DATE.fullmatch(text)
    if found is None:
        raise ValueError(f'parsing time "{text}"')
    return Timestamp(_days(found[1], found[2], found[3]) * 86400 * SECOND)


def _days(year_text: str, month_text: str, day_text: str) -> int:
    year, month, day = int(year_text), int(month_text), int(day_text)
    if year == 0:
        # Before what Python can say; only used to find out that it is out of range.
        return -719528 + (month - 1) * 31 + day - 1
    return (datetime(year, month, day, tzinfo=UTC) - _EPOCH).days


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def format_timestamp(value: Timestamp) -> str:
    """RFC 3339 with as many digits of the second as needed, in the zone the date was written in."""
    seconds, ns = divmod(value.ns, SECOND)
    when = _EPOCH + timedelta(seconds=seconds + value.offset)
    text = f"{when.year:04d}-{when:%m-%dT%H:%M:%S}"
    if ns:
        text += f".{ns:09d}".rstrip("0")
    if not value.offset:
        return text + "Z"
    minutes = abs(value.offset) // 60
    return f"{text}{'-' if value.offset < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"


def parse_duration(text: str) -> Duration:
    """A duration such as `1h30m` or `-1.5s`."""
    negative = text.startswith("-")
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return Duration(0)
    total, position = 0, 0
    while position < len(rest):
        found = _SPAN.match(rest, position)
        if found is None:
            break
        whole, _, fraction = found[1].partition(".")
        unit = _UNITS[found[2]]
        total += int(whole or "0") * unit
        if fraction:
            total += int(fraction) * unit // 10 ** len(fraction)
        position = found.end()
    if not rest or position < len(rest) or total > _LIMIT - (not negative):
        raise ValueError(f'invalid duration "{text}"')
    return Duration(-total if negative else total)


def parse_wordy_duration(text: str) -> Duration:
    """What schemas take for a duration: Go's form, or numbers with units up to weeks."""
    try:
        return parse_duration(text)
    except ValueError:
        total, matched = 0, False
        for number, word in _WORDY.findall(text):
            unit = word.lower()
            for names, factor in _WORDS:
                if unit in names or unit.startswith(names[-1]):
                    total += int(number) * factor
                    matched = True
        if not matched:
            raise ValueError(f"unable to parse {text} as duration") from None
        return Duration((total + _LIMIT) % (2 * _LIMIT) - _LIMIT)


def format_duration(value: Duration) -> str:
    """Seconds with a fraction, `5400.5s`."""
    whole, rest = divmod(abs(value.ns), SECOND)
    seconds = float(whole) + rest / 1e9
    return ("-" if value.ns < 0 else "") + goformat.fixed(seconds) + "s"


def in_zone(value: Timestamp, zone: str) -> datetime:
    """The date as a calendar and clock in the named zone show it; the zone is an IANA name or `+hh:mm`."""
    when = _EPOCH + timedelta(seconds=value.ns // SECOND)
    if zone in ("", "UTC"):
        return when
    return when.astimezone(_zone(zone))


@lru_cache(maxsize=64)
def _zone(name: str) -> tzinfo:
    hours_text, colon, minutes_text = name.partition(":")
    if not colon:
        try:
            return ZoneInfo(name)
        except (KeyError, ValueError, OSError):
            raise CelError(f"unknown time zone {name}") from None
    hours, minutes = _number(hours_text), _number(minutes_text)
    offset = hours * 60 - minutes if name.startswith("-") else hours * 60 + minutes
    try:
        return timezone(timedelta(minutes=offset))
    except ValueError as error:
        raise CelError(str(error)) from None


def _number(text: str) -> int:
    if not re.fullmatch(r"[+-]?\d+", text, re.ASCII):
        raise CelError(f'strconv.Atoi: parsing "{text}": invalid syntax')
    return int(text)
