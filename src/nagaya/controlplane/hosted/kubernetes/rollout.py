"""The order of an upgrade: API servers go first, the controllers follow, and on the way back the other way round.

kube-controller-manager and kube-scheduler must never be newer than an API server that they may talk to. So, as long as
one of the two Deployments has to wait, it is left as it is, whatever else has changed in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nagaya.clusters.kubernetes_version import KubernetesVersion, compare, parse
from nagaya.controlplane.hosted.kubernetes import names
from nagaya.controlplane.hosted.tenant.releases import image_tag


@dataclass(frozen=True, slots=True)
class DeploymentSeen:
    """A Deployment as it is."""

    version: str
    """Of Kubernetes, which its pods shall have."""
    current: bool
    """Whether its controller has seen the last change."""
    replicas: int
    updated: int
    """Pods that are as they shall be."""
    available: int
    total: int
    """All pods, also those that are to go."""

    @property
    def rolled_out(self) -> bool:
        """Whether all pods are as they shall be and work, and no other is left."""
        return self.current and self.updated == self.available == self.total == self.replicas


def seen(deployment: Mapping[str, Any]) -> DeploymentSeen:
    """What a Deployment says of itself."""
    metadata, spec, status = deployment["metadata"], deployment["spec"], deployment.get("status", {})
    labels = spec["template"]["metadata"].get("labels", {})
    return DeploymentSeen(
        version=labels.get(names.VERSION, ""),
        current=status.get("observedGeneration", 0) >= metadata.get("generation", 0),
        replicas=spec.get("replicas", 1),
        updated=status.get("updatedReplicas", 0),
        available=status.get("availableReplicas", 0),
        total=status.get("replicas", 0),
    )


@dataclass(frozen=True, slots=True)
class Turn:
    """Which of the Deployments may be applied now, and what the others wait for."""

    api_servers: bool
    controllers: bool
    message: str


def turn(version: str, api_servers: DeploymentSeen | None, controllers: DeploymentSeen | None) -> Turn:
    """Whose turn it is on the way to a version."""
    if api_servers is None or controllers is None:
        return Turn(True, True, "The control plane is being made.")
    api_goes_up, controllers_go_up = (_order(each.version, version) for each in (api_servers, controllers))
    wanted = image_tag(version)
    if controllers_go_up < 0:
        if api_goes_up < 0:
            return Turn(True, False, f"API servers are upgraded from {api_servers.version} to {wanted} first.")
        if not api_servers.rolled_out:
            done = f"{api_servers.updated} of {api_servers.replicas}"
            return Turn(True, False, f"Controllers wait until all API servers have {wanted}: {done} have.")
        return Turn(True, True, f"All API servers have {wanted}: controllers follow.")
    if api_goes_up > 0:
        if controllers_go_up > 0:
            return Turn(False, True, f"Controllers go back from {controllers.version} to {wanted} first.")
        if not controllers.rolled_out:
            done = f"{controllers.updated} of {controllers.replicas}"
            return Turn(False, True, f"API servers wait until all controllers have {wanted}: {done} have.")
        return Turn(True, True, f"All controllers have {wanted}: API servers follow.")
    return Turn(True, True, f"All have {wanted}.")


def _order(running: str, wanted: str) -> int:
    """-1 if what runs is older than what is wanted, 1 if it is newer. Builds without an order count as older; where no
    version is known, nobody waits."""
    now, then = (_parsed(each) for each in (running, wanted))
    if now is None or then is None or image_tag(running) == image_tag(wanted):
        return 0
    found = compare(now, then)
    return -1 if found is None else found


def _parsed(version: str) -> KubernetesVersion | None:
    return parse(version.replace("_", "+"))
