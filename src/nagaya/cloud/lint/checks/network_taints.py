"""L13: the pod network makes nodes ready, so it must go to nodes that are not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.cloud.lint.check import Check, finding, kept_away
from nagaya.cloud.lint.components import Network
from nagaya.cloud.lint.finding import Finding, Severity
from nagaya.cloud.lint.manifests import Manifests
from nagaya.cloud.lint.taints import NOT_READY, UNINITIALIZED, untolerated

_ID: Final = "L13"


def _run(manifests: Manifests) -> Iterator[Finding]:
    for each in manifests.networks:
        if each.operator and not each.workload.host_network and each.workload.kind == "Deployment":
            yield finding(
                _ID,
                Severity.ERROR,
                each.workload.manifest,
                f"{each.workload.path}.hostNetwork",
                "hostNetwork: false",
                f"{each.name} needs {each.workload} to get going, and that needs the pod network "
                f"that {each.name} makes.",
                "hostNetwork: true",
            )
        yield from _kept_away(manifests, each)


def _kept_away(manifests: Manifests, network: Network) -> Iterator[Finding]:
    place = manifests.obstacle(network.workload)
    if place is None:
        yield from _control_plane(manifests, network)
        return
    if NOT_READY in place.untolerated:
        yield kept_away(
            _ID,
            manifests,
            network.workload,
            NOT_READY,
            f"Nodes carry {NOT_READY} until they have a pod network. {network.name} does not tolerate that: it waits "
            "for its own work.",
        )
    if UNINITIALIZED in place.untolerated:
        blocked = next((each for each in manifests.initialisers if not each.host_network), None)
        lost = next((each for each in manifests.initialisers if manifests.obstacle(each) is not None), None)
        cause = (
            f"and {blocked} needs the pod network."
            if blocked
            else f"and {lost} is kept from all nodes itself."
            if lost
            else "so it starts only after that, and never if that fails."
        )
        yield kept_away(
            _ID,
            manifests,
            network.workload,
            UNINITIALIZED,
            f"{network.name} waits until a cloud controller manager has taken {UNINITIALIZED} from the node, {cause}",
            Severity.ERROR if blocked or lost else Severity.WARNING,
        )


def _control_plane(manifests: Manifests, network: Network) -> Iterator[Finding]:
    """It goes to some nodes; those that it never goes to are never ready."""
    for nodes in manifests.node_classes:
        lasting = [each for each in nodes.taints if each.key.startswith("node-role.kubernetes.io/")]
        if network.operator or not untolerated(lasting, network.workload.tolerations):
            continue
        yield kept_away(
            _ID,
            manifests,
            network.workload,
            lasting[0],
            f"{network.name} never goes to nodes of the class {nodes.name}, so they never get ready.",
            Severity.WARNING,
        )


CHECK: Final = Check(
    _ID,
    "the pod network does not go to nodes that are new",
    Severity.ERROR,
    """The agent of a pod network runs on each node and makes it ready. It must tolerate not-ready:NoSchedule, and
should tolerate everything (operator: Exists without a key), as the usual ones do. Without a toleration of
node.cloudprovider.kubernetes.io/uninitialized it depends on the cloud controller manager, which is an error if that
needs the pod network or cannot be scheduled itself. An operator that installs the agents must be in the host's
network: it cannot wait for what it installs.""",
    _run,
)
