"""L22: one machine must have one identifier, whoever writes it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from nagaya.cloud.lint.check import Check, finding
from nagaya.cloud.lint.finding import Finding, Severity
from nagaya.cloud.lint.manifests import Manifests
from nagaya.cloud.lint.nodes import provider_id
from nagaya.cloud.lint.plain import text
from nagaya.cloud.lint.workload import Workload

_ID: Final = "L22"
_INFRASTRUCTURE: Final = {
    "Proxmox": "proxmox",
    "VSphere": "vsphere",
    "AWS": "aws",
    "OpenStack": "openstack",
    "Azure": "azure",
    "GCP": "gce",
    "HCloud": "hcloud",
    "Metal3": "metal3",
    "Kubevirt": "kubevirt",
}
"""How kinds of infrastructure providers begin, and the scheme of the identifiers that they write."""
_SCHEMES: Final = {"gcp": "gce", "external-cloudstack": "cloudstack"}
"""Names of cloud providers that differ from the scheme of their identifiers."""
_BY_REGION: Final = "proxmox-cloud-controller-manager"
"""It writes proxmox://REGION/VMID; Cluster API's provider for Proxmox, and Nagaya, write proxmox://UUID."""


def _run(manifests: Manifests) -> Iterator[Finding]:
    for each in manifests.clouds:
        yield from _of_kubelets(manifests, each)
        yield from _of_infrastructure(manifests, each)
    yield from _of_nodes(manifests)


def scheme_of(workload: Workload) -> str:
    """How the identifiers that a cloud controller manager writes begin; empty if it does not say its provider."""
    provider = workload.flag("cloud-provider")
    return _SCHEMES.get(provider, provider)


def _sure(scheme: str) -> Severity:
    """Of a cloud that is not known here, the scheme may differ from the name."""
    return Severity.ERROR if scheme in _INFRASTRUCTURE.values() else Severity.WARNING


def _of_kubelets(manifests: Manifests, workload: Workload) -> Iterator[Finding]:
    scheme = scheme_of(workload)
    for each in manifests.registrations:
        own, separator, _ = each.arguments.get("provider-id", "").partition("://")
        if scheme and separator and own != scheme:
            yield finding(
                _ID,
                _sure(scheme),
                each.manifest,
                f"{each.path}.kubeletExtraArgs",
                f"--provider-id={own}://...",
                f"{workload} knows identifiers that begin with {scheme}://, and takes this node for one of another "
                "cloud: it never initialises it.",
                "Leave --provider-id out, or give the identifier of this cloud.",
            )


def _of_infrastructure(manifests: Manifests, workload: Workload) -> Iterator[Finding]:
    scheme = scheme_of(workload)
    for each in manifests.objects:
        if each.group != "infrastructure.cluster.x-k8s.io":
            continue
        expected = next((value for key, value in _INFRASTRUCTURE.items() if each.kind.startswith(key)), "")
        if scheme and expected and expected != scheme:
            yield finding(
                _ID,
                _sure(scheme),
                workload.manifest,
                f"{workload.path}.containers[0].args",
                f"--cloud-provider={workload.flag('cloud-provider')}",
                f"{each} gives machines identifiers that begin with {expected}://, and the cloud controller manager "
                f"{scheme}://: Cluster API never finds the Nodes of its Machines.",
                f"args:\n- --cloud-provider={expected}",
            )
            return
        if expected == "proxmox" and _BY_REGION in workload.programs and not _as_cluster_api(manifests, workload):
            config = manifests.cloud_config(workload)
            yield finding(
                _ID,
                Severity.WARNING if config is None else Severity.ERROR,
                workload.manifest,
                f"{workload.path}.volumes",
                "proxmox://REGION/VMID, proxmox://UUID",
                f"{each} identifies machines by proxmox://UUID, and this cloud controller "
                "manager by proxmox://REGION/VMID"
                + (" unless its configuration, which is not in the set, says otherwise" if config is None else "")
                + ": Cluster API never finds the Nodes of its Machines.",
                "features:\n  provider: capmox  # in the configuration of the cloud controller manager",
            )
            return


def _as_cluster_api(manifests: Manifests, workload: Workload) -> bool:
    config = manifests.cloud_config(workload)
    words = [] if config is None else config.text.replace('"', "").replace("'", "").split()
    return any(pair == ("provider:", "capmox") for pair in pairwise(words))


def _of_nodes(manifests: Manifests) -> Iterator[Finding]:
    machines = {text(each.at("status", "nodeRef", "name")): each for each in manifests.of("Machine")}
    identifiers = {text(each.at("spec", "providerID")) for each in manifests.of("Machine")} - {""}
    for node in manifests.of("Node"):
        own = provider_id(node)
        if own and identifiers and own not in identifiers and node.name not in machines:
            yield finding(
                _ID,
                Severity.ERROR,
                node,
                "spec.providerID",
                own,
                "No Machine has this identifier, so Cluster API does not know whose Node this is: its Machine never "
                "gets a nodeRef.",
                "Make the cloud controller manager and the infrastructure provider write the same identifiers, then "
                "delete the Node and restart its kubelet: the field cannot be changed.",
            )


CHECK: Final = Check(
    _ID,
    "machines have different identifiers for different components",
    Severity.ERROR,
    """spec.providerID of a Node is set once, by the kubelet (--provider-id) or by the cloud controller manager, and
cannot be changed. Cluster API finds the Node of a Machine by it, so the infrastructure provider must give the Machine
the same. For Proxmox VE the public cloud controller manager writes proxmox://REGION/VMID unless its configuration says
`features.provider: capmox`; Cluster API's provider writes proxmox://UUID.""",
    _run,
)
