"""What old Machines said about their Nodes, and how each piece is said in v1beta2.

Labels that Cluster API carries from Machines to Nodes become labels of the Machine; the kubelet itself gives the others
when it registers. How a machine boots was not written anywhere: the provider knew. Hence a kubeadm configuration with
defaults is added, which a person has to look at.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from nagaya.api.bootstrap.kubeadm_config_spec import CLOUD_CONFIG
from nagaya.api.cluster import labels
from nagaya.api.cluster.annotations import MANAGED_NODE_DOMAIN
from nagaya.api.cluster.taint import ALWAYS
from nagaya.api.conversion.draft import Draft

BOOTSTRAP_GROUP: Final = "bootstrap.cluster.x-k8s.io"
_ADDED: Final = (
    "{kind} {name} was added, because v1beta2 wants to know how a machine boots: check that it fits the image."
)


class NodeWishes:
    """Takes from an old machine spec what concerns its Node."""

    __slots__ = ("_node_labels", "control_plane", "machine_annotations", "machine_labels")

    def __init__(self, spec: Draft) -> None:
        self.machine_labels: dict[str, str] = {}
        self.machine_annotations: dict[str, str] = {}
        self._node_labels: dict[str, str] = {}
        self._metadata(spec)
        self.control_plane = self._versions(spec)
        for taint in spec.each("taints"):
            taint.take("timeAdded")
            taint.put(ALWAYS, "propagation")
        spec.drop("configSource", "not carried over: Kubernetes 1.24 removed it. Put kubelet settings into the image.")

    def _metadata(self, spec: Draft) -> None:
        node = spec.take_map("metadata")
        if node is None:
            return
        node.take("creationTimestamp")
        for key, value in node.take_pairs("labels").items():
            (self.machine_labels if _carried(key, labels.NODE_RESTRICTION_DOMAIN) else self._node_labels)[key] = value
        for key, value in node.take_pairs("annotations").items():
            if _carried(key, ""):
                self.machine_annotations[key] = value
            else:
                message = (
                    f"not carried over to the Node: only annotations under {MANAGED_NODE_DOMAIN}/ are. "
                    "Rename it, or set it with a controller of yours."
                )
                node.report(f"annotations.{key}", message, loss=True)
        for name in list(node.content):
            node.drop(name, "not carried over: v1beta2 names Nodes after their machines.")

    def _versions(self, spec: Draft) -> bool:
        roles = spec.take("roles")
        versions = spec.take_map("versions")
        control_plane = isinstance(roles, list) and "Master" in roles
        if versions is None:
            return control_plane
        kubelet, plane = versions.take("kubelet"), versions.take("controlPlane")
        if kubelet and plane and kubelet != plane:
            versions.report("controlPlane", f"{plane} is not carried over: a machine has one version.", loss=True)
        version = str(kubelet or plane or "")
        spec.put((version if version.startswith("v") else f"v{version}") if version else None, "version")
        return control_plane or bool(plane)

    def bootstrap(self, owner: Draft, place: Mapping[str, Any], *, template: bool) -> dict[str, Any]:
        """The kubeadm configuration for such machines, which is reported."""
        kind = "KubeadmConfigTemplate" if template else "KubeadmConfig"
        content = self._kubeadm()
        owner.report("bootstrap", _ADDED.format(kind=kind, name=place["name"]), loss=False)
        return {
            "apiVersion": f"{BOOTSTRAP_GROUP}/v1beta2",
            "kind": kind,
            "metadata": dict(place),
            "spec": {"template": {"spec": content}} if template else content,
        }

    def _kubeadm(self) -> dict[str, Any]:
        registration: dict[str, Any] = {}
        if self._node_labels:
            pairs = ",".join(f"{key}={value}" for key, value in sorted(self._node_labels.items()))
            registration = {"nodeRegistration": {"kubeletExtraArgs": [{"name": "node-labels", "value": pairs}]}}
        content: dict[str, Any] = {"format": CLOUD_CONFIG}
        if self.control_plane:
            # The first machine of a control plane starts the cluster, the others join it: each may be either.
            content |= {"initConfiguration": registration} if registration else {}
            content["joinConfiguration"] = {**registration, "controlPlane": {}}
        elif registration:
            content["joinConfiguration"] = registration
        return content


def _carried(key: str, further_domain: str) -> bool:
    """Whether Cluster API carries a label or an annotation from a Machine to its Node."""
    domain, slash, _ = key.rpartition("/")
    domains = [each for each in (MANAGED_NODE_DOMAIN, further_domain) if each]
    if not slash:
        return False
    within = any(domain == each or domain.endswith(f".{each}") for each in domains)
    return within or bool(further_domain and domain == labels.NODE_ROLE_PREFIX)
