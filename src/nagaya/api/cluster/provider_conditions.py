"""Conditions and reasons that the objects of providers share, so that people find the same words everywhere."""

from __future__ import annotations

from enum import StrEnum


class ProviderCondition(StrEnum):
    """The types of conditions that every object of a provider has."""

    READY = "Ready"
    DELETING = "Deleting"
    PAUSED = "Paused"


class ProviderReason(StrEnum):
    """The reasons that providers give for not being ready, or for being so."""

    INTERNAL_ERROR = "InternalError"
    WAITING_FOR_CLUSTER_INFRASTRUCTURE_READY = "WaitingForClusterInfrastructureReady"
    WAITING_FOR_CONTROL_PLANE_INITIALIZED = "WaitingForControlPlaneInitialized"
    WAITING_FOR_BOOTSTRAP_DATA = "WaitingForBootstrapData"
    PROVISIONED = "Provisioned"
    NOT_PROVISIONED = "NotProvisioned"
    DELETING = "Deleting"
    NOT_DELETING = "NotDeleting"
    DELETION_COMPLETED = "DeletionCompleted"
    PAUSED = "Paused"
    NOT_PAUSED = "NotPaused"
