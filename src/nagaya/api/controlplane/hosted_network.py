"""Where a hosted control plane is reached, and the addresses within its cluster.

What is left out comes from the Cluster's `spec.clusterNetwork`, and what that leaves out too from the defaults below.
Nodes and pods remember all of it, so almost nothing may change later.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from nagaya.api.model import Model, doc

DEFAULT_PORT: Final = 6443
DEFAULT_SERVICE_CIDRS: Final = ("10.96.0.0/16",)
DEFAULT_POD_CIDRS: Final = ("10.244.0.0/16",)
DEFAULT_DNS_DOMAIN: Final = "cluster.local"

Cidrs = tuple[
    Annotated[str, doc("An address range, for example 10.96.0.0/16 or fd00:10:96::/112.", minLength=1, maxLength=43)],
    ...,
]


class HostedNetwork(Model):
    """Where the API is reached, and the addresses within the cluster."""

    address: Annotated[
        str,
        doc(
            "The address or DNS name that the API is reached at. If left out it is that of the machine that Nagaya "
            "runs on, or of the Service in a management cluster: its load balancer's, or its cluster IP. It cannot "
            "change once the API has an endpoint, because every node and kubeconfig has it.",
            minLength=1,
            maxLength=253,
        ),
    ] = ""
    port: Annotated[
        int | None,
        doc(
            "The port that the API is reached at. The Cluster's apiServerPort if left out; without it 6443 in a "
            "management cluster, and a free port that is kept where control planes share a machine.",
            minimum=1,
            maximum=65535,
        ),
    ] = None
    cert_sans: Annotated[
        tuple[Annotated[str, doc("A DNS name or an IP address.", minLength=1, maxLength=253)], ...],
        doc(
            "Further names and addresses that the API's certificate is valid for. The endpoint and the names within "
            "the cluster are in it anyway. A change gives the API server a new certificate.",
            list_type="set",
            minItems=1,
            maxItems=100,
        ),
    ] = msgspec.field(name="certSANs", default=())
    service_cidrs: Annotated[
        Cidrs,
        doc(
            "The ranges that Services get their cluster addresses from: one, or one of IPv4 and one of IPv6. "
            "10.96.0.0/16 if neither this nor the Cluster says anything. It cannot change.",
            list_type="atomic",
            minItems=1,
            maxItems=2,
        ),
    ] = msgspec.field(name="serviceCIDRs", default=())
    pod_cidrs: Annotated[
        Cidrs,
        doc(
            "The ranges that nodes get the addresses of their pods from: one, or one of IPv4 and one of IPv6. "
            "10.244.0.0/16 if neither this nor the Cluster says anything. It cannot change.",
            list_type="atomic",
            minItems=1,
            maxItems=2,
        ),
    ] = msgspec.field(name="podCIDRs", default=())
    dns_domain: Annotated[
        str,
        doc(
            "The DNS domain of Services. cluster.local if neither this nor the Cluster has one. It cannot change.",
            minLength=1,
            maxLength=253,
        ),
    ] = ""
    dns_service_ips: Annotated[
        tuple[Annotated[str, doc("An address from a range of Services.", minLength=1, maxLength=45)], ...],
        doc(
            "The addresses of the cluster's DNS service, which every kubelet gives to its pods. The tenth address of "
            "the first range of Services if left out. It cannot change.",
            list_type="atomic",
            minItems=1,
            maxItems=2,
        ),
    ] = msgspec.field(name="dnsServiceIPs", default=())
