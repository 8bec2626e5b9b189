"""A Cluster on simulated machines: every object of it, ready to be created in this order.

Nobody looks after the control plane: its machine is made by hand, as in the first days of Cluster API, so that the core
alone is tried.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Manifest = dict[str, Any]
CLUSTER_API = "cluster.x-k8s.io/v1beta2"
SIMULATED_API = "infrastructure.cluster.x-k8s.io/v1alpha1"
SIMULATED_GROUP = "infrastructure.cluster.x-k8s.io"
CLUSTER_NAME = "cluster.x-k8s.io/cluster-name"
DEPLOYMENT_NAME = "cluster.x-k8s.io/deployment-name"


@dataclass(frozen=True, slots=True)
class Simulated:
    """What a test wants to choose of such a cluster; the objects are named after it."""

    name: str
    namespace: str = "default"
    version: str = "v1.36.3"
    workers: int = 3
    control_planes: int = 1
    machine: Mapping[str, Any] = field(default_factory=lambda: {"startupSeconds": 1})
    deployment: Mapping[str, Any] = field(default_factory=dict)
    """More of the MachineDeployment's spec."""
    template_metadata: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Labels and annotations of the workers, beside those that they are selected by."""
    machine_spec: Mapping[str, Any] = field(default_factory=dict)
    """More of the spec of every worker's Machine."""
    host: Mapping[str, Any] = field(default_factory=dict)
    """The spec of the SimulatedCluster."""

    def manifests(self) -> list[Manifest]:
        """All objects; the Cluster comes first, as users write it."""
        planes = [each for number in range(self.control_planes) for each in self.control_plane(number)]
        return [self.cluster(), self.infrastructure(), self.boot_data(), *planes, self.template(), self.workers_()]

    def cluster(self) -> Manifest:
        """The Cluster itself."""
        spec = {
            "clusterNetwork": {"pods": {"cidrBlocks": ["192.168.0.0/16"]}},
            "infrastructureRef": _reference("SimulatedCluster", self.name),
        }
        return self._object(CLUSTER_API, "Cluster", self.name, spec)

    def infrastructure(self) -> Manifest:
        """What the machines share."""
        return self._object(SIMULATED_API, "SimulatedCluster", self.name, dict(self.host))

    def boot_data(self) -> Manifest:
        """Simulated machines read it no further than to see that it is there."""
        made = self._object("v1", "Secret", f"{self.name}-boot", None)
        return {**made, "type": "cluster.x-k8s.io/secret", "stringData": {"value": "#cloud-config"}}

    def control_plane(self, number: int) -> list[Manifest]:
        """A control plane machine, and what it stands on."""
        name = f"{self.name}-control-plane-{number}"
        host = self._object(SIMULATED_API, "SimulatedMachine", name, dict(self.machine))
        machine = self._object(CLUSTER_API, "Machine", name, self._machine("SimulatedMachine", name))
        machine["metadata"]["labels"]["cluster.x-k8s.io/control-plane"] = ""
        return [host, machine]

    def template(self, name: str = "", **more: Any) -> Manifest:
        """What workers stand on."""
        spec = {"template": {"spec": {**self.machine, **more}}}
        return self._object(SIMULATED_API, "SimulatedMachineTemplate", name or f"{self.name}-worker", spec)

    def workers_(self) -> Manifest:
        """The workers. The selector is written out, as nothing fills it in where no admission runs."""
        name = f"{self.name}-workers"
        selected = {CLUSTER_NAME: self.name, DEPLOYMENT_NAME: name}
        metadata = {**self.template_metadata, "labels": {**self.template_metadata.get("labels", {}), **selected}}
        machine = {**self._machine("SimulatedMachineTemplate", f"{self.name}-worker"), **self.machine_spec}
        spec = {
            "clusterName": self.name,
            "replicas": self.workers,
            "selector": {"matchLabels": selected},
            "template": {"metadata": metadata, "spec": machine},
            **self.deployment,
        }
        return self._object(CLUSTER_API, "MachineDeployment", name, spec)

    def _machine(self, kind: str, name: str) -> Manifest:
        return {
            "clusterName": self.name,
            "version": self.version,
            "bootstrap": {"dataSecretName": f"{self.name}-boot"},
            "infrastructureRef": _reference(kind, name),
        }

    def _object(self, version: str, kind: str, name: str, spec: Manifest | None) -> Manifest:
        metadata = {"name": name, "namespace": self.namespace, "labels": {CLUSTER_NAME: self.name}}
        made: Manifest = {"apiVersion": version, "kind": kind, "metadata": metadata}
        return made if spec is None else {**made, "spec": spec}


def _reference(kind: str, name: str) -> Manifest:
    return {"apiGroup": SIMULATED_GROUP, "kind": kind, "name": name}
