"""What a KubeadmControlPlane does with etcd, done to a real one of three members."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

import pytest

from nagaya.controlplane.kubeadm.tenant_seen import EtcdSeen, MemberSeen
from nagaya.controlplane.kubeadm.workload.etcd import ask, move_leader, remove_member
from nagaya.controlplane.kubeadm.workload_port import WorkloadError
from nagaya.kube.etcd.client import EtcdClient
from nagaya.kube.etcd.pool import EtcdPool
from nagaya.kube.streams.stream import Stream, StreamBroken
from nagaya.kube.streams.tcp import TcpStream
from support.etcd_cluster import EtcdCluster

NODES = ("m0", "m1", "m2")
PATIENCE = 120.0


class Pods:
    """A dialer to the members of a cluster, as if each ran in the pod `etcd-<name>`."""

    def __init__(self, cluster: EtcdCluster) -> None:
        self._cluster = cluster

    async def dial(self, namespace: str, name: str, port: int) -> Stream:
        assert (namespace, port) == ("kube-system", 2379)
        place = self._cluster.place(name.removeprefix("etcd-"))
        try:
            return await TcpStream.connect("127.0.0.1", place.client_port)
        except OSError as error:
            raise StreamBroken(f"{name} cannot be reached: {error.strerror}") from error


@pytest.fixture
def cluster() -> Iterator[EtcdCluster]:
    with EtcdCluster() as cluster:
        yield cluster


@pytest.fixture
def pool(cluster: EtcdCluster) -> EtcdPool:
    return EtcdPool(Pods(cluster), cluster.tls(check_name=False))


async def led(pool: EtcdPool, nodes: tuple[str, ...] = NODES) -> EtcdSeen:
    """How etcd is, once it has a leader."""
    async with asyncio.timeout(PATIENCE):
        while True:
            seen = await ask(pool, nodes)
            if seen.members is not None:
                return seen
            await asyncio.sleep(0.1)


async def removed(pool: EtcdPool, member: MemberSeen, through: Sequence[str]) -> None:
    """Take a member out, as soon as etcd lets it: for seconds after every change it calls itself unhealthy."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                return await remove_member(pool, member, through)
            except WorkloadError as error:
                assert "unhealthy cluster" in str(error), error
            await asyncio.sleep(0.2)


def named(seen: EtcdSeen, name: str) -> MemberSeen:
    return next(each for each in seen.members or () if each.name == name)


def leader(seen: EtcdSeen) -> str:
    return next(each.name for each in seen.members or () if each.id == seen.leader)


@pytest.mark.long("waits for elections of a real etcd")
async def test_leadership_moves_members_go_and_learners_and_lost_quorums_are_told(
    cluster: EtcdCluster, pool: EtcdPool
) -> None:
    seen = await led(pool)
    assert sorted(each.name for each in seen.members or ()) == ["m0", "m1", "m2"]
    assert not any(each.learner or each.alarms for each in seen.members or ())

    old = leader(seen)
    heirs = [each for each in NODES if each != old]
    assert await move_leader(pool, old, ["nobody", *heirs]) == heirs[0]
    assert leader(await led(pool)) == heirs[0]
    # It leads no longer, so nothing is to be done.
    assert await move_leader(pool, old, heirs) == heirs[0]

    going = named(seen, old)
    await removed(pool, going, NODES)
    await remove_member(pool, going, NODES)
    seen = await led(pool, tuple(heirs))
    assert {each.name for each in seen.members or ()} == set(heirs)

    place = cluster.new_place()
    async with await EtcdClient.connect(cluster.place(heirs[0]).endpoint, cluster.tls()) as client:
        await client.cluster.add([place.peer_url], learner=True)
    seen = await led(pool, tuple(heirs))
    (learner,) = [each for each in seen.members or () if each.learner]
    assert learner.name == ""
    await removed(pool, learner, heirs)

    # With one of two members gone no list can be had, and nobody is taken out.
    cluster.kill(cluster.place(heirs[1]))
    silent = await ask(pool, (heirs[0],))
    assert silent.members is None
    assert silent.problem.startswith("Failed to get etcd ")
    with pytest.raises(WorkloadError):
        await remove_member(pool, named(seen, heirs[1]), heirs)
    cluster.kill(cluster.place(heirs[0]))
    nobody = await ask(pool, tuple(heirs))
    assert nobody.members is None
    assert nobody.problem.startswith(f"Failed to connect to etcd: {heirs[0]}: ")
    with pytest.raises(WorkloadError, match="etcd cannot be reached"):
        await move_leader(pool, heirs[0], [heirs[1]])


async def test_the_last_member_stays() -> None:
    with EtcdCluster(1) as cluster:
        pool = EtcdPool(Pods(cluster), cluster.tls(check_name=False))
        seen = await led(pool, ("m0",))
        with pytest.raises(WorkloadError, match="no other Node to ask through"):
            await remove_member(pool, named(seen, "m0"), ("m0",))
        # Should another Node lead to it, as one does whose name has changed.
        with pytest.raises(WorkloadError, match="cannot remove the last etcd member"):
            await remove_member(EtcdPool(Everywhere(cluster), cluster.tls(check_name=False)), named(seen, "m0"), ("x",))


class Everywhere(Pods):
    """All Nodes lead to the first member."""

    async def dial(self, namespace: str, name: str, port: int) -> Stream:
        return await super().dial(namespace, "etcd-m0", port)
