"""What the conditions of a Cluster are called, and why they have the status they have. Both are part of the API."""

from __future__ import annotations

from enum import StrEnum


class ClusterCondition(StrEnum):
    """The types of conditions of a Cluster."""

    AVAILABLE = "Available"
    TOPOLOGY_RECONCILED = "TopologyReconciled"
    INFRASTRUCTURE_READY = "InfrastructureReady"
    CONTROL_PLANE_INITIALIZED = "ControlPlaneInitialized"
    CONTROL_PLANE_AVAILABLE = "ControlPlaneAvailable"
    WORKERS_AVAILABLE = "WorkersAvailable"
    CONTROL_PLANE_MACHINES_READY = "ControlPlaneMachinesReady"
    WORKER_MACHINES_READY = "WorkerMachinesReady"
    CONTROL_PLANE_MACHINES_UP_TO_DATE = "ControlPlaneMachinesUpToDate"
    WORKER_MACHINES_UP_TO_DATE = "WorkerMachinesUpToDate"
    REMOTE_CONNECTION_PROBE = "RemoteConnectionProbe"
    ROLLING_OUT = "RollingOut"
    SCALING_UP = "ScalingUp"
    SCALING_DOWN = "ScalingDown"
    REMEDIATING = "Remediating"
    DELETING = "Deleting"
    PAUSED = "Paused"


class ClusterReason(StrEnum):
    """The reasons of conditions of a Cluster."""

    # Any condition
    INTERNAL_ERROR = "InternalError"  # something unexpected happened; it is tried again

    # Available, ControlPlaneAvailable and WorkersAvailable
    AVAILABLE = "Available"
    NOT_AVAILABLE = "NotAvailable"
    AVAILABLE_UNKNOWN = "AvailableUnknown"
    NO_WORKERS = "NoWorkers"  # and so none is missing

    # TopologyReconciled
    RECONCILE_SUCCEEDED = "ReconcileSucceeded"
    RECONCILE_FAILED = "ReconcileFailed"
    CLUSTER_CREATING = "ClusterCreating"
    CLUSTER_UPGRADING = "ClusterUpgrading"
    CONTROL_PLANE_UPGRADE_PENDING = "ControlPlaneUpgradePending"
    MACHINE_DEPLOYMENTS_CREATE_PENDING = "MachineDeploymentsCreatePending"
    MACHINE_DEPLOYMENTS_UPGRADE_PENDING = "MachineDeploymentsUpgradePending"
    MACHINE_DEPLOYMENTS_UPGRADE_DEFERRED = "MachineDeploymentsUpgradeDeferred"
    MACHINE_POOLS_CREATE_PENDING = "MachinePoolsCreatePending"
    MACHINE_POOLS_UPGRADE_PENDING = "MachinePoolsUpgradePending"
    MACHINE_POOLS_UPGRADE_DEFERRED = "MachinePoolsUpgradeDeferred"
    LIFECYCLE_HOOK_BLOCKING = "LifecycleHookBlocking"
    CLUSTER_CLASS_NOT_RECONCILED = "ClusterClassNotReconciled"

    # InfrastructureReady, and the machines' Ready conditions
    READY = "Ready"
    NOT_READY = "NotReady"
    READY_UNKNOWN = "ReadyUnknown"
    NO_REPLICAS = "NoReplicas"  # there are no machines to judge; the UpToDate conditions, too
    INVALID_CONDITION_REPORTED = "InvalidConditionReported"  # the provider's condition cannot be read
    OBJECT_DOES_NOT_EXIST = "ObjectDoesNotExist"
    OBJECT_DELETED = "ObjectDeleted"  # it was there once

    # ControlPlaneInitialized
    INITIALIZED = "Initialized"
    NOT_INITIALIZED = "NotInitialized"

    # The machines' UpToDate conditions
    UP_TO_DATE = "UpToDate"
    NOT_UP_TO_DATE = "NotUpToDate"
    UP_TO_DATE_UNKNOWN = "UpToDateUnknown"

    # RemoteConnectionProbe
    PROBE_SUCCEEDED = "ProbeSucceeded"
    PROBE_FAILED = "ProbeFailed"

    # RollingOut, ScalingUp, ScalingDown, Remediating
    ROLLING_OUT = "RollingOut"
    NOT_ROLLING_OUT = "NotRollingOut"
    ROLLING_OUT_UNKNOWN = "RollingOutUnknown"
    SCALING_UP = "ScalingUp"
    NOT_SCALING_UP = "NotScalingUp"
    SCALING_UP_UNKNOWN = "ScalingUpUnknown"
    SCALING_DOWN = "ScalingDown"
    NOT_SCALING_DOWN = "NotScalingDown"
    SCALING_DOWN_UNKNOWN = "ScalingDownUnknown"
    REMEDIATING = "Remediating"
    NOT_REMEDIATING = "NotRemediating"

    # Deleting, in the order of the steps
    NOT_DELETING = "NotDeleting"
    DELETING = "Deleting"  # TopologyReconciled says so, too
    WAITING_FOR_BEFORE_DELETE_HOOK = "WaitingForBeforeDeleteHook"
    WAITING_FOR_WORKERS_DELETION = "WaitingForWorkersDeletion"
    WAITING_FOR_CONTROL_PLANE_DELETION = "WaitingForControlPlaneDeletion"
    WAITING_FOR_INFRASTRUCTURE_DELETION = "WaitingForInfrastructureDeletion"
    DELETION_COMPLETED = "DeletionCompleted"

    # Paused
    PAUSED = "Paused"  # TopologyReconciled says so, too
    NOT_PAUSED = "NotPaused"
