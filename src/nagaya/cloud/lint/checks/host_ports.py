"""L8: in the host's network a port is there once for each node."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Final

from nagaya.cloud.lint.check import Check, finding
from nagaya.cloud.lint.components import is_cloud
from nagaya.cloud.lint.finding import Finding, Severity
from nagaya.cloud.lint.manifests import Manifests
from nagaya.cloud.lint.placement import keeps_apart, node_count, places
from nagaya.cloud.lint.plain import mappings, number
from nagaya.cloud.lint.workload import Workload

_ID: Final = "L8"
CLOUD_PORT: Final = 10258
"""Where a cloud controller manager serves health and metrics unless --secure-port says otherwise."""
WEBHOOK_PORT: Final = 10260
_TAKEN: Final = {
    2379: "etcd",
    2380: "etcd",
    6443: "kube-apiserver",
    10248: "the kubelet",
    10249: "kube-proxy",
    10250: "the kubelet",
    10256: "kube-proxy",
    10257: "kube-controller-manager",
    10259: "kube-scheduler",
}


def _run(manifests: Manifests) -> Iterator[Finding]:
    for each in manifests.inside:
        ports = _ports(each)
        for port in sorted(ports & _TAKEN.keys()):
            yield _finding(each, port, f"{_TAKEN[port]} listens on port {port} of the same nodes", Severity.ERROR)
        nodes = node_count(each, manifests.node_classes)
        crowded = each.replicas > 1 and not each.daemon and not keeps_apart(each)
        if ports and crowded and (nodes is None or nodes < each.replicas):
            certain = nodes is not None and not each.budget()[1]
            yield finding(
                _ID,
                Severity.ERROR if certain else Severity.WARNING,
                each.manifest,
                f"{each.path}.affinity",
                f"hostNetwork: true, port {min(ports)}, replicas: {each.replicas}",
                f"Nothing keeps its {each.replicas} pods on different nodes, and on one node only one of them gets "
                f"port {min(ports)}: the others stay Pending or crash.",
                _APART.format(labels="\n".join(f"          {key}: {value}" for key, value in each.pod_labels.items())),
            )
    met: set[frozenset[Workload]] = set()
    for one, other in product(manifests.inside, manifests.workloads):
        pair = frozenset((one, other))
        common = sorted(_ports(one) & _ports(other))
        if common and one is not other and pair not in met and _meet(manifests, one, other):
            met.add(pair)
            yield _finding(one, common[0], f"{other} listens on port {common[0]} of the same nodes", Severity.ERROR)


def _finding(workload: Workload, port: int, what: str, severity: Severity) -> Finding:
    return finding(
        _ID,
        severity,
        workload.manifest,
        f"{workload.path}.containers",
        f"hostNetwork: true, port {port}",
        f"In the host's network {what}, so its pods cannot be scheduled there or crash when they start.",
        "args:\n- --secure-port=10268  # any port that is free on these nodes",
    )


def _ports(workload: Workload) -> set[int]:
    """The ports of the node that a pod takes."""
    declared = [
        number(each.get("containerPort") if workload.host_network else each.get("hostPort"))
        for container in workload.containers
        for each in mappings(container.get("ports"))
    ]
    found = {each for each in declared if each}
    if workload.host_network and is_cloud(workload):
        own = workload.flag("secure-port", str(CLOUD_PORT))
        webhook = workload.flag("webhook-secure-port", str(WEBHOOK_PORT)) if workload.flag("webhooks") else ""
        found |= {int(each) for each in (own, webhook) if each.isdecimal() and int(each)}
    return found


def _meet(manifests: Manifests, one: Workload, other: Workload) -> bool:
    """Whether both can be on the same nodes for certain: each takes all of a class, or there is one node."""
    names = [{each.nodes.name for each in places(some, manifests.node_classes)} for some in (one, other)]
    return bool(names[0] & names[1]) and (one.daemon or one.static) and (other.daemon or other.static)


_APART: Final = """affinity:
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
    - topologyKey: kubernetes.io/hostname
      labelSelector:
        matchLabels:
{labels}"""

CHECK: Final = Check(
    _ID,
    "two pods want the same port of one node",
    Severity.ERROR,
    """With hostNetwork a container's ports are the node's. A cloud controller manager listens on 10258
(--secure-port), and on 10260 if it serves webhooks. Two replicas on one node, or two cloud controller managers on the
same nodes, or a port of a component of the control plane: the scheduler refuses the second pod if the port is
declared, and the program crashes if it is not.""",
    _run,
)
