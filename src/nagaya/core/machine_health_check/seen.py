"""Everything that a plan for a MachineHealthCheck may depend on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from nagaya.api.admission.selector import read
from nagaya.api.cluster import labels
from nagaya.api.cluster.annotations import PAUSED, SKIP_REMEDIATION
from nagaya.api.cluster.cluster import Cluster
from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.api.cluster.machine_health_check import MachineHealthCheck
from nagaya.clusters.node import NODES, Node
from nagaya.core.machine_health_check.external import External, RemediationKinds, look_up
from nagaya.core.machine_health_check.verdict import control_plane_initialized
from nagaya.kube.key import Key
from nagaya.kube.remote import Remote
from nagaya.kube.runtime import Runtime

BY_CLUSTER_LABEL: Final = "cluster label"
"""An index of Machines: by namespace and the cluster that their label names."""


@dataclass(frozen=True, slots=True)
class Target:
    """A machine that is checked."""

    machine: Machine
    node: Node | None = None
    node_deleted: bool = False
    """It had a Node, and the tenant no longer knows it."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A check, its machines, and the Nodes behind them."""

    check: MachineHealthCheck
    cluster: Cluster
    now: datetime
    targets: tuple[Target, ...] = ()
    """By name."""
    external: External | None = None
    """None: whoever owns a machine remediates it."""
    blind: bool = False
    """The tenant has Nodes, but cannot be asked for them at present: nothing can be said of any machine."""


def observe(rt: Runtime, kinds: RemediationKinds, check: MachineHealthCheck, cluster: Cluster) -> Seen:
    """Look at a check. Raises InvalidSelector."""
    now = rt.world.clock.now()
    remote: Remote | None = None
    if control_plane_initialized(cluster):
        remote = rt.remotes.get(Key.of(cluster))
        if remote is None or not remote.cache.is_synced(NODES):
            return Seen(check, cluster, now, blind=True)
    selector = read(check.spec.selector)
    place = str(Key(check.metadata.namespace, check.spec.cluster_name))
    targets = tuple(
        _target(each, remote)
        for each in rt.cache.by(MACHINES, BY_CLUSTER_LABEL, place)
        if selector.matches(each.metadata.labels) and not skipped(each)
    )
    return Seen(check, cluster, now, targets, look_up(rt.cache, kinds, check))


def skipped(machine: Machine) -> bool:
    """Whether somebody wants a machine to be left alone."""
    annotations = machine.metadata.annotations
    return PAUSED in annotations or SKIP_REMEDIATION in annotations


def cluster_label(machine: Machine) -> tuple[str, ...]:
    """What the index BY_CLUSTER_LABEL has a Machine under."""
    name = machine.metadata.labels.get(labels.CLUSTER_NAME)
    return (str(Key(machine.metadata.namespace, name)),) if name else ()


def _target(machine: Machine, remote: Remote | None) -> Target:
    reference = machine.status.node_ref
    if remote is None or reference is None:
        return Target(machine)
    node = remote.cache.get(NODES, Key("", reference.name))
    return Target(machine, node, node_deleted=node is None)
