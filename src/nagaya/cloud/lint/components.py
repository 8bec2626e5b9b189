"""Which workload is what: the cloud controller manager, the pod network, cluster DNS. Told by what its programs are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from nagaya.cloud.lint.plain import at, mappings, text
from nagaya.cloud.lint.workload import Workload

_CLOUD: Final = re.compile(r"cloud-controller-manager|^cloud-provider-|(?:^|-)ccm(?:-|$)")
_NOT_CLOUD: Final = re.compile(r"csi|operator|kube-controller-manager|kube-apiserver|autoscaler|credential-provider")
_KINDS_OF_CLOUD: Final = ("Deployment", "DaemonSet", "StatefulSet", "ReplicaSet", "Pod")
_NODE_CONTROLLERS: Final = ("cloud-node", "cloud-node-controller")

_NETWORKS: Final = (
    ("Cilium", re.compile(r"^cilium(?:-agent)?$"), re.compile(r"^cilium-operator")),
    ("Calico", re.compile(r"^calico-node$"), re.compile(r"^tigera-operator$")),
    ("Canal", re.compile(r"^canal$"), None),
    ("Flannel", re.compile(r"^(?:kube-)?flannel(?:-ds.*)?$"), None),
    ("Antrea", re.compile(r"^antrea-agent"), re.compile(r"^antrea-controller")),
    ("kube-router", re.compile(r"^kube-router$"), None),
    ("Kube-OVN", re.compile(r"^kube-ovn-cni$"), re.compile(r"^kube-ovn-controller$")),
    ("Weave Net", re.compile(r"^weave-(?:net|kube)$"), None),
    ("kindnet", re.compile(r"^kindnet"), None),
)
_NETWORK_CONFIGURATION: Final = "/etc/cni/net.d"
_META_NETWORKS: Final = re.compile(r"multus|istio-cni|linkerd-cni|bandwidth|whereabouts|proxmox|csi")


@dataclass(frozen=True)
class Network:
    """A workload of the pod network."""

    name: str
    workload: Workload
    operator: bool
    """Whether it installs or serves the agents, rather than being the one on each node."""


def is_cloud(workload: Workload) -> bool:
    """Whether it is a cloud controller manager."""
    if workload.kind not in _KINDS_OF_CLOUD or any(_NOT_CLOUD.search(each) for each in workload.programs):
        return False
    if any(_CLOUD.search(each) for each in workload.programs):
        return True
    return workload.flag("cloud-provider") not in ("", "external") and "kubelet" not in workload.programs


def initialises(workload: Workload) -> bool:
    """Whether a cloud controller manager runs the controller that takes the taint from new nodes."""
    chosen = [each.strip() for each in workload.flag("controllers", "*").split(",")]
    if any(f"-{name}" in chosen for name in _NODE_CONTROLLERS):
        return False
    return "*" in chosen or any(name in chosen for name in _NODE_CONTROLLERS)


def runs_controller(workload: Workload, *names: str) -> bool:
    """Whether a cloud controller manager runs a controller, by any of its names."""
    chosen = [each.strip() for each in workload.flag("controllers", "*").split(",")]
    return ("*" in chosen or any(name in chosen for name in names)) and not any(f"-{name}" in chosen for name in names)


def is_outside(workload: Workload) -> bool:
    """Whether a cloud controller manager serves another cluster than the one it runs in: its kubeconfig is a Secret."""
    if not workload.flag("kubeconfig"):
        return False
    secrets = [text(at(each, "secret", "secretName")) for each in mappings(workload.pod.get("volumes"))]
    return any(each.endswith("-kubeconfig") for each in secrets)


def network_of(workload: Workload) -> Network | None:
    """The pod network that a workload belongs to."""
    if workload.kind not in ("DaemonSet", "Deployment", "Pod"):
        return None
    names = {workload.name, *(text(each.get("name")) for each in workload.containers), *workload.programs}
    for name, agent, operator in _NETWORKS:
        if operator is not None and any(operator.search(each) for each in names):
            return Network(name, workload, operator=True)
        if workload.daemon and any(agent.search(each) for each in names):
            return Network(name, workload, operator=False)
    if workload.daemon and _writes_network(workload) and not any(_META_NETWORKS.search(each) for each in names):
        return Network(workload.name, workload, operator=False)
    return None


def needs_addresses(network: Network) -> bool:
    """Whether an agent waits until its node has an internal address in the API."""
    if network.name in ("Cilium", "kube-router"):
        return True
    if network.name == "Flannel":
        return "$(" in network.workload.flag("public-ip")
    method = network.workload.environment.get("IP_AUTODETECTION_METHOD", "")
    return network.name in ("Calico", "Canal") and method.startswith("kubernetes-internal-ip")


def _writes_network(workload: Workload) -> bool:
    paths = (text(at(each, "hostPath", "path")) for each in mappings(workload.pod.get("volumes")))
    return any(each.rstrip("/").startswith(_NETWORK_CONFIGURATION) for each in paths)


def is_dns(workload: Workload) -> bool:
    """Whether it answers the names of the cluster."""
    return workload.pod_labels.get("k8s-app") == "kube-dns" or "coredns" in workload.programs


def is_kube_proxy(workload: Workload) -> bool:
    """Whether it makes the addresses of Services work."""
    return "kube-proxy" in workload.programs
