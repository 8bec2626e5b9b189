"""From the least to the most that something can be: what static estimates compute with.

Sizes and costs are whole numbers of 64 bits without a sign, as in the real server. Sums and products that do not fit
stay at the largest, so that what has no limit never looks cheap.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

LARGEST: Final = 2**64 - 1


class Range(NamedTuple):
    """A size or a cost, both ends included."""

    least: int
    most: int

    def plus(self, other: Range) -> Range:
        """Both together."""
        return Range(min(self.least + other.least, LARGEST), min(self.most + other.most, LARGEST))

    def times(self, other: Range) -> Range:
        """One for each of the other."""
        return Range(min(self.least * other.least, LARGEST), min(self.most * other.most, LARGEST))

    def scaled(self, factor: float) -> Range:
        """With a factor, rounded up."""
        return Range(_scaled(self.least, factor), _scaled(self.most, factor))

    def or_else(self, other: Range) -> Range:
        """One or the other."""
        return Range(min(self.least, other.least), max(self.most, other.most))


def exactly(number: int) -> Range:
    """No more and no less."""
    return Range(number, number)


UNKNOWN: Final = Range(0, LARGEST)
NOTHING: Final = exactly(0)
ONE: Final = exactly(1)


def _scaled(number: int, factor: float) -> int:
    product = float(number) * factor
    return LARGEST if product >= 2.0**64 else math.ceil(product)
