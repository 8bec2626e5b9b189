"""What kubeadm has to know of a Cluster."""

from __future__ import annotations

from nagaya.api.cluster.cluster import Cluster
from nagaya.api.cluster.cluster_network import NetworkRanges
from nagaya.bootstrap.kubeadm_api import ClusterFacts


def cluster_facts(cluster: Cluster) -> ClusterFacts:
    """As the Cluster has it; what it does not say is left to kubeadm."""
    network = cluster.spec.cluster_network
    endpoint = cluster.spec.control_plane_endpoint
    return ClusterFacts(
        cluster.metadata.name,
        str(endpoint) if endpoint.valid else "",
        network.service_domain,
        _joined(network.services),
        _joined(network.pods),
    )


def _joined(ranges: NetworkRanges | None) -> str:
    return "" if ranges is None else ",".join(ranges.cidr_blocks)
