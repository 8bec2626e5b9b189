"""A Cluster with a KubeadmControlPlane and workers on Proxmox VE: every object of it, as a user writes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from support.proxmox_town_layout import OLD

Manifest = dict[str, Any]
CLUSTER_NAME = "cluster.x-k8s.io/cluster-name"
DEPLOYMENT_NAME = "cluster.x-k8s.io/deployment-name"
CLUSTER_API = "cluster.x-k8s.io/v1beta2"
BOOTSTRAP_API = "bootstrap.cluster.x-k8s.io/v1beta2"
CONTROL_PLANE_API = "controlplane.cluster.x-k8s.io/v1beta2"
PROXMOX_API = "infrastructure.cluster.x-k8s.io/v1alpha2"
ENDPOINT = "10.0.0.5"
PROVIDER_ID = {"kubeletExtraArgs": [{"name": "provider-id", "value": "proxmox://{{ ds.meta_data.instance_id }}"}]}
UNHEALTHY = [{"type": "Ready", "status": each, "timeoutSeconds": 60} for each in ("Unknown", "False")]


@dataclass(frozen=True, slots=True)
class Shop:
    """What a test wants to choose of such a cluster."""

    control_planes: int = 1
    workers: int = 2
    name: str = "shop"
    namespace: str = "default"
    version: str = OLD
    machine: Mapping[str, Any] = field(default_factory=dict)
    """More of the spec of machines."""
    infrastructure: Mapping[str, Any] = field(default_factory=dict)
    """More of the spec of the ProxmoxCluster."""
    patient: bool = False
    """Whether Nodes of machines that go are deleted however long that takes; otherwise, as usual, for ten seconds."""

    @property
    def deployment(self) -> str:
        return f"{self.name}-workers"

    def manifests(self) -> list[Manifest]:
        """All objects; the Cluster comes first."""
        return [
            self.connection(),
            self.cluster(),
            self.proxmox_cluster(),
            self.template("control-plane"),
            self.control_plane(),
            self.template("worker"),
            self.bootstrap(),
            self.workers_(),
            self.health_check(),
            *([self.control_plane_health_check()] if self.control_planes > 1 else []),
        ]

    def connection(self) -> Manifest:
        spec = {
            "endpoints": ["pve1", "pve2", "pve3"],
            "credentialsRef": {"name": "pve"},
            "pool": "nagaya",
            "insecure": True,
        }
        return self._object(PROXMOX_API, "ProxmoxConnection", "pve", spec)

    def cluster(self) -> Manifest:
        spec = {
            "clusterNetwork": {"pods": {"cidrBlocks": ["192.168.0.0/16"]}},
            "infrastructureRef": _reference(PROXMOX_API, "ProxmoxCluster", self.name),
            "controlPlaneRef": _reference(CONTROL_PLANE_API, "KubeadmControlPlane", self.name),
        }
        return self._object(CLUSTER_API, "Cluster", self.name, spec)

    def proxmox_cluster(self) -> Manifest:
        spec = {
            "connectionRef": {"name": "pve"},
            "controlPlaneEndpoint": {"host": ENDPOINT, "port": 6443},
            "ipv4Config": {"addresses": ["10.0.0.10-10.0.0.60"], "prefix": 24, "gateway": "10.0.0.1"},
            "dnsServers": ["10.0.0.1"],
            **self.infrastructure,
        }
        return self._object(PROXMOX_API, "ProxmoxCluster", self.name, spec)

    def template(self, role: str, suffix: str = "", **more: Any) -> Manifest:
        """What machines are like. With a suffix it is another template, to roll to."""
        spec = {
            "templateSelector": {"matchKubernetesVersion": True, "matchPolicy": "bestSubset"},
            "numCores": 2,
            "memoryMiB": 4096,
            "disks": {"bootVolume": {"disk": "scsi0", "sizeGb": 30}},
            "network": {"networkDevices": [{"name": "net0", "bridge": "vmbr0"}]},
            **self.machine,
            **more,
        }
        return self._object(
            PROXMOX_API, "ProxmoxMachineTemplate", f"{self.name}-{role}{suffix}", {"template": {"spec": spec}}
        )

    def control_plane(self) -> Manifest:
        template = _reference(PROXMOX_API, "ProxmoxMachineTemplate", f"{self.name}-control-plane")
        spec = {
            "replicas": self.control_planes,
            "version": self.version,
            "machineTemplate": {"spec": {"infrastructureRef": template}},
            "kubeadmConfigSpec": {
                "initConfiguration": {"nodeRegistration": PROVIDER_ID},
                "joinConfiguration": {"nodeRegistration": PROVIDER_ID},
            },
        }
        return self._object(CONTROL_PLANE_API, "KubeadmControlPlane", self.name, spec)

    def bootstrap(self) -> Manifest:
        spec = {"template": {"spec": {"joinConfiguration": {"nodeRegistration": PROVIDER_ID}}}}
        return self._object(BOOTSTRAP_API, "KubeadmConfigTemplate", self.name, spec)

    def workers_(self) -> Manifest:
        selected = {CLUSTER_NAME: self.name, DEPLOYMENT_NAME: self.deployment}
        machine = {
            "clusterName": self.name,
            "version": self.version,
            "bootstrap": {"configRef": _reference(BOOTSTRAP_API, "KubeadmConfigTemplate", self.name)},
            "infrastructureRef": _reference(PROXMOX_API, "ProxmoxMachineTemplate", f"{self.name}-worker"),
            **({"deletion": {"nodeDeletionTimeoutSeconds": 0}} if self.patient else {}),
        }
        spec = {
            "clusterName": self.name,
            "replicas": self.workers,
            "selector": {"matchLabels": selected},
            "template": {"metadata": {"labels": selected}, "spec": machine},
        }
        return self._object(CLUSTER_API, "MachineDeployment", self.deployment, spec)

    def health_check(self) -> Manifest:
        """Workers whose Node is silent for a minute, or does not come within ten, are replaced."""
        spec = {
            "clusterName": self.name,
            "selector": {"matchLabels": {DEPLOYMENT_NAME: self.deployment}},
            "checks": {"nodeStartupTimeoutSeconds": 600, "unhealthyNodeConditions": UNHEALTHY},
        }
        return self._object(CLUSTER_API, "MachineHealthCheck", self.name, spec)

    def control_plane_health_check(self) -> Manifest:
        """Of control planes only those are replaced whose Node never comes: the others come back with their host."""
        spec = {
            "clusterName": self.name,
            "selector": {"matchExpressions": [{"key": "cluster.x-k8s.io/control-plane", "operator": "Exists"}]},
            "checks": {"nodeStartupTimeoutSeconds": 600},
        }
        return self._object(CLUSTER_API, "MachineHealthCheck", f"{self.name}-control-plane", spec)

    def _object(self, version: str, kind: str, name: str, spec: Manifest) -> Manifest:
        metadata = {"name": name, "namespace": self.namespace, "labels": {CLUSTER_NAME: self.name}}
        return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def _reference(version: str, kind: str, name: str) -> Manifest:
    return {"apiGroup": version.partition("/")[0], "kind": kind, "name": name}
