"""What an archive keeps of objects, and how they look under another name: pure.

Kept is what a user declared. What the API server or a controller adds by itself (uid, status, owners, finalizers) they
add again; that something was paused was of that moment. What comes out of an archive is a tenant with an identity of
its own, whatever it was known by before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from nagaya.api.cluster.annotations import PAUSED
from nagaya.api.cluster.labels import CLUSTER_NAME
from nagaya.api.cluster.secrets import Purpose, secret_name
from nagaya.controlplane.hosted.kubernetes.names import DOMAIN

RESTORING: Final = f"{DOMAIN}/restoring"
"""On a HostedControlPlane whose data is being restored: from which archive, and how many replicas it had before."""

_METADATA: Final = ("name", "namespace", "labels", "annotations")
_MOMENTARY: Final = (PAUSED, RESTORING, "kubectl.kubernetes.io/last-applied-configuration")
_MOMENTARY_SPEC: Final = ("paused", "tenantID")
_TOPOLOGY: Final = "topology.cluster.x-k8s.io/"

Content = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Names:
    """How a tenant is called."""

    namespace: str
    cluster: str
    control_plane: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.cluster}"


def kept(content: Mapping[str, Any]) -> Content:
    """An object without what is added to it by itself."""
    metadata = {name: content["metadata"][name] for name in _METADATA if content["metadata"].get(name)}
    annotations = {name: value for name, value in (metadata.get("annotations") or {}).items() if name not in _MOMENTARY}
    metadata.pop("annotations", None)
    if annotations:
        metadata["annotations"] = annotations
    found = {name: value for name, value in content.items() if name not in ("metadata", "status")}
    if "spec" in found:
        found["spec"] = {name: value for name, value in found["spec"].items() if name not in _MOMENTARY_SPEC}
    return {**found, "metadata": metadata}


def cluster_as(content: Mapping[str, Any], before: Names, names: Names) -> Content:
    """A Cluster under a name. Under another one it has an endpoint of its own, and none of the first one's machines."""
    if names == before:
        return dict(content)
    spec = {
        name: value
        for name, value in content["spec"].items()
        if name not in ("controlPlaneEndpoint", "infrastructureRef", "topology")
    }
    spec["controlPlaneRef"] = {**spec.get("controlPlaneRef", {}), "name": names.control_plane}
    return {**content, "metadata": _metadata(content, names.namespace, names.cluster), "spec": spec}


def control_plane_as(content: Mapping[str, Any], before: Names, names: Names, data_store: str = "") -> Content:
    """A HostedControlPlane under a name, with its data in another store if one is named."""
    spec = dict(content["spec"])
    if data_store:
        spec["dataStoreRef"] = {"name": data_store}
    metadata = content["metadata"]
    if names != before:
        spec.pop("controlPlaneEndpoint", None)
        network = {name: value for name, value in spec.get("network", {}).items() if name not in ("address", "port")}
        spec.pop("network", None)
        if network:
            spec["network"] = network
        metadata = _metadata(content, names.namespace, names.control_plane)
    labels = {**metadata.get("labels", {}), CLUSTER_NAME: names.cluster}
    return {**content, "metadata": {**metadata, "labels": labels}, "spec": spec}


def secrets_as(secrets: Mapping[str, Mapping[str, Any]], before: Names, names: Names) -> dict[str, Content]:
    """Secrets under the names of a cluster. Those that a user named keep theirs."""
    own = {secret_name(before.cluster, each): secret_name(names.cluster, each) for each in Purpose}
    found = {}
    for name, content in secrets.items():
        metadata = _metadata(content, names.namespace, own.get(name, name))
        if name in own:
            metadata["labels"] = {**metadata.get("labels", {}), CLUSTER_NAME: names.cluster}
        found[metadata["name"]] = {**content, "metadata": metadata}
    return found


def belongs_to_cluster(name: str, names: Names) -> bool:
    """Whether a Secret is one that every cluster has, and not one that a user made."""
    return name in {secret_name(names.cluster, each) for each in Purpose}


def _metadata(content: Mapping[str, Any], namespace: str, name: str) -> Content:
    metadata = dict(content["metadata"])
    if labels := {each: value for each, value in metadata.pop("labels", {}).items() if not each.startswith(_TOPOLOGY)}:
        metadata["labels"] = labels
    return {**metadata, "namespace": namespace, "name": name}
