"""Lengths of time and moments, as people type them: `90s`, `10m`, `1h30m`, `2d`, or a date."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

import click

_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_LENGTH: Final = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?[smhd])+")
_PART: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)([smhd])")


def read_length(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """The value of an option, in seconds. Raises click.BadParameter."""
    if value is None:
        return None
    seconds = seconds_of(value)
    if seconds is None:
        raise click.BadParameter(f"{value!r} is no length of time: write 90s, 10m, 1h30m or 2d.", context, parameter)
    return seconds


def read_moment(context: click.Context, parameter: click.Parameter, value: str | None) -> timedelta | datetime | None:
    """The value of an option: so long before now, or a date. Raises click.BadParameter."""
    if value is None:
        return None
    seconds = seconds_of(value)
    if seconds is not None:
        return timedelta(seconds=seconds)
    try:
        date = datetime.fromisoformat(value)
    except ValueError:
        raise click.BadParameter(
            f"{value!r} is no moment: write 10m, 2h or 2026-01-31T12:00:00Z.", context, parameter
        ) from None
    return date if date.tzinfo is not None else date.replace(tzinfo=UTC)


def seconds_of(text: str) -> float | None:
    """None for anything but a length of time. A number alone is in seconds."""
    if text.isascii() and text.isdecimal():
        return float(text)
    if not _LENGTH.fullmatch(text):
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
