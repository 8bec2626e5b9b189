"""L25: next to a hosted control plane, the rules of another cluster count."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.cloud.lint.check import Check, finding
from nagaya.cloud.lint.finding import Finding, Severity
from nagaya.cloud.lint.manifests import HOSTED, Manifests

_ID: Final = "L25"


def _run(manifests: Manifests) -> Iterator[Finding]:
    for each in manifests.outside:
        yield finding(
            _ID,
            Severity.INFO,
            each.manifest,
            f"{each.path}.containers[0].args",
            f"--kubeconfig={each.flag('kubeconfig')}",
            "It runs outside of the cluster whose nodes it initialises, so their taints do not concern it. What counts "
            "is that the cluster it runs in takes its pods, and that they reach the tenant's API server and the cloud.",
            "kubectl get pods -o wide, and the logs of its pods, in the cluster that it runs in.",
        )
    control_planes = manifests.of(*HOSTED)
    for each in manifests.inside:
        if not manifests.outside and not control_planes:
            return
        twice = bool(manifests.outside)
        yield finding(
            _ID,
            Severity.WARNING if twice else Severity.INFO,
            each.manifest,
            each.path,
            str(manifests.outside[0]) if twice else str(control_planes[0]),
            "A cloud controller manager runs next to the hosted control plane already; this one works against it."
            if twice
            else "The control plane is hosted, and this runs on the workers that it has to initialise, with the "
            "cloud's credentials in reach of the tenant. Next to the control plane it could not be kept from starting.",
            "Run one of the two." if twice else "Run it where the control plane runs, with the tenant's kubeconfig.",
        )


CHECK: Final = Check(
    _ID,
    "the control plane is hosted elsewhere",
    Severity.WARNING,
    """With a hosted control plane, the cloud controller manager is best run next to it, with the tenant's kubeconfig:
then nothing that initialises nodes is scheduled on them, no deadlock is possible, and the tenant never sees the
cloud's credentials. Its pods follow the rules of the cluster that they run in; what is left to check is whether they
reach the tenant's API server and the cloud. One inside and one outside of the tenant work against each other.""",
    _run,
)
