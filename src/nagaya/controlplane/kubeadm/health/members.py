"""How the etcd member of each machine is, and whether machines and members are the same ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from nagaya.api.cluster.machine import Machine
from nagaya.api.controlplane import conditions as kubeadm
from nagaya.api.meta import Condition
from nagaya.controlplane.kubeadm.health.components import waiting_for_node
from nagaya.controlplane.kubeadm.seen import Seen
from nagaya.controlplane.kubeadm.tenant_seen import EtcdSeen, MemberSeen, TenantSeen
from nagaya.kube.conditions import condition

MEMBER: Final = kubeadm.MACHINE_ETCD_MEMBER_HEALTHY
TIME_TO_JOIN: Final = timedelta(minutes=2)
"""How long after its Node a member may show up before it counts as missing."""


@dataclass(frozen=True, slots=True)
class Match:
    """How members and machines fit together."""

    complete: bool
    strays: tuple[str, ...] = ()
    """Members without a machine, a sentence each."""


def member_condition(seen: Seen, tenant: TenantSeen, machine: Machine) -> Condition | None:
    """What is told on a machine about its member; None if there is nothing new to tell."""
    etcd, name = tenant.etcd, _node(machine)
    if tenant.nodes_problem:
        return _unknown("Failed to get the Node hosting the etcd member")
    member = next((each for each in etcd.members or () if each.name == name), None) if name else None
    if name and etcd.members is not None and member is None and machine.metadata.deleting:
        return _unhealthy(f"Etcd doesn't have an etcd member for Node {name}")
    if machine.metadata.deleting:
        return condition(MEMBER, False, kubeadm.DELETING_REASON, "Machine is deleting")
    if not name:
        return _unknown(waiting_for_node(machine))
    if etcd.members is None and etcd.problem:
        return _unknown(etcd.problem)
    if etcd.members is None:
        # Nobody could be asked, since no Node of any machine is there.
        return _unhealthy(
            "Etcd reports the cluster is composed by [], but the etcd member hosted on Machine "
            f"{machine.metadata.name} ({name}) is not included"
        )
    if member is None:
        return _unhealthy(f"Etcd doesn't have an etcd member for Node {name}")
    return _of_member(member)


def match(seen: Seen, tenant: TenantSeen) -> Match:
    """Compare members and machines."""
    etcd: EtcdSeen = tenant.etcd
    if etcd.members is None:
        return Match(not any(_node(each) for each in seen.machines))
    names = {each.name for each in etcd.members}
    complete = not any(_is_missed(seen, tenant, each, names) for each in seen.machines)
    coming = any(not _node(each) for each in seen.machines)
    strays = _strays(seen.machines, etcd.members)
    return Match(
        complete and (coming or not strays),
        tuple(f"Etcd member {_title(each)} does not have a corresponding Machine" for each in strays),
    )


def _of_member(member: MemberSeen) -> Condition:
    if member.learner:
        return _unhealthy("Waiting for learner etcd member to be promoted")
    if member.alarms:
        return _unhealthy(f"Etcd reports alarms: {', '.join(member.alarms)}")
    return condition(MEMBER, True, kubeadm.HEALTHY_REASON)


def _is_missed(seen: Seen, tenant: TenantSeen, machine: Machine, names: set[str]) -> bool:
    """Whether a machine should have a member by now."""
    name = _node(machine)
    if not name or name in names or machine.metadata.deleting:
        return False
    node = tenant.nodes.get(name)
    created = None if node is None else node.metadata.creation_timestamp
    return created is not None and seen.now - created > TIME_TO_JOIN


def _strays(machines: Sequence[Machine], members: Sequence[MemberSeen]) -> list[MemberSeen]:
    names = {_node(each) for each in machines} - {""}
    return [each for each in members if each.name not in names]


def _title(member: MemberSeen) -> str:
    return member.name or f"{member.id} (Name not yet assigned)"


def _node(machine: Machine) -> str:
    return "" if machine.status.node_ref is None else machine.status.node_ref.name


def _unknown(message: str) -> Condition:
    return condition(MEMBER, "Unknown", kubeadm.INSPECTION_FAILED_REASON, message)


def _unhealthy(message: str) -> Condition:
    return condition(MEMBER, False, kubeadm.NOT_HEALTHY_REASON, message)
