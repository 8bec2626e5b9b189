"""What a user wants of a cluster in the end: all that he has asked for, and nothing of the way there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from support.plane import addon
from support.proxmox_town_layout import NEW, OLD
from support.proxmox_town_manifests import CLUSTER_NAME, Manifest, Shop

MEMORY: Final = 4096
CLUSTERS: Final = ("amber", "basil")
SHARED_POOL: Final = "everybodys"
NAMESPACE: Final = "default"
IPAM: Final = "ipam.cluster.x-k8s.io"
HOSTED_API: Final = "controlplane.cluster.x-k8s.io/v1alpha1"
EXTERNAL: Final = {"externalManagedControlPlane": True}
SILENT: Final = 300
"""Seconds after which a control plane whose Node is silent is replaced."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A cluster that is to be."""

    name: str
    control_planes: int
    workers: int
    shares: bool = False
    """Whether its machines have a second address, from the pool that all clusters share."""
    version: str = OLD
    memory: int = MEMORY
    """Of workers, in MiB. Another one is another template."""
    colour: str = ""
    """A label of its workers."""
    hosted: bool = False
    """Whether its control plane is a HostedControlPlane, with so many API servers."""
    addon: str = ""
    """What a ClusterResourceSet brings it; nothing if it is empty."""

    @property
    def kind(self) -> str:
        """Of its control plane."""
        return "HostedControlPlane" if self.hosted else "KubeadmControlPlane"

    @property
    def upgraded(self) -> Wish:
        """The same, on the next version."""
        return replace(self, version=NEW)

    @property
    def shop(self) -> Shop:
        """The objects that a user writes for it."""
        number = CLUSTERS.index(self.name)
        addresses = f"10.0.0.{20 + 50 * number}-10.0.0.{69 + 50 * number}"
        endpoint = {"controlPlaneEndpoint": {"host": f"10.0.0.{5 + number}", "port": 6443}}
        infrastructure = {
            **(EXTERNAL if self.hosted else endpoint),
            "ipv4Config": {"addresses": [addresses], "prefix": 24, "gateway": "10.0.0.1"},
        }
        devices: list[dict[str, Any]] = [{"name": "net0", "bridge": "vmbr0"}]
        if self.shares:
            pool = {"apiGroup": IPAM, "kind": "GlobalInClusterIPPool", "name": SHARED_POOL}
            devices.append({"name": "net1", "bridge": "vmbr0", "ipPoolRef": [pool]})
        return Shop(
            self.control_planes,
            self.workers,
            self.name,
            NAMESPACE,
            self.version,
            {"network": {"networkDevices": devices}},
            infrastructure,
        )

    @property
    def template(self) -> str:
        """The name of the template of its workers."""
        return template_name(self.name, self.memory)

    def manifests(self) -> list[Manifest]:
        """All objects of it, those that clusters share excepted."""
        shop = self.shop
        own = template_name(self.name)
        found = [
            each for each in shop.manifests() if each["kind"] != "ProxmoxConnection" and each["metadata"]["name"] != own
        ]
        found.append(self.worker_template())
        if self.hosted:
            found = [each for each in found if each["metadata"]["name"] != f"{self.name}-control-plane"]
            found = [self._hosted() if each["kind"] == "KubeadmControlPlane" else each for each in found]
        for each in found:
            if each["kind"] == "Cluster":
                each["spec"]["controlPlaneRef"]["kind"] = self.kind
                if self.addon:
                    each["metadata"]["labels"] |= {addon.SELECTED: self.name}
            if each["kind"] == "ProxmoxCluster" and self.hosted:
                del each["spec"]["controlPlaneEndpoint"]
            if each["kind"] == "MachineDeployment":
                template = each["spec"]["template"]
                template["spec"]["infrastructureRef"]["name"] = self.template
                if self.colour:
                    template["metadata"]["labels"] |= {"colour": self.colour}
        checks = [each for each in found if each["kind"] == "MachineHealthCheck"]
        if self.control_planes == 1 and not self.hosted:
            checks.append(shop.control_plane_health_check())
            found.append(checks[-1])
        silent = [{"type": "Ready", "status": each, "timeoutSeconds": SILENT} for each in ("Unknown", "False")]
        if not self.hosted:
            checks[-1]["spec"]["checks"]["unhealthyNodeConditions"] = silent
        return found + (addon.manifests(self.name, NAMESPACE, self.addon) if self.addon else [])

    def _hosted(self) -> Manifest:
        spec = {"version": self.version, "replicas": self.control_planes}
        metadata = {"name": self.name, "namespace": NAMESPACE, "labels": {CLUSTER_NAME: self.name}}
        return {"apiVersion": HOSTED_API, "kind": self.kind, "metadata": metadata, "spec": spec}

    def worker_template(self) -> Manifest:
        """The template of its workers."""
        return self.shop.template("worker", f"-{self.memory}", memoryMiB=self.memory)


def template_name(cluster: str, memory: int | None = None) -> str:
    """The name of the template of workers with so much memory."""
    return f"{cluster}-worker" if memory is None else f"{cluster}-worker-{memory}"


def shared_pool() -> Manifest:
    """The pool of addresses that all clusters share."""
    spec = {"addresses": ["10.1.0.10-10.1.0.99"], "prefix": 24, "gateway": "10.1.0.1"}
    version = f"{IPAM}/v1alpha2"
    return {"apiVersion": version, "kind": "GlobalInClusterIPPool", "metadata": {"name": SHARED_POOL}, "spec": spec}
