"""The addresses within a tenant: what its control plane says, else what its Cluster says, else the defaults."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_network

from nagaya.api.cluster.cluster_network import ClusterNetwork, NetworkRanges
from nagaya.api.controlplane.hosted_network import (
    DEFAULT_DNS_DOMAIN,
    DEFAULT_POD_CIDRS,
    DEFAULT_SERVICE_CIDRS,
    HostedNetwork,
)
from nagaya.pki.kubeadm.service_addresses import dns_address


@dataclass(frozen=True, slots=True)
class TenantNetwork:
    """The addresses within a tenant, all of them decided."""

    service_cidrs: tuple[str, ...] = DEFAULT_SERVICE_CIDRS
    pod_cidrs: tuple[str, ...] = DEFAULT_POD_CIDRS
    dns_domain: str = DEFAULT_DNS_DOMAIN
    dns_service_ips: tuple[str, ...] = ()

    @property
    def cluster_dns(self) -> tuple[str, ...]:
        """Where pods find cluster DNS. Raises ValueError, which names the range, if it has no place for it."""
        return self.dns_service_ips or (dns_address(self.service_cidrs),)

    @property
    def family(self) -> int:
        """The IP version, 4 or 6, of the API's address within the cluster, and so of the one that it advertises."""
        return ip_network(self.service_cidrs[0], strict=False).version


def network_of(declared: HostedNetwork, cluster: ClusterNetwork | None) -> TenantNetwork:
    """What holds for a tenant."""
    shared = cluster or ClusterNetwork()
    return TenantNetwork(
        service_cidrs=declared.service_cidrs or _blocks(shared.services) or DEFAULT_SERVICE_CIDRS,
        pod_cidrs=declared.pod_cidrs or _blocks(shared.pods) or DEFAULT_POD_CIDRS,
        dns_domain=declared.dns_domain or shared.service_domain or DEFAULT_DNS_DOMAIN,
        dns_service_ips=declared.dns_service_ips,
    )


def port_of(declared: HostedNetwork, cluster: ClusterNetwork | None) -> int | None:
    """The port that somebody asked for, if anybody did."""
    return declared.port or (cluster.api_server_port if cluster is not None else None)


def _blocks(ranges: NetworkRanges | None) -> tuple[str, ...]:
    return ranges.cidr_blocks if ranges is not None else ()
