"""Where the pods of a workload can go in a new cluster, and what keeps them away."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from nagaya.cloud.lint.nodes import NodeClass
from nagaya.cloud.lint.plain import at, mappings, text
from nagaya.cloud.lint.selection import Match, fits, selects
from nagaya.cloud.lint.taints import Taint, untolerated
from nagaya.cloud.lint.workload import Workload

HOSTNAME: Final = "kubernetes.io/hostname"


@dataclass(frozen=True, slots=True)
class Place:
    """A class of nodes that a workload selects, and the taints there that it does not tolerate."""

    nodes: NodeClass
    untolerated: tuple[Taint, ...]


def places(workload: Workload, classes: Iterable[NodeClass]) -> tuple[Place, ...]:
    """The classes that a workload's selectors allow, in their order."""
    return tuple(
        Place(each, untolerated(each.taints, workload.tolerations))
        for each in classes
        if fits(workload.pod, each.labels) is not Match.NO
    )


def obstacle(workload: Workload, classes: Iterable[NodeClass]) -> Place | None:
    """The place with the least in the way, if everywhere something is; None if the workload can go somewhere, or if
    its selectors allow no place at all."""
    if workload.static:
        return None
    found = places(workload, classes)
    if not found or any(not each.untolerated for each in found):
        return None
    return min(found, key=lambda each: len(each.untolerated))


def node_count(workload: Workload, classes: Iterable[NodeClass]) -> int | None:
    """How many nodes there are for a workload at the start; None if that is not known."""
    found = places(workload, classes)
    free = [each for each in found if not each.untolerated]
    counts = [each.nodes.count for each in free or found]
    if not counts or None in counts:
        return None
    return sum(count or 0 for count in counts)


def keeps_apart(workload: Workload) -> bool:
    """Whether its pods must be on different nodes."""
    terms = at(workload.pod, "affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    return any(
        text(each.get("topologyKey")) == HOSTNAME and selects(each.get("labelSelector"), workload.pod_labels)
        for each in mappings(terms)
    )
