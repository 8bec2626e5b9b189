"""Dates and durations in text, as Go reads and writes them. Failures are ValueErrors."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from nagaya.apiserver.cel import goformat
from nagaya.apiserver.cel.values import CelError, Duration, Timestamp
from nagaya.apiserver.meta import goduration, gostring, integers

SECOND: Final = goduration.SECOND
_RFC3339: Final = "2006-01-02T15:04:05Z07:00"
_LOCAL: Final = "2006-01-02T15:04:05"
_DATE: Final = "2006-01-02"
_ELEMENTS: Final = re.compile(r"2006|01|02|15|04|05|Z07:00|[-T:]")
_PATTERNS: Final = {
    "2006": re.compile(r"\d{4}", re.ASCII),
    "15": re.compile(r"\d\d?", re.ASCII),
    "Z07:00": re.compile(r"Z|([+-])([01]\d|2[0-4]):([0-5]\d|60)", re.ASCII),
    **{each: re.compile(r"\d\d", re.ASCII) for each in ("01", "02", "04", "05")},
}
_LIMITS: Final = {
    "2006": ("year", 0, 9999),
    "01": ("month", 1, 12),
    "02": ("day", 0, 99),
    "15": ("hour", 0, 23),
    "04": ("minute", 0, 59),
    "05": ("second", 0, 59),
}
# What nearly all dates look like.
_USUAL: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z", re.ASCII)
_FRACTION: Final = re.compile(r"[.,](\d+)", re.ASCII)
# The second syntax that the `duration` format of schemas understands: a number and the beginning of a unit's name.
_WORDY: Final = re.compile(r"(?<!\d)(\d++)\s*+([A-Za-zµ]+)")
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


def parse_timestamp(text: str) -> Timestamp:
    """An RFC 3339 date with time and zone."""
    return _parse(text, _RFC3339)


def parse_date_time(text: str) -> Timestamp:
    """What schemas take for a date with time: the zone may be missing, and is then UTC."""
    try:
        return _parse(text, _RFC3339)
    except ValueError:
        return _parse(text, _LOCAL)


def parse_date(text: str) -> Timestamp:
    """A date without a time: its beginning in UTC."""
    return _parse(text, _DATE)


def _parse(text: str, layout: str) -> Timestamp:
    usual = _USUAL.fullmatch(text) if layout is _RFC3339 else None
    if usual is not None:
        date, fraction = usual.groups()
        try:
            moment = datetime.fromisoformat(date).replace(tzinfo=UTC) - _EPOCH
        except ValueError:
            return _parse_slowly(text, layout)
        ns = (moment.days * 86400 + moment.seconds) * SECOND
        return Timestamp(ns + int(fraction.ljust(9, "0")) if fraction else ns)
    return _parse_slowly(text, layout)


def _parse_slowly(text: str, layout: str) -> Timestamp:
    """Read a date element by element, as Go does, and complain about the first that does not fit."""
    numbers: dict[str, int] = {}
    rest, ns, offset = text, 0, 0
    quoted = gostring.quote(text)
    for element in _ELEMENTS.findall(layout):
        pattern = _PATTERNS.get(element)
        found = pattern.match(rest) if pattern else None
        if pattern is None:
            found = re.compile(re.escape(element)).match(rest)
        if found is None:
            layout_text = (
                f"as {gostring.quote(layout)}: cannot parse {gostring.quote(rest)} as {gostring.quote(element)}"
            )
            raise ValueError(f"parsing time {quoted} {layout_text}")
        rest = rest[found.end() :]
        if element in _LIMITS:
            name, low, high = _LIMITS[element]
            numbers[element] = int(found[0])
            if not low <= numbers[element] <= high:
                raise ValueError(f"parsing time {quoted}: {name} out of range")
        if element == "05" and (fraction := _FRACTION.match(rest)):
            ns, rest = int(fraction[1][:9].ljust(9, "0")), rest[fraction.end() :]
        if element == "Z07:00" and found[0] != "Z":
            offset = (int(found[2]) * 3600 + int(found[3]) * 60) * (-1 if found[1] == "-" else 1)
    if rest:
        raise ValueError(f"parsing time {quoted}: extra text: {gostring.quote(rest)}")
    days = _days(numbers["2006"], numbers["01"], numbers["02"], quoted)
    seconds = days * 86400 + numbers.get("15", 0) * 3600 + numbers.get("04", 0) * 60 + numbers.get("05", 0) - offset
    return Timestamp(seconds * SECOND + ns, offset)


def _days(year: int, month: int, day: int, quoted: str) -> int:
    # Python's calendar begins with the year 1; the year 0 is a leap year like 400.
    shift = 400 if year == 0 else 0
    try:
        return (datetime(year + shift, month, day, tzinfo=UTC) - _EPOCH).days - (146097 if shift else 0)
    except ValueError:
        raise ValueError(f"parsing time {quoted}: day out of range") from None


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
    try:
        return Duration(goduration.parse(text))
    except ValueError:
        raise ValueError(f'invalid duration "{text}"') from None


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
    try:
        when = _EPOCH + timedelta(seconds=value.ns // SECOND)
        return when if zone in ("", "UTC") else when.astimezone(_zone(zone))
    except OverflowError:
        raise CelError("timestamp overflow") from None


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
    except (ValueError, OverflowError):
        raise CelError(f"unknown time zone {name}") from None


def _number(text: str) -> int:
    try:
        return integers.parse(text)
    except ValueError as error:
        raise CelError(str(error)) from None
