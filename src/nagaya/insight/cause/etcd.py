"""What remedies would do to the data of a cluster whose etcd runs on its control plane machines.

Deleting or releasing a Machine destroys its disks. For a worker that is worth a sentence. For the last copy of etcd, or
for a member without which etcd has no majority, it destroys the cluster, so the advice is to wait or to restore. A
member counts as healthy only if its condition says so, and if nothing says that the condition is old: it stays for five
minutes after the API of the cluster has gone, and for ever without controllers.
"""

from __future__ import annotations

import re
from typing import Final

from nagaya.api.cluster.annotations import PAUSED
from nagaya.api.controlplane.conditions import MACHINE_ETCD_MEMBER_HEALTHY
from nagaya.insight.cause.attention import stopped
from nagaya.insight.cause.cause import Cause, Weight
from nagaya.insight.cause.step import step
from nagaya.insight.cause.surroundings import Surroundings
from nagaya.insight.picture.member import Member

_KUBEADM: Final = "KubeadmControlPlane"
costs_machine = re.compile(r"\bdelet\w+ (?:the |a )?machine\b|\bto Release\b|\bdeletionPolicy: Release\b", re.I).search
_SENTENCES: Final = re.compile(r"(?<=[.?]) (?=[A-Z])")
_COST: Final = "Deleting or releasing the Machine gives up the data on its disks."


def with_caution(around: Surroundings, member: Member, remedy: str) -> str:
    """A remedy for an object that says first which data it would cost, or what to do instead."""
    machine, members = _machine_of(around, member), around.picture.control_plane_machines
    if machine is None or _is_to_go(around):
        return remedy
    if machine.metadata.deleting and len(members) == 1 and _has_etcd(around, machine):
        return _keep_the_last(around.picture.referred(machine, "spec", "infrastructureRef") or member, machine)
    if not costs_machine(remedy):
        return remedy
    if not _has_etcd(around, machine):
        joined = bool(machine.text("status", "nodeRef", "name"))
        return f"{_COST} {remedy}" if joined else remedy
    healthy = sum(_is_healthy(around, other) for other in members if other.uid != machine.uid)
    majority = len(members) // 2 + 1
    if healthy >= majority:
        return (
            f"{_COST} The etcd of the cluster keeps a majority of {healthy} healthy members of {len(members)}. {remedy}"
        )
    keeps = " ".join(sentence for sentence in _SENTENCES.split(remedy) if not costs_machine(sentence))
    if len(members) == 1:
        why = "it has the only copy of the cluster's data (etcd)"
        lost = "If its disks are lost for good, restore a snapshot of etcd, or a backup of the VM."
    else:
        why = f"etcd has no majority without it ({healthy} of {len(members)} members are known to be healthy)"
        lost = (
            "Keep the disks of the other members, too: if a majority is lost for good, etcd is restored from one of "
            "them, or from a snapshot."
        )
    return (
        f"Do not delete or release Machine {machine.name}: {why}, and the cluster would be lost. "
        f"{keeps or 'Bring the machine back.'} {lost}"
    )


def even_members(plane: Member) -> str:
    """Why a control plane has a bad number of etcd members, in a sentence; empty if the number is a good one."""
    replicas = plane.number("spec", "replicas")
    external = plane.mapping("spec", "kubeadmConfigSpec", "clusterConfiguration", "etcd", "external")
    if plane.kind != _KUBEADM or replicas is None or replicas % 2 or external:
        return ""
    if replicas == 0:
        return f"{plane.title} has spec.replicas 0, and the cluster has no etcd without its machines"
    return (
        f"{plane.title} has spec.replicas {replicas}, and each of its machines is a member of etcd: an even number "
        f"tolerates no more failures than {replicas - 1} would, with one machine more that can fail"
    )


def odd_members(plane: Member) -> str:
    """The command that makes the number of members odd by adding one, which costs no data."""
    replicas = plane.number("spec", "replicas") or 0
    kind = f"{plane.kind.lower()}.{plane.group}"
    return f"kubectl scale {kind} {plane.name} -n {plane.namespace} --replicas {replicas + 1}"


def uneven(plane: Member) -> Cause | None:
    """The cause that a control plane has an even number of etcd members."""
    if not (why := even_members(plane)):
        return None
    leaf = step(plane, "has an even number of etcd members")
    return Cause((leaf,), Weight.HELD, why, f"Add a machine: `{odd_members(plane)}`.")


def _keep_the_last(host: Member, machine: Member) -> str:
    """How the data of a control plane is saved whose only machine somebody has deleted."""
    command = f"kubectl annotate {host.kind.lower()}.{host.group} {host.name} -n {host.namespace} {PAUSED}="
    return (
        f"Machine {machine.name} has the only copy of the cluster's data (etcd), and its disks are destroyed as soon "
        f"as possible. To keep the data, pause that first: `{command}`. Then bring the machine back, and take a "
        "snapshot of etcd or a backup of the VM."
    )


def _is_healthy(around: Surroundings, machine: Member) -> bool:
    probe = around.cluster.condition("RemoteConnectionProbe") if around.cluster is not None else None
    is_old = stopped(around) or (probe is not None and probe.status != "True")
    return not is_old and machine.holds(MACHINE_ETCD_MEMBER_HEALTHY) and machine.holds("InfrastructureReady")


def _is_to_go(around: Surroundings) -> bool:
    """Whether the user has already decided that the whole cluster goes, with its data."""
    return around.cluster is not None and around.cluster.metadata.deleting


def _machine_of(around: Surroundings, member: Member) -> Member | None:
    if member.kind == "Machine":
        return member
    owner = next((owner for owner in member.metadata.owner_references if owner.kind == "Machine"), None)
    return None if owner is None else around.picture.with_uid(owner.uid)


def _has_etcd(around: Surroundings, machine: Member) -> bool:
    """Whether a machine may have a member of etcd: one of the control plane, unless etcd is elsewhere, or nothing was
    ever started on it."""
    picture = around.picture
    if all(machine.uid != member.uid for member in picture.control_plane_machines):
        return False
    plane = picture.control_plane
    if plane is not None and plane.mapping("spec", "kubeadmConfigSpec", "clusterConfiguration", "etcd", "external"):
        return False
    started = bool(machine.text("status", "nodeRef", "name"))
    alone = len(picture.control_plane_machines) == 1
    return started or (alone and picture.cluster.holds("ControlPlaneInitialized"))
