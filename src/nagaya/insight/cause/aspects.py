"""What an object depends on, aspect by aspect: which other objects stand behind which of its conditions.

Aspects are in the order in which one leads to the next, so that a machine without a host is not also blamed for having
no Node. Kinds that are not here are other people's, and seen through their conditions alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from nagaya.api.cluster.labels import CONTROL_PLANE
from nagaya.insight.cause.surroundings import Surroundings
from nagaya.insight.picture.member import Member

Below = Callable[[Surroundings, Member], Iterable[Member | None]]


def _nobody(around: Surroundings, member: Member) -> Iterable[Member | None]:
    return ()


@dataclass(frozen=True, slots=True)
class Aspect:
    """Some conditions, and the objects that they are about."""

    conditions: tuple[str, ...] = ()
    below: Below = _nobody


def _referred(*path: str) -> Below:
    return lambda around, member: (around.picture.referred(member, *path),)


def _control_plane(around: Surroundings, cluster: Member) -> Iterable[Member | None]:
    plane = around.picture.control_plane
    if plane is not None:
        return (plane,)
    return [each for each in around.picture.control_plane_machines if each.metadata.controller is None]


def _workers(around: Surroundings, cluster: Member) -> Iterable[Member | None]:
    picture = around.picture
    yield from picture.of_kind("MachineDeployment")
    yield from (each for each in picture.of_kind("MachineSet") if each.metadata.controller is None)
    yield from picture.of_kind("MachinePool")
    yield from (
        each
        for each in picture.machines
        if each.metadata.controller is None and CONTROL_PLANE not in each.metadata.labels
    )


def _health_checks(around: Surroundings, cluster: Member) -> Iterable[Member | None]:
    return around.picture.of_kind("MachineHealthCheck")


def _sets(around: Surroundings, deployment: Member) -> Iterable[Member | None]:
    return around.picture.owned(deployment, "MachineSet")


def _machines(around: Surroundings, owner: Member) -> Iterable[Member | None]:
    return around.picture.owned(owner, "Machine")


def _planes_machines(around: Surroundings, plane: Member) -> Iterable[Member | None]:
    owned = around.picture.owned(plane, "Machine")
    return owned or around.picture.control_plane_machines


def _connection(around: Surroundings, infrastructure: Member) -> Iterable[Member | None]:
    return (around.connection_of(infrastructure),)


def _claims(around: Surroundings, owner: Member) -> Iterable[Member | None]:
    return around.picture.owned(owner, "IPAddressClaim")


def _data_store(around: Surroundings, plane: Member) -> Iterable[Member | None]:
    name = plane.text("spec", "dataStoreRef", "name")
    return (around.picture.named("DataStore", name) if name else None,)


_INFRASTRUCTURE: Final = ("spec", "infrastructureRef")
_BOOTSTRAP: Final = ("spec", "bootstrap", "configRef")

_PODS: Final = ("APIServerPodHealthy", "ControllerManagerPodHealthy", "SchedulerPodHealthy", "EtcdPodHealthy",
                "EtcdMemberHealthy")  # fmt: skip
_MOVEMENT: Final = ("RollingOut", "ScalingUp", "ScalingDown", "Remediating")

ASPECTS: Final[Mapping[str, tuple[Aspect, ...]]] = {
    "Cluster": (
        Aspect(("InfrastructureReady",), _referred(*_INFRASTRUCTURE)),
        Aspect(("ControlPlaneInitialized", "ControlPlaneAvailable", "ControlPlaneMachinesReady"), _control_plane),
        Aspect(("RemoteConnectionProbe",)),
        Aspect(("WorkersAvailable", "WorkerMachinesReady"), _workers),
        Aspect(("TopologyReconciled",)),
        Aspect((), _health_checks),
        Aspect(("Available", *_MOVEMENT)),
    ),
    "KubeadmControlPlane": (
        Aspect(("CertificatesAvailable",)),
        Aspect(("Initialized", "MachinesReady"), _planes_machines),
        Aspect(("ControlPlaneComponentsHealthy", "EtcdClusterHealthy")),
        Aspect(_MOVEMENT),
        Aspect(("Available",)),
    ),
    "HostedControlPlane": (
        Aspect(("CertificatesAvailable",)),
        Aspect(("DataStoreReady",), _data_store),
        Aspect(("EndpointReady",)),
        Aspect(("APIServerReady",)),
        Aspect(("ControllerManagerReady", "SchedulerReady", "KonnectivityReady")),
        Aspect(("TenantConfigured",)),
        Aspect(("UpgradePossible",)),
        Aspect(("ComponentsReady", "Available", *_MOVEMENT)),
    ),
    "MachineDeployment": (
        Aspect(("MachinesReady",), _sets),
        Aspect(_MOVEMENT),
        Aspect(("Available", "MachinesUpToDate")),
    ),
    "MachineSet": (
        Aspect(("MachinesReady",), _machines),
        Aspect(_MOVEMENT),
        Aspect(("MachinesUpToDate",)),
    ),
    "MachinePool": (
        Aspect(("BootstrapConfigReady",), _referred("spec", "template", *_BOOTSTRAP)),
        Aspect(("InfrastructureReady",), _referred("spec", "template", *_INFRASTRUCTURE)),
        Aspect(("MachinesReady",), _machines),
        Aspect(_MOVEMENT),
        Aspect(("Available", "MachinesUpToDate")),
    ),
    "Machine": (
        Aspect(("BootstrapConfigReady",), _referred(*_BOOTSTRAP)),
        Aspect(("InfrastructureReady",), _referred(*_INFRASTRUCTURE)),
        Aspect(("NodeReady", "NodeHealthy")),
        Aspect(_PODS),
        Aspect(("HealthCheckSucceeded", "OwnerRemediated", "ExternallyRemediated")),
        Aspect(("Updating", "UpToDate")),
        Aspect(("Ready", "Available")),
    ),
    "ProxmoxCluster": (
        Aspect(("ProxmoxAvailable",), _connection),
        Aspect(("Ready",), _claims),
    ),
    "ProxmoxMachine": (
        Aspect(("VirtualMachineProvisioned",)),
        Aspect(("VirtualMachineHealthy",)),
        Aspect(("Ready",)),
    ),
    "ProxmoxConnection": (Aspect(("CredentialsAccepted", "Quorate", "PrivilegesComplete", "Ready")),),
    "SimulatedMachine": (Aspect(("Ready",)), Aspect(("NodeJoined",))),
    "KubeadmConfig": (Aspect(("CertificatesAvailable",)), Aspect(("DataSecretAvailable",)), Aspect(("Ready",))),
    "IPAddressClaim": (Aspect(("Ready",), _referred("spec", "poolRef")),),
    "InClusterIPPool": (Aspect(("Ready",)),),
    "GlobalInClusterIPPool": (Aspect(("Ready",)),),
}
"""By kind."""
