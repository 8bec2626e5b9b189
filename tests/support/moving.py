"""Objects that may move, written down shortly."""

from __future__ import annotations

from typing import Any

from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.moving.item import CONFIG_MAPS, SECRETS, Item, MovableKind

_GROUPS = {
    "Cluster": "cluster.x-k8s.io",
    "ClusterClass": "cluster.x-k8s.io",
    "Machine": "cluster.x-k8s.io",
    "MachineSet": "cluster.x-k8s.io",
    "MachineDrainRule": "cluster.x-k8s.io",
    "ClusterResourceSetBinding": "addons.cluster.x-k8s.io",
    "HostedControlPlane": "controlplane.cluster.x-k8s.io",
    "DataStore": "controlplane.cluster.x-k8s.io",
}
_BUILT_IN = {"Secret": SECRETS, "ConfigMap": CONFIG_MAPS}


def item(
    kind: str,
    name: str,
    *owners: Item,
    namespace: str = "here",
    spec: dict[str, Any] | None = None,
    status: dict[str, Any] | None = None,
    kind_labels: tuple[str, ...] = (),
    **metadata: Any,
) -> Item:
    """An object at the source, with its uid made of its kind and name."""
    group = _GROUPS.get(kind, "infrastructure.cluster.x-k8s.io")
    version = "v1alpha1" if group.startswith("controlplane.") else "v1"
    known = _BUILT_IN.get(kind) or Kind(group, version, kind, f"{kind.lower()}s", Untyped, namespaced=bool(namespace))
    references = [
        {"apiVersion": each.kind.api_version, "kind": each.kind.kind, "name": each.metadata.name, "uid": each.uid}
        for each in owners
    ]
    raw: dict[str, Any] = {
        "apiVersion": known.api_version,
        "kind": kind,
        "metadata": {"name": name, "uid": f"{kind}-{namespace}-{name}", "ownerReferences": references, **metadata},
        "spec": spec or {},
    }
    if namespace:
        raw["metadata"]["namespace"] = namespace
    if status is not None:
        raw["status"] = status
    return Item(MovableKind(known, frozenset(kind_labels)), Untyped(raw))
