"""A valid object of every built-in kind that `bad_bodies` has none of, by the path to post it to."""

from __future__ import annotations

import base64
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_POD = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
_SELECTED = {"selector": {"matchLabels": {"a": "b"}}, "template": _POD}
_NAMED = {"metadata": {"name": "x"}}
_BUDGET = {"requests": {"storage": "1Gi"}}


def _request() -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "x")])
    signed = x509.CertificateSigningRequestBuilder().subject_name(name).sign(key, hashes.SHA256())
    return base64.b64encode(signed.public_bytes(serialization.Encoding.PEM)).decode()


_ADMISSION = "/apis/admissionregistration.k8s.io/v1/"
_SCOPE = {
    "resourceRules": [
        {"apiGroups": ["none"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["none"]},
    ]
}

ALL_OTHERS: dict[str, dict[str, Any]] = {
    "/api/v1/namespaces/default/endpoints": {
        **_NAMED,
        "subsets": [{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80}]}],
    },
    "/api/v1/namespaces/default/limitranges": {
        **_NAMED,
        "spec": {"limits": [{"type": "Container", "default": {"cpu": "1"}, "max": {"cpu": "2"}}]},
    },
    "/api/v1/namespaces/default/persistentvolumeclaims": {
        **_NAMED,
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": _BUDGET, "storageClassName": "s"},
    },
    "/api/v1/persistentvolumes": {
        **_NAMED,
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"},
            "csi": {"driver": "d.example.com", "volumeHandle": "h"},
        },
    },
    "/api/v1/namespaces/default/podtemplates": {**_NAMED, "template": _POD},
    "/api/v1/namespaces/default/replicationcontrollers": {
        **_NAMED,
        "spec": {"replicas": 1, "selector": {"a": "b"}, "template": _POD},
    },
    "/api/v1/namespaces/default/resourcequotas": {
        **_NAMED,
        "spec": {
            "hard": {"pods": "100", "requests.cpu": "10", "count/secrets": "100"},
            "scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "Exists"}]},
        },
    },
    "/apis/apiregistration.k8s.io/v1/apiservices": {
        "metadata": {"name": "v1.none.example.com"},
        "spec": {
            "group": "none.example.com",
            "version": "v1",
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "service": {"namespace": "default", "name": "s"},
            "insecureSkipTLSVerify": True,
        },
    },
    "/apis/apps/v1/namespaces/default/controllerrevisions": {**_NAMED, "data": {"a": 1}, "revision": 1},
    "/apis/apps/v1/namespaces/default/daemonsets": {
        **_NAMED,
        "spec": {**_SELECTED, "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}}},
    },
    "/apis/apps/v1/namespaces/default/replicasets": {**_NAMED, "spec": {**_SELECTED, "replicas": 1}},
    "/apis/apps/v1/namespaces/default/statefulsets": {
        **_NAMED,
        "spec": {
            **_SELECTED,
            "serviceName": "s",
            "volumeClaimTemplates": [
                {"metadata": {"name": "v"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": _BUDGET}}
            ],
        },
    },
    "/apis/events.k8s.io/v1/namespaces/default/events": {
        "metadata": {"name": "y"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "c",
        "reportingInstance": "i",
        "action": "a",
        "reason": "r",
        "type": "Normal",
        "regarding": {"kind": "Pod", "name": "p", "namespace": "default"},
    },
    "/apis/authentication.k8s.io/v1/selfsubjectreviews": {},
    "/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews": {
        "metadata": {"namespace": "default"},
        "spec": {"user": "u", "resourceAttributes": {"namespace": "default", "verb": "get", "resource": "pods"}},
    },
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews": {
        "spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}
    },
    "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews": {"spec": {"namespace": "default"}},
    "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers": {
        **_NAMED,
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
            "maxReplicas": 3,
            "metrics": [
                {
                    "type": "Resource",
                    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
                }
            ],
            "behavior": {"scaleDown": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]}},
        },
    },
    "/apis/batch/v1/namespaces/default/jobs": {
        **_NAMED,
        "spec": {
            "completions": 2,
            "completionMode": "Indexed",
            "backoffLimitPerIndex": 1,
            "successPolicy": {"rules": [{"succeededIndexes": "0-1"}]},
            "podFailurePolicy": {"rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1]}}]},
            "template": {"spec": {**_POD["spec"], "restartPolicy": "Never"}},
        },
    },
    "/apis/certificates.k8s.io/v1/certificatesigningrequests": {
        **_NAMED,
        "spec": {"request": _request(), "signerName": "example.com/signer", "usages": ["client auth"]},
    },
    "/apis/networking.k8s.io/v1/ingressclasses": {
        **_NAMED,
        "spec": {"controller": "example.com/c", "parameters": {"kind": "K", "name": "n", "scope": "Cluster"}},
    },
    "/apis/networking.k8s.io/v1/ipaddresses": {
        "metadata": {"name": "10.9.0.9"},
        "spec": {"parentRef": {"resource": "services", "name": "s", "namespace": "default"}},
    },
    "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies": {
        **_NAMED,
        "spec": {
            "podSelector": {"matchLabels": {"a": "b"}},
            "ingress": [
                {
                    "from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}],
                    "ports": [{"port": 80, "endPort": 90}],
                }
            ],
        },
    },
    "/apis/networking.k8s.io/v1/servicecidrs": {**_NAMED, "spec": {"cidrs": ["10.200.0.0/24"]}},
    "/apis/policy/v1/namespaces/default/poddisruptionbudgets": {
        **_NAMED,
        "spec": {"minAvailable": "50%", "selector": {"matchLabels": {"a": "b"}}},
    },
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings": {
        **_NAMED,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "ServiceAccount", "name": "s", "namespace": "default"}],
    },
    "/apis/storage.k8s.io/v1/csidrivers": {
        **_NAMED,
        "spec": {"tokenRequests": [{"audience": "a"}], "volumeLifecycleModes": ["Persistent"]},
    },
    "/apis/storage.k8s.io/v1/csinodes": {
        **_NAMED,
        "spec": {"drivers": [{"name": "d", "nodeID": "n", "topologyKeys": ["k"], "allocatable": {"count": 1}}]},
    },
    "/apis/storage.k8s.io/v1/namespaces/default/csistoragecapacities": {
        **_NAMED,
        "storageClassName": "s",
        "capacity": "1Gi",
        "nodeTopology": {"matchLabels": {"a": "b"}},
    },
    "/apis/storage.k8s.io/v1/storageclasses": {
        **_NAMED,
        "provisioner": "p",
        "parameters": {"a": "b"},
        "allowedTopologies": [{"matchLabelExpressions": [{"key": "k", "values": ["v"]}]}],
    },
    "/apis/storage.k8s.io/v1/volumeattachments": {
        **_NAMED,
        "spec": {"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "v"}},
    },
    "/apis/storage.k8s.io/v1/volumeattributesclasses": {**_NAMED, "driverName": "d", "parameters": {"a": "b"}},
    f"{_ADMISSION}mutatingadmissionpolicies": {
        **_NAMED,
        "spec": {
            "matchConstraints": _SCOPE,
            "reinvocationPolicy": "Never",
            "variables": [{"name": "v", "expression": "1"}],
            "mutations": [
                {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}},
                {
                    "patchType": "JSONPatch",
                    "jsonPatch": {"expression": "[JSONPatch{op: 'test', path: '/a', value: 1}]"},
                },
            ],
        },
    },
    f"{_ADMISSION}mutatingadmissionpolicybindings": {**_NAMED, "spec": {"policyName": "none"}},
    f"{_ADMISSION}mutatingwebhookconfigurations": {
        **_NAMED,
        "webhooks": [
            {
                "name": "a.b.c",
                "clientConfig": {"service": {"name": "s", "namespace": "default", "port": 443}},
                "rules": [
                    {"apiGroups": ["none"], "apiVersions": ["*"], "resources": ["none"], "operations": ["CREATE"]}
                ],
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "objectSelector": {"matchLabels": {"a": "b"}},
            }
        ],
    },
    f"{_ADMISSION}validatingadmissionpolicies": {
        **_NAMED,
        "spec": {
            "matchConstraints": _SCOPE,
            "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
            "validations": [{"expression": "true", "messageExpression": "'m'"}],
            "auditAnnotations": [{"key": "k", "valueExpression": "'v'"}],
        },
    },
    f"{_ADMISSION}validatingadmissionpolicybindings": {
        **_NAMED,
        "spec": {
            "policyName": "none",
            "validationActions": ["Deny"],
            "paramRef": {"name": "p", "namespace": "default", "parameterNotFoundAction": "Allow"},
        },
    },
    "/apis/scheduling.k8s.io/v1/priorityclasses": {**_NAMED, "value": 10, "preemptionPolicy": "Never"},
    "/apis/node.k8s.io/v1/runtimeclasses": {
        **_NAMED,
        "handler": "h",
        "overhead": {"podFixed": {"cpu": "1"}},
        "scheduling": {"nodeSelector": {"a": "b"}, "tolerations": [{"key": "k", "operator": "Exists"}]},
    },
    "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices": {
        **_NAMED,
        "addressType": "IPv4",
        "endpoints": [
            {"addresses": ["10.0.0.1"], "conditions": {"ready": True}, "hints": {"forZones": [{"name": "z"}]}}
        ],
        "ports": [{"name": "p", "port": 80, "protocol": "TCP"}],
    },
    "/apis/resource.k8s.io/v1/deviceclasses": {
        **_NAMED,
        "spec": {"selectors": [{"cel": {"expression": "device.driver == 'd'"}}]},
    },
    "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims": {
        **_NAMED,
        "spec": {
            "devices": {
                "requests": [
                    {"name": "r", "exactly": {"deviceClassName": "c", "count": 1, "allocationMode": "ExactCount"}}
                ],
                "constraints": [{"requests": ["r"], "matchAttribute": "d.example.com/a"}],
            }
        },
    },
    "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates": {
        **_NAMED,
        "spec": {"spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}}},
    },
    "/apis/resource.k8s.io/v1/resourceslices": {
        **_NAMED,
        "spec": {
            "driver": "d.example.com",
            "nodeName": "n",
            "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "dev", "attributes": {"a": {"int": 1}}, "capacity": {"c": {"value": "1Gi"}}}],
        },
    },
    "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas": {
        **_NAMED,
        "spec": {
            "priorityLevelConfiguration": {"name": "global-default"},
            "matchingPrecedence": 1000,
            "distinguisherMethod": {"type": "ByUser"},
            "rules": [
                {
                    "subjects": [{"kind": "User", "user": {"name": "u"}}],
                    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"]}],
                }
            ],
        },
    },
    "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations": {
        **_NAMED,
        "spec": {
            "type": "Limited",
            "limited": {
                "nominalConcurrencyShares": 5,
                "limitResponse": {"type": "Queue", "queuing": {"queues": 8, "handSize": 2, "queueLengthLimit": 10}},
            },
        },
    },
}
