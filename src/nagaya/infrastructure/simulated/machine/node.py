"""The Node of a simulated machine, and the cluster that its API belongs to, as the simulator wants them described."""

from __future__ import annotations

import hashlib
import ipaddress
from typing import Final

from nagaya.api.cluster.cluster import Cluster
from nagaya.api.cluster.cluster_network import NetworkRanges
from nagaya.api.cluster.machine_status import MachineAddress
from nagaya.api.cluster.taint import NODE_UNINITIALIZED
from nagaya.api.simulated.simulated_cluster import SimulatedCluster
from nagaya.api.simulated.simulated_machine import SimulatedMachine, offered
from nagaya.infrastructure.simulated.machine.seen import Seen
from nagaya.pki.authority import CertificateAuthority
from nagaya.simulators.tenant.boot_data import KubeadmBoot
from nagaya.simulators.tenant.pace import Pace
from nagaya.simulators.tenant.settings import CONTROL_PLANE, NodeSettings, Taint, TenantSettings, Timing
from nagaya.simulators.tenant.shared import Shared

ZONE: Final = "topology.kubernetes.io/zone"


def provider_id(host: SimulatedMachine) -> str:
    """How the infrastructure calls a machine. The last part alone tells it from all others."""
    metadata = host.metadata
    return host.spec.provider_id or f"simulated://{metadata.namespace}/{metadata.name}-{metadata.uid[:8]}"


def addresses(seen: Seen) -> tuple[MachineAddress, ...]:
    """The addresses of a machine."""
    return (
        MachineAddress(type="InternalIP", address=seen.address),
        MachineAddress(type="Hostname", address=seen.host.metadata.name),
    )


def failure_domain(seen: Seen) -> str:
    """Where a machine is: where its Machine wants it, or anywhere it may be."""
    host, machine, cluster = seen.host, seen.machine, seen.cluster
    if host.status.failure_domain or machine is None:
        return host.status.failure_domain
    if machine.spec.failure_domain or cluster is None:
        return machine.spec.failure_domain
    domains = [
        each.name for each in cluster.status.failure_domains if each.control_plane is True or not seen.control_plane
    ]
    if not domains:
        return ""
    return sorted(domains)[
        int.from_bytes(hashlib.sha256(host.metadata.uid.encode()).digest()[:8], "big") % len(domains)
    ]


def node_settings(seen: Seen, boot: KubeadmBoot | None = None) -> NodeSettings:
    """The Node that joins, as kubeadm has it register if the boot data are for kubeadm."""
    host, machine = seen.host, seen.machine
    control_plane = seen.control_plane if boot is None else boot.control_plane
    domain = failure_domain(seen)
    return NodeSettings(
        host.metadata.name,
        provider_id=provider_id(host),
        version="" if machine is None else machine.spec.version,
        labels={
            **({ZONE: domain} if domain else {}),
            **host.spec.node_labels,
            **(boot.labels if boot is not None else {}),
        },
        taints=[
            *_taints(boot, control_plane=control_plane),
            *(Taint(each.key, each.effect, each.value) for each in host.spec.node_taints),
        ],
        addresses=[("InternalIP", seen.address)],
        capacity=offered(host.spec),
        control_plane=control_plane,
        external_cloud=boot is not None and boot.external_cloud,
        boot=boot,
    )


def _taints(boot: KubeadmBoot | None, *, control_plane: bool) -> tuple[Taint, ...]:
    if boot is None:
        return (Taint(CONTROL_PLANE if control_plane else NODE_UNINITIALIZED, "NoSchedule"),)
    if boot.taints is None:
        return (Taint(CONTROL_PLANE, "NoSchedule"),) if control_plane else ()
    return boot.taints


def tenant_settings(seen: Seen, authority: CertificateAuthority, shared: Shared, *, listen: bool) -> TenantSettings:
    """The cluster whose API starts with its first control plane machine."""
    cluster, infrastructure, machine = seen.cluster, seen.infrastructure, seen.machine
    assert cluster is not None
    assert infrastructure is not None
    endpoint = infrastructure.spec.control_plane_endpoint
    defaults = TenantSettings(cluster.metadata.name, authority)
    network = cluster.spec.cluster_network
    return TenantSettings(
        cluster.metadata.name,
        authority,
        version=(machine.spec.version if machine is not None else "") or defaults.version,
        host=endpoint.host,
        port=endpoint.port or 0,
        hosts=_names(cluster),
        listen=listen,
        control_plane_endpoint=str(endpoint),
        service_subnet=_range(network.services, defaults.service_subnet),
        pod_subnet=_range(network.pods, defaults.pod_subnet),
        timing=_timing(infrastructure),
        shared=_shared(infrastructure, shared),
    )


def _names(cluster: Cluster) -> tuple[str, ...]:
    endpoint = cluster.spec.control_plane_endpoint
    return (endpoint.host,) if endpoint.host else ()


def _range(ranges: NetworkRanges | None, default: str) -> str:
    """The first range of IPv4: nodes and pods of a simulated cluster have such addresses only."""
    for each in ranges.cidr_blocks if ranges is not None else ():
        try:
            network = ipaddress.ip_network(each, strict=False)
        except ValueError:
            continue
        if isinstance(network, ipaddress.IPv4Network):
            return str(network)
    return default


def _timing(infrastructure: SimulatedCluster) -> Timing:
    nodes, defaults = infrastructure.spec.nodes, Timing()
    return Timing(
        node_ready=defaults.node_ready if nodes.ready_seconds is None else float(nodes.ready_seconds),
        node_monitor_grace=float(nodes.monitor_grace_seconds or defaults.node_monitor_grace),
        static_pod_start=(
            defaults.static_pod_start if nodes.static_pod_seconds is None else float(nodes.static_pod_seconds)
        ),
    )


def _shared(infrastructure: SimulatedCluster, shared: Shared) -> Shared:
    """What all clusters share, but with heartbeats of its own if it says so."""
    seconds = infrastructure.spec.nodes.heartbeat_seconds
    if seconds is None:
        return shared
    own = Shared(Pace(renewal=float(seconds)))
    own.seed = shared.seed
    return own
