"""A Cluster with a KubeadmControlPlane on simulated machines, and what scenarios ask of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nagaya.api.cluster.labels import CONTROL_PLANE
from support.lab import Lab, holds

Manifest = dict[str, Any]
CLUSTER_NAME = "cluster.x-k8s.io/cluster-name"
DEPLOYMENT_NAME = "cluster.x-k8s.io/deployment-name"
CLUSTER_API = "cluster.x-k8s.io/v1beta2"
BOOTSTRAP_API = "bootstrap.cluster.x-k8s.io/v1beta2"
CONTROL_PLANE_API = "controlplane.cluster.x-k8s.io/v1beta2"
SIMULATED_API = "infrastructure.cluster.x-k8s.io/v1alpha1"


@dataclass(frozen=True, slots=True)
class KubeadmCluster:
    """What a test wants to choose of such a cluster; the objects are named after it."""

    name: str
    namespace: str = "default"
    version: str = "v1.36.2"
    control_planes: int = 1
    workers: int = 0
    machine: Mapping[str, Any] = field(default_factory=lambda: {"startupSeconds": 1})
    control_plane_spec: Mapping[str, Any] = field(default_factory=dict)
    """More of the KubeadmControlPlane's spec."""

    def manifests(self) -> list[Manifest]:
        """All objects; the Cluster comes first, as users write it."""
        made = [self.cluster(), self.infrastructure(), self.template("control-plane"), self.control_plane()]
        return made if not self.workers else [*made, self.template("worker"), self.bootstrap(), self.deployment()]

    def cluster(self) -> Manifest:
        """The Cluster itself."""
        spec = {
            "clusterNetwork": {"pods": {"cidrBlocks": ["192.168.0.0/16"]}},
            "infrastructureRef": _reference(SIMULATED_API, "SimulatedCluster", self.name),
            "controlPlaneRef": _reference(CONTROL_PLANE_API, "KubeadmControlPlane", self.name),
        }
        return self._object(CLUSTER_API, "Cluster", self.name, spec)

    def infrastructure(self) -> Manifest:
        """What the machines share."""
        return self._object(SIMULATED_API, "SimulatedCluster", self.name, {})

    def template(self, role: str, **more: Any) -> Manifest:
        """What machines stand on."""
        spec = {"template": {"spec": {**self.machine, **more}}}
        return self._object(SIMULATED_API, "SimulatedMachineTemplate", f"{self.name}-{role}", spec)

    def control_plane(self) -> Manifest:
        """The KubeadmControlPlane."""
        template = _reference(SIMULATED_API, "SimulatedMachineTemplate", f"{self.name}-control-plane")
        spec = {
            "replicas": self.control_planes,
            "version": self.version,
            "machineTemplate": {"spec": {"infrastructureRef": template}},
            "kubeadmConfigSpec": {"clusterConfiguration": {"apiServer": {"certSANs": ["localhost"]}}},
            **self.control_plane_spec,
        }
        return self._object(CONTROL_PLANE_API, "KubeadmControlPlane", self.name, spec)

    def bootstrap(self) -> Manifest:
        """How workers join."""
        spec = {"template": {"spec": {"joinConfiguration": {"nodeRegistration": {"name": "{{ local_hostname }}"}}}}}
        return self._object(BOOTSTRAP_API, "KubeadmConfigTemplate", self.name, spec)

    def deployment(self) -> Manifest:
        """The workers."""
        name = f"{self.name}-workers"
        selected = {CLUSTER_NAME: self.name, DEPLOYMENT_NAME: name}
        machine = {
            "clusterName": self.name,
            "version": self.version,
            "bootstrap": {"configRef": _reference(BOOTSTRAP_API, "KubeadmConfigTemplate", self.name)},
            "infrastructureRef": _reference(SIMULATED_API, "SimulatedMachineTemplate", f"{self.name}-worker"),
        }
        spec = {
            "clusterName": self.name,
            "replicas": self.workers,
            "selector": {"matchLabels": selected},
            "template": {"metadata": {"labels": selected}, "spec": machine},
        }
        return self._object(CLUSTER_API, "MachineDeployment", name, spec)

    def _object(self, version: str, kind: str, name: str, spec: Manifest) -> Manifest:
        metadata = {"name": name, "namespace": self.namespace, "labels": {CLUSTER_NAME: self.name}}
        return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def _reference(version: str, kind: str, name: str) -> Manifest:
    return {"apiGroup": version.partition("/")[0], "kind": kind, "name": name}


async def control_planes(lab: Lab) -> list[Any]:
    """The Machines that are control planes."""
    return [each for each in await lab.all("Machine") if CONTROL_PLANE in each.metadata.labels]


async def settled(lab: Lab, name: str, count: int, version: str = "v1.36.2") -> list[Any]:
    """Wait until a control plane has exactly so many machines, all of a version, and says that all is well."""
    found: list[Any] = []

    async def check() -> bool:
        plane = await lab.get("KubeadmControlPlane", name)
        found[:] = await control_planes(lab)
        return (
            len(found) == count
            and all(holds(each, "Available") and each.spec.version == version for each in found)
            and plane.status.observed_generation == plane.metadata.generation
            and plane.status.ready_replicas == plane.status.up_to_date_replicas == plane.status.replicas == count
            and all(holds(plane, each) for each in ("Available", "EtcdClusterHealthy", "MachinesUpToDate"))
        )

    try:
        await lab.until(f"KubeadmControlPlane {name} has {count} machines of {version}", check)
    except AssertionError as error:
        error.add_note(await told(lab, name))
        raise
    return found


async def told(lab: Lab, name: str) -> str:
    """What a control plane says of itself: for a test that waits in vain."""
    plane = await lab.get("KubeadmControlPlane", name)
    lines = [f"{each.type}={each.status} {each.reason}: {each.message}" for each in plane.status.conditions]
    configs = [
        f"KubeadmConfig {config.metadata.name}: {each.type}={each.status} {each.message}"
        for config in await lab.all("KubeadmConfig")
        for each in config.status.conditions
    ]
    return "\n".join([*lines, *configs])
