"""What is asked of a tenant's etcd, and what is done to it.

Any member that answers speaks for all of them, since lists of members and of alarms go through the quorum. Only the
leader can hand over the lead.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from nagaya.controlplane.kubeadm.tenant_seen import EtcdSeen, MemberSeen
from nagaya.controlplane.kubeadm.workload_port import WorkloadError
from nagaya.kube.errors import ApiError
from nagaya.kube.etcd.errors import EtcdError, MemberNotFound
from nagaya.kube.etcd.pool import EtcdPool, Failure, NoMember, Reached
from nagaya.kube.streams.stream import StreamBroken
from nagaya.kube.transport import NoAnswer
from nagaya.wire.etcd.cluster import Member
from nagaya.wire.etcd.maintenance import AlarmMember, AlarmType


async def ask(pool: EtcdPool, nodes: Sequence[str]) -> EtcdSeen:
    """How etcd is, asked through the first of these Nodes that answers. What goes wrong is in the answer."""
    try:
        reached = await pool.first_available(nodes)
    except NoMember as error:
        return EtcdSeen(problem=f"Failed to connect to etcd: {_each(error)}")
    async with reached:
        try:
            members = await reached.client.cluster.members()
        except (EtcdError, StreamBroken) as error:
            return EtcdSeen(problem=f"Failed to get etcd members: {error}")
        leader = reached.status.leader
        if leader not in {each.id for each in members}:
            return EtcdSeen(problem="Failed to get etcd members: etcd has no leader at present")
        try:
            alarms = await reached.client.maintenance.alarms()
        except (EtcdError, StreamBroken) as error:
            return EtcdSeen(problem=f"Failed to get etcd alarms: {error}")
    return EtcdSeen(tuple(_seen(each, alarms) for each in members), leader)


async def move_leader(pool: EtcdPool, leader: str, candidates: Sequence[str]) -> str:
    """Have the member on a Node hand over to the first candidate that takes it. Raises WorkloadError."""
    async with await _reached(pool, [leader]) as reached:
        members = {each.name: each for each in await _members(reached)}
        present = members.get(leader)
        if present is None or present.id != reached.status.leader:
            return candidates[0]
        refusals = []
        for candidate in candidates:
            chosen = members.get(candidate)
            if chosen is None:
                refusals.append(f"there is no etcd member on {candidate}")
                continue
            try:
                await reached.client.maintenance.move_leader(chosen.id)
            except (EtcdError, StreamBroken) as error:
                refusals.append(f"{candidate}: {error}")
            else:
                return candidate
    raise WorkloadError(f"etcd's leadership cannot be moved from {leader}: {'; '.join(refusals)}")


async def remove_member(pool: EtcdPool, member: MemberSeen, through: Collection[str]) -> None:
    """Take a member out, unless it is out already or the last one. Raises WorkloadError."""
    others = [each for each in through if each != member.name]
    if not others:
        raise WorkloadError(f"etcd member {_title(member)} cannot be removed: there is no other Node to ask through")
    async with await _reached(pool, others) as reached:
        members = await _members(reached)
        if all(each.id != member.id for each in members):
            return
        if len(members) == 1:
            raise WorkloadError("cannot remove the last etcd member in the cluster")
        try:
            await reached.client.cluster.remove(member.id)
        except MemberNotFound:
            return
        except (EtcdError, StreamBroken) as error:
            raise WorkloadError(f"etcd member {_title(member)} cannot be removed: {error}") from error


async def _reached(pool: EtcdPool, nodes: Sequence[str]) -> Reached:
    try:
        return await pool.first_available(nodes)
    except NoMember as error:
        raise WorkloadError(f"etcd cannot be reached: {_each(error)}") from error


async def _members(reached: Reached) -> tuple[Member, ...]:
    try:
        return await reached.client.cluster.members()
    except (EtcdError, StreamBroken, ApiError, NoAnswer) as error:
        raise WorkloadError(f"etcd's members cannot be listed: {error}") from error


def _seen(member: Member, alarms: Sequence[AlarmMember]) -> MemberSeen:
    raised = [each.alarm for each in alarms if each.member_id == member.id and each.alarm is not AlarmType.NONE]
    return MemberSeen(member.id, member.name, member.is_learner, tuple(each.name for each in raised))


def _each(error: NoMember) -> str:
    failures: tuple[tuple[str, Failure], ...] = error.failures
    return "; ".join(f"{node}: {failure}" for node, failure in failures)


def _title(member: MemberSeen) -> str:
    return member.name or str(member.id)
