"""L14: a pod network that wants addresses of nodes, kubelets that do not say them, and a cloud controller manager that
waits for the pod network."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.cloud.lint.check import Check, finding
from nagaya.cloud.lint.finding import Finding, Severity
from nagaya.cloud.lint.manifests import Manifests
from nagaya.cloud.lint.taints import NOT_READY
from nagaya.cloud.lint.workload import Workload

_ID: Final = "L14"


def _run(manifests: Manifests) -> Iterator[Finding]:
    network = manifests.needs_addresses
    waiting = next((each for each in manifests.initialisers if _waits(manifests, each)), None)
    if not network or waiting is None or manifests.nodes_have_addresses is not False:
        return
    for each in manifests.registrations:
        if each.external and not each.arguments.get("node-ip"):
            yield finding(
                _ID,
                Severity.ERROR,
                each.manifest,
                f"{each.path}.kubeletExtraArgs",
                "--node-ip",
                f"{network} waits for the internal address of its node. With --cloud-provider=external and without "
                f"--node-ip only the cloud controller manager sets it, and {waiting} waits for {network}.",
                each.node_ip,
            )


def _waits(manifests: Manifests, workload: Workload) -> bool:
    place = manifests.obstacle(workload)
    return not workload.host_network or (place is not None and NOT_READY in place.untolerated)


CHECK: Final = Check(
    _ID,
    "the pod network waits for addresses, and the cloud controller manager for the pod network",
    Severity.ERROR,
    """Cilium and kube-router, Calico with the autodetection method kubernetes-internal-ip, and Flannel with
--public-ip from the node wait until their node has an internal address in the API. A kubelet with
--cloud-provider=external reports only its host name, unless --node-ip is given: then it reports that address at once.
--node-ip is the simplest cure for this whole family of deadlocks.""",
    _run,
)
