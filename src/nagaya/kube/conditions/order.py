"""In which order conditions are listed: what a reader asks first comes first.

Availability, then what it depends on, then operations under way, then what is summed up from machines, then the
conditions of others by name, and last Paused and Deleting. It is Cluster API's order.
"""

from __future__ import annotations

from typing import Final

_OTHERS: Final = ""

_ORDER: Final = (
    "Available",
    "Ready",
    "UpToDate",
    "RemoteConnectionProbe",
    "BootstrapConfigReady",
    "InfrastructureReady",
    "ControlPlaneInitialized",
    "ControlPlaneAvailable",
    "WorkersAvailable",
    "CertificatesAvailable",
    "Initialized",
    "EtcdClusterHealthy",
    "ControlPlaneComponentsHealthy",
    "NodeHealthy",
    "NodeReady",
    "NodeKubeadmLabelsAndTaintsSet",
    "EtcdPodHealthy",
    "EtcdMemberHealthy",
    "APIServerPodHealthy",
    "ControllerManagerPodHealthy",
    "SchedulerPodHealthy",
    "HealthCheckSucceeded",
    "OwnerRemediated",
    "TopologyReconciled",
    "Updating",
    "RollingOut",
    "Remediating",
    "ScalingDown",
    "ScalingUp",
    "MachinesReady",
    "ControlPlaneMachinesReady",
    "WorkerMachinesReady",
    "MachinesUpToDate",
    "ControlPlaneMachinesUpToDate",
    "WorkerMachinesUpToDate",
    _OTHERS,
    "Paused",
    "Deleting",
)
_POSITIONS: Final = {type: index for index, type in enumerate(_ORDER)}


def position(type: str) -> tuple[int, str]:
    """What conditions are sorted by."""
    return _POSITIONS.get(type, _POSITIONS[_OTHERS]), type
