"""Sets of a job's indexes as texts: `1,3-5,7`."""

from __future__ import annotations

from typing import Final

from nagaya.apiserver.meta import gostring

_LONGEST: Final = 20  # digits, leading zeros included


class IndexesError(ValueError):
    """A text is no set of indexes; the message is the real server's."""


def count(text: str, completions: int) -> int:
    """How many indexes a text names. Raises IndexesError."""
    total, last = 0, None
    for interval in text.split(",") if text else ():
        low, high = _interval(interval, completions)
        if last is not None and last >= low:
            raise IndexesError(f"non-increasing order, previous: {last}, current: {low}")
        total += high - low + 1
        last = high
    return total


def overlap(one: str, other: str, completions: int) -> int | None:
    """The first index that two texts have in common. Parts that cannot be read are passed over."""
    first, second = _readable(one, completions)[::-1], _readable(other, completions)[::-1]
    while first and second:
        (low, high), (other_low, other_high) = first[-1], second[-1]
        if low <= other_high and other_low <= high:
            return max(low, other_low)
        (first if low <= other_low else second).pop()
    return None


def _readable(text: str, completions: int) -> list[tuple[int, int]]:
    intervals = []
    for interval in text.split(",") if text else ():
        try:
            intervals.append(_interval(interval, completions))
        except IndexesError:
            continue
    return intervals


def _interval(text: str, completions: int) -> tuple[int, int]:
    limits = text.split("-")
    if len(limits) > 2:
        shown = gostring.quote(text)
        rule = "an index interval can have at most two parts separated by '-'"
        raise IndexesError(f"the fragment {shown} violates the requirement that {rule}")
    low = _index(limits[0], completions)
    if len(limits) == 1:
        return low, low
    high = _index(limits[1], completions)
    if low >= high:
        raise IndexesError(f"non-increasing order, previous: {low}, current: {high}")
    return low, high


def _index(text: str, completions: int) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise IndexesError(f"cannot convert string to integer for index: {gostring.quote(text)}")
    if len(text) > _LONGEST or int(text) >= completions:
        raise IndexesError(f"too large index: {gostring.quote(text)}")
    return int(text)
