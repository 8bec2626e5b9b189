"""What holds an object that is to go: what has to go before it, a hook, a drain, or a finalizer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from nagaya.api.addons import cluster_resource_set
from nagaya.api.cluster import cluster, machine, machine_deployment, machine_pool, machine_set
from nagaya.api.cluster.annotations import PRE_DRAIN_DELETE_HOOK_PREFIX, PRE_TERMINATE_DELETE_HOOK_PREFIX
from nagaya.api.cluster.labels import CONTROL_PLANE
from nagaya.api.controlplane import data_store, hosted_control_plane, names
from nagaya.api.ipam import group as ipam
from nagaya.api.proxmox import proxmox_cluster, proxmox_connection, proxmox_machine, proxmox_virtual_machine
from nagaya.api.simulated import simulated_cluster, simulated_machine
from nagaya.insight.cause.surroundings import Surroundings
from nagaya.insight.picture.member import Member

FOREGROUND: Final = "foregroundDeletion"
"""The finalizer of the API itself: what the object owns goes first."""
KNOWN: Final[Mapping[str, str]] = {
    cluster.FINALIZER: "the Cluster controller",
    machine.FINALIZER: "the Machine controller",
    machine_set.FINALIZER: "the MachineSet controller",
    machine_deployment.FINALIZER: "the MachineDeployment controller",
    machine_pool.FINALIZER: "the MachinePool controller, which is not part of Nagaya",
    names.FINALIZER: "the kubeadm control plane provider",
    hosted_control_plane.FINALIZER: "the HostedControlPlane controller",
    data_store.FINALIZER: "the DataStore controller",
    cluster_resource_set.FINALIZER: "the ClusterResourceSet controller",
    proxmox_cluster.FINALIZER: "the Proxmox provider",
    proxmox_machine.FINALIZER: "the Proxmox provider",
    proxmox_connection.FINALIZER: "the Proxmox provider",
    proxmox_virtual_machine.FINALIZER: "the Proxmox provider, once the VM is gone",
    simulated_cluster.FINALIZER: "the simulated provider",
    simulated_machine.FINALIZER: "the simulated provider",
    ipam.PROTECT_POOL: "the IPAM provider, once no address is in use",
    ipam.PROTECT_ADDRESS: "the IPAM provider",
    ipam.RELEASE_ADDRESS: "the IPAM provider",
    FOREGROUND: "the API itself, once all that the object owns is gone",
}
"""Who takes a finalizer off."""


def in_the_way(around: Surroundings, member: Member) -> list[Member]:
    """What has to go before an object can."""
    return [each for each in _before(around, member) if each is not None]


def _before(around: Surroundings, member: Member) -> Iterable[Member | None]:
    picture = around.picture
    match member.kind:
        case "Cluster":
            return _of_cluster(around, member)
        case "MachineDeployment":
            return picture.owned(member, "MachineSet")
        case "MachineSet" | "KubeadmControlPlane":
            return picture.owned(member, "Machine")
        case "HostedControlPlane":
            return [each for each in picture.machines if CONTROL_PLANE not in each.metadata.labels]
        case "Machine":
            return _of_machine(around, member)
        case "ProxmoxCluster":
            return picture.of_kind("ProxmoxMachine")
        case _ if FOREGROUND in member.metadata.finalizers:
            return picture.owned(member)
    return ()


def _of_cluster(around: Surroundings, cluster: Member) -> Iterator[Member | None]:
    """Workers, then the control plane, then the infrastructure: each waits for the one before."""
    picture = around.picture
    plane = picture.control_plane
    workers = [
        each
        for kind in ("MachineDeployment", "MachineSet", "MachinePool", "Machine")
        for each in picture.of_kind(kind)
        if (each.metadata.controller is None) and (plane is None or CONTROL_PLANE not in each.metadata.labels)
    ]
    if workers:
        yield from workers
    elif plane is not None:
        yield plane
    else:
        yield picture.infrastructure


def _of_machine(around: Surroundings, machine: Member) -> Iterator[Member | None]:
    """Its host, then its boot data; before that hooks and the drain, which the machine tells itself."""
    deleting = machine.condition("Deleting")
    reason = "" if deleting is None else deleting.reason
    if reason == "WaitingForInfrastructureDeletion":
        yield around.picture.referred(machine, "spec", "infrastructureRef")
    elif reason == "WaitingForBootstrapDeletion":
        yield around.picture.referred(machine, "spec", "bootstrap", "configRef")


def hooks(machine: Member) -> list[str]:
    """The annotations that hold a Machine at present."""
    deleting = machine.condition("Deleting")
    prefix = {
        "WaitingForPreDrainHook": PRE_DRAIN_DELETE_HOOK_PREFIX,
        "WaitingForPreTerminateHook": PRE_TERMINATE_DELETE_HOOK_PREFIX,
    }.get("" if deleting is None else deleting.reason)
    return [] if prefix is None else sorted(each for each in machine.metadata.annotations if each.startswith(prefix))


def strangers(member: Member) -> list[str]:
    """Finalizers of somebody whom nobody knows here."""
    return [each for each in member.metadata.finalizers if each not in KNOWN]


def finalizers(member: Member) -> str:
    """What holds an object, and who takes it off, in a sentence without its end."""
    held = [f"{each} ({KNOWN.get(each, 'not known here')})" for each in member.metadata.finalizers]
    return f"It is held by the finalizer{'s' if len(held) > 1 else ''} {', '.join(held)}" if held else ""
