"""Whom an object waits for, by the reason that it gives: such a wait often points up or across, not down."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from nagaya.api.meta import Condition
from nagaya.insight.cause.surroundings import Surroundings
from nagaya.insight.picture.member import Member

_Whom = Callable[[Surroundings, Member], Iterable[Member | None]]


def _infrastructure(around: Surroundings, member: Member) -> Iterator[Member | None]:
    yield around.picture.infrastructure


def _control_plane(around: Surroundings, member: Member) -> Iterator[Member | None]:
    plane = around.picture.control_plane
    if plane is not None:
        yield plane
        return
    yield from around.picture.control_plane_machines


def _bootstrap(around: Surroundings, host: Member) -> Iterator[Member | None]:
    machine = _machine_of(around, host)
    if machine is not None:
        yield around.picture.referred(machine, "spec", "bootstrap", "configRef")


def _connection(around: Surroundings, member: Member) -> Iterator[Member | None]:
    infrastructure = around.picture.infrastructure
    if infrastructure is not None:
        yield around.connection_of(infrastructure)


def _claims(around: Surroundings, member: Member) -> Iterator[Member | None]:
    yield from around.picture.owned(member, "IPAddressClaim")


def _pools(around: Surroundings, member: Member) -> Iterator[Member | None]:
    yield from around.picture.owned(member, "InClusterIPPool")
    yield from around.picture.owned(member, "IPAddressClaim")


def _host(around: Surroundings, machine: Member) -> Iterator[Member | None]:
    """What keeps a machine from having a Node: its cluster has no API yet, or its host is not well."""
    cluster = around.cluster
    if cluster is not None and not cluster.holds("ControlPlaneInitialized"):
        yield from _control_plane(around, machine)
    yield around.picture.referred(machine, "spec", "infrastructureRef")


def _api(around: Surroundings, machine: Member) -> Iterator[Member | None]:
    """Why the API of a tenant is silent: its control plane, unless the machine is a part of that."""
    yield around.picture.referred(machine, "spec", "infrastructureRef")
    yield from _control_plane(around, machine)


_WHOM: Final[Mapping[str, _Whom]] = {
    "WaitingForClusterInfrastructure": _infrastructure,
    "WaitingForClusterInfrastructureReady": _infrastructure,
    "WaitingForControlPlaneInitialized": _control_plane,
    "WaitingForControlPlane": _control_plane,
    "WaitingForBootstrapData": _bootstrap,
    "WaitingForProxmox": _connection,
    "ConnectionNotReady": _connection,
    "WaitingForStaticIPAllocation": _claims,
    "WaitingForControlPlaneAddress": _claims,
    "WaitingForAddressPools": _pools,
    "InspectionFailed": _host,
    "NodeNotHealthy": _host,
    "NodeHealthyUnknown": _host,
    "NodeNotReady": _host,
    "NodeReadyUnknown": _host,
    "NodeStartupTimeout": _host,
    "UnhealthyNode": _host,
    "ConnectionDown": _api,
    "NotInitialized": _infrastructure,
    "ProbeFailed": _control_plane,
}
_WORDS: Final[tuple[tuple[str, _Whom], ...]] = (
    ("Waiting for Cluster status.infrastructureReady", _infrastructure),
    ("Waiting for Cluster control plane to be initialized", _control_plane),
    ("preflight check failed", _control_plane),
)
"""Waits of objects whose reasons do not tell them apart, by words of their message."""


def whom(around: Surroundings, member: Member, condition: Condition) -> list[Member]:
    """The objects that a condition says are waited for."""
    found = _WHOM.get(condition.reason)
    if found is None:
        found = next((each for words, each in _WORDS if words in condition.message), None)
    return [] if found is None else [each for each in found(around, member) if each is not None and each is not member]


def _machine_of(around: Surroundings, part: Member) -> Member | None:
    owner = next((each for each in part.metadata.owner_references if each.kind == "Machine"), None)
    return None if owner is None else around.picture.with_uid(owner.uid)
