from __future__ import annotations

import pytest

from nagaya.api.cluster.cluster_network import ClusterNetwork, NetworkRanges
from nagaya.api.controlplane.hosted_network import HostedNetwork
from nagaya.controlplane.hosted.components.network import TenantNetwork, network_of, port_of

CLUSTER = ClusterNetwork(
    api_server_port=8443,
    services=NetworkRanges(cidr_blocks=("10.1.0.0/16",)),
    pods=NetworkRanges(cidr_blocks=("10.2.0.0/16",)),
    service_domain="one.example",
)


def test_without_a_word_the_defaults_hold() -> None:
    assert network_of(HostedNetwork(), None) == TenantNetwork(("10.96.0.0/16",), ("10.244.0.0/16",), "cluster.local")
    assert port_of(HostedNetwork(), None) is None


def test_the_cluster_is_asked_for_what_the_control_plane_leaves_out() -> None:
    assert network_of(HostedNetwork(), CLUSTER) == TenantNetwork(("10.1.0.0/16",), ("10.2.0.0/16",), "one.example")
    assert port_of(HostedNetwork(), CLUSTER) == 8443


def test_the_control_plane_has_the_last_word() -> None:
    own = HostedNetwork(service_cidrs=("fd00::/112",), dns_domain="two.example", port=443)
    found = network_of(own, CLUSTER)

    assert (found.service_cidrs, found.pod_cidrs, found.dns_domain) == (
        ("fd00::/112",),
        ("10.2.0.0/16",),
        "two.example",
    )
    assert found.family == 6
    assert port_of(own, CLUSTER) == 443


def test_dns_has_the_tenth_address_unless_told_otherwise() -> None:
    assert TenantNetwork().cluster_dns == ("10.96.0.10",)
    assert TenantNetwork(dns_service_ips=("10.96.0.53",)).cluster_dns == ("10.96.0.53",)
    with pytest.raises(ValueError, match="too small"):
        _ = TenantNetwork(service_cidrs=("10.96.0.0/30",)).cluster_dns
