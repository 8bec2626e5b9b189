"""How kubelets are started and nodes registered: kubeadm's files, and Cluster API's objects that become them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from nagaya.cloud.lint.flags import of_extra_arguments
from nagaya.cloud.lint.manifest import Manifest
from nagaya.cloud.lint.plain import Object, at, mapping, mappings, number, sequence, text
from nagaya.cloud.lint.taints import Taint, parse_taints, read_taint

BOOTSTRAP: Final = "bootstrap.cluster.x-k8s.io"
CONTROL_PLANES: Final = "controlplane.cluster.x-k8s.io"
KUBEADM: Final = "kubeadm.k8s.io"
KUBELET: Final = "kubelet.config.k8s.io"
CONTROL_PLANE_LABEL: Final = "cluster.x-k8s.io/control-plane"


class Role(StrEnum):
    """What a node is for."""

    CONTROL_PLANE = "control-plane"
    WORKER = "worker"


@dataclass(frozen=True, eq=False)
class Registration:
    """How the nodes of a role register."""

    manifest: Manifest
    path: str
    role: Role
    arguments: dict[str, str]
    taints: tuple[Taint, ...] | None
    """None: kubeadm's own."""
    count: int | None = None
    listed: bool = True
    """Whether arguments are a list of names and values, and no mapping as in older versions."""

    def argument(self, name: str, value: str, remark: str = "") -> str:
        """The lines that add an argument."""
        remark = f"  # {remark}" if remark else ""
        if self.listed:
            return f"kubeletExtraArgs:\n- name: {name}\n  value: {value}{remark}"
        return f"kubeletExtraArgs:\n  {name}: {value}{remark}"

    @property
    def node_ip(self) -> str:
        """The lines that make the kubelet say its address."""
        return self.argument("node-ip", "0.0.0.0", "the address of the default route")  # noqa: S104 - a flag's value

    @property
    def external(self) -> bool:
        """Whether the kubelet leaves initialisation to a cloud controller manager."""
        return self.arguments.get("cloud-provider") == "external"

    @property
    def extra_taints(self) -> tuple[Taint, ...]:
        return parse_taints(self.arguments.get("register-with-taints", ""))


@dataclass(frozen=True, eq=False)
class ControlPlaneArguments:
    """Options of kube-controller-manager and kube-apiserver, and what kubeadm makes of the network's settings."""

    manifest: Manifest
    path: str
    controller_manager: dict[str, str]
    has_pod_subnet: bool | None
    """None: that is in the Cluster, which is not in the set."""


def registrations(manifests: Iterable[Manifest]) -> Iterator[Registration]:
    """All that is said about how nodes register."""
    for manifest in manifests:
        for path, spec, count in kubeadm_specs(manifest):
            yield from _of_kubeadm(manifest, path, spec, count)
        if manifest.group == KUBEADM and manifest.kind in ("InitConfiguration", "JoinConfiguration"):
            joins = manifest.kind == "JoinConfiguration" and "controlPlane" not in manifest.raw
            role = Role.WORKER if joins else Role.CONTROL_PLANE
            yield _registration(manifest, "nodeRegistration", manifest.raw.get("nodeRegistration"), role, None)


def taints_everywhere(manifests: Iterable[Manifest]) -> tuple[Taint, ...]:
    """The taints that the kubelets' configuration file gives every node."""
    return tuple(
        read_taint(each)
        for manifest in manifests
        if manifest.group == KUBELET and manifest.kind == "KubeletConfiguration"
        for each in mappings(manifest.raw.get("registerWithTaints"))
    )


def kubeadm_specs(manifest: Manifest) -> Iterator[tuple[str, Object, int | None]]:
    """Cluster API's kubeadm settings in an object, where they are, and for how many machines."""
    spec = manifest.spec
    match manifest.group, manifest.kind:
        case group, "KubeadmControlPlane" if group == CONTROL_PLANES:
            yield "spec.kubeadmConfigSpec", mapping(spec.get("kubeadmConfigSpec")), number(spec.get("replicas")) or 1
        case group, "KubeadmControlPlaneTemplate" if group == CONTROL_PLANES:
            path = "spec.template.spec.kubeadmConfigSpec"
            yield path, mapping(at(spec, "template", "spec", "kubeadmConfigSpec")), None
        case group, "KubeadmConfigTemplate" if group == BOOTSTRAP:
            yield "spec.template.spec", mapping(at(spec, "template", "spec")), None
        case group, "KubeadmConfig" if group == BOOTSTRAP:
            yield "spec", spec, None


def control_plane_arguments(manifests: Iterable[Manifest]) -> Iterator[ControlPlaneArguments]:
    """All that is said about the options of a kubeadm control plane."""
    known = tuple(manifests)
    clusters = [each for each in known if each.kind == "Cluster" and each.group == "cluster.x-k8s.io"]
    subnets = [bool(sequence(each.at("spec", "clusterNetwork", "pods", "cidrBlocks"))) for each in clusters]
    by_cluster = all(subnets) if subnets else None
    for manifest in known:
        for path, spec, _ in kubeadm_specs(manifest):
            if "clusterConfiguration" in spec:
                configuration = mapping(spec["clusterConfiguration"])
                yield _arguments(manifest, f"{path}.clusterConfiguration", configuration, by_cluster)
        if manifest.group == KUBEADM and manifest.kind == "ClusterConfiguration":
            yield _arguments(manifest, "", manifest.raw, False)


def skipped_phases(manifests: Iterable[Manifest]) -> set[str]:
    """The phases of `kubeadm init` that are left out."""
    found: set[str] = set()
    for manifest in manifests:
        specs = [at(spec, "initConfiguration") for _, spec, _ in kubeadm_specs(manifest)]
        if manifest.group == KUBEADM and manifest.kind == "InitConfiguration":
            specs.append(manifest.raw)
        found |= {text(each) for spec in specs for each in sequence(at(spec, "skipPhases"))}
    return found


def _of_kubeadm(manifest: Manifest, path: str, spec: Object, count: int | None) -> Iterator[Registration]:
    control_plane = (
        manifest.group == CONTROL_PLANES
        or CONTROL_PLANE_LABEL in manifest.labels
        or at(spec, "joinConfiguration", "controlPlane") is not None
        or (manifest.kind == "KubeadmConfig" and "initConfiguration" in spec)
    )
    role = Role.CONTROL_PLANE if control_plane else Role.WORKER
    parts = ("initConfiguration", "joinConfiguration") if control_plane else ("joinConfiguration",)
    for part in parts:
        if part in spec or part == parts[-1]:
            registration = at(spec, part, "nodeRegistration")
            yield _registration(manifest, f"{path}.{part}.nodeRegistration", registration, role, count)


def _registration(manifest: Manifest, path: str, value: object, role: Role, count: int | None) -> Registration:
    taints = at(value, "taints")
    return Registration(
        manifest,
        path,
        role,
        of_extra_arguments(at(value, "kubeletExtraArgs")),
        None if taints is None else tuple(read_taint(each) for each in mappings(taints)),
        count,
        not isinstance(at(value, "kubeletExtraArgs"), Mapping) and not manifest.api_version.endswith("v1beta1"),
    )


def _arguments(manifest: Manifest, path: str, configuration: Object, otherwise: bool | None) -> ControlPlaneArguments:
    return ControlPlaneArguments(
        manifest,
        path,
        of_extra_arguments(at(configuration, "controllerManager", "extraArgs")),
        True if at(configuration, "networking", "podSubnet") else otherwise,
    )
