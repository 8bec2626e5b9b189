"""Schedules in cron's notation, and the time zones they are meant in."""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Mapping
from typing import Final, NamedTuple

from nagaya.apiserver.meta import goduration, integers


class ScheduleError(ValueError):
    """A text is no schedule; the message is the cron library's."""


class _Bounds(NamedTuple):
    low: int
    high: int
    names: Mapping[str, int]


_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: Final = (
    _Bounds(0, 59, {}),
    _Bounds(0, 23, {}),
    _Bounds(1, 31, {}),
    _Bounds(1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    _Bounds(0, 6, {name: number for number, name in enumerate(_DAYS)}),
)
_DESCRIPTORS: Final = frozenset({"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"})
_EVERY: Final = "@every "
_zone_part = re.compile(r"[A-Za-z.\-_0-9+]{1,14}").fullmatch


def check(schedule: str) -> None:
    """Raises ScheduleError unless the text is a schedule."""
    if not schedule:
        raise ScheduleError("empty spec string")
    if schedule.startswith(("TZ=", "CRON_TZ=")):
        zone, space, rest = schedule.partition("=")[2].partition(" ")
        if not space:
            raise ScheduleError("invalid schedule format: runtime error: slice bounds out of range [:-1]")
        if not is_zone(zone):
            raise ScheduleError(f"provided bad location {zone}: unknown time zone {zone}")
        schedule = rest.strip()
    if schedule.startswith("@"):
        _check_descriptor(schedule)
        return
    parts = schedule.split()
    if len(parts) != len(_FIELDS):
        shown = f"[{' '.join(parts)}]"
        raise ScheduleError(f"expected exactly {len(_FIELDS)} fields, found {len(parts)}: {shown}")
    for part, bounds in zip(parts, _FIELDS, strict=True):
        for expression in filter(None, part.split(",")):
            _check_range(expression, bounds)


def _check_descriptor(text: str) -> None:
    if text in _DESCRIPTORS:
        return
    if not text.startswith(_EVERY):
        raise ScheduleError(f"unrecognized descriptor: {text}")
    try:
        goduration.parse(text.removeprefix(_EVERY))
    except ValueError as error:
        raise ScheduleError(f"failed to parse duration {text}: {error}") from None


def _check_range(expression: str, bounds: _Bounds) -> None:
    span, *steps = expression.split("/")
    limits = span.split("-")
    if limits[0] in ("*", "?"):
        start, end = bounds.low, bounds.high
    else:
        start = end = _number(limits[0], bounds.names)
        if len(limits) == 2:
            end = _number(limits[1], bounds.names)
        elif len(limits) > 2:
            raise ScheduleError(f"too many hyphens: {expression}")
    step = 1
    if len(steps) == 1:
        step = _number(steps[0], {})
        if len(limits) == 1:
            end = bounds.high
    elif steps:
        raise ScheduleError(f"too many slashes: {expression}")
    if start < bounds.low:
        raise ScheduleError(f"beginning of range ({start}) below minimum ({bounds.low}): {expression}")
    if end > bounds.high:
        raise ScheduleError(f"end of range ({end}) above maximum ({bounds.high}): {expression}")
    if start > end:
        raise ScheduleError(f"beginning of range ({start}) beyond end of range ({end}): {expression}")
    if step == 0:
        raise ScheduleError(f"step of range should be a positive number: {expression}")


def _number(text: str, known: Mapping[str, int]) -> int:
    if text.lower() in known:
        return known[text.lower()]
    try:
        number = integers.parse(text)
    except ValueError as error:
        raise ScheduleError(f"failed to parse int from {text}: {error}") from None
    if number < 0:
        raise ScheduleError(f"negative number ({number}) not allowed: {text}")
    return number


def zone_problems(zone: str) -> list[str]:
    """What is wrong with the name of a time zone."""
    if not zone:
        return ["timeZone must be nil or non-empty string"]
    for part in zone.split("/"):
        if part in (".", "..") or part.startswith("-") or not _zone_part(part):
            return [f"unknown time zone {zone}"]
    problems = []
    if zone.lower() == "local":
        problems.append("timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones")
    if zone != "Local" and not is_zone(zone):
        problems.append(f"unknown time zone {zone}")
    return problems


def is_zone(zone: str) -> bool:
    """Whether a time zone exists."""
    if zone in ("", "UTC"):
        return True
    try:
        zoneinfo.ZoneInfo(zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True
