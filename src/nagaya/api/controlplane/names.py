"""Annotations and finalizers of kubeadm control planes."""

from __future__ import annotations

from typing import Final

from nagaya.api.cluster.annotations import PRE_TERMINATE_DELETE_HOOK_PREFIX

FINALIZER: Final = "kubeadm.controlplane.cluster.x-k8s.io"
"""Keeps a KubeadmControlPlane until its machines are gone."""

SKIP_COREDNS: Final = "controlplane.cluster.x-k8s.io/skip-coredns"
"""On a KubeadmControlPlane: CoreDNS is left alone during upgrades."""

SKIP_KUBE_PROXY: Final = "controlplane.cluster.x-k8s.io/skip-kube-proxy"
"""On a KubeadmControlPlane: kube-proxy is left alone during upgrades."""

REMEDIATION_IN_PROGRESS: Final = "controlplane.cluster.x-k8s.io/remediation-in-progress"
"""On a KubeadmControlPlane: an unhealthy machine is deleted and its replacement not made yet. Its value is the record
from which retries are counted."""

REMEDIATION_FOR: Final = "controlplane.cluster.x-k8s.io/remediation-for"
"""On a Machine: the first machine of the chain of replacements that this one is the last of."""

PRE_TERMINATE_HOOK_CLEANUP: Final = f"{PRE_TERMINATE_DELETE_HOOK_PREFIX}/kcp-cleanup"
"""On a Machine: the control plane takes its etcd member out before the infrastructure goes. Always the last hook."""
