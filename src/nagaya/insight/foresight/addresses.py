"""How many addresses a rollout takes of each pool, at its fullest moment. Pure.

An address that is given back rests for a while before it is given again. So what machines take that come is counted
against what is free now, and what others give back is only said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from nagaya.api.ipam.in_cluster_ip_pool import InClusterIPPoolSpec
from nagaya.api.ipam.pool_ranges import giveable
from nagaya.infrastructure.proxmox.cluster.pools import pool_spec, wanted_pools
from nagaya.insight.foresight.fleet import Fleet
from nagaya.insight.foresight.landing import pools_of
from nagaya.insight.foresight.move import Move
from nagaya.insight.foresight.site import Site


@dataclass(frozen=True, slots=True)
class PoolNeed:
    """What is asked of a pool."""

    pool: str
    free: int | None
    """How many addresses can be given now; None if that is not known."""
    taken: int
    """How many are taken at the fullest moment, of what is free now."""
    returned: int
    """How many are given back, and rest."""
    spread: int
    """How many are taken if those that are given back can be given again at once."""


def needs(site: Site, fleet: Fleet, moves: Iterable[Move]) -> tuple[PoolNeed, ...]:
    """What machines take of each pool, by its name."""
    free = _free(site)
    taken: Counter[str] = Counter()
    returned: Counter[str] = Counter()
    balance: Counter[str] = Counter()
    most: dict[str, int] = {}
    for move in moves:
        for pool in pools_of(site, fleet, move.machine):
            if move.made:
                taken[pool] += 1
                balance[pool] += 1
            else:
                returned[pool] += 1
                balance[pool] -= 1
            most[pool] = max(most.get(pool, 0), balance[pool])
    return tuple(
        PoolNeed(name, free.get(name), taken[name], returned[name], most[name]) for name in sorted(most) if taken[name]
    )


def without_address(site: Site, fleet: Fleet, moves: Iterable[Move]) -> frozenset[str]:
    """Machines for which no address is left, also once those that were given back have rested."""
    free = Counter(_free(site))
    found = set()
    for move in moves:
        pools = [each for each in pools_of(site, fleet, move.machine) if each in free]
        if not move.made:
            free.update(pools)
        elif any(free[each] <= 0 for each in pools):
            found.add(move.machine)
        else:
            free.subtract(pools)
    return frozenset(found)


def _free(site: Site) -> dict[str, int]:
    found: dict[str, int] = {}
    for wanted in wanted_pools(site.infrastructure):
        spec = msgspec.convert(
            {name: value for name, value in pool_spec(wanted.config).items() if value is not None}, InClusterIPPoolSpec
        )
        found[wanted.name] = giveable(spec).count
    for name, pool in site.pools.items():
        counts = pool.status.ip_addresses
        if counts is not None:
            found[name] = counts.free
    return found
