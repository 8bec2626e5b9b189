"""The kinds of the objects that a tenant is set up with, and the objects themselves as plain content."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.kube.key import Key

_RBAC: Final = "rbac.authorization.k8s.io"

CONFIG_MAPS: Final = Kind("", "v1", "ConfigMap", "configmaps", Untyped)
SERVICE_ACCOUNTS: Final = Kind("", "v1", "ServiceAccount", "serviceaccounts", Untyped)
SERVICES: Final = Kind("", "v1", "Service", "services", Untyped)
ENDPOINT_SLICES: Final = Kind("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", Untyped)
DEPLOYMENTS: Final = Kind("apps", "v1", "Deployment", "deployments", Untyped)
DAEMON_SETS: Final = Kind("apps", "v1", "DaemonSet", "daemonsets", Untyped)
ROLES: Final = Kind(_RBAC, "v1", "Role", "roles", Untyped)
ROLE_BINDINGS: Final = Kind(_RBAC, "v1", "RoleBinding", "rolebindings", Untyped)
CLUSTER_ROLES: Final = Kind(_RBAC, "v1", "ClusterRole", "clusterroles", Untyped, namespaced=False)
CLUSTER_ROLE_BINDINGS: Final = Kind(_RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings", Untyped, namespaced=False)

ALL: Final = (
    CONFIG_MAPS,
    SERVICE_ACCOUNTS,
    SERVICES,
    ENDPOINT_SLICES,
    DEPLOYMENTS,
    DAEMON_SETS,
    ROLES,
    ROLE_BINDINGS,
    CLUSTER_ROLES,
    CLUSTER_ROLE_BINDINGS,
)

SYSTEM: Final = "kube-system"
PUBLIC: Final = "kube-public"

MANAGED_BY: Final = "app.kubernetes.io/managed-by"
NAGAYA: Final = "nagaya"
"""Objects with this label are ours: they are watched, healed, and removed when they are no longer wanted."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """One object as it shall be: the fields that we decide, and no others."""

    kind: Kind[Untyped]
    content: Mapping[str, Any]
    kept: tuple[str, ...] = ()
    """The path of a field that is ours only at first: what somebody in the tenant changes it to stays."""

    @property
    def key(self) -> Key:
        """Its namespace, empty if it has none, and its name."""
        metadata = self.content["metadata"]
        return Key(metadata.get("namespace", ""), metadata["name"])

    def __str__(self) -> str:
        """As in `ClusterRoleBinding kubeadm:get-nodes`."""
        return f"{self.kind.kind} {self.key}"


def manifest(kind: Kind[Untyped], namespace: str, name: str, *, kept: tuple[str, ...] = (), **content: Any) -> Manifest:
    """An object that carries our label. Labels and annotations of its own are given as `labels` and `annotations`."""
    metadata: dict[str, Any] = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    metadata["labels"] = {MANAGED_BY: NAGAYA, **content.pop("labels", {})}
    if annotations := content.pop("annotations", None):
        metadata["annotations"] = annotations
    return Manifest(kind, {"metadata": metadata, **content}, kept)


def config_map(namespace: str, name: str, data: Mapping[str, str], **metadata: Any) -> Manifest:
    """A ConfigMap."""
    return manifest(CONFIG_MAPS, namespace, name, data=dict(data), **metadata)


def service_account(namespace: str, name: str) -> Manifest:
    """A ServiceAccount."""
    return manifest(SERVICE_ACCOUNTS, namespace, name)
