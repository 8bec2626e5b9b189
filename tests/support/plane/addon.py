"""What a cluster gets from a ClusterResourceSet: one ConfigMap, whose content its user may change."""

from __future__ import annotations

from typing import Any, Final

from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.kube.client import Client
from nagaya.kube.errors import NotFound
from support.proxmox_town_manifests import CLUSTER_NAME, Manifest

CONFIG_MAPS: Final = Kind("", "v1", "ConfigMap", "configmaps", Untyped)
NAME: Final = "greeting"
WHERE: Final = "kube-system"
SELECTED: Final = "greeted"
"""The label of clusters that get it."""


def set_name(cluster: str) -> str:
    """The name of the set of a cluster, and of the Secret that it names."""
    return f"{cluster}-addon"


def manifests(cluster: str, namespace: str, words: str) -> list[Manifest]:
    """The Secret, and the set that names it."""
    name = set_name(cluster)
    metadata = {"name": name, "namespace": namespace, "labels": {CLUSTER_NAME: cluster}}
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "addons.cluster.x-k8s.io/resource-set",
        "metadata": metadata,
        "stringData": content(words),
    }
    spec = {
        "clusterSelector": {"matchLabels": {SELECTED: cluster}},
        "resources": [{"kind": "Secret", "name": name}],
        "strategy": "Reconcile",
    }
    kind = {"apiVersion": "addons.cluster.x-k8s.io/v1beta2", "kind": "ClusterResourceSet"}
    return [secret, {**kind, "metadata": metadata, "spec": spec}]


def content(words: str) -> dict[str, str]:
    """What is in the Secret."""
    head = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {NAME}, namespace: {WHERE}}}\n"
    return {"greeting.yaml": f"{head}data: {{words: {words}}}\n"}


def concerns(kind: str, name: str) -> bool:
    """Whether an object is there for the sake of a set alone."""
    return kind in ("ClusterResourceSet", "ClusterResourceSetBinding") or name.endswith(set_name(""))


async def brought(tenant: Client | None) -> str:
    """What a cluster has of it."""
    if tenant is None:
        return ""
    try:
        found: Any = (await tenant.get(CONFIG_MAPS, WHERE, NAME)).at("data", "words")
    except NotFound:
        return ""
    return str(found)
