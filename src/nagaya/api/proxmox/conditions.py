"""Conditions of Proxmox objects, with all reasons. Both are part of the API; CAPMOX's are called as there."""

from __future__ import annotations

from enum import StrEnum


class ProxmoxClusterCondition(StrEnum):
    """What is told of a ProxmoxCluster."""

    READY = "Ready"
    PROXMOX_AVAILABLE = "ProxmoxAvailable"
    DELETING = "Deleting"
    PAUSED = "Paused"


class ProxmoxClusterReason(StrEnum):
    """Why a ProxmoxCluster is in the state that it is in."""

    # of Ready
    WAITING_FOR_OWNER = "WaitingForOwner"
    WAITING_FOR_PROXMOX = "WaitingForProxmox"
    WAITING_FOR_ADDRESS_POOLS = "WaitingForAddressPools"
    WAITING_FOR_CONTROL_PLANE_ADDRESS = "WaitingForControlPlaneAddress"
    MISSING_CONTROL_PLANE_ENDPOINT = "MissingControlPlaneEndpoint"
    UNKNOWN_HOSTS = "UnknownHosts"
    PROVISIONED = "Provisioned"

    # of ProxmoxAvailable
    PROXMOX_AVAILABLE = "ProxmoxAvailable"
    PROXMOX_UNREACHABLE = "ProxmoxUnreachable"
    CONNECTION_NOT_FOUND = "ConnectionNotFound"
    CONNECTION_NOT_READY = "ConnectionNotReady"
    NO_CONNECTION = "NoConnection"
    SEVERAL_CONNECTIONS = "SeveralConnections"
    SECRET_MISSING = "SecretMissing"  # noqa: S105 - a reason, not a secret
    SECRET_UNUSABLE = "SecretUnusable"  # noqa: S105 - a reason, not a secret

    # of Deleting
    NOT_DELETING = "NotDeleting"
    WAITING_FOR_MACHINES_DELETION = "WaitingForMachinesDeletion"
    RELEASING_ADDRESSES = "ReleasingAddresses"

    # of Paused
    PAUSED = "Paused"
    NOT_PAUSED = "NotPaused"

    # of several
    DELETING = "Deleting"
    INTERNAL_ERROR = "InternalError"


class ProxmoxMachineCondition(StrEnum):
    """What is told of a ProxmoxMachine."""

    READY = "Ready"
    VIRTUAL_MACHINE_PROVISIONED = "VirtualMachineProvisioned"
    VIRTUAL_MACHINE_HEALTHY = "VirtualMachineHealthy"
    DELETING = "Deleting"
    PAUSED = "Paused"


class ProxmoxMachineReason(StrEnum):
    """Why a ProxmoxMachine is in the state that it is in."""

    # of Ready
    READY = "Ready"
    NOT_READY = "NotReady"

    # of VirtualMachineProvisioned, in their order
    WAITING_FOR_OWNER = "WaitingForOwner"
    WAITING_FOR_CLUSTER_INFRASTRUCTURE = "WaitingForClusterInfrastructure"
    WAITING_FOR_BOOTSTRAP_DATA = "WaitingForBootstrapData"
    WAITING_FOR_PROXMOX = "WaitingForProxmox"
    WAITING_FOR_VMID = "WaitingForVMID"
    NO_SUITABLE_HOST = "NoSuitableHost"
    TEMPLATE_NOT_FOUND = "TemplateNotFound"
    WAITING_FOR_CLONE_SLOT = "WaitingForCloneSlot"
    CLONING = "Cloning"
    CLONING_FAILED = "CloningFailed"
    WAITING_FOR_VIRTUAL_MACHINE_CONFIG = "WaitingForVirtualMachineConfig"
    WAITING_FOR_DISK_RECONCILIATION = "WaitingForDiskReconciliation"
    WAITING_FOR_STATIC_IP_ALLOCATION = "WaitingForStaticIPAllocation"
    WAITING_FOR_BOOTSTRAP_DATA_RECONCILIATION = "WaitingForBootstrapDataReconciliation"
    WAITING_FOR_VM_POWER_UP = "WaitingForVMPowerUp"
    POWERING_ON_FAILED = "PoweringOnFailed"
    WAITING_FOR_CLUSTER_API_MACHINE_ADDRESSES = "WaitingForClusterAPIMachineAddresses"
    WAITING_FOR_GUEST_AGENT = "WaitingForGuestAgent"
    WAITING_FOR_CLOUD_INIT = "WaitingForCloudInit"
    CLOUD_INIT_FAILED = "CloudInitFailed"
    WAITING_FOR_BOOTSTRAP_READY = "WaitingForBootstrapReady"
    VM_PROVISION_FAILED = "VMProvisionFailed"
    TASK_FAILED = "TaskFailed"
    NOT_AUTHORIZED = "NotAuthorized"
    PROVISIONED = "Provisioned"

    # of VirtualMachineHealthy
    RUNNING = "Running"
    NOT_RUNNING_YET = "NotRunningYet"
    STOPPED = "Stopped"
    SUSPENDED = "Suspended"
    IO_ERROR = "IOError"
    HOST_UNREACHABLE = "HostUnreachable"
    VM_NOT_FOUND = "VMNotFound"
    IDENTITY_MISMATCH = "IdentityMismatch"

    # of Deleting
    NOT_DELETING = "NotDeleting"
    DELETING = "Deleting"
    DELETION_FAILED = "DeletionFailed"
    WAITING_FOR_HOST = "WaitingForHost"
    RELEASED = "Released"

    # of Paused
    PAUSED = "Paused"
    NOT_PAUSED = "NotPaused"

    # of several
    INTERNAL_ERROR = "InternalError"


class ProxmoxConnectionCondition(StrEnum):
    """What is told of a ProxmoxConnection."""

    READY = "Ready"
    CREDENTIALS_ACCEPTED = "CredentialsAccepted"
    PRIVILEGES_COMPLETE = "PrivilegesComplete"
    QUORATE = "Quorate"


class ProxmoxConnectionReason(StrEnum):
    """Why a ProxmoxConnection is in the state that it is in."""

    # of Ready
    READY = "Ready"
    UNREACHABLE = "Unreachable"
    CERTIFICATE_NOT_TRUSTED = "CertificateNotTrusted"
    NOT_PROXMOX = "NotProxmox"
    ENDPOINT_INVALID = "EndpointInvalid"
    VERSION_TOO_OLD = "VersionTooOld"
    DATACENTER_CHANGED = "DatacenterChanged"
    NOT_READY = "NotReady"
    DELETING = "Deleting"

    # of CredentialsAccepted
    ACCEPTED = "Accepted"
    REFUSED = "Refused"
    SECRET_MISSING = "SecretMissing"  # noqa: S105 - a reason, not a secret
    SECRET_UNUSABLE = "SecretUnusable"  # noqa: S105 - a reason, not a secret

    # of PrivilegesComplete
    COMPLETE = "Complete"
    MISSING = "Missing"

    # of Quorate
    QUORATE = "Quorate"
    NO_QUORUM = "NoQuorum"

    # of several
    UNKNOWN = "Unknown"
    INTERNAL_ERROR = "InternalError"
