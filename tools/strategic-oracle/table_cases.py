"""Random objects to print as tables, by the columns of built-in kinds and by those of definitions."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from oracle import Oracle
from shapes import Shapes

from nagaya.apiserver.table.builtin import shape_of
from nagaya.apiserver.table.custom import custom_shape

_PATHS = [
    ".a",
    ".b.c",
    ".a[0]",
    ".a[-1]",
    ".a[1:3]",
    ".a[:2]",
    ".a[::2]",
    ".a[*]",
    ".a[*].b",
    "..a",
    ".*",
    ".a.*",
    ".a[]",
    ".['a']",
    "['a']['b']",
    ".a['b','c']",
    ".a[0,1]",
    ".a[?(@.b==1)].c",
    '.a[?(@.b=="a")].c',
    ".a[?(@.b!='a')].c",
    ".a[?(@.b>1)].b",
    ".a[?(@.b<=2)].b",
    ".a[?(@.b)].c",
    ".a[?(@.b[0])].c",
    ".a[?(@.b==@.c)].b",
    ".a[?(true==@.b)].c",
    ".a[?(@.b == 1.5)].b",
    ".a.b.c",
    ".a\\.b",
    ".",
    ".a[",
    ".a[x]",
    ".a[?(@.b==]",
    ".a[?(@.b=='x)')].c",
    "a",
    ".a b",
    "..",
    "...",
    ".a..b",
    ".a[?(@.b==range)].c",
    ".a}{.b[9]",
    ".a }x",
    "@.a",
    "$.a",
    ".a[-3:]",
    ".a[5:2]",
    ".a[0:0]",
    ".a[?(@..b)].c",
    ".a[1:2:0]",
    ".metadata.name",
    ".a[?(@.b==-1)]",
    ".a[?(@.b=~'x')]",
    ".a[?(@ == 1)]",
    ".a['b.c']",
]


def custom_table_case(oracle: Oracle, source: random.Random) -> tuple[Any, Callable[[], Any], Any]:
    columns = [
        {
            "name": f"C{place}",
            "type": source.choice(["string", "integer", "number", "boolean", "date", "x"]),
            "jsonPath": path,
        }
        for place, path in enumerate(source.choices(_PATHS, k=2))
    ]
    obj = {"apiVersion": "x.io/v1", "kind": "X", "metadata": {"name": "n"}, **_tree(source)}

    def ask() -> Any:
        found = oracle.ask("custom-table", original=obj, columns=columns)
        return {"panic": True} if "panic" in found else {"cells": found["cells"]}

    shape = custom_shape(columns)
    return (columns, obj), ask, {"cells": shape.row(obj, datetime.now(UTC))}


def _tree(source: random.Random, depth: int = 0) -> dict[str, Any]:
    return {key: _branch(source, depth + 1) for key in source.sample(["a", "b", "c", "b.c"], source.randrange(1, 4))}


def _branch(source: random.Random, depth: int) -> Any:
    roll = source.random()
    if depth > 3 or roll < 0.4:
        return source.choice(
            [1, 2, -1, "a", "b", True, False, None, 1.5, 2.0, "", "2020-01-01T00:00:00Z", "null", "x<y", 1e25, {}, []]
        )
    if roll < 0.6:
        return _tree(source, depth)
    return [_branch(source, depth + 1) for _ in range(source.randrange(4))]


_TABLES = """v1 Pod PodTemplate ReplicationController Service Endpoints Node Event Namespace Secret ServiceAccount
v1 PersistentVolume PersistentVolumeClaim ComponentStatus ConfigMap ResourceQuota
apps/v1 ReplicaSet DaemonSet StatefulSet Deployment ControllerRevision
batch/v1 Job CronJob
policy/v1 PodDisruptionBudget
networking.k8s.io/v1 Ingress IngressClass NetworkPolicy ServiceCIDR IPAddress
discovery.k8s.io/v1 EndpointSlice
events.k8s.io/v1 Event
rbac.authorization.k8s.io/v1 RoleBinding ClusterRoleBinding
certificates.k8s.io/v1 CertificateSigningRequest
certificates.k8s.io/v1beta1 ClusterTrustBundle PodCertificateRequest
coordination.k8s.io/v1 Lease
coordination.k8s.io/v1beta1 LeaseCandidate
autoscaling/v2 HorizontalPodAutoscaler
autoscaling/v1 HorizontalPodAutoscaler Scale
storage.k8s.io/v1 StorageClass VolumeAttributesClass VolumeAttachment CSINode CSIDriver
admissionregistration.k8s.io/v1 MutatingWebhookConfiguration ValidatingWebhookConfiguration ValidatingAdmissionPolicy
admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding MutatingAdmissionPolicy MutatingAdmissionPolicyBinding
flowcontrol.apiserver.k8s.io/v1 FlowSchema PriorityLevelConfiguration
scheduling.k8s.io/v1 PriorityClass
scheduling.k8s.io/v1alpha2 Workload PodGroup
node.k8s.io/v1 RuntimeClass
resource.k8s.io/v1 DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice
resource.k8s.io/v1beta2 DeviceTaintRule
resource.k8s.io/v1alpha3 ResourcePoolStatusRequest
internal.apiserver.k8s.io/v1alpha1 StorageVersion
storagemigration.k8s.io/v1beta1 StorageVersionMigration"""
TABLE_KINDS = [
    (*line.split()[0].rpartition("/")[::2], kind) for line in _TABLES.splitlines() for kind in line.split()[1:]
]
_WORDS = {
    "type": [
        "Ready",
        "Initialized",
        "PodScheduled",
        "Complete",
        "Failed",
        "Suspended",
        "FailureTarget",
        "SuccessCriteriaMet",
        "Approved",
        "Denied",
        "Dangling",
        "Healthy",
        "ClusterIP",
        "LoadBalancer",
        "NodePort",
        "ExternalName",
        "Resource",
        "Pods",
        "Object",
        "External",
        "ContainerResource",
        "InternalIP",
        "ExternalIP",
        "Issued",
        "Running",
        "Succeeded",
        "DisruptionTarget",
        "PodGroupScheduled",
        "Opaque",
        "Limited",
        "Exempt",
    ],
    "status": ["True", "False", "Unknown"],
    "phase": ["Pending", "Running", "Succeeded", "Failed", "Active", "Bound"],
    "reason": ["", "Completed", "SchedulingGated", "CrashLoopBackOff", "PodInitializing", "NodeLost", "Error"],
    "restartPolicy": ["Always", "Never"],
    "kind": ["User", "Group", "ServiceAccount", "Deployment"],
    "accessModes": ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"],
    "ip": ["10.0.0.1", "fd00::1", ""],
    "conditionType": ["Ready", "Initialized"],
    "operator": ["In", "Exists", "NotIn", "x"],
    "message": [" text \n", "x"],
    "apiVersion": ["v1", "apps/v1", ""],
    "targetRef": ["x"],
}


def _check_columns(theirs: list[dict[str, Any]], ours: list[dict[str, Any]]) -> None:
    """The descriptions are our own; all else has to be the same."""
    shown = [
        [{member: value for member, value in column.items() if member != "description"} for column in columns]
        for columns in (theirs, ours)
    ]
    assert shown[0] == shown[1], shown


def random_object(
    oracle: Oracle, source: random.Random, what: tuple[str, str, str]
) -> tuple[dict[str, str], dict[str, Any], Callable[[], Any]]:
    """An object of a kind, and a way to ask how it is printed."""
    group, version, kind = what
    where = {"group": group, "version": version, "kind": kind}
    obj = Shapes(oracle.ask_once("types", **where), source, _WORDS).value()
    # Stored objects never look like this: these members are converted when an object is written.
    obj.pop("stringData", None)
    if (version, kind) == ("v1", "HorizontalPodAutoscaler"):
        obj.setdefault("spec", {}).setdefault("targetCPUUtilizationPercentage", 80)

    def ask() -> Any:
        found = oracle.ask("table", **where, original=obj)
        return {"panic": True} if "panic" in found else found

    return where, obj, ask


def table_case(oracle: Oracle, source: random.Random) -> tuple[Any, Callable[[], Any], Any]:
    group, version, kind = source.choice(TABLE_KINDS)
    where, obj, ask = random_object(oracle, source, (group, version, kind))
    shape = shape_of(group, kind)
    _check_columns(oracle.ask_once("columns", **where)["columns"], shape.definitions())
    ours: Any = {"cells": shape.row(obj, datetime.now(UTC))}
    assert len(ours["cells"]) == len(shape.columns) or kind == "IPAddress"
    return (where, obj), ask, ours
