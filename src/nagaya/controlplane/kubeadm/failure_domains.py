"""Where a new machine goes, and where one is taken from, so that failures hit as few machines as possible.

Equal choices are made by name: what is decided twice from the same facts is the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from nagaya.api.cluster.cluster import Cluster
from nagaya.api.cluster.machine import Machine


def domains_of(cluster: Cluster) -> tuple[str, ...]:
    """The failure domains that control plane machines may be in, by name."""
    return tuple(sorted(each.name for each in cluster.status.failure_domains if each.control_plane))


def fewest(domains: Collection[str], machines: Iterable[Machine], up_to_date: Iterable[Machine]) -> str:
    """For a new machine: where the fewest machines are that will stay; among equals, the fewest at all. Empty if there
    are no failure domains."""
    stay, all_of_them = _count(domains, up_to_date), _count(domains, machines)
    return min(sorted(domains), key=lambda each: (stay[each], all_of_them[each]), default="")


def one_of_most(domains: Collection[str], machines: Iterable[Machine], eligible: Collection[Machine]) -> Machine | None:
    """The machine to be deleted: the oldest of those that are eligible in the domain that has the most of these, and
    among equals the most at all. Those in a domain that is gone, or in none, go first."""
    outside = [each for each in eligible if each.spec.failure_domain not in domains]
    if outside:
        domain = oldest(outside).spec.failure_domain
    else:
        may_go, all_of_them = _count(domains, eligible), _count(domains, machines)
        domain = max(
            sorted(each for each in domains if may_go[each]),
            key=lambda each: (may_go[each], all_of_them[each]),
            default="",
        )
    there = [each for each in eligible if each.spec.failure_domain == domain]
    return oldest(there) if there else None


def oldest(machines: Collection[Machine]) -> Machine:
    """The machine that was made first; by name if several were."""
    return min(machines, key=age)


def age(machine: Machine) -> tuple[float, str]:
    """What machines are sorted by, the oldest first."""
    created = machine.metadata.creation_timestamp
    return (0.0 if created is None else created.timestamp(), machine.metadata.name)


def _count(domains: Iterable[str], machines: Iterable[Machine]) -> dict[str, int]:
    counts = dict.fromkeys(domains, 0)
    for machine in machines:
        if machine.spec.failure_domain in counts:
            counts[machine.spec.failure_domain] += 1
    return counts
