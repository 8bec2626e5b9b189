"""Conditions of kubeadm control planes and of their machines, with all reasons. Both are part of the API."""

from __future__ import annotations

from typing import Final

# Conditions of KubeadmControlPlane

AVAILABLE: Final = "Available"
"""The cluster's API can be used: certificates are there, a machine has all components healthy, etcd has its quorum."""

INITIALIZED: Final = "Initialized"
"""The first machine accepted requests; true forever after."""

CERTIFICATES_AVAILABLE: Final = "CertificatesAvailable"
"""All certificate authorities of the cluster are there."""

ETCD_CLUSTER_HEALTHY: Final = "EtcdClusterHealthy"
"""All etcd members are healthy. Not set with an external etcd."""

CONTROL_PLANE_COMPONENTS_HEALTHY: Final = "ControlPlaneComponentsHealthy"
"""All pods of the control plane run, on all machines."""

MACHINES_READY: Final = "MachinesReady"
"""All machines are ready."""

MACHINES_UP_TO_DATE: Final = "MachinesUpToDate"
"""All machines are as declared."""

ROLLING_OUT: Final = "RollingOut"
"""Some machines are being replaced because they are not as declared."""

SCALING_UP: Final = "ScalingUp"
"""There are fewer machines than declared."""

SCALING_DOWN: Final = "ScalingDown"
"""There are more machines than declared."""

REMEDIATING: Final = "Remediating"
"""An unhealthy machine is being replaced."""

DELETING: Final = "Deleting"
"""Somebody asked for the deletion of the control plane."""

# Conditions of the Machines of a KubeadmControlPlane

MACHINE_API_SERVER_POD_HEALTHY: Final = "APIServerPodHealthy"
MACHINE_CONTROLLER_MANAGER_POD_HEALTHY: Final = "ControllerManagerPodHealthy"
MACHINE_SCHEDULER_POD_HEALTHY: Final = "SchedulerPodHealthy"
MACHINE_ETCD_POD_HEALTHY: Final = "EtcdPodHealthy"
MACHINE_ETCD_MEMBER_HEALTHY: Final = "EtcdMemberHealthy"
MACHINE_NODE_KUBEADM_LABELS_AND_TAINTS_SET: Final = "NodeKubeadmLabelsAndTaintsSet"

# Reasons of several conditions

INTERNAL_ERROR_REASON: Final = "InternalError"
INSPECTION_FAILED_REASON: Final = "InspectionFailed"
CONNECTION_DOWN_REASON: Final = "ConnectionDown"
NO_REPLICAS_REASON: Final = "NoReplicas"
WAITING_FOR_REPLICAS_SET_REASON: Final = "WaitingForReplicasSet"

# Reasons of Available and CertificatesAvailable

AVAILABLE_REASON: Final = "Available"
NOT_AVAILABLE_REASON: Final = "NotAvailable"

# Reasons of Initialized

INITIALIZED_REASON: Final = "Initialized"
NOT_INITIALIZED_REASON: Final = "NotInitialized"

# Reasons of EtcdClusterHealthy, ControlPlaneComponentsHealthy and EtcdMemberHealthy

HEALTHY_REASON: Final = "Healthy"
NOT_HEALTHY_REASON: Final = "NotHealthy"
HEALTH_UNKNOWN_REASON: Final = "HealthUnknown"

# Reasons of MachinesReady

READY_REASON: Final = "Ready"
NOT_READY_REASON: Final = "NotReady"
READY_UNKNOWN_REASON: Final = "ReadyUnknown"

# Reasons of MachinesUpToDate

UP_TO_DATE_REASON: Final = "UpToDate"
NOT_UP_TO_DATE_REASON: Final = "NotUpToDate"
UP_TO_DATE_UNKNOWN_REASON: Final = "UpToDateUnknown"

# Reasons of RollingOut, ScalingUp, ScalingDown and Remediating

ROLLING_OUT_REASON: Final = "RollingOut"
NOT_ROLLING_OUT_REASON: Final = "NotRollingOut"
SCALING_UP_REASON: Final = "ScalingUp"
NOT_SCALING_UP_REASON: Final = "NotScalingUp"
SCALING_DOWN_REASON: Final = "ScalingDown"
NOT_SCALING_DOWN_REASON: Final = "NotScalingDown"
REMEDIATING_REASON: Final = "Remediating"
NOT_REMEDIATING_REASON: Final = "NotRemediating"

# Reasons of Deleting

NOT_DELETING_REASON: Final = "NotDeleting"
WAITING_FOR_WORKERS_DELETION_REASON: Final = "WaitingForWorkersDeletion"
WAITING_FOR_MACHINE_DELETION_REASON: Final = "WaitingForMachineDeletion"
DELETION_COMPLETED_REASON: Final = "DeletionCompleted"

# Reasons of a Machine's OwnerRemediated

CANNOT_BE_REMEDIATED_REASON: Final = "CannotBeRemediated"
REMEDIATION_DEFERRED_REASON: Final = "RemediationDeferred"
MACHINE_DELETING_REASON: Final = "MachineDeleting"

# Reasons of a Machine's pods

POD_RUNNING_REASON: Final = "Running"
POD_PROVISIONING_REASON: Final = "Provisioning"
POD_DOES_NOT_EXIST_REASON: Final = "DoesNotExist"
POD_FAILED_REASON: Final = "Failed"

# Reason of a Machine's pods, EtcdMemberHealthy and NodeKubeadmLabelsAndTaintsSet while the machine goes

DELETING_REASON: Final = "Deleting"

# Reasons of NodeKubeadmLabelsAndTaintsSet

SET_REASON: Final = "Set"
NOT_SET_REASON: Final = "NotSet"
