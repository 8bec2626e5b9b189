"""Which Kubernetes versions the machines of a deployment run: the sum of what its MachineSets say."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cmp_to_key

from nagaya.api.cluster.machine_set import MachineSet
from nagaya.api.cluster.status_version import StatusVersion
from nagaya.core.machine_set.kubernetes_version import compare, parse


def versions(sets: Iterable[MachineSet]) -> tuple[StatusVersion, ...]:
    """All versions, oldest first, with how many machines run each. What is no version comes last."""
    counts: dict[str, int] = {}
    for machine_set in sets:
        for each in machine_set.status.versions:
            if each.version:
                counts[each.version] = counts.get(each.version, 0) + (each.replicas or 0)
    order = {version: index for index, version in enumerate(counts)}

    def position(one: str, other: str) -> int:
        first, second = parse(one), parse(other)
        if first is not None and second is not None:
            found = compare(first, second)
            if found is None:
                return order[one] - order[other]
            return found or (-1 if one < other else 1)
        if first is not None or second is not None:
            return -1 if first is not None else 1
        return -1 if one < other else 1

    listed = sorted(counts, key=cmp_to_key(position))
    return tuple(StatusVersion(version=each, replicas=counts[each] or None) for each in listed)
