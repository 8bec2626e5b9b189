"""L6: the cloud controller manager must not need the pod network."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.cloud.lint.check import Check, finding
from nagaya.cloud.lint.finding import Finding, Severity
from nagaya.cloud.lint.manifests import Manifests

_ID: Final = "L6"


def _run(manifests: Manifests) -> Iterator[Finding]:
    for each in manifests.initialisers:
        if each.host_network:
            continue
        known, unknown = manifests.network_waits, manifests.network_may_wait
        yield finding(
            _ID,
            Severity.ERROR if known else Severity.WARNING,
            each.manifest,
            f"{each.path}.hostNetwork",
            "hostNetwork: false",
            "Its pods need the pod network to start, "
            + (
                f"and the pod network needs it: {known}."
                if known
                else f"and whether that needs it in turn is open: {unknown}."
                if unknown
                else "so it starts after the pod network and stops with it, on every node where that fails."
            ),
            "hostNetwork: true\ndnsPolicy: Default",
        )


CHECK: Final = Check(
    _ID,
    "the cloud controller manager needs the pod network",
    Severity.ERROR,
    """A pod without hostNetwork gets its address from the pod network. If that waits for anything that the cloud
controller manager sets (addresses, the removal of a taint), neither starts. With hostNetwork the container starts as
soon as the kubelet runs. It is an error if the set shows that the pod network waits, else a warning. For a cloud
controller manager outside of the cluster it does not matter.""",
    _run,
)
