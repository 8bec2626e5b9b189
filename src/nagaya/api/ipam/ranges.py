"""Sets of addresses as ranges of numbers: a set costs what it takes to write it down, however many addresses it has.

Every address is a number on one line: those of IPv4 as they are, those of IPv6 above them. So a set may hold both, and
no operation has to ask which family it deals with. What always holds: the ranges of a set are in order, do not overlap
and do not touch.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final

from nagaya.wire.remembered import remember_short

Range = tuple[int, int]
"""The first and the last address."""

_IPV6: Final = 1 << 32
_REMEMBERED: Final = 1 << 16


@remember_short(_REMEMBERED)
def number_of(text: str) -> int | None:
    """The number of an address, None if the text is none."""
    try:
        return _number(ip_address(text)) if "%" not in text else None
    except ValueError:
        return None


def address_of(number: int) -> IPv4Address | IPv6Address:
    """The address with a number."""
    return IPv4Address(number) if number < _IPV6 else IPv6Address(number - _IPV6)


def text_of(number: int) -> str:
    """An address as people write it."""
    return str(address_of(number))


def is_ipv4(number: int) -> bool:
    """Whether a number is that of an IPv4 address."""
    return number < _IPV6


def network_of(number: int, prefix: int) -> Range:
    """The network that an address is in. Raises ValueError if the prefix is too long for it."""
    base, bits = (0, 32) if is_ipv4(number) else (_IPV6, 128)
    if not 0 <= prefix <= bits:
        raise ValueError(f"{text_of(number)} is in no network with a prefix of {prefix}: it has 0 to {bits} bits")
    size = 1 << (bits - prefix)
    first = number - (number - base) % size
    return first, first + size - 1


def parse(text: str) -> Range:
    """An address, a range `first-last`, or a network `address/prefix`. Raises ValueError."""
    if "-" in text:
        first, _, last = text.partition("-")
        ends = number_of(first), number_of(last)
        if ends[0] is None or ends[1] is None or is_ipv4(ends[0]) != is_ipv4(ends[1]) or ends[0] > ends[1]:
            raise ValueError(f"{text!r} is no range of addresses, as 10.0.0.10-10.0.0.20 is")
        return ends[0], ends[1]
    address, slash, prefix = text.partition("/")
    found = number_of(address)
    if found is None:
        raise ValueError(f"{text!r} is no address")
    if not slash:
        return found, found
    if not prefix.isascii() or not prefix.isdigit() or prefix != str(int(prefix)):
        raise ValueError(f"{text!r} is no network, as 10.0.0.0/24 is")
    return network_of(found, int(prefix))


@dataclass(frozen=True, slots=True)
class RangeSet:
    """A set of addresses."""

    ranges: tuple[Range, ...] = ()

    @classmethod
    def of(cls, ranges: Iterable[Range]) -> RangeSet:
        """The set of all addresses in some ranges, which may overlap."""
        merged: list[Range] = []
        for first, last in sorted(ranges):
            if merged and first <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
            else:
                merged.append((first, last))
        return cls(tuple(merged))

    @classmethod
    def single(cls, numbers: Iterable[int]) -> RangeSet:
        """The set of some addresses."""
        return cls.of((each, each) for each in numbers)

    @classmethod
    def parse(cls, texts: Iterable[str]) -> RangeSet:
        """The set that a user wrote down. Raises ValueError for what is no address, range or network."""
        return cls.of(map(parse, texts))

    def __bool__(self) -> bool:
        return bool(self.ranges)

    def __contains__(self, number: int) -> bool:
        place = bisect_right(self.ranges, number, key=_first) - 1
        return place >= 0 and number <= self.ranges[place][1]

    def __sub__(self, other: RangeSet) -> RangeSet:
        return RangeSet(tuple(self._without(other)))

    def __and__(self, other: RangeSet) -> RangeSet:
        if not self.ranges or not other.ranges or self.outside(other):
            return RangeSet()
        return self - (self - other)

    def __str__(self) -> str:
        return ", ".join(map(_written, self.ranges))

    @property
    def count(self) -> int:
        """How many addresses there are."""
        return sum(last - first + 1 for first, last in self.ranges)

    @property
    def numbers(self) -> Iterator[int]:
        """All addresses in order, made one by one: there may be more than anyone can hold."""
        for first, last in self.ranges:
            number = first  # the builtin `range` would do, were it not for its length, which has a limit
            while number <= last:
                yield number
                number += 1

    def outside(self, other: RangeSet) -> bool:
        """Whether all addresses of one set come before all of the other: then nothing need be compared."""
        return self.ranges[-1][1] < other.ranges[0][0] or other.ranges[-1][1] < self.ranges[0][0]

    def _without(self, other: RangeSet) -> Iterator[Range]:
        taken, place = other.ranges, 0
        for first, last in self.ranges:
            while place < len(taken) and taken[place][1] < first:
                place += 1
            ahead = place
            while ahead < len(taken) and taken[ahead][0] <= last:
                if first < taken[ahead][0]:
                    yield first, taken[ahead][0] - 1
                first = taken[ahead][1] + 1
                ahead += 1
            if first <= last:
                yield first, last


NONE: Final = RangeSet()
"""The set without addresses."""


def _first(range_: Range) -> int:
    return range_[0]


def _written(range_: Range) -> str:
    first, last = range_
    return text_of(first) if first == last else f"{text_of(first)}-{text_of(last)}"


def _number(address: IPv4Address | IPv6Address) -> int:
    return int(address) if address.version == 4 else int(address) + _IPV6
