"""From v1beta1 (for some groups v1alpha1) of today's groups to v1beta2: the same kinds, with fields in other places."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from nagaya.api.conversion.draft import Draft
from nagaya.api.conversion.v1beta1 import (
    cluster_classes,
    clusters,
    control_planes,
    health_checks,
    kubeadm,
    machines,
    small_changes,
)

CLUSTER: Final = "cluster.x-k8s.io"
BOOTSTRAP: Final = "bootstrap.cluster.x-k8s.io"
CONTROL_PLANE: Final = "controlplane.cluster.x-k8s.io"
ADDONS: Final = "addons.cluster.x-k8s.io"
IPAM: Final = "ipam.cluster.x-k8s.io"
RUNTIME: Final = "runtime.cluster.x-k8s.io"

VERSIONS: Final[Mapping[str, tuple[str, ...]]] = {
    CLUSTER: ("v1beta1",),
    BOOTSTRAP: ("v1beta1",),
    CONTROL_PLANE: ("v1beta1",),
    ADDONS: ("v1beta1",),
    IPAM: ("v1alpha1", "v1beta1"),
    RUNTIME: ("v1alpha1",),
}
"""The versions that each group had before v1beta2 and that can be converted."""

KINDS: Final[Mapping[tuple[str, str], Callable[[Draft], None]]] = {
    (CLUSTER, "Cluster"): clusters.cluster,
    (CLUSTER, "ClusterClass"): cluster_classes.cluster_class,
    (CLUSTER, "Machine"): machines.machine,
    (CLUSTER, "MachineSet"): machines.machine_set,
    (CLUSTER, "MachineDeployment"): machines.machine_deployment,
    (CLUSTER, "MachinePool"): machines.machine_pool,
    (CLUSTER, "MachineHealthCheck"): health_checks.machine_health_check,
    (CLUSTER, "MachineDrainRule"): small_changes.unchanged,
    (BOOTSTRAP, "KubeadmConfig"): kubeadm.kubeadm_config,
    (BOOTSTRAP, "KubeadmConfigTemplate"): kubeadm.kubeadm_config_template,
    (CONTROL_PLANE, "KubeadmControlPlane"): control_planes.kubeadm_control_plane,
    (CONTROL_PLANE, "KubeadmControlPlaneTemplate"): control_planes.kubeadm_control_plane_template,
    (ADDONS, "ClusterResourceSet"): small_changes.unchanged,
    (ADDONS, "ClusterResourceSetBinding"): small_changes.cluster_resource_set_binding,
    (IPAM, "IPAddress"): small_changes.unchanged,
    (IPAM, "IPAddressClaim"): small_changes.ip_address_claim,
    (RUNTIME, "ExtensionConfig"): small_changes.unchanged,
}
