"""Everything that a decision about a machine may depend on, read at one moment from caches alone."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, TypeVar

from nagaya.api.cluster import labels
from nagaya.api.cluster.cluster import Cluster
from nagaya.api.cluster.cluster_conditions import ClusterCondition
from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.api.cluster.machine_deployment import MACHINE_DEPLOYMENTS, MachineDeployment
from nagaya.api.cluster.machine_drain_rule import MACHINE_DRAIN_RULES, MachineDrainRule
from nagaya.api.cluster.machine_set import MACHINE_SETS, MachineSet
from nagaya.api.contract.provider import BootstrapConfig, Broken, ControlPlane, InfrastructureMachine, Provider
from nagaya.clusters.external import Referenced, look_up
from nagaya.clusters.node import NODES, Node, nodes_of
from nagaya.clusters.owners import is_a
from nagaya.core.machine.ownership import foreign_controller
from nagaya.kube import conditions
from nagaya.kube.key import Key
from nagaya.kube.remote import Probe, Remote
from nagaya.kube.runtime import Runtime

REMOTE_CONDITIONS_GRACE: Final = timedelta(minutes=5)
"""For how long the last known state of a Node is shown after its tenant stopped answering."""

BY_CLUSTER: Final = "machine controller: cluster"
"""The index of Machines by `namespace/name` of their Cluster. Others have theirs, under names of their own."""

NEVER_PROBED: Final = Probe()
P = TypeVar("P", bound=Provider)


@dataclass(frozen=True, slots=True)
class Settings:
    """What the operator decides for all machines."""

    remote_conditions_grace: timedelta = REMOTE_CONDITIONS_GRACE
    sync_labels: tuple[re.Pattern[str], ...] = ()
    """Further labels of Machines that are carried over to Nodes: those with a name in which one of these is found."""
    sync_annotations: tuple[re.Pattern[str], ...] = ()


@dataclass(frozen=True, slots=True)
class Seen:
    """A machine and its surroundings. If it is not in here, it does not matter."""

    now: datetime
    machine: Machine
    cluster: Cluster
    infrastructure: Referenced[InfrastructureMachine]
    bootstrap: Referenced[BootstrapConfig] | None = None
    """None if the user gives the boot data."""
    machine_set: MachineSet | None = None
    """The owner; None also if it is gone."""
    machine_deployment: MachineDeployment | None = None
    """The owner of the owner."""
    remote: Remote | None = None
    """The tenant, if it can be talked to at this moment."""
    probe: Probe = NEVER_PROBED
    nodes: tuple[Node, ...] | None = None
    """The tenant's Nodes with the provider id of the machine: one at most, unless something is wrong. None if the
    tenant's Nodes are not known at this moment."""
    settings: Settings = Settings()

    # Only read for a machine that is being deleted.
    control_plane: Referenced[ControlPlane] | None = None
    """What the Cluster's controlPlaneRef leads to; None without one."""
    cluster_machines: tuple[Machine, ...] = ()
    """All Machines of the Cluster, this one included."""
    drain_rules: tuple[MachineDrainRule, ...] = ()
    """All MachineDrainRules of the namespace, by name."""

    @property
    def key(self) -> Key:
        """The machine's key."""
        return Key.of(self.machine)

    @property
    def cluster_key(self) -> Key:
        """The Cluster's key, which is the tenant's."""
        return Key.of(self.cluster)

    @property
    def deleting(self) -> bool:
        """Whether the machine is to go."""
        return self.machine.metadata.deleting

    @property
    def node(self) -> Node | None:
        """The Node of the machine, if it is known for certain."""
        return self.nodes[0] if self.nodes is not None and len(self.nodes) == 1 else None

    @property
    def provider_id(self) -> str:
        """How infrastructure and Node call the machine; the infrastructure may know it before the Machine does."""
        if self.machine.spec.provider_id:
            return self.machine.spec.provider_id
        host = self.infrastructure.provider
        try:
            return "" if host is None else host.provider_id
        except Broken:
            return ""  # the plan says what is wrong with it

    @property
    def control_plane_machine(self) -> bool:
        """Whether the machine runs a part of the control plane."""
        return labels.CONTROL_PLANE in self.machine.metadata.labels

    @property
    def control_plane_initialized(self) -> bool:
        """Whether the tenant's API has ever answered: before that nobody tries to reach it."""
        return conditions.is_true(self.cluster.status.conditions, ClusterCondition.CONTROL_PLANE_INITIALIZED)


def observe(rt: Runtime, machine: Machine, cluster: Cluster, settings: Settings) -> Seen:
    """Read everything about a machine. The kinds of its providers are in the cache already."""
    namespace = machine.metadata.namespace
    spec = machine.spec
    config = spec.bootstrap.config_ref
    machine_set = _owner(rt, machine)
    cluster_key = Key.of(cluster)
    seen = Seen(
        now=rt.world.clock.now(),
        machine=machine,
        cluster=cluster,
        infrastructure=_ours(look_up(rt, namespace, spec.infrastructure_ref, InfrastructureMachine), machine, cluster),
        bootstrap=None if config is None else _ours(look_up(rt, namespace, config, BootstrapConfig), machine, cluster),
        machine_set=machine_set,
        machine_deployment=None if machine_set is None else _deployment(rt, machine_set),
        remote=rt.remotes.get(cluster_key),
        probe=rt.remotes.probe(cluster_key),
        settings=settings,
    )
    seen = replace(seen, nodes=_nodes(seen))
    return _with_surroundings(rt, seen) if seen.deleting else seen


def _with_surroundings(rt: Runtime, seen: Seen) -> Seen:
    namespace = seen.machine.metadata.namespace
    reference = seen.cluster.spec.control_plane_ref
    return replace(
        seen,
        control_plane=None if reference is None else look_up(rt, namespace, reference, ControlPlane),
        cluster_machines=tuple(rt.cache.by(MACHINES, BY_CLUSTER, str(seen.cluster_key))),
        drain_rules=tuple(rt.cache.list(MACHINE_DRAIN_RULES, namespace)),
    )


def _ours(found: Referenced[P], machine: Machine, cluster: Cluster) -> Referenced[P]:
    """An object that somebody else controls is not this machine's, whatever the reference says."""
    if found.provider is None:
        return found
    other = foreign_controller(machine, found.provider.metadata, cluster)
    if other is None:
        return found
    problem = (
        f"{found.provider.title} is controlled by {other.kind} {other.name}, so it is left alone. "
        f"Refer to an object that nobody else uses."
    )
    return replace(found, provider=None, problem=problem)


def _owner(rt: Runtime, machine: Machine) -> MachineSet | None:
    for owner in machine.metadata.owner_references:
        if is_a(owner, MACHINE_SETS):
            return rt.cache.get(MACHINE_SETS, Key(machine.metadata.namespace, owner.name))
    return None


def _deployment(rt: Runtime, machine_set: MachineSet) -> MachineDeployment | None:
    name = machine_set.metadata.labels.get(labels.MACHINE_DEPLOYMENT_NAME)
    return rt.cache.get(MACHINE_DEPLOYMENTS, Key(machine_set.metadata.namespace, name)) if name else None


def _nodes(seen: Seen) -> tuple[Node, ...] | None:
    if seen.remote is None or not seen.remote.cache.is_synced(NODES):
        return None
    return nodes_of(seen.remote.cache, seen.provider_id) if seen.provider_id else ()
