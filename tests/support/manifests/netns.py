"""A Cluster with a hosted control plane, and machines that are namespaces: every object as a user would write it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nagaya.api.cluster.labels import CLUSTER_NAME
from support.netns_provider import GROUP, KUBELET, VERSION

Manifest = dict[str, Any]


@dataclass(frozen=True, slots=True)
class OnNetns:
    """What a test wants to choose; the objects are named after it."""

    name: str
    version: str
    namespace: str = "default"
    control_plane: Mapping[str, Any] = field(default_factory=dict)
    """More of the spec of the HostedControlPlane."""

    def cluster(self) -> list[Manifest]:
        """The Cluster, its control plane, and the place for its machines."""
        place = self._object(f"{GROUP}/{VERSION}", "NetnsCluster", self.name, {})
        place["metadata"]["annotations"] = {**KUBELET}
        plane = {"version": self.version, **self.control_plane}
        spec = {
            "infrastructureRef": {"apiGroup": GROUP, "kind": "NetnsCluster", "name": self.name},
            "controlPlaneRef": {
                "apiGroup": "controlplane.cluster.x-k8s.io",
                "kind": "HostedControlPlane",
                "name": self.name,
            },
        }
        return [
            self._object("cluster.x-k8s.io/v1beta2", "Cluster", self.name, spec),
            self._object("controlplane.cluster.x-k8s.io/v1alpha1", "HostedControlPlane", self.name, plane),
            place,
        ]

    def machine(self, name: str) -> list[Manifest]:
        """A Machine, and what it stands on and boots from."""
        # As everybody has to write it whose machines have the first version of control groups.
        registration = {"ignorePreflightErrors": ["SystemVerification"]}
        config = {"joinConfiguration": {"nodeRegistration": registration}}
        spec = {
            "clusterName": self.name,
            "version": self.version,
            "bootstrap": {
                "configRef": {"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfig", "name": name}
            },
            "infrastructureRef": {"apiGroup": GROUP, "kind": "NetnsMachine", "name": name},
        }
        return [
            self._object("bootstrap.cluster.x-k8s.io/v1beta2", "KubeadmConfig", name, config),
            self._object(f"{GROUP}/{VERSION}", "NetnsMachine", name, {}),
            self._object("cluster.x-k8s.io/v1beta2", "Machine", name, spec),
        ]

    def _object(self, version: str, kind: str, name: str, spec: Mapping[str, Any]) -> Manifest:
        metadata = {"name": name, "namespace": self.namespace, "labels": {CLUSTER_NAME: self.name}}
        return {"apiVersion": version, "kind": kind, "metadata": metadata, **({"spec": {**spec}} if spec else {})}
