"""Writes the objects that protobuf decoding is tested with, as Go clients send them and as Go writes them back.

Run it by hand, with Go installed: `python tools/typefacts/vectors.py`. The objects are made up here so that every type
with a protobuf form of its own appears, full and empty.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RESULT = HERE.parent.parent / "tests/unit/apiserver/protobuf/vectors.json"

META: dict[str, Any] = {
    "name": "lamp",
    "namespace": "cellar",
    "uid": "0e5cbd5b-6a29-4c55-a3b2-5f6e0a9f1c11",
    "generation": 7,
    "creationTimestamp": "2025-03-04T05:06:07Z",
    "deletionTimestamp": "2025-03-04T06:06:07Z",
    "deletionGracePeriodSeconds": 0,
    "labels": {"house": "nagaya", "empty": ""},
    "annotations": {"note": "Grüße, 長屋 \U0001f3e0"},
    "finalizers": ["nagaya.example/hold"],
    "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u", "controller": False}],
    "managedFields": [
        {
            "manager": "tester",
            "operation": "Apply",
            "apiVersion": "v1",
            "time": "2025-03-04T05:06:07Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {".": {}, "f:x": {}}},
        }
    ],
}

CONTAINER: dict[str, Any] = {
    "name": "main",
    "image": "lamp:1",
    "ports": [{"containerPort": 80}],
    "env": [
        {"name": "PLAIN", "value": "x"},
        {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": False}}},
    ],
    "resources": {"limits": {"cpu": "1500m", "memory": "1.5Gi"}, "requests": {"cpu": "0"}},
    "livenessProbe": {"httpGet": {"path": "/", "port": "http"}, "periodSeconds": 5},
    "readinessProbe": {"tcpSocket": {"port": 80}, "terminationGracePeriodSeconds": 0},
}

POD: dict[str, Any] = {
    "volumes": [
        {"name": "scratch", "emptyDir": {"sizeLimit": "10Mi"}},
        {"name": "bare", "emptyDir": {}},
        {"name": "settings", "configMap": {"name": "c", "defaultMode": 420, "optional": True}},
    ],
    "containers": [CONTAINER],
    "ephemeralContainers": [{"name": "debug", "image": "tools", "targetContainerName": "main"}],
    "securityContext": {"runAsUser": 0, "supplementalGroups": [1, 1000, 2147483648]},
    "nodeSelector": {"zone": "a"},
    "terminationGracePeriodSeconds": 0,
    "hostNetwork": True,
    "hostUsers": False,
}

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "size": {"type": "number", "minimum": -0.5, "maximum": 10, "multipleOf": 0.25, "default": 1.5},
        "names": {"type": "array", "items": {"type": "string", "enum": ["a", "b", None, {"x": [1]}]}, "maxItems": 3},
        "pairs": {"items": [{"type": "string"}, {"type": "integer"}]},
        "free": {"type": "object", "additionalProperties": True},
        "closed": {"type": "object", "additionalProperties": False},
        "texts": {"type": "object", "additionalProperties": {"type": "string"}},
        "linked": {"dependencies": {"a": ["b", "c"], "d": {"type": "object"}}, "example": {"deep": [None, 1]}},
    },
    "required": ["size"],
}

OBJECTS: list[dict[str, Any]] = [
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": META, "data": {"x": "1", "": ""}, "immutable": False},
    {"apiVersion": "v1", "kind": "ConfigMap", "binaryData": {"raw": "AP/+", "none": ""}},
    {"apiVersion": "v1", "kind": "Secret", "metadata": {"generateName": "s-"}, "data": {"k": "dg=="}, "type": "Opaque"},
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": META,
        "spec": POD,
        "status": {
            "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": "1969-12-31T23:59:59Z"}],
            "containerStatuses": [
                {"name": "main", "state": {"running": {}}, "restartCount": -1, "resources": {"claims": [{"name": "r"}]}}
            ],
        },
    },
    {"apiVersion": "v1", "kind": "Pod"},
    {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {
            "replicas": 0,
            "selector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]},
            "strategy": {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 0}},
            "template": {"spec": POD},
        },
    },
    {"apiVersion": "apps/v1", "kind": "ControllerRevision", "data": {"any": [1, 2.5, {"x": None}]}, "revision": 3},
    {"apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": 0},
    {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "l"},
        "spec": {"acquireTime": "2025-03-04T05:06:07.000001Z", "renewTime": "1969-12-31T23:59:59.999999Z"},
    },
    {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "lamps.nagaya.example"},
        "spec": {
            "group": "nagaya.example",
            "names": {"plural": "lamps", "kind": "Lamp"},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": SCHEMA},
                    "subresources": {"status": {}, "scale": {"specReplicasPath": ".a", "statusReplicasPath": ".b"}},
                }
            ],
        },
    },
    {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": "c"},
        "spec": {
            "request": "cmVxdWVzdA==",
            "signerName": "nagaya.example/signer",
            "extra": {"scopes": ["a", "b"], "none": []},
            "usages": ["client auth"],
        },
    },
    {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": "u", "resourceAttributes": {"verb": "get", "resource": "pods"}, "extra": {"k": ["v"]}},
    },
    {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "s"}, "spec": {"replicas": 2}},
    {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "gracePeriodSeconds": 0,
        "preconditions": {"uid": "u"},
        "propagationPolicy": "Foreground",
        "dryRun": ["All"],
    },
    {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "p"},
        "spec": {
            "matchConstraints": {
                "resourceRules": [
                    {"resourceNames": ["a"], "operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"]}
                ]
            }
        },
    },
]


def main() -> None:
    """Write the file."""
    objects = json.dumps(OBJECTS).encode()
    made = subprocess.run(["go", "run", ".", "vectors"], cwd=HERE, check=True, capture_output=True, input=objects)
    lines = (json.dumps(vector, ensure_ascii=False, sort_keys=True) for vector in json.loads(made.stdout))
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main()
