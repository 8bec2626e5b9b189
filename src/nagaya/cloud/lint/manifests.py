"""The set that is looked at, seen as the parts of a cluster that depend on each other when it starts."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Final

from nagaya.cloud.lint import components, kubelets, nodes
from nagaya.cloud.lint.cloud_config import CloudConfig, config_of
from nagaya.cloud.lint.components import Network
from nagaya.cloud.lint.expansion import contents, expanded
from nagaya.cloud.lint.kubelets import ControlPlaneArguments, Registration
from nagaya.cloud.lint.manifest import Manifest
from nagaya.cloud.lint.nodes import NodeClass
from nagaya.cloud.lint.placement import Place, obstacle, places
from nagaya.cloud.lint.plain import text
from nagaya.cloud.lint.taints import CAPI_UNINITIALIZED, UNINITIALIZED
from nagaya.cloud.lint.workload import KINDS, Workload, is_static

HOSTED: Final = frozenset(
    {"HostedControlPlane", "HostedControlPlaneTemplate", "KamajiControlPlane", "K0smotronControlPlane"}
)
_BY_CLUSTER_API: Final = frozenset(
    {"KubeadmConfig", "KubeadmConfigTemplate", "KubeadmControlPlane", "KubeadmControlPlaneTemplate"}
)
_READ: Final = frozenset(
    {
        *KINDS,
        *HOSTED,
        *_BY_CLUSTER_API,
        "InitConfiguration",
        "JoinConfiguration",
        "ClusterConfiguration",
        "KubeletConfiguration",
        "PodSecurityConfiguration",
        "AdmissionConfiguration",
        "Node",
        "Namespace",
        "ServiceAccount",
        "Role",
        "ClusterRole",
        "RoleBinding",
        "ClusterRoleBinding",
        "ConfigMap",
        "Secret",
        "Service",
        "ValidatingWebhookConfiguration",
        "MutatingWebhookConfiguration",
        "HorizontalPodAutoscaler",
        "VerticalPodAutoscaler",
        "PodDisruptionBudget",
        "ClusterPolicy",
        "Policy",
        "ExternalSecret",
        "ClusterExternalSecret",
        "SealedSecret",
        "VaultStaticSecret",
        "Certificate",
        "Installation",
        "Cluster",
        "Machine",
        "MachineDeployment",
        "ClusterResourceSet",
    }
)
"""Kinds that some check looks at; others are counted and left alone."""


class Manifests:
    """A set of objects. Nothing in it changes; what is derived is derived once."""

    def __init__(self, objects: Iterable[Manifest], *, complete: bool = False) -> None:
        """`complete`: these are all objects of a cluster, so that what is not among them does not exist."""
        self.objects: tuple[Manifest, ...] = _latest(expanded(objects))
        self.complete = complete
        self._by_kind: dict[str, list[Manifest]] = {}
        for each in self.objects:
            self._by_kind.setdefault(each.kind, []).append(each)

    def of(self, *kinds: str) -> list[Manifest]:
        """The objects of some kinds, kind by kind."""
        return [each for kind in kinds for each in self._by_kind.get(kind, ())]

    def find(self, kind: str, namespace: str, name: str) -> Manifest | None:
        """One object."""
        return next((each for each in self.of(kind) if (each.namespace, each.name) == (namespace, name)), None)

    @cached_property
    def ignored(self) -> int:
        """How many objects no check looks at."""
        return sum(each.kind not in _READ and not _is_infrastructure(each) for each in self.objects)

    @cached_property
    def workloads(self) -> tuple[Workload, ...]:
        return tuple(Workload(each, each.kind == "Pod" and is_static(each)) for each in self.of(*KINDS))

    @cached_property
    def clouds(self) -> tuple[Workload, ...]:
        """The cloud controller managers."""
        return tuple(each for each in self.workloads if components.is_cloud(each))

    @cached_property
    def outside(self) -> tuple[Workload, ...]:
        """The cloud controller managers that serve another cluster than theirs."""
        return tuple(each for each in self.clouds if components.is_outside(each))

    @cached_property
    def inside(self) -> tuple[Workload, ...]:
        """The cloud controller managers that run in the cluster whose nodes they look after."""
        return tuple(each for each in self.clouds if each not in self.outside)

    @cached_property
    def initialisers(self) -> tuple[Workload, ...]:
        """Those of them that take the taint from new nodes."""
        return tuple(each for each in self.inside if components.initialises(each))

    @cached_property
    def networks(self) -> tuple[Network, ...]:
        found = (components.network_of(each) for each in self.workloads)
        return tuple(each for each in found if each is not None)

    @cached_property
    def dns(self) -> tuple[Workload, ...]:
        return tuple(each for each in self.workloads if components.is_dns(each))

    @cached_property
    def registrations(self) -> tuple[Registration, ...]:
        return tuple(kubelets.registrations(self.objects))

    @cached_property
    def control_plane_arguments(self) -> tuple[ControlPlaneArguments, ...]:
        return tuple(kubelets.control_plane_arguments(self.objects))

    @cached_property
    def hosted(self) -> bool:
        """Whether the control plane runs elsewhere, so that there are no control-plane nodes."""
        return bool(self.of(*HOSTED))

    @cached_property
    def by_cluster_api(self) -> bool:
        """Whether Cluster API's kubeadm bootstrap provider prepares the nodes."""
        return any(each.kind in _BY_CLUSTER_API for each in self.objects)

    @cached_property
    def node_classes(self) -> tuple[NodeClass, ...]:
        return nodes.classes(
            self.registrations,
            hosted=self.hosted,
            by_cluster_api=self.by_cluster_api,
            cloud_expected=bool(self.clouds),
            everywhere=kubelets.taints_everywhere(self.objects),
        )

    @cached_property
    def ready_nodes(self) -> tuple[NodeClass, ...]:
        return nodes.ready_nodes(self.objects)

    def obstacle(self, workload: Workload) -> Place | None:
        """What keeps a workload from every node of a new cluster."""
        return obstacle(workload, self.node_classes)

    def runs_today(self, workload: Workload) -> bool:
        """Whether there is a node already, initialised and ready, that would take it."""
        return any(not each.untolerated for each in places(workload, self.ready_nodes))

    def cloud_config(self, workload: Workload) -> CloudConfig | None:
        return config_of(workload, self.objects)

    @cached_property
    def nodes_have_addresses(self) -> bool | None:
        """Whether all kubelets say their address themselves; None if nothing tells how they are started."""
        if not self.registrations:
            return None
        return all(not each.external or each.arguments.get("node-ip") for each in self.registrations)

    @cached_property
    def needs_addresses(self) -> str:
        """The name of a pod network that waits until nodes have an internal address; empty if there is none."""
        found = (each.name for each in self.networks if not each.operator and components.needs_addresses(each))
        return next(found, self._needy_installation)

    @cached_property
    def network_waits(self) -> str:
        """Why the pod network cannot work before a cloud controller manager does; empty if nothing tells that."""
        if self.needs_addresses and self.nodes_have_addresses is False:
            return f"{self.needs_addresses} waits for internal addresses of nodes, and kubelets have no --node-ip"
        for each in self.networks:
            place = self.obstacle(each.workload)
            kept_by = [taint for taint in (UNINITIALIZED, CAPI_UNINITIALIZED) if place and taint in place.untolerated]
            if kept_by:
                return f"{each.workload} does not tolerate {kept_by[0]}"
        return ""

    @cached_property
    def network_may_wait(self) -> str:
        """What is not known about whether the pod network waits; empty if it is known."""
        if not self.networks and not self.of("Installation"):
            return "the pod network is not in the set, and many wait for addresses that a cloud controller manager sets"
        if self.needs_addresses and self.nodes_have_addresses is None:
            return f"{self.needs_addresses} waits for internal addresses of nodes unless kubelets have --node-ip"
        return ""

    @cached_property
    def _needy_installation(self) -> str:
        """Calico's operator, told to take the addresses of nodes from the API."""
        for each in self.of("Installation"):
            found = each.at("spec", "calicoNetwork", "nodeAddressAutodetectionV4", "kubernetes")
            if text(found) == "NodeInternalIP":
                return "Calico"
        return ""

    @cached_property
    def replaces_kube_proxy(self) -> Network | None:
        """The pod network that makes Services work in place of kube-proxy."""
        for each in self.networks:
            on = each.workload.flag("kube-proxy-replacement") or self._cilium_setting("kube-proxy-replacement")
            if each.name == "Cilium" and on in ("true", "strict"):
                return each
        return None

    def _cilium_setting(self, key: str) -> str:
        for each in self.of("ConfigMap"):
            if each.name == "cilium-config":
                return dict(contents(each)).get(key, "")
        return ""

    @cached_property
    def skipped_phases(self) -> set[str]:
        return kubelets.skipped_phases(self.objects)


def _latest(objects: Iterable[Manifest]) -> tuple[Manifest, ...]:
    """Of objects with the same name the last, as after `kubectl apply`; those without a name all count."""
    found: dict[object, Manifest] = {}
    for each in objects:
        found[(each.group, each.kind, each.namespace, each.name) if each.name else each] = each
    return tuple(found.values())


def _is_infrastructure(manifest: Manifest) -> bool:
    return manifest.group == "infrastructure.cluster.x-k8s.io"
