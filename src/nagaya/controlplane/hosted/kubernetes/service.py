"""The Service by which the API is reached, from the management cluster and from outside."""

from __future__ import annotations

from typing import Final

from nagaya.api.controlplane.hosted_arguments import KUBE_APISERVER
from nagaya.controlplane.hosted.kubernetes import names
from nagaya.controlplane.hosted.kubernetes.api_server import AGENT_PORT, PORT
from nagaya.controlplane.hosted.kubernetes.kinds import SERVICES, Content, Planned
from nagaya.controlplane.hosted.kubernetes.metadata import metadata
from nagaya.controlplane.hosted.kubernetes.tenancy import Tenancy

LOAD_BALANCER: Final = "LoadBalancer"
CLUSTER_IP: Final = "ClusterIP"
_NODE_PORTS: Final = range(30000, 32768)


def planned(tenancy: Tenancy) -> Planned:
    """The Service."""
    settings = tenancy.facts.settings.deployment.service
    kind = settings.type or LOAD_BALANCER
    ports = [_port(PORT, tenancy.facts.serving.port, kind)]
    if tenancy.facts.tunnel is not None:
        ports.append(_port(AGENT_PORT, tenancy.facts.tunnel.agent_port, kind))
    spec: Content = {"type": kind, "ports": ports, "selector": names.selector(tenancy.name, KUBE_APISERVER)}
    if kind == LOAD_BALANCER:
        if settings.load_balancer_class:
            spec["loadBalancerClass"] = settings.load_balancer_class
        if settings.load_balancer_source_ranges:
            spec["loadBalancerSourceRanges"] = [*settings.load_balancer_source_ranges]
    own = settings.metadata
    body = {**metadata(tenancy, KUBE_APISERVER, own.labels, own.annotations), "spec": spec}
    return Planned(SERVICES, tenancy.namespace, names.object_name(tenancy.name, KUBE_APISERVER), body)


def _port(name: str, number: int, kind: str) -> Content:
    found: Content = {"name": name, "port": number, "protocol": "TCP", "targetPort": name}
    if kind != CLUSTER_IP and number in _NODE_PORTS:
        # A port that nodes can have is the one that the user wants to connect to.
        found["nodePort"] = number
    return found
