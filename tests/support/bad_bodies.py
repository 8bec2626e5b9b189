"""Good bodies for many kinds, and bodies that are made to do harm."""

from __future__ import annotations

from typing import Any

from support.good_objects import ALL_OTHERS

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
BODY_LIMIT = 3 * 1024 * 1024

_SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "count": {"type": "integer", "maximum": 5},
                "name": {"type": "string", "pattern": "^(a+)+$", "maxLength": 100},
                "when": {"type": "string", "format": "date-time"},
                "either": {"x-kubernetes-int-or-string": True},
                "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                "items": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
                },
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            },
            "x-kubernetes-validations": [{"rule": "!has(self.count) || self.count >= 0"}],
        }
    },
}
DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.bad.example.com"},
    "spec": {
        "group": "bad.example.com",
        "scope": "Namespaced",
        "names": {"plural": "things", "kind": "Thing", "singular": "thing", "listKind": "ThingList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.count", "statusReplicasPath": ".status.count"},
                },
                "additionalPrinterColumns": [{"name": "Count", "type": "integer", "jsonPath": ".spec.count"}],
                "schema": {"openAPIV3Schema": _SCHEMA},
            }
        ],
    },
}
_POD = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}]},
}
_RULES = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
GOOD: dict[str, dict[str, Any]] = {
    "/api/v1/namespaces/default/configmaps": {"metadata": {"name": "x", "labels": {"a": "b"}}, "data": {"k": "v"}},
    "/api/v1/namespaces/default/secrets": {"metadata": {"name": "x"}, "data": {"k": "dg=="}, "type": "Opaque"},
    "/api/v1/namespaces/default/serviceaccounts": {"metadata": {"name": "x"}, "secrets": [{"name": "s"}]},
    "/api/v1/namespaces/default/serviceaccounts/default/token": {
        "spec": {"audiences": ["a"], "expirationSeconds": 3600}
    },
    "/api/v1/namespaces/default/events": {
        "metadata": {"name": "x"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "count": 1,
    },
    "/api/v1/namespaces/default/pods": {**_POD, "metadata": {"name": "x"}},
    "/api/v1/namespaces/default/services": {
        "metadata": {"name": "x"},
        "spec": {"ports": [{"port": 80, "targetPort": "http"}]},
    },
    "/api/v1/namespaces": {"metadata": {"name": "x"}, "spec": {"finalizers": ["kubernetes"]}},
    "/api/v1/nodes": {
        "metadata": {"name": "x"},
        "spec": {"podCIDR": "10.0.0.0/24", "taints": [{"key": "k", "effect": "NoSchedule"}]},
    },
    "/apis/apps/v1/namespaces/default/deployments": {
        "metadata": {"name": "x"},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": _POD},
    },
    "/apis/batch/v1/namespaces/default/cronjobs": {
        "metadata": {"name": "x"},
        "spec": {
            "schedule": "* * * * *",
            "jobTemplate": {"spec": {"template": {"spec": {**_POD["spec"], "restartPolicy": "Never"}}}},
        },
    },
    "/apis/coordination.k8s.io/v1/namespaces/default/leases": {
        "metadata": {"name": "x"},
        "spec": {"holderIdentity": "h", "leaseDurationSeconds": 5, "renewTime": "2026-01-01T00:00:00.000000Z"},
    },
    "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles": {"metadata": {"name": "x"}, "rules": _RULES},
    "/apis/rbac.authorization.k8s.io/v1/clusterroles": {
        "metadata": {"name": "x"},
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]},
        "rules": _RULES,
    },
    "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings": {
        "metadata": {"name": "x"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
        "subjects": [{"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"}],
    },
    "/apis/authorization.k8s.io/v1/subjectaccessreviews": {
        "spec": {"user": "u", "resourceAttributes": {"verb": "get", "resource": "pods"}}
    },
    "/apis/authentication.k8s.io/v1/tokenreviews": {"spec": {"token": "t"}},
    "/apis/networking.k8s.io/v1/namespaces/default/ingresses": {
        "metadata": {"name": "x"},
        "spec": {
            "rules": [
                {
                    "host": "a.b",
                    "http": {
                        "paths": [
                            {
                                "path": "/",
                                "pathType": "Prefix",
                                "backend": {"service": {"name": "s", "port": {"number": 80}}},
                            }
                        ]
                    },
                }
            ]
        },
    },
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations": {
        "metadata": {"name": "x"},
        "webhooks": [
            {
                "name": "a.b.c",
                "clientConfig": {"url": "https://127.0.0.1:1/"},
                "rules": [
                    {"apiGroups": ["none"], "apiVersions": ["*"], "resources": ["none"], "operations": ["CREATE"]}
                ],
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "matchConditions": [{"name": "m", "expression": "true"}],
            }
        ],
    },
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions": DEFINITION,
    "/apis/bad.example.com/v1/namespaces/default/things": {
        "apiVersion": "bad.example.com/v1",
        "kind": "Thing",
        "metadata": {"name": "x"},
        "spec": {
            "count": 1,
            "name": "a",
            "tags": ["a"],
            "items": [{"name": "n"}],
            "either": "5%",
            "free": {"a": [1, {}]},
        },
    },
}
GOOD |= ALL_OTHERS
OBJECTS = [
    "/api/v1/namespaces/default/configmaps/target",
    "/apis/apps/v1/namespaces/default/deployments/target",
    "/apis/bad.example.com/v1/namespaces/default/things/target",
    "/apis/bad.example.com/v1/namespaces/default/things/target/scale",
    "/apis/bad.example.com/v1/namespaces/default/things/target/status",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.bad.example.com",
]


def protobuf_bodies() -> list[tuple[str, bytes]]:
    """Good bodies in protobuf, put together by hand, with the path to post them to."""

    def field(number: int, content: bytes) -> bytes:
        length, size = len(content), b""
        while length > 127:
            size += bytes([length & 127 | 128])
            length >>= 7
        return bytes([number << 3 | 2]) + size + bytes([length]) + content

    def wrapped(api_version: str, kind: str, raw: bytes) -> bytes:
        return b"k8s\x00" + field(1, field(1, api_version.encode()) + field(2, kind.encode())) + field(2, raw)

    meta = field(1, field(1, b"proto") + field(11, field(1, b"l") + field(2, b"v")))
    data = field(2, field(1, b"key") + field(2, b"value"))
    container = field(2, field(1, b"c") + field(2, b"image") + field(6, b"\x18\x50"))
    template = field(1, field(11, field(1, b"l") + field(2, b"v"))) + field(2, container)
    selector = field(1, field(1, b"l") + field(2, b"v"))
    spec = field(2, b"\x08\x02" + field(2, selector) + field(3, template))
    role = field(2, field(1, b"get") + field(2, b"") + field(3, b"pods"))
    return [
        ("/api/v1/namespaces/default/configmaps", wrapped("v1", "ConfigMap", meta + data)),
        ("/api/v1/namespaces/default/secrets", wrapped("v1", "Secret", meta + data)),
        ("/api/v1/namespaces/default/pods", wrapped("v1", "Pod", meta + field(2, container))),
        ("/apis/apps/v1/namespaces/default/deployments", wrapped("apps/v1", "Deployment", meta + spec)),
        (
            "/apis/rbac.authorization.k8s.io/v1/clusterroles",
            wrapped("rbac.authorization.k8s.io/v1", "ClusterRole", meta + role),
        ),
    ]


PROTOBUF_BODIES = protobuf_bodies()
