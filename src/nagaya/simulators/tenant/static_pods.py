"""The components of a control plane, as the pods that kubelets of its nodes show in the API.

Such a mirror pod belongs to its Node and goes with it; deleted by anyone else it is there again, because its kubelet
reads it from a file. It runs by the same rules as every other pod.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Final

from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.storage import Event
from nagaya.simulators.tenant import kubeadm_configuration
from nagaya.simulators.tenant.hands import NODES, PODS, Hands
from nagaya.simulators.tenant.kubeadm import INITIALIZED, SYSTEM, image_tag
from nagaya.simulators.tenant.kubeadm_configuration import Document
from nagaya.simulators.tenant.machines import Machine, Machines
from nagaya.simulators.tenant.releases import release_of
from nagaya.simulators.tenant.view import View

_COMPONENTS: Final = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
_CPU: Final = {"etcd": "100m", "kube-apiserver": "250m", "kube-controller-manager": "200m", "kube-scheduler": "100m"}
_ENDPOINTS: Final = {
    "etcd": ("kubeadm.kubernetes.io/etcd.advertise-client-urls", "https://{}:2379"),
    "kube-apiserver": ("kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint", "{}:6443"),
}


class StaticPods:
    """Keeps the mirror pods of control plane nodes in the API. Keys are the names of nodes."""

    name = "simulated static pods"
    tables = ("nodes", "pods")

    def __init__(self, backend: Backend, view: View, machines: Machines, version: str) -> None:
        self._api = Hands(backend, "kubelet")
        self._view = view
        self._machines = machines
        self._version = version

    def start(self) -> Iterator[str]:
        """All nodes."""
        yield from self._view.nodes()

    def on_event(self, event: Event) -> Iterator[str]:
        """A node came, or a mirror pod went."""
        if event.table == "nodes" and event.previous is None:
            yield event.key
        elif event.table == "pods" and event.record is None:
            gone = self._view.pod_change(event).before
            if gone is not None and gone.owner is not None and gone.owner.kind == "Node":
                yield gone.owner.name

    async def sync(self, key: object) -> float | None:
        """Make what is missing."""
        assert isinstance(key, str)
        machine, node = self._machines.get(key), self._api.get(NODES, "", key)
        if machine is None or node is None or not machine.works or not machine.settings.control_plane:
            return None
        configuration = kubeadm_configuration.parse(self._api.get(*INITIALIZED))
        local = machine.settings.local_etcd and kubeadm_configuration.has_local_etcd(configuration)
        for component in ("etcd", *_COMPONENTS) if local else _COMPONENTS:
            pod = mirror(component, machine, node["metadata"]["uid"], self._version, configuration)
            await self._api.create_missing(PODS, pod)
        return None


def mirror(
    component: str, machine: Machine, node_uid: str, cluster_version: str, configuration: Document
) -> JsonObject:
    """The mirror pod of a component on a node, with images as the cluster's configuration has them."""
    name, version = machine.settings.name, machine.settings.version or cluster_version
    registry = configuration.get("imageRepository") or kubeadm_configuration.REGISTRY
    image = f"{registry}/{component}:{image_tag(version)}"
    if component == "etcd":
        image = kubeadm_configuration.image(configuration, "etcd", "etcd", release_of(version).etcd)
    digest = hashlib.sha256(f"{component} {name} {image}".encode()).hexdigest()[:32]
    annotations = {
        "kubernetes.io/config.hash": digest,
        "kubernetes.io/config.mirror": digest,
        "kubernetes.io/config.source": "file",
    }
    if component in _ENDPOINTS:
        key, form = _ENDPOINTS[component]
        annotations[key] = form.format(machine.address)
    owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node_uid, "controller": True}
    container = {
        "name": component,
        "image": image,
        "command": [component],
        "resources": {"requests": {"cpu": _CPU[component]}},
    }
    return {
        "metadata": {
            "name": f"{component}-{name}",
            "namespace": SYSTEM,
            "labels": {"component": component, "tier": "control-plane"},
            "annotations": annotations,
            "ownerReferences": [owner],
        },
        "spec": {
            "nodeName": name,
            "hostNetwork": True,
            "priorityClassName": "system-node-critical",
            "enableServiceLinks": False,
            "automountServiceAccountToken": False,
            "tolerations": [{"effect": "NoExecute", "operator": "Exists"}],
            "containers": [container],
        },
    }
