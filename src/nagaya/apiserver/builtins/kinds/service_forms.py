"""What a service's type and cluster address mean for its other fields."""

from __future__ import annotations

from typing import Final

from nagaya.apiserver.meta.status import JsonObject

CLUSTER_IP: Final = "ClusterIP"
NODE_PORT: Final = "NodePort"
LOAD_BALANCER: Final = "LoadBalancer"
EXTERNAL_NAME: Final = "ExternalName"
NONE: Final = "None"
IPV4: Final = "IPv4"
IPV6: Final = "IPv6"
SINGLE: Final = "SingleStack"
PREFER_DUAL: Final = "PreferDualStack"
REQUIRE_DUAL: Final = "RequireDualStack"
LOCAL: Final = "Local"


def kind(spec: JsonObject) -> str:
    """The service's type."""
    return spec.get("type") or ""


def ips(spec: JsonObject) -> list[str]:
    """The cluster addresses, the primary first."""
    return spec.get("clusterIPs") or []


def families(spec: JsonObject) -> list[str]:
    """The IP families, the primary first."""
    return spec.get("ipFamilies") or []


def is_headless(spec: JsonObject) -> bool:
    """Whether the service has explicitly no cluster address."""
    return ips(spec) == [NONE]


def needs_cluster_ip(spec: JsonObject) -> bool:
    """Whether the service is more than a name for something elsewhere."""
    return kind(spec) != EXTERNAL_NAME


def has_node_ports(spec: JsonObject) -> bool:
    """Whether the service is of a type that opens ports on nodes."""
    return kind(spec) in (NODE_PORT, LOAD_BALANCER)


def allocates_node_ports(spec: JsonObject) -> bool:
    """Whether ports on nodes are to be found for the service."""
    if kind(spec) == LOAD_BALANCER:
        return spec.get("allocateLoadBalancerNodePorts") is not False
    return kind(spec) == NODE_PORT


def needs_health_check(spec: JsonObject) -> bool:
    """Whether load balancers ask each node if it has endpoints."""
    return kind(spec) == LOAD_BALANCER and spec.get("externalTrafficPolicy") == LOCAL


def is_external(spec: JsonObject) -> bool:
    """Whether the service can be reached from outside."""
    return has_node_ports(spec) or (kind(spec) == CLUSTER_IP and bool(spec.get("externalIPs")))


def node_ports(spec: JsonObject) -> list[int]:
    """The ports on nodes, in the order of the service's ports."""
    return [port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")]
