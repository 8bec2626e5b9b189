"""What a plan for a deployment may depend on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from nagaya.api.admission.selector import InvalidSelector, Selector, read
from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.api.cluster.machine_deployment import MachineDeployment
from nagaya.api.cluster.machine_set import MACHINE_SETS, MachineSet
from nagaya.api.cluster.pause import why_paused
from nagaya.core.machine_deployment.desired import stem
from nagaya.core.machine_deployment.templates import NOT_LOOKED_AT, Templates, templates_of
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime

ORPHANS: Final = "without a controller, by namespace"
STEMS: Final = "name without what makes it unique"
"""Indexes of MachineSets."""


@dataclass(frozen=True, slots=True)
class Seen:
    """Everything a plan may depend on. If it is not in here, it does not matter."""

    deployment: MachineDeployment
    cluster: Cluster | None
    now: datetime
    sets: tuple[MachineSet, ...] = ()
    """Those that the deployment controls, by name."""
    orphans: tuple[MachineSet, ...] = ()
    """Those that its selector matches and nobody controls, by name."""
    machines: tuple[Machine, ...] = ()
    """Those of its sets."""
    templates: Templates = NOT_LOOKED_AT
    taken: frozenset[str] = frozenset()
    """Names of sets of others that a new set must not have."""
    selector: Selector | None = None
    """None if the deployment's says nothing that could be understood."""
    problem: str = ""
    """What is wrong with the selector."""

    @property
    def paused(self) -> str:
        """Why the deployment is left alone. Empty if it is not."""
        return why_paused(self.cluster, self.deployment, "MachineDeployment")


def observe(rt: Runtime, deployment: MachineDeployment) -> Seen:
    """Look at a deployment, by cached reads alone. One that goes needs no templates."""
    cache, metadata = rt.cache, deployment.metadata
    selector, problem = selector_of(deployment)
    sets = tuple(each for each in cache.owned(MACHINE_SETS, metadata.uid) if _controls(deployment, each))
    orphans: tuple[MachineSet, ...] = ()
    if selector is not None:
        without = cache.by(MACHINE_SETS, ORPHANS, metadata.namespace)
        orphans = tuple(
            each for each in without if not each.metadata.deleting and selector.matches(each.metadata.labels)
        )
    alike = cache.by(MACHINE_SETS, STEMS, f"{metadata.namespace}/{stem(deployment)}")
    return Seen(
        deployment=deployment,
        cluster=cache.get(CLUSTERS, Key(metadata.namespace, deployment.spec.cluster_name)),
        now=rt.world.clock.now(),
        sets=sets,
        orphans=orphans,
        machines=tuple(machine for each in sets for machine in cache.owned(MACHINES, each.metadata.uid)),
        templates=NOT_LOOKED_AT if metadata.deleting else templates_of(rt, deployment),
        taken=frozenset(each.metadata.name for each in alike if not _controls(deployment, each)),
        selector=selector,
        problem=problem,
    )


def selector_of(deployment: MachineDeployment) -> tuple[Selector | None, str]:
    """The selector of a deployment, or None and why it selects nothing."""
    try:
        found = read(deployment.spec.selector)
    except InvalidSelector as error:
        return None, f"failed to compute label selector from MachineDeployment.spec.selector: {error}"
    if not found.requirements:
        return None, "label selector computed from MachineDeployment.spec.selector is empty"
    return found, ""


def _controls(deployment: MachineDeployment, machine_set: MachineSet) -> bool:
    owner = machine_set.metadata.controller
    return owner is not None and owner.uid == deployment.metadata.uid
