"""L23: the route controller must have something to make routes of, or be off."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.cloud.lint.check import Check, finding
from nagaya.cloud.lint.components import runs_controller
from nagaya.cloud.lint.finding import Finding, Severity
from nagaya.cloud.lint.manifests import Manifests
from nagaya.cloud.lint.workload import Workload

_ID: Final = "L23"
_ROUTING: Final = ("aws", "gce", "azure")
"""Clouds whose controller always offers routes."""
_NEVER: Final = ("proxmox", "vsphere", "kubevirt", "metal3", "ibm")
"""Clouds that have none: there the controller is never started."""


def _run(manifests: Manifests) -> Iterator[Finding]:
    for each in manifests.inside:
        provider = each.flag("cloud-provider")
        on = each.is_on("configure-cloud-routes", True) and runs_controller(each, "route", "node-route-controller")
        if not on or provider in _NEVER:
            continue
        if provider in _ROUTING and not each.flag("cluster-cidr"):
            yield _finding(
                each,
                Severity.ERROR,
                "--configure-cloud-routes without --cluster-cidr",
                "The route controller is on unless it is turned off, and without --cluster-cidr the program ends at "
                "its start: it never initialises a node.",
            )
        elif (reason := _no_ranges(manifests)) and (provider in _ROUTING or each.flag("configure-cloud-routes")):
            yield _finding(
                each,
                Severity.ERROR,
                "--configure-cloud-routes",
                f"{reason}, so nodes get no range of pod addresses. For nodes without a route the route controller "
                "sets NetworkUnavailable, and the taint of that keeps pods away for ever.",
            )


def _finding(workload: Workload, severity: Severity, subject: str, why: str) -> Finding:
    fix = "args:\n- --configure-cloud-routes=false"
    return finding(_ID, severity, workload.manifest, f"{workload.path}.containers[0].args", subject, why, fix)


def _no_ranges(manifests: Manifests) -> str:
    """Why kube-controller-manager gives nodes no ranges; empty if it does or nothing tells."""
    for each in manifests.control_plane_arguments:
        value = each.controller_manager.get("allocate-node-cidrs", "")
        if value.lower() == "false":
            return f"{each.manifest} turns --allocate-node-cidrs off"
        if each.has_pod_subnet is False and value.lower() != "true":
            return f"{each.manifest} is given no range of pod addresses"
    return ""


CHECK: Final = Check(
    _ID,
    "the route controller is on and has nothing to make routes of",
    Severity.ERROR,
    """--configure-cloud-routes is on by default. Where the cloud offers routes, the route controller needs
--cluster-cidr, or the program ends at its start, and nodes need spec.podCIDRs (kube-controller-manager's
--allocate-node-cidrs, which kubeadm sets if networking.podSubnet, or the Cluster's clusterNetwork.pods, is given). A
node without routes gets the condition NetworkUnavailable and the taint node.kubernetes.io/network-unavailable. With an
overlay network, turn the route controller off.""",
    _run,
)
