"""What the conditions of a MachineDeployment are called, and why they have the status they have."""

from __future__ import annotations

from enum import StrEnum


class MachineDeploymentCondition(StrEnum):
    """The types of conditions of a MachineDeployment."""

    AVAILABLE = "Available"
    MACHINES_READY = "MachinesReady"
    MACHINES_UP_TO_DATE = "MachinesUpToDate"
    ROLLING_OUT = "RollingOut"
    SCALING_UP = "ScalingUp"
    SCALING_DOWN = "ScalingDown"
    REMEDIATING = "Remediating"
    DELETING = "Deleting"
    PAUSED = "Paused"


class MachineDeploymentReason(StrEnum):
    """The reasons of conditions of a MachineDeployment."""

    # Any condition
    INTERNAL_ERROR = "InternalError"  # something unexpected happened; it is tried again

    # Available
    AVAILABLE = "Available"
    NOT_AVAILABLE = "NotAvailable"  # more machines are missing than the strategy tolerates
    WAITING_FOR_REPLICAS_SET = "WaitingForReplicasSet"  # spec.replicas is not set yet; ScalingUp and ScalingDown, too
    WAITING_FOR_AVAILABLE_REPLICAS_SET = "WaitingForAvailableReplicasSet"  # status.availableReplicas is not set yet

    # MachinesReady
    READY = "Ready"
    NOT_READY = "NotReady"
    READY_UNKNOWN = "ReadyUnknown"
    NO_REPLICAS = "NoReplicas"  # there are no machines to judge; MachinesUpToDate, too

    # MachinesUpToDate
    UP_TO_DATE = "UpToDate"
    NOT_UP_TO_DATE = "NotUpToDate"
    UP_TO_DATE_UNKNOWN = "UpToDateUnknown"

    # RollingOut
    ROLLING_OUT = "RollingOut"
    NOT_ROLLING_OUT = "NotRollingOut"

    # ScalingUp and ScalingDown
    SCALING_UP = "ScalingUp"
    NOT_SCALING_UP = "NotScalingUp"
    SCALING_DOWN = "ScalingDown"
    NOT_SCALING_DOWN = "NotScalingDown"

    # Remediating
    REMEDIATING = "Remediating"
    NOT_REMEDIATING = "NotRemediating"

    # Deleting
    DELETING = "Deleting"
    NOT_DELETING = "NotDeleting"

    # Paused
    PAUSED = "Paused"
    NOT_PAUSED = "NotPaused"
