"""The tables of built-in kinds, by group and kind. A kind that is not listed shows its name and when it was created."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from nagaya.apiserver.meta.gvk import GroupKind
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.table.builtin import (
    admission,
    apps,
    autoscaling,
    batch,
    certificates,
    cluster,
    core,
    events,
    networking,
    pods,
    rbac,
    resources,
    storage,
    volumes,
)
from nagaya.apiserver.table.builtin.parts import metadata, name
from nagaya.apiserver.table.columns import CREATED_AT, NAME, Cells, TableShape
from nagaya.apiserver.table.convert import table

_GROUPS: Final[dict[str, dict[str, TableShape]]] = {
    "": {
        "ComponentStatus": core.COMPONENT_STATUSES,
        "ConfigMap": core.CONFIG_MAPS,
        "Endpoints": core.ENDPOINTS,
        "Event": events.EVENTS,
        "Namespace": core.NAMESPACES,
        "Node": core.NODES,
        "PersistentVolume": volumes.PERSISTENT_VOLUMES,
        "PersistentVolumeClaim": volumes.PERSISTENT_VOLUME_CLAIMS,
        "Pod": pods.PODS,
        "PodTemplate": pods.POD_TEMPLATES,
        "ReplicationController": core.REPLICATION_CONTROLLERS,
        "ResourceQuota": core.RESOURCE_QUOTAS,
        "Secret": core.SECRETS,
        "Service": core.SERVICES,
        "ServiceAccount": core.SERVICE_ACCOUNTS,
    },
    "admissionregistration.k8s.io": {
        "MutatingAdmissionPolicy": admission.MUTATING_POLICIES,
        "MutatingAdmissionPolicyBinding": admission.POLICY_BINDINGS,
        "MutatingWebhookConfiguration": admission.WEBHOOK_CONFIGURATIONS,
        "ValidatingAdmissionPolicy": admission.VALIDATING_POLICIES,
        "ValidatingAdmissionPolicyBinding": admission.POLICY_BINDINGS,
        "ValidatingWebhookConfiguration": admission.WEBHOOK_CONFIGURATIONS,
    },
    "apiregistration.k8s.io": {"APIService": cluster.API_SERVICES},
    "apps": {
        "ControllerRevision": apps.CONTROLLER_REVISIONS,
        "DaemonSet": apps.DAEMON_SETS,
        "Deployment": apps.DEPLOYMENTS,
        "ReplicaSet": apps.REPLICA_SETS,
        "StatefulSet": apps.STATEFUL_SETS,
    },
    "autoscaling": {
        "HorizontalPodAutoscaler": autoscaling.HORIZONTAL_POD_AUTOSCALERS,
        "Scale": autoscaling.SCALES,
    },
    "batch": {"CronJob": batch.CRON_JOBS, "Job": batch.JOBS},
    "certificates.k8s.io": {
        "CertificateSigningRequest": certificates.CERTIFICATE_SIGNING_REQUESTS,
        "ClusterTrustBundle": certificates.CLUSTER_TRUST_BUNDLES,
        "PodCertificateRequest": certificates.POD_CERTIFICATE_REQUESTS,
    },
    "coordination.k8s.io": {"Lease": cluster.LEASES, "LeaseCandidate": cluster.LEASE_CANDIDATES},
    "discovery.k8s.io": {"EndpointSlice": networking.ENDPOINT_SLICES},
    "events.k8s.io": {"Event": events.EVENTS},
    "flowcontrol.apiserver.k8s.io": {
        "FlowSchema": cluster.FLOW_SCHEMAS,
        "PriorityLevelConfiguration": cluster.PRIORITY_LEVEL_CONFIGURATIONS,
    },
    "internal.apiserver.k8s.io": {"StorageVersion": cluster.STORAGE_VERSIONS},
    "networking.k8s.io": {
        "IPAddress": networking.IP_ADDRESSES,
        "Ingress": networking.INGRESSES,
        "IngressClass": networking.INGRESS_CLASSES,
        "NetworkPolicy": networking.NETWORK_POLICIES,
        "ServiceCIDR": networking.SERVICE_CIDRS,
    },
    "node.k8s.io": {"RuntimeClass": cluster.RUNTIME_CLASSES},
    "policy": {"PodDisruptionBudget": cluster.POD_DISRUPTION_BUDGETS},
    "rbac.authorization.k8s.io": {"ClusterRoleBinding": rbac.BINDINGS, "RoleBinding": rbac.BINDINGS},
    "resource.k8s.io": {
        "DeviceClass": resources.PLAIN,
        "DeviceTaintRule": resources.DEVICE_TAINT_RULES,
        "ResourceClaim": resources.RESOURCE_CLAIMS,
        "ResourceClaimTemplate": resources.PLAIN,
        "ResourcePoolStatusRequest": resources.RESOURCE_POOL_STATUS_REQUESTS,
        "ResourceSlice": resources.RESOURCE_SLICES,
    },
    "scheduling.k8s.io": {
        "PodGroup": cluster.POD_GROUPS,
        "PriorityClass": cluster.PRIORITY_CLASSES,
        "Workload": cluster.WORKLOADS,
    },
    "storage.k8s.io": {
        "CSIDriver": storage.CSI_DRIVERS,
        "CSINode": storage.CSI_NODES,
        "StorageClass": storage.STORAGE_CLASSES,
        "VolumeAttachment": storage.VOLUME_ATTACHMENTS,
        "VolumeAttributesClass": storage.VOLUME_ATTRIBUTES_CLASSES,
    },
    "storagemigration.k8s.io": {"StorageVersionMigration": cluster.STORAGE_VERSION_MIGRATIONS},
}


def _default_row(obj: JsonObject, now: datetime) -> Cells:
    return [name(obj), metadata(obj).get("creationTimestamp") or "0001-01-01T00:00:00Z"]


DEFAULT: Final = TableShape((NAME, CREATED_AT), _default_row, rows_when_empty=False)

SHAPES: Final = {GroupKind(group, kind): shape for group, kinds in _GROUPS.items() for kind, shape in kinds.items()}


def shape_of(group: str, kind: str) -> TableShape:
    """The shape of a built-in kind's table."""
    return SHAPES.get(GroupKind(group, kind), DEFAULT)


def table_for_builtin(
    group: str,
    kind: str,
    objects: Sequence[JsonObject],
    list_meta: JsonObject,
    include_object: str,
    now: datetime,
    *,
    version: str = "v1",
    headers: bool = True,
) -> JsonObject:
    """A Table of built-in objects; see `convert.table`."""
    shape = shape_of(group, kind)
    return table(shape, objects, list_meta, include_object, now, version=version, headers=headers)
