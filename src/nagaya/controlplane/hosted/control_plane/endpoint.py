"""Where the API of a tenant is reached, and where it listens: decided once, written down before it is used.

Pure but for two questions to the machine, which are handed in. What always holds: of the control planes of one machine
no two listen at the same port of the same address. Who has written its endpoint down has it; of two that say the same,
the older one. A control plane whose written endpoint is in use waits until it is free.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import ip_address

from nagaya.api.cluster.cluster import Cluster
from nagaya.api.cluster.cluster_network import Endpoint
from nagaya.api.controlplane.hosted_conditions import HostedControlPlaneReason
from nagaya.api.controlplane.hosted_control_plane import HostedControlPlane
from nagaya.controlplane.hosted.components.network import network_of, port_of
from nagaya.kube.key import Key


@dataclass(frozen=True, slots=True)
class Machine:
    """What this machine offers."""

    default_address: Callable[[int], str]
    """Its address of an IP version."""
    is_own: Callable[[str], bool]
    is_free: Callable[[str, int], bool]
    ports: range
    held: frozenset[int] = frozenset()
    """Ports that tenants have for other purposes."""


@dataclass(frozen=True, slots=True)
class Listening:
    """Where the API of a tenant listens, and is reached."""

    endpoint: Endpoint = field(default_factory=Endpoint)
    """What clients are told. Not valid if nothing could be decided."""
    address: str = ""
    port: int = 0
    is_written: bool = False
    """Whether it is in the specification already."""
    reason: HostedControlPlaneReason = HostedControlPlaneReason.ENDPOINT_READY
    message: str = ""
    """What is wrong; empty if nothing is."""
    runs: bool = False
    """Whether API servers were started to listen there."""


def look(
    plane: HostedControlPlane,
    cluster: Cluster,
    others: Iterable[HostedControlPlane],
    machine: Machine,
    started: Collection[str] = (),
) -> Listening:
    """Where a tenant's API is, or shall be. `started`: where its API servers were started to listen; an empty text if
    that is not known."""
    network = plane.spec.network
    address = _address(plane, cluster, machine)
    asked = port_of(network, cluster.spec.cluster_network)
    declared = plane.spec.control_plane_endpoint
    rivals = [each for each in others if each.metadata.uid != plane.metadata.uid]
    if declared.valid:
        port = asked or declared.port or 0
        rival = next((each for each in rivals if _listens(each, machine, address, port) and _older(each, plane)), None)
        runs = not {"", str(Endpoint(host=address, port=port))}.isdisjoint(started)
        found = Listening(declared, address, port, True, runs=runs)
        if rival is not None:
            return _in_use(found, f"HostedControlPlane {Key.of(rival)} has it")
        if not runs and not machine.is_free(address, port):
            return _in_use(found, "another program listens there")
        return found
    told = cluster.spec.control_plane_endpoint
    port = asked or (told.port if told.valid else None) or 0
    if not port:
        port = _first_free(address, rivals, machine)
        if not port:
            first, last = machine.ports.start, machine.ports.stop - 1
            return Listening(
                reason=HostedControlPlaneReason.ADDRESS_IN_USE,
                message=f"No port of {address} from {first} to {last} is free. Delete control planes, give one in "
                "spec.network.port, or give Nagaya a larger range.",
            )
    endpoint = told if told.valid else Endpoint(host=network.address or address, port=port)
    found = Listening(endpoint, address, port)
    rival = next((each for each in rivals if _listens(each, machine, address, port)), None)
    if rival is not None:
        return _in_use(found, f"HostedControlPlane {Key.of(rival)} has it")
    if not machine.is_free(address, port):
        return _in_use(found, "another program listens there")
    return found


def _address(plane: HostedControlPlane, cluster: Cluster | None, machine: Machine) -> str:
    """The address of this machine that is meant, or the one that it is known by."""
    hosts: list[str] = [plane.spec.network.address, plane.spec.control_plane_endpoint.host]
    if cluster is not None:
        hosts.append(cluster.spec.control_plane_endpoint.host)
    for each in hosts:
        if each and machine.is_own(each):
            return str(ip_address(each))  # in the one form in which addresses are compared
    shared = None if cluster is None else cluster.spec.cluster_network
    return machine.default_address(network_of(plane.spec.network, shared).family)


def _listens(plane: HostedControlPlane, machine: Machine, address: str, port: int) -> bool:
    declared = plane.spec.control_plane_endpoint
    if not declared.valid or (plane.spec.network.port or declared.port) != port:
        return False
    return _address(plane, None, machine) == address


def _first_free(address: str, rivals: Sequence[HostedControlPlane], machine: Machine) -> int:
    taken = {each.spec.network.port or each.spec.control_plane_endpoint.port for each in rivals} | machine.held
    return next((port for port in machine.ports if port not in taken and machine.is_free(address, port)), 0)


def _older(one: HostedControlPlane, other: HostedControlPlane) -> bool:
    def age(plane: HostedControlPlane) -> tuple[str, str]:
        created = plane.metadata.creation_timestamp
        return ("" if created is None else created.isoformat(), plane.metadata.uid)

    return age(one) < age(other)


def _in_use(found: Listening, why: str) -> Listening:
    message = (
        f"The API cannot listen at {Endpoint(host=found.address, port=found.port)}: {why}. "
        "Give another port in spec.network.port, or stop what is there."
    )
    endpoint = found.endpoint if found.is_written else Endpoint()
    return replace(found, endpoint=endpoint, reason=HostedControlPlaneReason.ADDRESS_IN_USE, message=message)
