"""What to do for a ProxmoxCluster: pools for its machines, an address for its API, and at its end nothing left behind.

Pools, the claim and the endpoint do not need Proxmox VE, so they are made while it is away. The cluster is ready for
machines when all of it is there, and stays so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from nagaya.api.cluster.cluster_network import Endpoint
from nagaya.api.ipam.in_cluster_ip_pool import DISJOINT, INVALID_SPEC
from nagaya.api.ipam.in_cluster_ip_pool import READY as POOL_READY
from nagaya.api.ipam.ip_address_claim import READY as CLAIM_READY
from nagaya.api.proxmox.conditions import ProxmoxClusterReason as Reason
from nagaya.api.proxmox.proxmox_cluster_spec import DEFAULT_PORT
from nagaya.infrastructure.proxmox.cluster.pools import WantedPool, wanted_pools
from nagaya.infrastructure.proxmox.cluster.seen import Seen
from nagaya.infrastructure.proxmox.cluster.virtual_ip import boot_facts, changed, without_address
from nagaya.kube.conditions import get, is_false

_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done, and what is known from now on."""

    reason: str
    sentence: str = ""
    hold: bool = False
    """Whether things are made that have to be cleaned up."""
    pools: tuple[WantedPool, ...] = ()
    """The pools that there are to be."""
    own_secret: bool = False
    """Whether the Secret is to stay until the cluster is gone."""
    claim: bool = False
    """Whether an address for the API is to be claimed."""
    endpoint: Endpoint | None = None
    """The address of the API, if that has to be written down."""
    annotations: Mapping[str, str | None] = field(default_factory=dict)
    """What has to be told to those who make boot data, as far as it is not; None takes an annotation away."""
    provisioned: bool = False
    drop_claim: bool = False
    release: bool = False
    """Whether everything ends: the Secret is let go, then the cluster."""


def plan(seen: Seen) -> Plan:
    """A cluster is ready when Proxmox VE is, its pools are there, and its API has an address."""
    if seen.proxmox.metadata.deleting:
        return _going(seen)
    if seen.cluster is None:
        return Plan(Reason.WAITING_FOR_OWNER, "Waiting for a Cluster to refer to this ProxmoxCluster.")
    endpoint = _endpoint(seen)
    steps = Plan(
        Reason.PROVISIONED,
        hold=True,
        pools=wanted_pools(seen.proxmox),
        own_secret=seen.secret is not None and not seen.secret.metadata.deleting,
        claim=_claims(seen),
        endpoint=endpoint if endpoint != seen.proxmox.spec.control_plane_endpoint else None,
        annotations=changed(seen.proxmox.metadata.annotations, boot_facts(seen, endpoint)),
        provisioned=seen.provisioned,
    )
    why = _obstacle(seen, steps, endpoint)
    if why is not None:
        return replace(steps, reason=why[0], sentence=why[1])
    return replace(steps, sentence=_remark(seen, endpoint), provisioned=True)


def blocked(steps: Plan, refused: str) -> Plan:
    """A plan of which the API refused a part. What became true earlier stays true: the status sees to that."""
    if steps.release or steps.drop_claim:
        return steps
    return replace(steps, reason=Reason.WAITING_FOR_ADDRESS_POOLS, sentence=refused, provisioned=False)


def _obstacle(seen: Seen, steps: Plan, endpoint: Endpoint) -> tuple[str, str] | None:
    """Why machines cannot be made yet, or not any more."""
    if not seen.availability.holds:
        return Reason.WAITING_FOR_PROXMOX, seen.availability.sentence
    if unknown := _unknown_hosts(seen):
        hosts, known = ", ".join(unknown), ", ".join(sorted(seen.availability.hosts))
        return (
            Reason.UNKNOWN_HOSTS,
            f"Proxmox VE has no hosts called {hosts}, but {known}: correct spec.allowedNodes and spec.failureDomains.",
        )
    missing = [each.name for each in steps.pools if each.name not in seen.pools]
    if missing:
        return Reason.WAITING_FOR_ADDRESS_POOLS, f"The pools of addresses are being made: {', '.join(missing)}."
    for name, pool in sorted(seen.pools.items()):
        ready = get(pool.status.conditions, POOL_READY)
        if ready is not None and ready.status == "False" and ready.reason == INVALID_SPEC:
            return Reason.WAITING_FOR_ADDRESS_POOLS, f"InClusterIPPool {name} cannot be used: {ready.message}"
    if gateway := _gateway(seen, endpoint):
        return (
            Reason.MISSING_CONTROL_PLANE_ENDPOINT,
            f"The API server cannot have the address {endpoint.host}, which is that of the router ({gateway}): give "
            "spec.controlPlaneEndpoint.host one that nobody has.",
        )
    if endpoint.valid or seen.hosted:
        return None
    return _no_endpoint(seen)


def _no_endpoint(seen: Seen) -> tuple[str, str]:
    spec = seen.proxmox.spec
    if spec.external_managed_control_plane:
        part = "port" if spec.control_plane_endpoint.host else "host"
        return (
            Reason.MISSING_CONTROL_PLANE_ENDPOINT,
            f"Waiting for the provider of the control plane to fill in the {part} of spec.controlPlaneEndpoint.",
        )
    pool = spec.control_plane_endpoint_pool_ref
    if pool is None:
        return (
            Reason.MISSING_CONTROL_PLANE_ENDPOINT,
            "The API server has no address: give spec.controlPlaneEndpoint.host an address that no machine has, or "
            "spec.controlPlaneEndpointPoolRef a pool to take one from.",
        )
    told = None if seen.claim is None else get(seen.claim.status.conditions, CLAIM_READY)
    why = f": {told.message}" if told is not None and told.status == "False" and told.message else "."
    return (
        Reason.WAITING_FOR_CONTROL_PLANE_ADDRESS,
        f"Waiting for {pool.kind} {pool.name} to give an address for the API server{why}",
    )


def _endpoint(seen: Seen) -> Endpoint:
    """The address of the API, as far as it is known. What is written down stays."""
    spec = seen.proxmox.spec
    given = spec.control_plane_endpoint
    if given.valid:
        return given
    of_cluster = Endpoint() if seen.cluster is None else seen.cluster.spec.control_plane_endpoint
    if spec.external_managed_control_plane or seen.hosted:
        return of_cluster if of_cluster.valid and not given.host else given
    if given.host:
        return Endpoint(host=given.host, port=DEFAULT_PORT)
    if of_cluster.valid:
        return of_cluster
    if spec.control_plane_endpoint_pool_ref is not None and seen.address:
        return Endpoint(host=seen.address, port=given.port or DEFAULT_PORT)
    return given


def _gateway(seen: Seen, endpoint: Endpoint) -> str:
    """The field that has the same address for a gateway; empty if none has, or if no machine is to take the address: an
    API that runs elsewhere may well run on the router."""
    spec = seen.proxmox.spec
    if spec.external_managed_control_plane or seen.hosted:
        return ""
    zones = [("spec", spec.ipv4_config, spec.ipv6_config)]
    zones += [(f"zone {each.zone}", each.ipv4_config, each.ipv6_config) for each in spec.zone_config]
    for place, *configs in zones:
        for name, config in zip(("ipv4Config", "ipv6Config"), configs, strict=True):
            if config is not None and endpoint.host and config.gateway == endpoint.host:
                return f"{place}.{name}.gateway" if place == "spec" else f"{name}.gateway of {place}"
    return ""


def _claims(seen: Seen) -> bool:
    """Whether a pool is to give the address. A claim that was made stays: the address is in use."""
    spec = seen.proxmox.spec
    if seen.claim is not None or spec.control_plane_endpoint_pool_ref is None or spec.control_plane_endpoint.host:
        return False
    elsewhere = spec.external_managed_control_plane or seen.hosted
    given = seen.cluster is not None and seen.cluster.spec.control_plane_endpoint.valid
    return not elsewhere and not given


def _unknown_hosts(seen: Seen) -> tuple[str, ...]:
    """Hosts that are named and do not exist; none as long as it is not known which do."""
    known = seen.availability.hosts
    if not known:
        return ()
    spec = seen.proxmox.spec
    named = {*spec.allowed_nodes, *(host for domain in spec.failure_domains for host in domain.hosts)}
    return tuple(sorted(named - known))


def _remark(seen: Seen, endpoint: Endpoint) -> str:
    """What is to be known of a cluster that is ready."""
    remarks = [
        f"InClusterIPPool {name}: {found.message}"
        for name, pool in sorted(seen.pools.items())
        if is_false(pool.status.conditions, DISJOINT) and (found := get(pool.status.conditions, DISJOINT)) is not None
    ]
    remarks += [without_address(seen, endpoint), *_dead_domains(seen)]
    return " ".join(filter(None, remarks))


def _dead_domains(seen: Seen) -> list[str]:
    """Failure domains without a host that is on. They stay what they are: a control plane that was spread over others
    while a rack is being repaired would have to be moved back afterwards."""
    off = seen.availability.off
    return [
        f"All hosts of failure domain {domain.name} are off ({', '.join(domain.hosts)}): machines for it wait."
        for domain in seen.proxmox.spec.failure_domains
        if off.issuperset(domain.hosts)
    ]


def _going(seen: Seen) -> Plan:
    owner = seen.cluster
    if seen.machines:
        names = sorted(each.metadata.name for each in seen.machines)
        more = len(names) - _NAMED
        rest = f" and {more} more" if more > 0 else ""
        return Plan(
            Reason.WAITING_FOR_MACHINES_DELETION,
            f"Waiting for ProxmoxMachines to be gone: {', '.join(names[:_NAMED])}{rest}.",
            provisioned=seen.provisioned,
        )
    if owner is not None and not owner.metadata.deleting:
        return Plan(
            Reason.DELETING,
            f"Cluster {owner.metadata.name} still needs this ProxmoxCluster, which goes when the Cluster is deleted. "
            "That destroys all machines of the Cluster and their data.",
            provisioned=seen.provisioned,
        )
    if seen.claim is not None:
        return Plan(
            Reason.RELEASING_ADDRESSES,
            "The address of the API server is given back to its pool.",
            provisioned=seen.provisioned,
            drop_claim=not seen.claim.metadata.deleting,
        )
    return Plan(Reason.DELETING, "Nothing is left of the cluster.", release=True)
