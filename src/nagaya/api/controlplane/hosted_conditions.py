"""Conditions of hosted control planes with all reasons, and the phases of their start. All are part of the API."""

from __future__ import annotations

from enum import StrEnum


class HostedControlPlaneCondition(StrEnum):
    """What is told of a hosted control plane."""

    AVAILABLE = "Available"
    CERTIFICATES_AVAILABLE = "CertificatesAvailable"
    DATA_STORE_READY = "DataStoreReady"
    API_SERVER_READY = "APIServerReady"
    CONTROLLER_MANAGER_READY = "ControllerManagerReady"
    SCHEDULER_READY = "SchedulerReady"
    KONNECTIVITY_READY = "KonnectivityReady"
    COMPONENTS_READY = "ComponentsReady"
    ENDPOINT_READY = "EndpointReady"
    TENANT_CONFIGURED = "TenantConfigured"
    PROGRAMS_ISOLATED = "ProgramsIsolated"
    UPGRADE_POSSIBLE = "UpgradePossible"
    ROLLING_OUT = "RollingOut"
    SCALING_UP = "ScalingUp"
    SCALING_DOWN = "ScalingDown"
    DELETING = "Deleting"
    PAUSED = "Paused"


class HostedControlPlaneReason(StrEnum):
    """Why a hosted control plane is in the state that it is in."""

    # of several
    INTERNAL_ERROR = "InternalError"
    WAITING_FOR_CLUSTER = "WaitingForCluster"
    WAITING_FOR_CERTIFICATES = "WaitingForCertificates"
    WAITING_FOR_DATA_STORE = "WaitingForDataStore"
    WAITING_FOR_ENDPOINT = "WaitingForEndpoint"
    WAITING_FOR_API_SERVER = "WaitingForAPIServer"
    SLEEPING = "Sleeping"

    # of Available and CertificatesAvailable
    AVAILABLE = "Available"
    NOT_AVAILABLE = "NotAvailable"
    DATA_ELSEWHERE = "DataElsewhere"
    NOT_OWNER = "NotOwner"
    FOLDER_IN_USE = "FolderInUse"
    CERTIFICATE_AUTHORITY_LOST = "CertificateAuthorityLost"
    CERTIFICATE_UNUSABLE = "CertificateUnusable"
    CERTIFICATE_EXPIRED = "CertificateExpired"

    # of DataStoreReady
    DATA_STORE_READY = "DataStoreReady"
    DATA_STORE_NOT_FOUND = "DataStoreNotFound"
    DATA_STORE_NOT_READY = "DataStoreNotReady"
    DATA_STORE_DELETING = "DataStoreDeleting"
    PROVISIONING_FAILED = "ProvisioningFailed"

    # of the components
    RUNNING = "Running"
    STARTING = "Starting"
    RESTARTING = "Restarting"
    NOT_HEALTHY = "NotHealthy"
    BINARIES_MISSING = "BinariesMissing"
    NOT_USED = "NotUsed"

    # of ComponentsReady
    READY = "Ready"
    NOT_READY = "NotReady"

    # of EndpointReady
    ENDPOINT_READY = "EndpointReady"
    WAITING_FOR_LOAD_BALANCER = "WaitingForLoadBalancer"
    ADDRESS_MISSING = "AddressMissing"
    ADDRESS_IN_USE = "AddressInUse"

    # of TenantConfigured
    CONFIGURED = "Configured"
    NOT_CONFIGURED = "NotConfigured"
    CONNECTION_DOWN = "ConnectionDown"

    # of ProgramsIsolated
    ISOLATED = "Isolated"
    NOT_ISOLATED = "NotIsolated"

    # of UpgradePossible
    UPGRADE_POSSIBLE = "UpgradePossible"
    NO_UPGRADE_ASKED = "NoUpgradeAsked"
    VERSION_SKIPS_MINOR = "VersionSkipsMinor"
    VERSION_NOT_SUPPORTED = "VersionNotSupported"
    NODES_TOO_OLD = "NodesTooOld"
    CONTROL_PLANE_NOT_HEALTHY = "ControlPlaneNotHealthy"

    # of RollingOut, ScalingUp and ScalingDown
    ROLLING_OUT = "RollingOut"
    NOT_ROLLING_OUT = "NotRollingOut"
    SCALING_UP = "ScalingUp"
    NOT_SCALING_UP = "NotScalingUp"
    SCALING_DOWN = "ScalingDown"
    NOT_SCALING_DOWN = "NotScalingDown"

    # of Deleting
    NOT_DELETING = "NotDeleting"
    WAITING_FOR_WORKERS_DELETION = "WaitingForWorkersDeletion"
    STOPPING_COMPONENTS = "StoppingComponents"
    REMOVING_DATA = "RemovingData"
    DELETION_COMPLETED = "DeletionCompleted"

    # of Paused
    PAUSED = "Paused"
    NOT_PAUSED = "NotPaused"


class HostedPhase(StrEnum):
    """The phases of the start of a hosted control plane, as `status.timeline` tells them. Several run side by side."""

    CERTIFICATES = "Certificates"
    DATA_STORE = "DataStore"
    ENDPOINT = "Endpoint"
    API_SERVER = "APIServer"
    CONTROLLERS = "Controllers"
    TENANT = "Tenant"
    UPGRADE = "Upgrade"
