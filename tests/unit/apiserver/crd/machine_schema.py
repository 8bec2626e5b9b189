"""A schema and an object of the size and shape of Cluster API's Machine, for tests of the whole path."""

from __future__ import annotations

from typing import Any


def text(**more: Any) -> dict[str, Any]:
    return {"type": "string", **more}


def number(**more: Any) -> dict[str, Any]:
    return {"type": "integer", "format": "int32", **more}


def flag() -> dict[str, Any]:
    return {"type": "boolean"}


def obj(properties: dict[str, Any], *required: str, **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, **more}
    return {**schema, "required": list(required)} if required else schema


def items(schema: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": schema, **more}


def keyed(schema: dict[str, Any], *keys: str, **more: Any) -> dict[str, Any]:
    return items(schema, **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}, **more)


_NAME = text(minLength=1, maxLength=253)
_LABEL = text(minLength=1, maxLength=253, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
_KIND = text(minLength=1, maxLength=63, pattern="^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$")
_REFERENCE = obj({"apiGroup": _LABEL, "kind": _KIND, "name": _LABEL}, "apiGroup", "kind", "name")
_CONDITION = obj(
    {
        "lastTransitionTime": text(format="date-time"),
        "message": text(maxLength=32768),
        "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
        "reason": text(minLength=1, maxLength=1024, pattern="^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"),
        "status": text(enum=["True", "False", "Unknown"]),
        "type": text(
            maxLength=316,
            pattern=r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
            r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
        ),
    },
    "lastTransitionTime",
    "message",
    "reason",
    "status",
    "type",
)
_INFO = {
    name: text()
    for name in (
        "machineID",
        "systemUUID",
        "bootID",
        "kernelVersion",
        "osImage",
        "containerRuntimeVersion",
        "kubeletVersion",
        "kubeProxyVersion",
        "operatingSystem",
        "architecture",
    )
}

SCHEMA = obj(
    {
        "apiVersion": text(),
        "kind": text(),
        "metadata": {"type": "object"},
        "spec": obj(
            {
                "bootstrap": obj({"configRef": _REFERENCE, "dataSecretName": _NAME}, minProperties=1),
                "clusterName": text(minLength=1, maxLength=63),
                "deletion": obj(
                    {
                        "nodeDeletionTimeoutSeconds": number(minimum=0, default=10),
                        "nodeDrainTimeoutSeconds": number(minimum=0),
                        "nodeVolumeDetachTimeoutSeconds": number(minimum=0),
                    },
                    default={},
                ),
                "failureDomain": text(minLength=1, maxLength=256),
                "infrastructureRef": _REFERENCE,
                "minReadySeconds": number(minimum=0, default=0),
                "providerID": text(minLength=1, maxLength=512),
                "readinessGates": keyed(
                    obj({"conditionType": text(maxLength=316), "polarity": text(enum=["Positive", "Negative"])}),
                    "conditionType",
                    maxItems=32,
                ),
                "taints": keyed(
                    obj(
                        {
                            "key": text(minLength=1, maxLength=317),
                            "value": text(maxLength=63),
                            "effect": text(enum=["NoSchedule", "PreferNoSchedule", "NoExecute"]),
                            "propagation": text(enum=["Always", "OnInitialization"], default="Always"),
                        },
                        "key",
                        "effect",
                    ),
                    "key",
                    "effect",
                    maxItems=64,
                ),
                "version": text(minLength=1, maxLength=256),
            },
            "bootstrap",
            "clusterName",
            "infrastructureRef",
        ),
        "status": obj(
            {
                "addresses": items(
                    obj(
                        {
                            "address": text(minLength=1, maxLength=256),
                            "type": text(enum=["Hostname", "ExternalIP", "InternalIP", "ExternalDNS", "InternalDNS"]),
                        },
                        "address",
                        "type",
                    ),
                    maxItems=128,
                ),
                "certificatesExpiryDate": text(format="date-time"),
                "conditions": keyed(_CONDITION, "type", maxItems=32),
                "deprecated": obj({"v1beta1": obj({"conditions": items(_CONDITION), "failureReason": text()})}),
                "initialization": obj(
                    {"infrastructureProvisioned": flag(), "bootstrapDataSecretCreated": flag()}, minProperties=1
                ),
                "lastUpdated": text(format="date-time"),
                "nodeInfo": obj(_INFO),
                "nodeRef": obj({"name": _NAME}, "name"),
                "observedGeneration": {"type": "integer", "format": "int64", "minimum": 1},
                "phase": text(
                    enum=["Pending", "Provisioning", "Provisioned", "Running", "Deleting", "Failed", "Unknown"]
                ),
            }
        ),
    }
)

_TIME = "2026-11-15T19:53:45Z"


def _condition(name: str) -> dict[str, Any]:
    message = "* Bootstrap: waits for the control plane. " * 2
    return {
        "type": name,
        "status": "True",
        "reason": f"{name}Succeeded",
        "message": message,
        "lastTransitionTime": _TIME,
        "observedGeneration": 3,
    }


def machine() -> dict[str, Any]:
    """An object of about 5 KB."""
    names = [
        "Available",
        "Ready",
        "UpToDate",
        "BootstrapConfigReady",
        "InfrastructureReady",
        "NodeReady",
        "NodeHealthy",
        "Deleting",
    ]
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Machine",
        "metadata": {
            "name": "tenant-a-md-0-7f9c6-xk2lp",
            "namespace": "tenant-a",
            "uid": "98f90f84-6976-4b08-adcc-e3f60b9e3923",
            "resourceVersion": "48213",
            "generation": 3,
            "creationTimestamp": _TIME,
            "labels": {
                "cluster.x-k8s.io/cluster-name": "tenant-a",
                "cluster.x-k8s.io/deployment-name": "tenant-a-md-0",
                "cluster.x-k8s.io/set-name": "tenant-a-md-0-7f9c6",
                "machine-template-hash": "7f9c6",
            },
            "annotations": {"cluster.x-k8s.io/remediated": "x" * 200},
            "finalizers": ["machine.cluster.x-k8s.io"],
            "ownerReferences": [
                {
                    "apiVersion": "cluster.x-k8s.io/v1beta2",
                    "kind": "MachineSet",
                    "name": "tenant-a-md-0-7f9c6",
                    "uid": "93384d25-15b6-43b5-8098-f36c929e98ec",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            "bootstrap": {
                "configRef": {
                    "apiGroup": "bootstrap.cluster.x-k8s.io",
                    "kind": "KubeadmConfig",
                    "name": "tenant-a-md-0-7f9c6-xk2lp",
                },
                "dataSecretName": "tenant-a-md-0-7f9c6-xk2lp",
            },
            "clusterName": "tenant-a",
            "failureDomain": "host-3",
            "infrastructureRef": {
                "apiGroup": "infrastructure.cluster.x-k8s.io",
                "kind": "ProxmoxMachine",
                "name": "tenant-a-md-0-7f9c6-xk2lp",
            },
            "providerID": "proxmox://5e4f1f5c-6f3b-4b3f-9b1d-1a1f0e6f0c11",
            "taints": [{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}],
            "version": "v1.36.3",
        },
        "status": {
            "addresses": [
                {"type": "Hostname", "address": "tenant-a-md-0-7f9c6-xk2lp"},
                {"type": "InternalIP", "address": "10.20.30.41"},
                {"type": "ExternalIP", "address": "192.0.2.41"},
            ],
            "certificatesExpiryDate": "2027-11-15T19:53:45Z",
            "conditions": [_condition(name) for name in names],
            "deprecated": {"v1beta1": {"conditions": [_condition(name) for name in names[:4]]}},
            "initialization": {"infrastructureProvisioned": True, "bootstrapDataSecretCreated": True},
            "lastUpdated": _TIME,
            "nodeInfo": dict.fromkeys(_INFO, "5e4f1f5c6f3b4b3f9b1d1a1f0e6f0c11"),
            "nodeRef": {"name": "tenant-a-md-0-7f9c6-xk2lp"},
            "observedGeneration": 3,
            "phase": "Running",
        },
    }
