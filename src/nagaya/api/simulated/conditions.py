"""Conditions and reasons of simulated clusters and machines, beside those that all providers share."""

from __future__ import annotations

from enum import StrEnum


class SimulatedCondition(StrEnum):
    """The types of conditions that simulated objects have."""

    READY = "Ready"
    NODE_JOINED = "NodeJoined"
    DELETING = "Deleting"
    PAUSED = "Paused"


class SimulatedReason(StrEnum):
    """Why a simulated object is in the state that it is in."""

    # of Ready
    WAITING_FOR_OWNER = "WaitingForOwner"
    WAITING_FOR_CLUSTER_INFRASTRUCTURE_READY = "WaitingForClusterInfrastructureReady"
    WAITING_FOR_CONTROL_PLANE_INITIALIZED = "WaitingForControlPlaneInitialized"
    WAITING_FOR_BOOTSTRAP_DATA = "WaitingForBootstrapData"
    NOT_A_SIMULATED_CLUSTER = "NotASimulatedCluster"
    PROVISIONING = "Provisioning"
    PROVISIONING_FAILED = "ProvisioningFailed"
    BOOTING = "Booting"
    BOOT_FAILED = "BootFailed"
    PROVISIONED = "Provisioned"

    # of NodeJoined
    NOT_BOOTED = "NotBooted"
    WAITING_FOR_CONTROL_PLANE = "WaitingForControlPlane"
    WAITING_FOR_CERTIFICATE_AUTHORITY = "WaitingForCertificateAuthority"
    API_NOT_STARTED = "ApiNotStarted"
    JOIN_HANGS = "JoinHangs"
    JOIN_FAILED = "JoinFailed"
    JOIN_REFUSED = "JoinRefused"
    WAITING_FOR_ETCD = "WaitingForEtcd"
    JOINED = "Joined"

    # of Deleting
    NOT_DELETING = "NotDeleting"
    DELETING = "Deleting"
    DELETION_FAILED = "DeletionFailed"
