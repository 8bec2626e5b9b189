"""Shares of processor time: the two generations of control groups know different numbers."""

from __future__ import annotations

LEAST_OF_FIRST = 2
MOST_OF_SECOND = 10000


def clamped(units: int, generation: int) -> int:
    """The nearest number to an option `cpuunits` that a host's control groups know."""
    return min(units, MOST_OF_SECOND) if generation == 2 else max(units, LEAST_OF_FIRST)
