"""All objects that run the controllers on a Kubernetes cluster, in an order in which they can be applied."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from nagaya.api.catalog import PARTS
from nagaya.api.crd import render
from nagaya.cli.manifests.rights import AGGREGATED, cluster_rules, lease_rules

Manifest = dict[str, Any]

NAME: Final = "nagaya"
PROVIDERS: Final = "nagaya-providers"
HEALTH_PORT: Final = 9440
WEBHOOK_PORT: Final = 9443
REPLICAS: Final = 2
_USER: Final = 65532
_DATA: Final = "/var/lib/nagaya"
_LABELS: Final = {"app.kubernetes.io/name": NAME, "app.kubernetes.io/component": "controllers"}
_RBAC: Final = "rbac.authorization.k8s.io"


@dataclass(frozen=True, slots=True)
class Installation:
    """What somebody may want to choose."""

    namespace: str
    image: str
    parts: tuple[str, ...]
    crds: bool = True
    service_monitor: bool = False
    allowed: tuple[str, ...] = ()

    def manifests(self) -> list[Manifest]:
        """Everything."""
        definitions = [render(each) for part in _defined(self.parts) for each in PARTS[part]] if self.crds else []
        monitor = [self._service_monitor()] if self.service_monitor else []
        return [
            self._namespace(),
            *definitions,
            self._object("v1", "ServiceAccount", {}),
            *self._rights(),
            self._deployment(),
            self._service(),
            self._disruption_budget(),
            *monitor,
        ]

    def _namespace(self) -> Manifest:
        labels = {**_LABELS, "pod-security.kubernetes.io/enforce": "restricted"}
        return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace, "labels": labels}}

    def _rights(self) -> list[Manifest]:
        aggregated = {"clusterRoleSelectors": [{"matchLabels": {AGGREGATED: "true"}}]}
        return [
            _role("ClusterRole", {"name": NAME, "labels": _LABELS}, cluster_rules(self.parts)),
            # Other providers bring ClusterRoles with that label: so the core may use their kinds, too. Its rules are
            # Kubernetes' own to fill in: who applied a list, even an empty one, would be at odds with it ever after.
            {
                "apiVersion": f"{_RBAC}/v1",
                "kind": "ClusterRole",
                "metadata": {"name": PROVIDERS, "labels": _LABELS},
                "aggregationRule": aggregated,
            },
            self._binding("ClusterRoleBinding", {"name": NAME, "labels": _LABELS}, "ClusterRole", NAME),
            self._binding("ClusterRoleBinding", {"name": PROVIDERS, "labels": _LABELS}, "ClusterRole", PROVIDERS),
            _role("Role", self._metadata(), lease_rules()),
            self._binding("RoleBinding", self._metadata(), "Role", NAME),
        ]

    def _binding(self, kind: str, metadata: Manifest, role: str, name: str) -> Manifest:
        return {
            "apiVersion": f"{_RBAC}/v1",
            "kind": kind,
            "metadata": metadata,
            "roleRef": {"apiGroup": _RBAC, "kind": role, "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": self.namespace}],
        }

    def _deployment(self) -> Manifest:
        spec = {
            "replicas": REPLICAS,
            "selector": {"matchLabels": _LABELS},
            # The one that leads ends and gives its lease back; the other takes over at once.
            "strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "template": {"metadata": {"labels": _LABELS}, "spec": self._pod()},
        }
        return self._object("apps/v1", "Deployment", {"spec": spec})

    def _pod(self) -> Manifest:
        apart = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": _LABELS}}
        return {
            "serviceAccountName": NAME,
            "terminationGracePeriodSeconds": 30,
            "affinity": {
                "podAntiAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": apart}]
                }
            },
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": _USER,
                "runAsGroup": _USER,
                "fsGroup": _USER,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [self._container()],
            "volumes": [{"name": "data", "emptyDir": {}}, {"name": "tmp", "emptyDir": {"medium": "Memory"}}],
        }

    def _container(self) -> Manifest:
        return {
            "name": "controllers",
            "image": self.image,
            "command": ["nagaya", "controllers"],
            "args": [
                f"--only={','.join(self.parts)}",
                "--leader-elect",
                f"--lease-namespace={self.namespace}",
                f"--health=$(POD_IP):{HEALTH_PORT}",
                f"--admission=$(POD_IP):{WEBHOOK_PORT}",
                "--hosted-as=pods",
                f"--tenants-dir={_DATA}/hosted",
                *(f"--allow-endpoint={each}" for each in self.allowed),
            ],
            "env": [
                {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
                {"name": "HOME", "value": _DATA},
            ],
            "ports": [
                {"name": "health", "containerPort": HEALTH_PORT},
                {"name": "webhook", "containerPort": WEBHOOK_PORT},
            ],
            "livenessProbe": {"httpGet": {"path": "/healthz", "port": "health"}, "periodSeconds": 20},
            "readinessProbe": {"httpGet": {"path": "/readyz", "port": "health"}, "periodSeconds": 5},
            "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "1Gi"}},
            "securityContext": {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            },
            "volumeMounts": [{"name": "data", "mountPath": _DATA}, {"name": "tmp", "mountPath": "/tmp"}],  # noqa: S108
        }

    def _service(self) -> Manifest:
        """For Prometheus. The API server calls the pod that leads by its address, so webhooks need none."""
        ports = [{"name": "health", "port": HEALTH_PORT, "targetPort": "health"}]
        return self._object("v1", "Service", {"spec": {"selector": _LABELS, "ports": ports}})

    def _disruption_budget(self) -> Manifest:
        spec = {"minAvailable": 1, "selector": {"matchLabels": _LABELS}}
        return self._object("policy/v1", "PodDisruptionBudget", {"spec": spec})

    def _service_monitor(self) -> Manifest:
        # Figures of clusters say which namespace they are about; without this Prometheus puts that of the pod there.
        endpoint = {"port": "health", "path": "/metrics", "interval": "30s", "honorLabels": True}
        spec = {"selector": {"matchLabels": _LABELS}, "endpoints": [endpoint]}
        return self._object("monitoring.coreos.com/v1", "ServiceMonitor", {"spec": spec})

    def _object(self, version: str, kind: str, content: Manifest) -> Manifest:
        return {"apiVersion": version, "kind": kind, "metadata": self._metadata(), **content}

    def _metadata(self) -> Manifest:
        return {"name": NAME, "namespace": self.namespace, "labels": _LABELS}


def _role(kind: str, metadata: Manifest, rules: list[Manifest]) -> Manifest:
    return {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": metadata, "rules": rules}


def _defined(parts: Collection[str]) -> list[str]:
    """The parts whose kinds are needed: those that run, and the core's, which all of them read."""
    return [part for part in PARTS if part in parts or part == "core"]
