"""What the conditions of a Machine are called, and why they have the status they have. Both are part of the API."""

from __future__ import annotations

from enum import StrEnum


class MachineCondition(StrEnum):
    """The types of conditions of a Machine."""

    AVAILABLE = "Available"
    READY = "Ready"
    UP_TO_DATE = "UpToDate"
    UPDATING = "Updating"
    BOOTSTRAP_CONFIG_READY = "BootstrapConfigReady"
    INFRASTRUCTURE_READY = "InfrastructureReady"
    NODE_HEALTHY = "NodeHealthy"
    NODE_READY = "NodeReady"
    HEALTH_CHECK_SUCCEEDED = "HealthCheckSucceeded"
    OWNER_REMEDIATED = "OwnerRemediated"
    EXTERNALLY_REMEDIATED = "ExternallyRemediated"
    DELETING = "Deleting"
    PAUSED = "Paused"


class MachineReason(StrEnum):
    """The reasons of conditions of a Machine."""

    # Any condition
    INTERNAL_ERROR = "InternalError"  # something unexpected happened; it is tried again

    # Available
    AVAILABLE = "Available"
    NOT_READY = "NotReady"
    WAITING_FOR_MIN_READY_SECONDS = "WaitingForMinReadySeconds"  # ready, but not for long enough

    # Ready
    READY = "Ready"
    READY_UNKNOWN = "ReadyUnknown"  # something that counts for readiness is unknown

    # UpToDate
    UP_TO_DATE = "UpToDate"
    NOT_UP_TO_DATE = "NotUpToDate"  # its owner wants another specification

    # Updating, and UpToDate while an update goes on
    UPDATING = "Updating"
    NOT_UPDATING = "NotUpdating"
    IN_PLACE_UPDATING = "InPlaceUpdating"
    IN_PLACE_UPDATE_FAILED = "InPlaceUpdateFailed"

    # BootstrapConfigReady and InfrastructureReady
    DATA_SECRET_PROVIDED = "DataSecretProvided"  # noqa: S105 - no password; a user gave it, there is nothing to wait for
    INVALID_CONDITION_REPORTED = "InvalidConditionReported"  # the provider's condition cannot be read
    OBJECT_DOES_NOT_EXIST = "ObjectDoesNotExist"
    OBJECT_DELETED = "ObjectDeleted"  # it was there once

    # NodeHealthy and NodeReady
    NODE_READY = "NodeReady"
    NODE_NOT_READY = "NodeNotReady"
    NODE_READY_UNKNOWN = "NodeReadyUnknown"
    NODE_HEALTHY = "NodeHealthy"
    NODE_NOT_HEALTHY = "NodeNotHealthy"
    NODE_HEALTHY_UNKNOWN = "NodeHealthyUnknown"
    NODE_DOES_NOT_EXIST = "NodeDoesNotExist"
    NODE_DELETED = "NodeDeleted"  # it was there once; a reason of HealthCheckSucceeded, too
    INSPECTION_FAILED = "InspectionFailed"  # the cluster's API was not there to ask
    CONNECTION_DOWN = "ConnectionDown"  # ... for longer than a while

    # HealthCheckSucceeded
    HEALTH_CHECK_SUCCEEDED = "HealthCheckSucceeded"
    UNHEALTHY_NODE = "UnhealthyNode"  # a condition of the node has been bad for too long
    UNHEALTHY_MACHINE = "UnhealthyMachine"  # a condition of the machine has been bad for too long
    NODE_STARTUP_TIMEOUT = "NodeStartupTimeout"  # no node came up in time
    HAS_REMEDIATE_ANNOTATION = "HasRemediateAnnotation"  # somebody asked for it

    # OwnerRemediated and ExternallyRemediated
    WAITING_FOR_REMEDIATION = "WaitingForRemediation"
    CANNOT_BE_REMEDIATED = "CannotBeRemediated"
    REMEDIATION_DEFERRED = "RemediationDeferred"
    MACHINE_DELETING = "MachineDeleting"  # the remedy: it is deleted, and another one made
    REMEDIATION_TEMPLATE_NOT_FOUND = "RemediationTemplateNotFound"
    REMEDIATION_REQUEST_CREATION_FAILED = "RemediationRequestCreationFailed"

    # Deleting, in the order of the steps
    NOT_DELETING = "NotDeleting"
    DELETING = "Deleting"
    WAITING_FOR_PRE_DRAIN_HOOK = "WaitingForPreDrainHook"
    DRAINING_NODE = "DrainingNode"
    WAITING_FOR_VOLUME_DETACH = "WaitingForVolumeDetach"
    WAITING_FOR_PRE_TERMINATE_HOOK = "WaitingForPreTerminateHook"
    WAITING_FOR_INFRASTRUCTURE_DELETION = "WaitingForInfrastructureDeletion"
    WAITING_FOR_BOOTSTRAP_DELETION = "WaitingForBootstrapDeletion"
    DELETING_NODE = "DeletingNode"
    DELETION_COMPLETED = "DeletionCompleted"

    # Paused
    PAUSED = "Paused"
    NOT_PAUSED = "NotPaused"
