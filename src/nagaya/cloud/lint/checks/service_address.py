"""L10: the address of the API server as a Service works only where somebody makes Services work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.cloud.lint.check import Check, finding
from nagaya.cloud.lint.components import is_kube_proxy
from nagaya.cloud.lint.finding import Finding, Severity
from nagaya.cloud.lint.manifests import Manifests

_ID: Final = "L10"


def _run(manifests: Manifests) -> Iterator[Finding]:
    replacement = manifests.replaces_kube_proxy
    skipped = bool({"addon", "addon/kube-proxy"} & manifests.skipped_phases)
    if not replacement and (not skipped or any(is_kube_proxy(each) for each in manifests.workloads)):
        return
    for each in manifests.initialisers:
        own = each.flag("kubeconfig") or each.flag("master") or "KUBERNETES_SERVICE_HOST" in each.environment
        if own or each.static:
            continue
        known = manifests.network_waits if replacement else ""
        yield finding(
            _ID,
            Severity.ERROR if known else Severity.WARNING,
            each.manifest,
            f"{each.path}.containers[0].env",
            "KUBERNETES_SERVICE_HOST",
            "It reaches the API server by the address of the Service kubernetes, and there is no kube-proxy: "
            + (f"{replacement.workload} takes its place. " if replacement else "kubeadm leaves it out. ")
            + (f"But {known}." if known else "Until something serves Services on its node, it reaches nothing."),
            "env:\n- name: KUBERNETES_SERVICE_HOST\n  value: <address of the API server>\n"
            '- name: KUBERNETES_SERVICE_PORT\n  value: "6443"',
        )


CHECK: Final = Check(
    _ID,
    "the API server is reached through a Service that nothing serves yet",
    Severity.ERROR,
    """Inside a pod the API server is found by the address of the Service default/kubernetes. kube-proxy makes that
work on every node from the start, as it tolerates everything. Where a pod network replaces kube-proxy, Services work
only after the pod network does; and if that waits for the cloud controller manager, neither comes up. Give the cloud
controller manager the real address with KUBERNETES_SERVICE_HOST and _PORT, or with --kubeconfig.""",
    _run,
)
