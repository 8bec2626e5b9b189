"""The templates of Proxmox VE that the machines of clusters are to be made from: who needs which, and whether it is
there. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from nagaya.api.cluster.labels import CLUSTER_NAME
from nagaya.api.proxmox.proxmox_cluster import ProxmoxCluster
from nagaya.api.proxmox.proxmox_machine_template import PROXMOX_MACHINE_TEMPLATES
from nagaya.infrastructure.proxmox.machine_template.availability import Available, Use
from nagaya.insight.checkup.finding import Finding, Subject
from nagaya.insight.checkup.objects import Objects, typed
from nagaya.insight.picture.member import Member
from nagaya.insight.picture.references import reference_at

ADD: Final = "nagaya proxmox image add   # on every host; --help says from what"
_MAKERS: Final = (
    ("MachineDeployment", ("spec", "template", "spec")),
    ("KubeadmControlPlane", ("spec", "machineTemplate", "spec")),
)
"""Kinds that make machines, and where they say how."""


def templates(subject: Subject, found: Iterable[Available]) -> Iterator[Finding]:
    """Whether machines that are to be can be made, as findings. Pure."""
    for each in found:
        check = f"template for {each.use.who}"
        if each.missing:
            yield subject.problem(check, f"{each.missing[:1].upper()}{each.missing[1:]}.", ADD)
        elif each.lacking and not each.hosts:
            why = "; ".join(f"{name}: {told}" for name, told in each.lacking.items())
            yield subject.problem(check, f"No host can make machines from it. {why}.", ADD)
        elif each.lacking:
            why = "; ".join(f"{name}: {told}" for name, told in each.lacking.items())
            yield subject.warning(check, f"Only {', '.join(each.hosts)} can make machines from it. {why}.", ADD)
        elif each.hosts:
            yield subject.ok(check, f"Machines can be made on {', '.join(each.hosts)}.")
        else:
            yield subject.warning(check, "None of the hosts that may have the machines is on.", "pvecm status")


def uses(objects: Objects, clusters: Iterable[ProxmoxCluster]) -> Iterator[Use]:
    """The machines that clusters are to have, by the objects that make them: deployments and control planes."""
    for cluster in clusters:
        namespace = cluster.metadata.namespace
        names = {cluster.metadata.labels.get(CLUSTER_NAME), cluster.metadata.name} | {
            owner.name for owner in cluster.metadata.owner_references if owner.kind == "Cluster"
        }
        for kind, path in _MAKERS:
            for maker in objects.of_kind(kind):
                whose = maker.text("spec", "clusterName") or maker.metadata.labels.get(CLUSTER_NAME)
                if maker.namespace == namespace and whose in names and (use := _use(objects, cluster, maker, path)):
                    yield use


def _use(objects: Objects, cluster: ProxmoxCluster, maker: Member, path: tuple[str, ...]) -> Use | None:
    reference = reference_at(maker, *path, "infrastructureRef")
    if reference is None or reference.kind != "ProxmoxMachineTemplate":
        return None
    named = objects.named("ProxmoxMachineTemplate", maker.namespace, reference.name)
    template = None if named is None else typed(PROXMOX_MACHINE_TEMPLATES, named)
    if template is None:
        return None
    spec = template.spec.template.spec
    version = maker.text(*path, "version") or maker.text("spec", "version")
    allowed = frozenset(spec.hosts or cluster.spec.allowed_nodes)
    return Use(f"{maker.kind} {maker.namespace}/{maker.name}", spec, version, allowed)
