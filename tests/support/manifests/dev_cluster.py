"""A Cluster of upstream's in-memory development provider: every object of it, ready to be created in this order.

The provider keeps machines, nodes and a fake API server per cluster in the memory of its own process, and makes each
wait for as long as its template says. It crashes on a DevCluster or DevMachineTemplate without annotations, hence the
one that each of them has here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from support.upstream_client import Manifest

CLUSTER_GROUP = "cluster.x-k8s.io"
BOOTSTRAP_GROUP = "bootstrap.cluster.x-k8s.io"
CONTROL_PLANE_GROUP = "controlplane.cluster.x-k8s.io"
INFRASTRUCTURE_GROUP = "infrastructure.cluster.x-k8s.io"

_VERSION = "v1beta2"
_ANNOTATIONS = {"nagaya.test/purpose": "test"}
_CRI_SOCKET = {"criSocket": "unix:///var/run/containerd/containerd.sock"}


@dataclass(frozen=True, slots=True)
class DevCluster:
    """What a test wants to choose of such a cluster; the objects are named after it."""

    name: str
    namespace: str = "default"
    version: str = "v1.36.3"
    worker_version: str = "v1.36.3"
    control_planes: int = 1
    workers: int = 3
    startup: str = "1s"
    """How long a machine takes to boot, and then its node, etcd and API server."""

    def manifests(self) -> list[Manifest]:
        """All objects, the Cluster last: by then all that it refers to is there."""
        return [
            self.infrastructure(),
            self.machine_template(f"{self.name}-control-plane"),
            self.machine_template(f"{self.name}-worker"),
            self.bootstrap_template(),
            self.control_plane(),
            self.machine_deployment(),
            self.cluster(),
        ]

    def cluster(self) -> Manifest:
        """The Cluster itself."""
        spec = {
            "clusterNetwork": {
                "services": {"cidrBlocks": ["10.128.0.0/12"]},
                "pods": {"cidrBlocks": ["192.168.0.0/16"]},
                "serviceDomain": "cluster.local",
            },
            "infrastructureRef": _reference(INFRASTRUCTURE_GROUP, "DevCluster", self.name),
            "controlPlaneRef": _reference(CONTROL_PLANE_GROUP, "KubeadmControlPlane", self.name),
        }
        return self._object(CLUSTER_GROUP, "Cluster", self.name, spec)

    def infrastructure(self) -> Manifest:
        """The DevCluster."""
        made = self._object(INFRASTRUCTURE_GROUP, "DevCluster", self.name, {"backend": {"inMemory": {}}})
        made["metadata"]["annotations"] = dict(_ANNOTATIONS)
        return made

    def machine_template(self, name: str) -> Manifest:
        """A DevMachineTemplate; control planes and workers have one each, so that either can be rolled alone."""
        provisioning = {"provisioning": {"startupDuration": self.startup}}
        parts = dict.fromkeys(("vm", "node", "apiServer", "etcd"), provisioning)
        spec = {"template": {"spec": {"backend": {"inMemory": parts}}}}
        made = self._object(INFRASTRUCTURE_GROUP, "DevMachineTemplate", name, spec)
        made["metadata"]["annotations"] = dict(_ANNOTATIONS)
        return made

    def bootstrap_template(self) -> Manifest:
        """The KubeadmConfigTemplate of the workers."""
        spec = {"template": {"spec": {"joinConfiguration": {"nodeRegistration": _CRI_SOCKET}}}}
        return self._object(BOOTSTRAP_GROUP, "KubeadmConfigTemplate", self.name, spec)

    def control_plane(self) -> Manifest:
        """The KubeadmControlPlane."""
        template = _reference(INFRASTRUCTURE_GROUP, "DevMachineTemplate", f"{self.name}-control-plane")
        spec = {
            "replicas": self.control_planes,
            "version": self.version,
            "machineTemplate": {"spec": {"infrastructureRef": template}},
            "kubeadmConfigSpec": {
                "clusterConfiguration": {"apiServer": {"certSANs": ["localhost", "127.0.0.1"]}},
                "initConfiguration": {"nodeRegistration": _CRI_SOCKET},
                "joinConfiguration": {"nodeRegistration": _CRI_SOCKET},
            },
        }
        return self._object(CONTROL_PLANE_GROUP, "KubeadmControlPlane", self.name, spec)

    def machine_deployment(self) -> Manifest:
        """The MachineDeployment of the workers; all that has a default is left to whoever sets it."""
        machine = {
            "clusterName": self.name,
            "version": self.worker_version,
            "bootstrap": {"configRef": _reference(BOOTSTRAP_GROUP, "KubeadmConfigTemplate", self.name)},
            "infrastructureRef": _reference(INFRASTRUCTURE_GROUP, "DevMachineTemplate", f"{self.name}-worker"),
        }
        labels = {"nagaya.test/workers": self.name}
        spec = {
            "clusterName": self.name,
            "replicas": self.workers,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": machine},
        }
        return self._object(CLUSTER_GROUP, "MachineDeployment", f"{self.name}-workers", spec)

    def machine_health_check(self, *, timeout: int = 5) -> Manifest:
        """A MachineHealthCheck of the workers, which is not part of the cluster unless a test adds it."""
        unhealthy = [{"type": "Ready", "status": status, "timeoutSeconds": timeout} for status in ("False", "Unknown")]
        spec = {
            "clusterName": self.name,
            "selector": {"matchLabels": {"nagaya.test/workers": self.name}},
            "checks": {"unhealthyNodeConditions": unhealthy, "nodeStartupTimeoutSeconds": 60},
        }
        return self._object(CLUSTER_GROUP, "MachineHealthCheck", f"{self.name}-workers", spec)

    def _object(self, group: str, kind: str, name: str, spec: Manifest) -> Manifest:
        metadata: Manifest = {
            "name": name,
            "namespace": self.namespace,
            "labels": {f"{CLUSTER_GROUP}/cluster-name": self.name},
        }
        return {"apiVersion": f"{group}/{_VERSION}", "kind": kind, "metadata": metadata, "spec": spec}


def _reference(group: str, kind: str, name: str) -> Manifest:
    return {"apiGroup": group, "kind": kind, "name": name}


def kinds() -> Iterator[tuple[str, str]]:
    """Group and plural of every kind that such a cluster has, also of those that the controllers make."""
    yield from ((CLUSTER_GROUP, name) for name in ("clusters", "machinedeployments", "machinesets", "machines"))
    yield CLUSTER_GROUP, "machinehealthchecks"
    yield CONTROL_PLANE_GROUP, "kubeadmcontrolplanes"
    yield from ((BOOTSTRAP_GROUP, name) for name in ("kubeadmconfigs", "kubeadmconfigtemplates"))
    yield from ((INFRASTRUCTURE_GROUP, name) for name in ("devclusters", "devmachines", "devmachinetemplates"))
