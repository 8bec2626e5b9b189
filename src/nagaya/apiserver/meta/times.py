"""Dates as Kubernetes reads and writes them.

Objects hold dates as text. Clients may send any RFC 3339 form; what is kept is always UTC, with whole seconds (`Time`)
or exactly six decimals (`MicroTime`), so that dates can be compared as text. The zero date of Go (year 1) stands for
"no date" and becomes None. What is refused, and in which words, follows Go's `time.Parse`, which is laxer than the RFC
in a few places.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

_SECONDS: Final = "2006-01-02T15:04:05Z07:00"
_MICROS: Final = "2006-01-02T15:04:05.000000Z07:00"

_DATE: Final = (
    r"[0-9]{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
    r"T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
)
_CANONICAL: Final = re.compile(_DATE + "Z").fullmatch
_CANONICAL_MICRO: Final = re.compile(_DATE + r"\.[0-9]{6}Z").fullmatch

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY: Final = 719_468  # days from 0000-03-01, where leap days end a year, to 1970-01-01


class TimeError(ValueError):
    """A text is no date; the message is Go's."""


class Instant(NamedTuple):
    """A moment: seconds since 1970, which may be negative, and nanoseconds after them."""

    seconds: int
    nanos: int = 0


ZERO: Final = Instant(-62_135_596_800)


def canonical(text: str) -> str | None:
    """The form in which a `Time` is kept. None is the zero date. Raises TimeError."""
    if _CANONICAL(text) and text[:4] != "0001":
        return text
    return seconds_text(parse(text))


def canonical_micro(text: str) -> str | None:
    """The form in which a `MicroTime` is kept. None is the zero date. Raises TimeError."""
    if _CANONICAL_MICRO(text) and text[:4] != "0001":
        return text
    return micros_text(parse(text, micro=True))


def of(moment: datetime) -> str:
    """A `Time` that says when; fractions of a second are dropped."""
    return moment.astimezone(UTC).isoformat(timespec="seconds")[:-6] + "Z"


def micro_of(moment: datetime) -> str:
    """A `MicroTime` that says when."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")[:-6] + "Z"


def moment(text: str) -> datetime:
    """The date that a `Time` or `MicroTime` of an object says. Raises TimeError, also outside the years 1 to 9999."""
    seconds, nanos = parse(text)
    try:
        return _EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000)
    except OverflowError as error:
        raise TimeError(f"{text}: the year is out of range") from error


def seconds_text(instant: Instant) -> str | None:
    """A moment in the form of a `Time`; None for the zero date."""
    return None if instant == ZERO else _civil(instant.seconds) + "Z"


def micros_text(instant: Instant) -> str | None:
    """A moment in the form of a `MicroTime`; None for the zero date."""
    return None if instant == ZERO else f"{_civil(instant.seconds)}.{instant.nanos // 1000:06d}Z"


def _civil(seconds: int) -> str:
    day, second = divmod(seconds, 86_400)
    era, day_of_era = divmod(day + _EPOCH_DAY, 146_097)
    year_of_era = (day_of_era - day_of_era // 1_460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month_from_march = (5 * day_of_year + 2) // 153
    day_of_month = day_of_year - (153 * month_from_march + 2) // 5 + 1
    month = month_from_march + 3 if month_from_march < 10 else month_from_march - 9
    year = year_of_era + era * 400 + (month <= 2)
    sign = "-" if year < 0 else ""
    hour, minute = divmod(second // 60, 60)
    return f"{sign}{abs(year):04d}-{month:02d}-{day_of_month:02d}T{hour:02d}:{minute:02d}:{second % 60:02d}"


def _epoch_seconds(year: int, month: int, day: int) -> int:
    year -= month <= 2
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    return (era * 146_097 + day_of_era - _EPOCH_DAY) * 86_400


def parse(text: str, *, micro: bool = False) -> Instant:
    """Read a date. With `micro` it must have exactly six decimals, else any number. Raises TimeError."""
    return _Reader(text, _MICROS if micro else _SECONDS).date()


class _Reader:
    """Goes through a date from left to right. It works on bytes (as Latin-1), because Go counts bytes."""

    def __init__(self, text: str, layout: str) -> None:
        self.text = text.encode("utf-8", "replace").decode("latin-1")
        self.rest = self.text
        self.layout = layout

    def date(self) -> Instant:
        year = self.year()
        self.skip("-")
        month = self.two_digits("01")
        if not 1 <= month <= 12:
            raise self.out_of_range("month")
        self.skip("-")
        day = self.two_digits("02")
        self.skip("T")
        hour = self.hour()
        self.skip(":")
        minute = self.two_digits("04")
        if minute >= 60:
            raise self.out_of_range("minute")
        self.skip(":")
        second = self.two_digits("05")
        if second >= 60:
            raise self.out_of_range("second")
        nanos = self.six_decimals() if self.layout == _MICROS else self.decimals()
        offset = self.zone()
        if self.rest:
            raise TimeError(f"parsing time {_quote(self.text)}: extra text: {_quote(self.rest)}")
        if not 1 <= day <= _days_in(month, year):
            raise self.out_of_range("day")
        return Instant(_epoch_seconds(year, month, day) + hour * 3600 + minute * 60 + second - offset, nanos)

    def unlike(self, element: str, found: str) -> TimeError:
        as_layout = f"as {_quote(self.layout)}: cannot parse {_quote(found)} as {_quote(element)}"
        return TimeError(f"parsing time {_quote(self.text)} {as_layout}")

    def out_of_range(self, what: str) -> TimeError:
        return TimeError(f"parsing time {_quote(self.text)}: {what} out of range")

    def skip(self, separator: str) -> None:
        if not self.rest.startswith(separator):
            raise self.unlike(separator, self.rest)
        self.rest = self.rest[1:]

    def take(self, digits: int, element: str) -> int:
        taken = self.rest[:digits]
        if len(taken) < digits or not _is_number(taken):
            raise self.unlike(element, self.rest)
        self.rest = self.rest[digits:]
        return int(taken)

    def year(self) -> int:
        return self.take(4, "2006")

    def two_digits(self, element: str) -> int:
        return self.take(2, element)

    def hour(self) -> int:
        # Go takes an hour of one digit.
        hour = self.take(2 if _is_number(self.rest[1:2]) else 1, "15")
        if hour >= 24:
            raise self.out_of_range("hour")
        return hour

    def decimals(self) -> int:
        if self.rest[:1] not in {".", ","} or not _is_number(self.rest[1:2]):
            return 0
        end = 1
        while _is_number(self.rest[end : end + 1]):
            end += 1
        digits, self.rest = self.rest[1:end], self.rest[end:]
        return int(digits[:9].ljust(9, "0"))

    def six_decimals(self) -> int:
        taken = self.rest[:7]
        if len(taken) < 7 or taken[0] not in ".," or not _is_number(taken[1:]):
            raise self.unlike(".000000", self.rest)
        self.rest = self.rest[7:]
        return int(taken[1:]) * 1000

    def zone(self) -> int:
        if self.rest.startswith("Z"):
            self.rest = self.rest[1:]
            return 0
        zone, begin = self.rest[:6], self.rest
        if len(zone) < 6 or zone[3] != ":" or not _is_number(zone[1:3]):
            raise self.unlike("Z07:00", begin)
        hours, minutes = int(zone[1:3]), int(zone[4:6]) if _is_number(zone[4:6]) else None
        self.rest = self.rest[6:]
        if minutes is not None and minutes > 60:
            raise self.out_of_range("time zone offset minute")
        if hours > 24:
            raise self.out_of_range("time zone offset hour")
        if minutes is None:
            raise self.unlike("Z07:00", begin)
        if zone[0] not in "+-":
            raise self.unlike("Z07:00", begin)
        offset = (hours * 60 + minutes) * 60
        return -offset if zone[0] == "-" else offset


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _days_in(month: int, year: int) -> int:
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in {4, 6, 9, 11} else 31


def _quote(text: str) -> str:
    # Go's time package has a quoting of its own: bytes that are not printable ASCII become \xNN.
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[^ -\x7f]", lambda match: f"\\x{ord(match[0]):02x}", escaped) + '"'
