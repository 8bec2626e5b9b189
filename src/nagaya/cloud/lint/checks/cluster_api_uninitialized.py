"""L1b: Cluster API's own taint of new workers, which goes away only after the cloud controller manager has worked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.cloud.lint.check import Check, kept_away
from nagaya.cloud.lint.finding import Finding, Severity
from nagaya.cloud.lint.manifests import Manifests
from nagaya.cloud.lint.taints import CAPI_UNINITIALIZED

_ID: Final = "L1b"


def _run(manifests: Manifests) -> Iterator[Finding]:
    for each in manifests.initialisers:
        place = manifests.obstacle(each)
        if place is not None and CAPI_UNINITIALIZED in place.untolerated:
            yield kept_away(
                _ID,
                manifests,
                each,
                CAPI_UNINITIALIZED,
                f"Cluster API's bootstrap provider gives new workers {CAPI_UNINITIALIZED} and takes it away when it "
                "finds the Node by its providerID, which this cloud controller manager sets: they wait for each other.",
            )
    for network in manifests.networks:
        place = manifests.obstacle(network.workload)
        if place is None or CAPI_UNINITIALIZED not in place.untolerated:
            continue
        depends = any(not each.host_network for each in manifests.initialisers)
        yield kept_away(
            _ID,
            manifests,
            network.workload,
            CAPI_UNINITIALIZED,
            f"{network.name} does not go to new workers before Cluster API has found their Nodes by the providerID "
            "that the cloud controller manager sets"
            + (", and the cloud controller manager needs the pod network." if depends else "."),
            Severity.ERROR if depends else Severity.WARNING,
        )


CHECK: Final = Check(
    _ID,
    "a workload does not tolerate Cluster API's taint of new workers",
    Severity.ERROR,
    """Cluster API's kubeadm bootstrap provider registers workers with node.cluster.x-k8s.io/uninitialized:NoSchedule,
so that no pod is placed by labels that are not there yet. Its Machine controller removes the taint when it has found
the Node, and it finds it by spec.providerID. Unless the kubelet is given --provider-id, that field is set by the cloud
controller manager. A cloud controller manager that runs on workers (there are no others with a hosted control plane)
must therefore tolerate this taint too.""",
    _run,
)
