"""What the conditions of a MachineSet are called, and why they have the status they have. Both are part of the API."""

from __future__ import annotations

from enum import StrEnum


class MachineSetCondition(StrEnum):
    """The types of conditions of a MachineSet."""

    MACHINES_READY = "MachinesReady"
    MACHINES_UP_TO_DATE = "MachinesUpToDate"
    SCALING_UP = "ScalingUp"
    SCALING_DOWN = "ScalingDown"
    REMEDIATING = "Remediating"
    DELETING = "Deleting"
    PAUSED = "Paused"


class MachineSetReason(StrEnum):
    """The reasons of conditions of a MachineSet."""

    # Any condition
    INTERNAL_ERROR = "InternalError"  # something unexpected happened; it is tried again

    # MachinesReady
    READY = "Ready"
    NOT_READY = "NotReady"
    READY_UNKNOWN = "ReadyUnknown"
    NO_REPLICAS = "NoReplicas"  # there are no machines to judge; MachinesUpToDate, too

    # MachinesUpToDate
    UP_TO_DATE = "UpToDate"
    NOT_UP_TO_DATE = "NotUpToDate"
    UP_TO_DATE_UNKNOWN = "UpToDateUnknown"

    # ScalingUp and ScalingDown
    SCALING_UP = "ScalingUp"
    NOT_SCALING_UP = "NotScalingUp"
    SCALING_DOWN = "ScalingDown"
    NOT_SCALING_DOWN = "NotScalingDown"
    WAITING_FOR_REPLICAS_SET = "WaitingForReplicasSet"  # spec.replicas is not set yet

    # Remediating
    REMEDIATING = "Remediating"
    NOT_REMEDIATING = "NotRemediating"

    # Deleting
    DELETING = "Deleting"
    NOT_DELETING = "NotDeleting"

    # Paused
    PAUSED = "Paused"
    NOT_PAUSED = "NotPaused"
