"""The etcd of a simulated cluster, asked through the API of the cluster as a control plane provider does."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from nagaya.kube.errors import Forbidden, NotFound
from nagaya.kube.etcd.client import EtcdClient
from nagaya.kube.etcd.errors import (
    ConnectionLost,
    DataLoss,
    DeadlineExceeded,
    EtcdError,
    FailedPrecondition,
    MemberExists,
    MemberNotFound,
    NoSpace,
    NotEnoughStarted,
    NotLeader,
    TooManyLearners,
    Unavailable,
    UnhealthyCluster,
)
from nagaya.kube.etcd.pool import EtcdPool, NoMember
from nagaya.kube.streams.forward import ForwardFailed
from nagaya.kube.streams.stream import StreamBroken
from nagaya.pki.authority import CertificateAuthority
from nagaya.simulators.tenant.joining import JoinDelayed
from nagaya.simulators.tenant.settings import Fault, NodeSettings
from nagaya.wire.etcd.cluster import Member
from nagaya.wire.etcd.kv import RangeRequest
from nagaya.wire.etcd.maintenance import AlarmMember, AlarmType
from nagaya.wire.grpc import Code
from support.simulated_tenant import Kubectl, Make, is_ready
from support.tenant_etcd import Administrator, first, further, pool
from support.virtual_time import LoopClock

pytestmark = pytest.mark.slow

CLOCK = LoopClock()


@pytest.fixture
async def authority() -> CertificateAuthority:
    return CertificateAuthority.create("etcd-ca", CLOCK)


async def three(make: Make, authority: CertificateAuthority) -> tuple[Kubectl, EtcdPool]:
    """A control plane of three, up for a while."""
    api = await make()
    await api.tenant.join(first("a", authority))
    for name in ("b", "c"):
        await api.wait(5)
        await api.tenant.join(further(name, authority))
    await api.wait(5)
    return api, pool(api.tenant, authority, CLOCK)


async def test_the_first_machine_has_the_only_member_which_leads(make: Make, authority: CertificateAuthority) -> None:
    api = await make()
    await api.tenant.join(first("a", authority))
    await api.wait(3)
    async with await pool(api.tenant, authority, CLOCK).member("a") as reached:
        members = await reached.client.cluster.members()
        assert [(each.name, each.is_learner) for each in members] == [("a", False)]
        assert members[0].client_urls == (f"https://{(await node_address(api, 'a'))}:2379",)
        assert reached.leads
        assert reached.status.version == "3.6.8"
        assert await reached.client.maintenance.alarms() == ()


async def node_address(api: Kubectl, name: str) -> str:
    node = await api.get(f"/api/v1/nodes/{name}")
    return str(next(each["address"] for each in node["status"]["addresses"] if each["type"] == "InternalIP"))


async def test_a_machine_that_joins_is_a_learner_at_first(make: Make, authority: CertificateAuthority) -> None:
    api = await make()
    await api.tenant.join(first("a", authority))
    await api.wait(3)
    await api.tenant.join(further("b", authority))
    async with await pool(api.tenant, authority, CLOCK).member("a") as reached:
        assert [(each.name, each.is_learner) for each in await listed(reached.client)] == [("a", False), ("b", True)]
        await api.wait(2)
        assert [(each.name, each.is_learner) for each in await listed(reached.client)] == [("a", False), ("b", False)]


async def listed(client: EtcdClient) -> list[Member]:
    return sorted(await client.cluster.members(), key=lambda each: each.name)


async def test_members_agree_on_who_leads_and_the_leader_can_hand_over(
    make: Make, authority: CertificateAuthority
) -> None:
    _, members = await three(make, authority)
    async with await members.leader(["c", "b", "a"]) as leader:
        assert leader.node == "a"
        by_name = {each.name: each.id for each in await leader.client.cluster.members()}
        with pytest.raises(FailedPrecondition, match="bad leader transferee"):
            await leader.client.maintenance.move_leader(7)
        await leader.client.maintenance.move_leader(by_name["c"])
        with pytest.raises(NotLeader):
            await leader.client.maintenance.move_leader(by_name["b"])
    async with await members.leader(["a", "b", "c"]) as leader:
        assert leader.node == "c"


async def test_a_member_that_is_removed_stops(make: Make, authority: CertificateAuthority) -> None:
    api, members = await three(make, authority)
    async with await members.member("a") as other, await members.member("c") as removed:
        left = await other.client.cluster.remove(removed.status.header.member_id)
        assert sorted(each.name for each in left) == ["a", "b"]
        await api.wait(1)
        with pytest.raises(ConnectionLost):
            await removed.client.maintenance.status()
        with pytest.raises(MemberNotFound):
            await other.client.cluster.remove(removed.status.header.member_id)
    with pytest.raises((ForwardFailed, ConnectionLost)):
        await members.member("c")
    pod = (await api.pods("kube-system"))["etcd-c"]
    assert pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"] == "CrashLoopBackOff"


async def test_the_last_member_cannot_be_removed(make: Make, authority: CertificateAuthority) -> None:
    api = await make()
    await api.tenant.join(first("a", authority))
    await api.wait(3)
    async with await pool(api.tenant, authority, CLOCK).member("a") as only:
        with pytest.raises(NotEnoughStarted):
            await only.client.cluster.remove(only.status.header.member_id)


async def test_without_a_majority_nothing_is_agreed_on_but_members_still_say_how_they_are(
    make: Make, authority: CertificateAuthority
) -> None:
    api, members = await three(make, authority)
    await api.tenant.leave("b")
    async with await members.member("a") as reached:
        assert len(await reached.client.cluster.members()) == 3
        assert reached.status.leader
    await api.tenant.leave("c")
    async with await members.member("a") as reached:
        assert (reached.status.leader, reached.status.errors) == (0, ("etcdserver: no leader",))
        assert len(await reached.client.cluster.members(linearizable=False)) == 3
        began = asyncio.get_running_loop().time()
        with pytest.raises(Unavailable, match="etcdserver: request timed out"):
            await reached.client.cluster.members()
        assert asyncio.get_running_loop().time() - began == pytest.approx(7)
        with pytest.raises(DeadlineExceeded, match="context deadline exceeded"):
            await reached.client.maintenance.alarms()
        with pytest.raises(UnhealthyCluster):
            await reached.client.cluster.add(["https://172.16.9.9:2380"])
    with pytest.raises(NoMember):
        await members.first_available(["b", "c"])


async def test_a_member_whose_machine_has_gone_stays_until_it_is_removed(
    make: Make, authority: CertificateAuthority
) -> None:
    api, members = await three(make, authority)
    await api.tenant.leave("a")
    async with await members.leader(["b", "c"]) as leader:
        known = {each.name: each.id for each in await leader.client.cluster.members()}
        assert sorted(known) == ["a", "b", "c"]
        await leader.client.cluster.remove(known["a"])
        # Of the two that are left neither can be spared now.
        api.tenant.fail("c", Fault.ETCD_DOWN)
        with pytest.raises(UnhealthyCluster):
            await leader.client.cluster.remove(known["b"])


async def test_changes_of_members_are_refused_in_etcds_words(make: Make, authority: CertificateAuthority) -> None:
    _, members = await three(make, authority)
    async with await members.member("a") as reached:
        cluster = reached.client.cluster
        taken = (await cluster.members())[0].peer_urls
        with pytest.raises(MemberExists):
            await cluster.add(taken)
        added = await cluster.add(["https://172.16.9.9:2380"], learner=True)
        assert (added.name, added.is_learner) == ("", True)
        with pytest.raises(TooManyLearners):
            await cluster.add(["https://172.16.9.8:2380"], learner=True)
        with pytest.raises(FailedPrecondition, match="in sync with leader"):
            await cluster.promote(added.id)
        await cluster.remove(added.id)
        with pytest.raises(EtcdError, match="given member URLs are invalid"):
            await cluster.add(["nowhere"])


async def test_alarms_are_raised_by_faults_and_can_be_disarmed(make: Make, authority: CertificateAuthority) -> None:
    api, members = await three(make, authority)
    api.tenant.fail("b", Fault.ETCD_NO_SPACE)
    async with await members.member("a") as reached:
        ids = {each.name: each.id for each in await reached.client.cluster.members()}
        full = AlarmMember(member_id=ids["b"], alarm=AlarmType.NOSPACE)
        assert await reached.client.maintenance.alarms() == (full,)
        assert (await reached.client.maintenance.status()).errors == (f"memberID:{ids['b']} alarm:NOSPACE",)
        with pytest.raises(NoSpace):
            await reached.client.kv.put(b"k", b"v")
        assert await reached.client.maintenance.disarm() == (full,)
        await reached.client.kv.put(b"k", b"v")
        api.tenant.fail("c", Fault.ETCD_CORRUPT)
        with pytest.raises(DataLoss, match="corrupt cluster"):
            await reached.client.kv.get(b"k")
        api.tenant.recover("c")
        assert await reached.client.maintenance.alarms() == ()
        found = await reached.client.kv.get(b"k")
        assert found is not None
        assert found.value == b"v"


async def test_a_member_that_is_down_comes_back(make: Make, authority: CertificateAuthority) -> None:
    api, members = await three(make, authority)
    async with await members.member("a") as lasting:
        api.tenant.fail("a", Fault.ETCD_DOWN)
        await api.wait(1)
        with pytest.raises(ConnectionLost):
            await lasting.client.maintenance.status()
    with pytest.raises((ForwardFailed, ConnectionLost), match="connection refused"):
        await members.member("a")
    assert not is_ready((await api.pods("kube-system"))["etcd-a"])
    async with await members.leader(["b", "c"]) as leader:
        assert len(await leader.client.cluster.members()) == 3
    api.tenant.recover("a")
    await api.wait(1)
    pod = (await api.pods("kube-system"))["etcd-a"]
    assert is_ready(pod)
    assert pod["status"]["containerStatuses"][0]["restartCount"] == 1
    async with await members.member("a") as again:
        assert not again.leads


async def test_a_slow_member_takes_its_time(make: Make, authority: CertificateAuthority) -> None:
    api, members = await three(make, authority)
    api.tenant.fail("a", Fault.ETCD_SLOW)
    async with await members.member("a") as reached:
        began = asyncio.get_running_loop().time()
        await reached.client.maintenance.status()
        assert asyncio.get_running_loop().time() - began == pytest.approx(5)
        with pytest.raises(EtcdError, match="no answer within 2 s"):
            await reached.client.maintenance.status(timeout=2)


@pytest.mark.parametrize(
    ("fault", "words"),
    [(Fault.KUBELET_DEAD, "connection refused"), (Fault.RUNTIME_DOWN, "runtime is down")],
)
async def test_the_way_to_a_member_leads_over_its_kubelet(
    make: Make, authority: CertificateAuthority, fault: Fault, words: str
) -> None:
    api, members = await three(make, authority)
    api.tenant.fail("b", fault)
    with pytest.raises(Exception, match=words):
        await members.member("b")
    # The member itself goes on: the others reach it.
    async with await members.member("a") as reached:
        assert reached.status.leader
        api.tenant.fail("c", Fault.ETCD_DOWN)
        assert len(await reached.client.cluster.members()) == 3


async def test_keys_are_kept_as_far_as_health_checks_need_them(make: Make, authority: CertificateAuthority) -> None:
    _, members = await three(make, authority)
    async with await members.member("a") as reached, await members.member("b") as other:
        assert await reached.client.kv.get(b"health") is None
        for key in (b"b", b"a", b"c"):
            await reached.client.kv.put(key, b"x" * 100_000)
        found = await other.client.kv.range(RangeRequest(key=b"a", range_end=b"c", limit=1))
        assert ([each.key for each in found.kvs], found.more, found.count) == ([b"a"], True, 2)
        assert await other.client.kv.delete_prefix(b"a") == 1
        assert (await other.client.kv.range(RangeRequest(key=b"\0", range_end=b"\0", count_only=True))).count == 2
        with pytest.raises(EtcdError) as refused:
            await reached.client.leases.grant(10)
        assert refused.value.code is Code.UNIMPLEMENTED


async def test_only_clients_with_a_certificate_of_etcds_authority_are_served(
    make: Make, authority: CertificateAuthority
) -> None:
    api, _ = await three(make, authority)
    stranger = CertificateAuthority.create("etcd-ca", CLOCK)
    with pytest.raises((ConnectionLost, StreamBroken)):
        await pool(api.tenant, stranger, CLOCK).member("a")
    expired = pool(api.tenant, authority, CLOCK, validity=timedelta(minutes=1))
    await api.wait(120)
    with pytest.raises((ConnectionLost, StreamBroken)):
        await expired.member("a")


async def test_the_api_decides_who_gets_to_a_port(make: Make, authority: CertificateAuthority) -> None:
    api, _ = await three(make, authority)
    with pytest.raises(NotFound):
        await Administrator(api.tenant, CLOCK).dial("kube-system", "etcd-x", 2379)
    with pytest.raises(Forbidden):
        await Administrator(api.tenant, CLOCK, ("somebody",)).dial("kube-system", "etcd-a", 2379)
    stream = await Administrator(api.tenant, CLOCK).dial("kube-system", "etcd-a", 2380)
    with pytest.raises(ForwardFailed, match="connection refused"):
        await stream.read()
    await stream.close()


async def test_a_cluster_whose_api_breaks_off_breaks_streams_too(make: Make, authority: CertificateAuthority) -> None:
    api, members = await three(make, authority)
    async with await members.member("a") as reached:
        api.tenant.hang()
        with pytest.raises(EtcdError, match="no answer within 2 s"):
            await reached.client.maintenance.status(timeout=2)
        await api.tenant.recover_api()
        await reached.client.maintenance.status()
        await api.tenant.refuse()
        with pytest.raises(ConnectionLost):
            await reached.client.maintenance.status()


async def test_a_control_plane_machine_that_etcd_does_not_take_has_to_wait(
    make: Make, authority: CertificateAuthority
) -> None:
    api, _ = await three(make, authority)
    api.tenant.fail("b", Fault.ETCD_DOWN)
    api.tenant.fail("c", Fault.ETCD_DOWN)
    with pytest.raises(JoinDelayed, match="etcdserver: unhealthy cluster"):
        await api.tenant.join(further("d", authority))
    assert not await api.exists("/api/v1/nodes/d")
    api.tenant.recover("b")
    api.tenant.recover("c")
    await api.tenant.join(further("d", authority))
    assert await api.exists("/api/v1/nodes/d")


async def test_members_of_a_life_before_vote_at_once(make: Make, authority: CertificateAuthority) -> None:
    api = await make()
    for name in ("b", "c", "a"):
        await api.tenant.join(further(name, authority), returns=True)
    await api.wait(3)
    async with await pool(api.tenant, authority, CLOCK).member("c") as reached:
        members = await reached.client.cluster.members()
        assert sorted((each.name, each.is_learner) for each in members) == [("a", False), ("b", False), ("c", False)]


async def test_machines_without_boot_data_of_kubeadms_have_no_etcd_that_answers(make: Make) -> None:
    api = await make()
    await api.tenant.join(NodeSettings("a", control_plane=True))
    await api.wait(3)
    assert is_ready((await api.pods("kube-system"))["etcd-a"])
    stream = await Administrator(api.tenant, CLOCK).dial("kube-system", "etcd-a", 2379)
    with pytest.raises(ForwardFailed, match="connection refused"):
        await stream.read()
    await stream.close()
