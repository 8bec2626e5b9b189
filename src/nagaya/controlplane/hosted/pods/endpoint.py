"""Where the API of a tenant is reached, by what the management cluster says of its Service. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Final

from nagaya.api.cluster.cluster import Cluster
from nagaya.api.cluster.cluster_network import Endpoint
from nagaya.api.controlplane.hosted_conditions import HostedControlPlaneReason as Reason
from nagaya.api.controlplane.hosted_control_plane import HostedControlPlane
from nagaya.api.controlplane.hosted_network import DEFAULT_PORT
from nagaya.api.untyped import Untyped
from nagaya.controlplane.hosted.components.network import port_of
from nagaya.controlplane.hosted.kubernetes.api_server import AGENT_PORT, PORT
from nagaya.controlplane.hosted.kubernetes.service import LOAD_BALANCER

NODE_PORT: Final = "NodePort"
NOWHERE: Final = Endpoint()


@dataclass(frozen=True, slots=True)
class Reached:
    """Where an API is reached, or why that is not known."""

    endpoint: Endpoint = NOWHERE
    """What clients are told. Not valid as long as it is not known."""
    is_written: bool = False
    """Whether it is in the specification already."""
    advertised: str = ""
    """The address that pods of the tenant find behind the Service `kubernetes`."""
    reason: Reason = Reason.ENDPOINT_READY
    message: str = ""
    """Who is waited for; empty if nobody is."""


def port(plane: HostedControlPlane, cluster: Cluster) -> int:
    """Where API servers listen. Of a NodePort it is the one of the nodes, as soon as that is known: API servers tell
    pods the port that they have, so it has to be the one that can be reached."""
    asked = port_of(plane.spec.network, cluster.spec.cluster_network)
    written = plane.spec.control_plane_endpoint
    if not asked and plane.spec.deployment.service.type == NODE_PORT and written.valid and written.port:
        return written.port
    return asked or DEFAULT_PORT


def agents_port(plane: HostedControlPlane, service: Untyped | None) -> int | None:
    """Where agents of the tunnel find its servers, if it is another port than these listen at: that of the nodes."""
    if service is None or plane.spec.deployment.service.type != NODE_PORT:
        return None
    return next((each.get("nodePort") for each in _ports(service) if each.get("name") == AGENT_PORT), None)


def look(plane: HostedControlPlane, cluster: Cluster, service: Untyped | None) -> Reached:
    """Where the API is. `service` is None before there is one."""
    if service is None:
        return Reached(reason=Reason.WAITING_FOR_ENDPOINT, message="The Service is being made.")
    found = _found(plane, cluster, service)
    written = plane.spec.control_plane_endpoint
    if not written.valid:
        told = cluster.spec.control_plane_endpoint
        if told.valid:
            # Something in front of the API has another address, and the Cluster says which.
            return Reached(told, advertised=_address(told.host) or _cluster_ip(service))
        return found
    advertised = _address(written.host) or found.advertised or _cluster_ip(service)
    return Reached(written, True, advertised)


def _found(plane: HostedControlPlane, cluster: Cluster, service: Untyped) -> Reached:
    kind = plane.spec.deployment.service.type or LOAD_BALANCER
    asked, listens = plane.spec.network.address, port(plane, cluster)
    inside = _cluster_ip(service)
    if kind == NODE_PORT:
        outside = next((each.get("nodePort") for each in _ports(service) if each.get("name") == PORT), None)
        if not asked:
            return Reached(
                reason=Reason.ADDRESS_MISSING,
                message="A Service of type NodePort is reached at the management cluster's nodes. Say in "
                "spec.network.address at which address or name.",
            )
        if not outside:
            return Reached(reason=Reason.WAITING_FOR_ENDPOINT, message="Waiting for the port of the Service.")
        return Reached(Endpoint(host=asked, port=outside), advertised=_address(asked) or inside)
    if kind == LOAD_BALANCER:
        balanced = service.at("status", "loadBalancer", "ingress") or ()
        hosts = [each.get("ip") or each.get("hostname") for each in balanced if isinstance(each, Mapping)]
        host = next((each for each in hosts if each), "")
        if not host:
            return Reached(
                reason=Reason.WAITING_FOR_LOAD_BALANCER,
                message=f"Waiting for a load balancer to give Service {service.metadata.name} an address. If the "
                "management cluster has none, set spec.deployment.service.type.",
            )
        known = asked or host
        return Reached(Endpoint(host=known, port=listens), advertised=_address(known) or _address(host) or inside)
    if not inside:
        return Reached(reason=Reason.WAITING_FOR_ENDPOINT, message="Waiting for the address of the Service.")
    known = asked or inside
    return Reached(Endpoint(host=known, port=listens), advertised=_address(known) or inside)


def _ports(service: Untyped) -> tuple[Mapping[str, Any], ...]:
    return tuple(service.at("spec", "ports") or ())


def _cluster_ip(service: Untyped) -> str:
    return _address(str(service.at("spec", "clusterIP") or ""))


def _address(host: str) -> str:
    """The host, if it is an address and no name: only an address can be advertised."""
    try:
        return str(ip_address(host.partition("%")[0]))
    except ValueError:
        return ""
