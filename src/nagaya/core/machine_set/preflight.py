"""What must hold before a machine is made: workers join a control plane that stands still, at a version it can serve.

The texts are Cluster API's. A control plane without a version tells too little to judge, so nothing is checked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from nagaya.api.cluster.annotations import SKIP_PREFLIGHT_CHECKS, UPGRADE_STEP
from nagaya.api.cluster.cluster import Cluster
from nagaya.api.contract.provider import Broken, ControlPlane
from nagaya.clusters.kubernetes_version import KubernetesVersion, compare, parse
from nagaya.core.machine_set.seen import Seen

ALL: Final = "All"
CONTROL_PLANE_IS_STABLE: Final = "ControlPlaneIsStable"
KUBERNETES_VERSION_SKEW: Final = "KubernetesVersionSkew"
KUBEADM_VERSION_SKEW: Final = "KubeadmVersionSkew"
CONTROL_PLANE_VERSION_SKEW: Final = "ControlPlaneVersionSkew"

SUPPORTED_SKEW: Final = 3
"""How many minor versions a kubelet may be behind its API server."""
KUBEADM_GROUP: Final = "bootstrap.cluster.x-k8s.io"
KUBEADM_TEMPLATE: Final = "KubeadmConfigTemplate"


def preflight(seen: Seen, action: str, enabled: Collection[str]) -> tuple[str, ...]:
    """Why machines cannot be made now, a sentence each. Nothing if they can."""
    skipped = _skipped(seen)
    if not enabled or ALL in skipped or seen.cluster is None or seen.cluster.spec.control_plane_ref is None:
        return ()
    namespace = seen.cluster.metadata.namespace
    place = f"{namespace}/{seen.cluster.spec.control_plane_ref.name}"
    failed = f'failed to perform "{action}": failed to perform preflight checks'
    if seen.control_plane is None:
        return (f"{failed}: failed to get ControlPlane {place}: {seen.control_plane_problem}",)
    checks = {each for each in _CHECKS if (ALL in enabled or each in enabled) and each not in skipped}
    try:
        wanted = seen.control_plane.version
        if not wanted:
            return ()
        version = parse(wanted)
        if version is None:
            return (f'{failed}: failed to parse version "{wanted}" of ControlPlane {place}',)
        own = seen.machine_set.spec.template.spec.version
        if own and parse(own) is None:
            name = f"{namespace}/{seen.machine_set.metadata.name}"
            return (f'{failed}: failed to parse version "{own}" of MachineSet {name}',)
        return tuple(_failures(seen, seen.cluster, seen.control_plane, version, checks))
    except Broken as problem:
        return (f"{failed}: {problem}",)


_CHECKS: Final = (
    CONTROL_PLANE_IS_STABLE,
    KUBERNETES_VERSION_SKEW,
    KUBEADM_VERSION_SKEW,
    CONTROL_PLANE_VERSION_SKEW,
)


def _failures(
    seen: Seen, cluster: Cluster, control_plane: ControlPlane, version: KubernetesVersion, checks: Collection[str]
) -> Iterator[str]:
    if CONTROL_PLANE_IS_STABLE in checks and (problem := _unstable(cluster, control_plane, version)):
        yield f"{problem} {_failed(CONTROL_PLANE_IS_STABLE)}"
    own_text = seen.machine_set.spec.template.spec.version
    own = parse(own_text)
    if own is None:
        return
    both = f"MachineSet version ({own}) and ControlPlane version ({version}) do not conform to"
    if KUBERNETES_VERSION_SKEW in checks and (problem := _skew(own, version)):
        yield f"{both} the kubernetes version skew policy as {problem} {_failed(KUBERNETES_VERSION_SKEW)}"
    if KUBEADM_VERSION_SKEW in checks and _uses_kubeadm(seen) and own.minor != version.minor:
        yield (
            f"{both} kubeadm version skew policy as kubeadm only supports joining with the same major+minor version "
            f"as the control plane {_failed(KUBEADM_VERSION_SKEW)}"
        )
    wanted = control_plane.version
    if CONTROL_PLANE_VERSION_SKEW in checks and cluster.spec.topology is not None and wanted != own_text:
        yield (
            f"MachineSet version ({own_text}) is not yet the same as the ControlPlane version ({wanted}), waiting for "
            f"version to be propagated to the MachineSet {_failed(CONTROL_PLANE_VERSION_SKEW)}"
        )


def _unstable(cluster: Cluster, control_plane: ControlPlane, version: KubernetesVersion) -> str:
    obj = control_plane.object
    title = f"{obj.kind} {obj.metadata.namespace}/{obj.metadata.name}"
    if cluster.spec.topology is not None:
        step = cluster.metadata.annotations.get(UPGRADE_STEP, "")
        pending = step or cluster.spec.topology.version
        if cluster.spec.topology.version != control_plane.version and step != control_plane.version:
            return f"{title} has a pending version upgrade to {pending}"
    running = [each for each in control_plane.versions if each]
    if not running:
        return f"{title} is provisioning"
    for each in running:
        found = parse(each)
        if found is None:
            return f"{title} runs {each}, which is no version"
        if compare(version, found) in (1, None):
            return f"{title} is upgrading"
    return ""


def _skew(own: KubernetesVersion, version: KubernetesVersion) -> str:
    if own.minor > version.minor:
        return "MachineSet version is higher than ControlPlane version"
    if own.minor < version.minor - SUPPORTED_SKEW:
        return f"MachineSet version is more than {SUPPORTED_SKEW} minor versions older than the ControlPlane version"
    return ""


def _uses_kubeadm(seen: Seen) -> bool:
    reference = seen.machine_set.spec.template.spec.bootstrap.config_ref
    return reference is not None and (reference.kind, reference.api_group) == (KUBEADM_TEMPLATE, KUBEADM_GROUP)


def _failed(check: str) -> str:
    return f'("{check}" preflight check failed)'


def _skipped(seen: Seen) -> frozenset[str]:
    """The set says so itself, or else the template of the boot data does."""
    told = seen.machine_set.metadata.annotations.get(SKIP_PREFLIGHT_CHECKS, "")
    if not told and seen.bootstrap is not None and seen.bootstrap.object is not None:
        told = seen.bootstrap.object.metadata.annotations.get(SKIP_PREFLIGHT_CHECKS, "")
    return frozenset(each.strip() for each in told.split(",") if told)
