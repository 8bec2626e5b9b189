"""L21: kubelets should say their address, and it must be one that the cloud knows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.cloud.lint.check import Check, finding
from nagaya.cloud.lint.finding import Finding, Severity
from nagaya.cloud.lint.kubelets import Registration
from nagaya.cloud.lint.manifest import Manifest
from nagaya.cloud.lint.manifests import Manifests
from nagaya.cloud.lint.plain import mappings, text

_ID: Final = "L21"
PROVIDED: Final = "alpha.kubernetes.io/provided-node-ip"


def _run(manifests: Manifests) -> Iterator[Finding]:
    silent: dict[str, Registration] = {}
    for each in manifests.registrations:
        if each.external and not each.arguments.get("node-ip"):
            silent.setdefault(str(each.manifest), each)
    for each in silent.values():
        yield finding(
            _ID,
            Severity.WARNING,
            each.manifest,
            f"{each.path}.kubeletExtraArgs",
            "--node-ip",
            "With --cloud-provider=external and without --node-ip a node has no address before the cloud controller "
            "manager sets one: whatever asks for it (pod networks, logs, exec) waits until then.",
            each.node_ip,
        )
    for node in manifests.of("Node"):
        provided = node.annotations.get(PROVIDED, "")
        known = _known(manifests, node)
        if provided and known and provided not in known:
            yield finding(
                _ID,
                Severity.ERROR,
                node,
                f"metadata.annotations[{PROVIDED}]",
                provided,
                f"The kubelet was started with --node-ip={provided}, and the cloud knows its machine by "
                f"{', '.join(known)}: the cloud controller manager refuses to initialise a node whose address it does "
                "not know.",
                f"--node-ip={known[0]}",
            )


def _known(manifests: Manifests, node: Manifest) -> list[str]:
    """The addresses of the Machine that a node belongs to."""
    for each in manifests.of("Machine"):
        if text(each.at("status", "nodeRef", "name")) == node.name:
            addresses = mappings(each.at("status", "addresses"))
            return [text(one.get("address")) for one in addresses if text(one.get("type")).endswith("IP")]
    return []


CHECK: Final = Check(
    _ID,
    "kubelets do not say their address, or say one that the cloud does not know",
    Severity.ERROR,
    """--node-ip makes a kubelet report an address at once, which takes away the most common reason why pod networks
wait for the cloud controller manager. 0.0.0.0 means the address of the default route. The address is also written to
an annotation, and the cloud controller manager initialises the node only if the cloud knows that address for its
machine.""",
    _run,
)
