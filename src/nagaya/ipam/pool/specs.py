"""The specs of pools, read once: every look at a pool compares it with all others."""

from __future__ import annotations

from dataclasses import dataclass

from nagaya.api.ipam.in_cluster_ip_pool import InClusterIPPoolSpec
from nagaya.api.ipam.ip_address_reservation import ReservedPool
from nagaya.api.ipam.pool_ranges import giveable, listed
from nagaya.api.ipam.ranges import NONE, RangeSet, number_of


@dataclass(frozen=True, slots=True)
class Ranges:
    """What the spec of a pool comes to."""

    listed: RangeSet = NONE
    giveable: RangeSet = NONE
    gateway: int | None = None
    problem: str = ""
    """Why it comes to nothing."""


def ranges_of(spec: InClusterIPPoolSpec) -> Ranges:
    """Read a spec. One that makes no sense, which an API without checks may hold, says why."""
    try:
        found = Ranges(listed(spec), giveable(spec), number_of(spec.gateway) if spec.gateway else None)
    except ValueError as error:
        return Ranges(problem=f"{error}.")
    return found if spec.addresses else Ranges(problem="spec.addresses is empty.")


class Specs:
    """What is known of specs already."""

    def __init__(self) -> None:
        self._known: dict[ReservedPool, tuple[InClusterIPPoolSpec, Ranges]] = {}

    def of(self, pool: ReservedPool, spec: InClusterIPPoolSpec) -> Ranges:
        """Read the spec of a pool, or remember it."""
        known = self._known.get(pool)
        if known is not None and (known[0] is spec or known[0] == spec):
            return known[1]
        found = ranges_of(spec)
        self._known[pool] = (spec, found)
        return found

    def forget(self, pool: ReservedPool) -> None:
        """The pool is gone."""
        self._known.pop(pool, None)
