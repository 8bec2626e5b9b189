"""What a ProxmoxCluster tells of itself, one function per condition."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec

from nagaya.api.cluster.cluster_status import FailureDomainStatus
from nagaya.api.cluster.labels import CONTROL_PLANE
from nagaya.api.meta import Condition
from nagaya.api.proxmox.conditions import ProxmoxClusterCondition as Type
from nagaya.api.proxmox.conditions import ProxmoxClusterReason as Reason
from nagaya.api.proxmox.deprecated import Initialization
from nagaya.api.proxmox.proxmox_cluster import NodeLocation, NodeLocations, ProxmoxCluster, ProxmoxClusterStatus
from nagaya.api.proxmox.references import LocalReference
from nagaya.clusters.conditions import with_conditions
from nagaya.infrastructure.proxmox.cluster.availability import Availability
from nagaya.infrastructure.proxmox.cluster.plan import Plan
from nagaya.infrastructure.proxmox.cluster.pools import wanted_pools, zone_pools
from nagaya.infrastructure.proxmox.cluster.seen import Seen
from nagaya.kube.conditions import condition
from nagaya.kube.status_change import News

CONDITIONS: Final = (Type.READY, Type.PROXMOX_AVAILABLE, Type.DELETING, Type.PAUSED)
FIELDS: Final = (
    "initialization.provisioned",
    "inClusterIPPoolRef",
    "inClusterZoneRef",
    "nodeLocations",
    "failureDomains",
    "datacenter",
    "observedGeneration",
)
NEWS: Final = News(
    (
        "initialization.provisioned",
        "failureDomains",
        "datacenter",
        "inClusterIPPoolRef",
        "inClusterZoneRef",
        "nodeLocations",
    ),
    turns=("observedGeneration",),
    conditions=CONDITIONS,
)
"""What others act on."""


def status(proxmox: ProxmoxCluster, seen: Seen, plan: Plan) -> ProxmoxClusterStatus:
    """The status for which a plan has been carried out."""
    before = proxmox.status
    provisioned = True if plan.provisioned else before.initialization.provisioned
    pools = tuple(each for each in wanted_pools(proxmox) if each.name in seen.pools)
    told = msgspec.structs.replace(
        before,
        initialization=Initialization(provisioned=provisioned),
        in_cluster_ip_pool_ref=tuple(LocalReference(name=each.name) for each in pools),
        in_cluster_zone_ref=zone_pools(pools),
        node_locations=node_locations(seen),
        failure_domains=failure_domains(proxmox),
        datacenter=seen.availability.datacenter or before.datacenter,
        observed_generation=proxmox.metadata.generation or None,
    )
    conditions = (ready(proxmox, plan), available(seen.availability), deleting(proxmox, plan), paused(""))
    return _with(proxmox, told, seen.now, *conditions)


def paused_status(proxmox: ProxmoxCluster, why: str, now: datetime) -> ProxmoxClusterStatus:
    """The status of a cluster that is left alone: as it was, and why nothing happens."""
    return _with(proxmox, proxmox.status, now, paused(why))


def ready(proxmox: ProxmoxCluster, plan: Plan) -> Condition:
    """Whether machines can be made."""
    if proxmox.metadata.deleting:
        return condition(Type.READY, False, Reason.DELETING, plan.sentence)
    return condition(Type.READY, plan.reason == Reason.PROVISIONED, plan.reason, plan.sentence)


def available(found: Availability) -> Condition:
    """Whether Proxmox VE answers as it should."""
    return condition(Type.PROXMOX_AVAILABLE, found.holds, found.reason, found.sentence)


def deleting(proxmox: ProxmoxCluster, plan: Plan) -> Condition:
    """Whether the cluster goes away."""
    if not proxmox.metadata.deleting:
        return condition(Type.DELETING, False, Reason.NOT_DELETING)
    return condition(Type.DELETING, True, plan.reason, plan.sentence)


def paused(why: str) -> Condition:
    """Whether the cluster is left alone."""
    return condition(Type.PAUSED, bool(why), Reason.PAUSED if why else Reason.NOT_PAUSED, why)


def failure_domains(proxmox: ProxmoxCluster) -> tuple[FailureDomainStatus, ...]:
    """Hosts that fail together, as the contract wants them."""
    return tuple(
        FailureDomainStatus(
            name=each.name,
            control_plane=each.control_plane is not False,
            attributes={"nodes": ",".join(each.hosts)},
        )
        for each in proxmox.spec.failure_domains
    )


def node_locations(seen: Seen) -> NodeLocations | None:
    """Where the machines are, as far as they have a place. None if none has."""
    control_plane: list[NodeLocation] = []
    workers: list[NodeLocation] = []
    for machine in sorted(seen.machines, key=lambda each: each.metadata.name):
        if not machine.status.proxmox_node:
            continue
        network = machine.spec.network
        place = NodeLocation(
            machine=LocalReference(name=machine.metadata.name),
            node=machine.status.proxmox_node,
            zone=(network.zone or "") if network is not None else "",
        )
        (control_plane if CONTROL_PLANE in machine.metadata.labels else workers).append(place)
    if not control_plane and not workers:
        return None
    return NodeLocations(control_plane=tuple(control_plane), workers=tuple(workers))


def _with(
    proxmox: ProxmoxCluster, status: ProxmoxClusterStatus, now: datetime, *wanted: Condition
) -> ProxmoxClusterStatus:
    generation = proxmox.metadata.generation
    return msgspec.structs.replace(
        status, conditions=with_conditions(status.conditions, wanted, now=now, generation=generation)
    )
