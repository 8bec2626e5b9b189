"""The etcd client against a real cluster of three members with TLS."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TypeVar

import pytest

from nagaya.kube.etcd.client import EtcdClient
from nagaya.kube.etcd.errors import (
    Compacted,
    ConnectionLost,
    DeadlineExceeded,
    EtcdError,
    FailedPrecondition,
    LearnerNotReady,
    LeaseNotFound,
    MemberExists,
    MemberNotFound,
    NoSpace,
    NotLeader,
    NotLearner,
    PermissionDenied,
    RoleExists,
    RoleNotFound,
    Unavailable,
    UserExists,
    UserNotFound,
)
from nagaya.kube.etcd.kv import after_prefix
from nagaya.kube.etcd.pool import EtcdPool
from nagaya.kube.streams.stream import Stream
from nagaya.kube.streams.tcp import TcpStream
from nagaya.wire.etcd.auth import Permission, PermissionType
from nagaya.wire.etcd.kv import (
    Compare,
    CompareResult,
    CompareTarget,
    PutRequest,
    RangeRequest,
    RequestOp,
    SortOrder,
    TxnRequest,
)
from nagaya.wire.etcd.maintenance import AlarmType
from nagaya.wire.etcd.watch import EventType, FilterType
from support.etcd_cluster import EtcdCluster, Place

T = TypeVar("T")


@pytest.fixture(scope="module")
def cluster() -> Iterator[EtcdCluster]:
    with EtcdCluster() as cluster:
        yield cluster


@asynccontextmanager
async def asking(cluster: EtcdCluster, place: Place | None = None, user: str = "root") -> AsyncIterator[EtcdClient]:
    place = place or cluster.places[0]
    async with await EtcdClient.connect(place.endpoint, cluster.tls(user)) as client:
        yield client


async def eventually(attempt: Callable[[], Awaitable[T]], *failures: type[EtcdError], within: float = 120) -> T:
    """Try again while it fails in one of these ways."""
    async with asyncio.timeout(within):
        while True:
            try:
                return await attempt()
            except failures:
                await asyncio.sleep(0.1)


class Pods:
    """A dialer to the members of a cluster, as if each ran in the pod `etcd-<name>`."""

    def __init__(self, cluster: EtcdCluster) -> None:
        self._cluster = cluster

    async def dial(self, namespace: str, name: str, port: int) -> Stream:
        assert (namespace, port) == ("kube-system", 2379)
        place = self._cluster.place(name.removeprefix("etcd-"))
        return await TcpStream.connect("127.0.0.1", place.client_port)


async def test_members_are_listed_by_the_majority_and_by_one_alone(cluster: EtcdCluster) -> None:
    async with asking(cluster) as client:
        for linearizable in (True, False):
            members = await client.cluster.members(linearizable=linearizable)
            assert sorted(member.name for member in members) == ["m0", "m1", "m2"]
            assert {url for member in members for url in member.peer_urls} == {each.peer_url for each in cluster.places}
        status = await client.maintenance.status()
        assert status.version == "3.7.3"
        assert status.leader in {member.id for member in members}
        assert status.header.member_id == next(member.id for member in members if member.name == "m0")
        assert (await client.cluster.member_list()).header.cluster_id == status.header.cluster_id != 0


async def test_the_leader_is_found_moved_and_found_again(cluster: EtcdCluster) -> None:
    pool = EtcdPool(Pods(cluster), cluster.tls(check_name=False))
    nodes = [place.name for place in cluster.places]
    async with AsyncExitStack() as stack:
        leader = await stack.enter_async_context(await pool.leader(nodes))
        members = await leader.client.cluster.members()
        heir = next(member for member in members if member.name != leader.node)
        follower = await stack.enter_async_context(await pool.member(heir.name))
        assert leader.leads
        assert not follower.leads
        with pytest.raises(NotLeader):
            await follower.client.maintenance.move_leader(heir.id)
        await leader.client.maintenance.move_leader(heir.id)
        assert (await follower.client.maintenance.status()).leader == heir.id
        async with await pool.leader(nodes) as next_leader:
            assert next_leader.node == heir.name


@pytest.mark.long("etcd promotes a learner once it has caught up")
async def test_a_learner_joins_is_promoted_and_removed(cluster: EtcdCluster) -> None:
    async with asking(cluster) as client:
        place = cluster.new_place()
        learner = await eventually(lambda: client.cluster.add([place.peer_url], learner=True), Unavailable)
        assert learner.is_learner
        with pytest.raises(MemberExists):
            await client.cluster.add([place.peer_url], learner=True)
        with pytest.raises((LearnerNotReady, Unavailable)):
            await client.cluster.promote(learner.id)
        members = await client.cluster.members()
        peers = [(member.name or place.name, url) for member in members for url in member.peer_urls]
        cluster.join(place, peers)
        promoted = await eventually(lambda: client.cluster.promote(learner.id), LearnerNotReady, Unavailable)
        assert not any(member.is_learner for member in promoted)
        with pytest.raises(NotLearner):
            await client.cluster.promote(learner.id)
        voter = next(member for member in promoted if member.id == learner.id)
        assert voter.peer_urls == (place.peer_url,)
        updated = await eventually(lambda: client.cluster.update(learner.id, [place.peer_url]), Unavailable)
        assert learner.id in {member.id for member in updated}
        left = await eventually(lambda: client.cluster.remove(learner.id), Unavailable)
        assert sorted(member.name for member in left) == ["m0", "m1", "m2"]
        with pytest.raises(MemberNotFound):
            await client.cluster.remove(learner.id)
        cluster.places.remove(place)


async def test_keys_are_written_read_compared_and_deleted(cluster: EtcdCluster) -> None:
    async with asking(cluster) as client:
        first = await client.kv.put(b"/keys/a", b"1")
        second = await client.kv.put(b"/keys/a", b"\x00\xff", prev_kv=True)
        assert second.prev_kv is not None
        assert second.prev_kv.value == b"1"
        found = await client.kv.get(b"/keys/a")
        assert found is not None
        assert (found.value, found.version, found.mod_revision) == (b"\x00\xff", 2, second.header.revision)
        earlier = await client.kv.get(b"/keys/a", revision=first.header.revision)
        assert earlier is not None
        assert earlier.value == b"1"
        assert await client.kv.get(b"/keys/b") is None

        absent = Compare(CompareResult.EQUAL, CompareTarget.VERSION, b"/keys/b", version=0)
        create = TxnRequest(
            compare=(absent,),
            success=(RequestOp(put=PutRequest(b"/keys/b", b"made")),),
            failure=(RequestOp(range=RangeRequest(b"/keys/b")),),
        )
        assert (await client.kv.transaction(create)).succeeded
        again = await client.kv.transaction(create)
        assert not again.succeeded
        assert again.responses[0].range is not None
        assert again.responses[0].range.kvs[0].value == b"made"
        unchanged = Compare(CompareResult.EQUAL, CompareTarget.MOD, b"/keys/a", mod_revision=found.mod_revision)
        written = await client.kv.transaction(TxnRequest((unchanged,), (RequestOp(put=PutRequest(b"/keys/a", b"3")),)))
        assert written.succeeded
        newest = await client.kv.range(RangeRequest(b"/keys/", after_prefix(b"/keys/"), sort_order=SortOrder.DESCEND))
        assert [each.key for each in newest.kvs] == [b"/keys/b", b"/keys/a"]
        assert await client.kv.delete_prefix(b"/keys/") == 2


async def test_pages_are_of_one_revision_whatever_is_written_meanwhile(cluster: EtcdCluster) -> None:
    async with asking(cluster) as client:
        for number in range(25):
            await client.kv.put(b"/paged/%02d" % number, b"old")
        seen = []
        async for page in client.kv.pages(b"/paged/", page=10):
            assert len(page.kvs) <= 10
            seen += [(each.key, each.value) for each in page.kvs]
            await client.kv.put(b"/paged/99", b"new")
            await client.kv.put(b"/paged/24", b"new")
        assert seen == [(b"/paged/%02d" % number, b"old") for number in range(25)]
        revision = page.header.revision
        await client.kv.compact(revision)
        with pytest.raises(Compacted):
            await anext(client.kv.pages(b"/paged/", revision=revision - 5))
        assert await client.kv.delete_prefix(b"/paged/") == 26


async def test_a_watch_tells_changes_progress_and_its_end(cluster: EtcdCluster) -> None:
    async with asking(cluster) as client, asyncio.timeout(120):
        begin = (await client.kv.put(b"/watched/a", b"1")).header.revision
        async with client.watch(b"/watched/", after_prefix(b"/watched/"), start_revision=begin, prev_kv=True) as watch:
            await client.kv.put(b"/watched/a", b"2")
            await client.kv.put(b"/elsewhere", b"")
            last = (await client.kv.delete(b"/watched/a")).header.revision
            events = []
            while len(events) < 3:
                events += (await anext(watch)).events
            assert [event.type for event in events] == [EventType.PUT, EventType.PUT, EventType.DELETE]
            assert events[2].prev_kv is not None
            assert events[2].prev_kv.value == b"2"
            await watch.request_progress()
            progress = await anext(watch)
            assert (progress.events, progress.header.revision) == ((), last)
            await watch.cancel()
            assert [each async for each in watch] == []
        async with client.watch(b"/watched/b", filters=(FilterType.NOPUT,)) as watch:
            await client.kv.put(b"/watched/b", b"1")
            await client.kv.delete(b"/watched/b")
            assert [event.type for event in (await anext(watch)).events] == [EventType.DELETE]
        await client.kv.compact((await client.kv.put(b"/watched/c", b"")).header.revision)
        async with client.watch(b"/watched/c", start_revision=1) as watch:
            with pytest.raises(Compacted):
                await anext(watch)
        assert client.broken is None


async def test_leases_take_their_keys_with_them(cluster: EtcdCluster) -> None:
    async with asking(cluster) as client:
        lease = await client.leases.grant(600)
        assert lease.ttl == 600
        await client.kv.put(b"/leased", b"", lease=lease.id)
        assert await client.leases.keep_alive(lease.id) == 600
        assert lease.id in await client.leases.list()
        left = await client.leases.time_to_live(lease.id, keys=True)
        assert (left.granted_ttl, left.keys) == (600, (b"/leased",))
        await client.leases.revoke(lease.id)
        assert await client.kv.get(b"/leased") is None
        with pytest.raises(LeaseNotFound):
            await client.leases.keep_alive(lease.id)
        assert (await client.leases.time_to_live(lease.id)).ttl == -1


async def test_a_snapshot_is_whole(cluster: EtcdCluster) -> None:
    async with asking(cluster) as client:
        for number in range(8):
            await client.kv.put(b"/large/%d" % number, bytes(1_000_000))
        snapshot = b"".join([piece async for piece in client.maintenance.snapshot()])
        await client.kv.delete_prefix(b"/large/")
    database, digest = snapshot[:-32], snapshot[-32:]
    assert len(database) > 8_000_000
    assert hashlib.sha256(database).digest() == digest
    assert b"/large/7" in database
    # bbolt's first page: its number, flags of a meta page, and the magic of the format.
    assert database[16:20] == (0xED0CDAED).to_bytes(4, "little")


async def test_a_deadline_is_kept_on_both_sides_and_hurts_no_other_call(cluster: EtcdCluster) -> None:
    async with asking(cluster) as client:
        with pytest.raises(DeadlineExceeded, match=r"no answer within 0\.0001 s"):
            await client.maintenance.status(timeout=0.0001)
        asked = [asyncio.create_task(client.maintenance.status()) for _ in range(50)]
        await asyncio.sleep(0)
        for task in asked[::2]:
            task.cancel()
        answers = await asyncio.gather(*asked, return_exceptions=True)
        assert [isinstance(each, asyncio.CancelledError) for each in answers] == [True, False] * 25
        assert client.broken is None


@pytest.mark.long("waits for an election of a real etcd")
async def test_a_member_that_is_killed_and_comes_back(cluster: EtcdCluster) -> None:
    victim = cluster.places[1]
    async with asking(cluster, victim) as broken, asking(cluster) as client:
        begun = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            for number in range(200):
                group.create_task(write_until_lost(broken, number, begun))
            await begun.wait()
            await asyncio.to_thread(cluster.kill, victim)
        try:
            with pytest.raises(ConnectionLost) as caught:
                await broken.maintenance.status()
            assert not caught.value.sent
            # The other two are still a majority.
            await eventually(lambda: client.kv.put(b"/still", b"here"), Unavailable)
            with pytest.raises(ConnectionLost, match="cannot be reached"):
                await EtcdClient.connect(victim.endpoint, cluster.tls())
        finally:
            cluster.start(victim)
            await asyncio.to_thread(cluster.wait, victim)
        async with asking(cluster, victim) as back:
            found = await eventually(lambda: back.kv.get(b"/still"), Unavailable)
            assert found is not None
            assert found.value == b"here"
        await client.kv.delete_prefix(b"/killed/")


async def write_until_lost(client: EtcdClient, number: int, begun: asyncio.Event) -> None:
    with suppress(ConnectionLost):
        while True:
            await client.kv.put(b"/killed/%d" % number, b"")
            begun.set()


async def test_strangers_are_turned_away(cluster: EtcdCluster) -> None:
    with EtcdCluster(1) as other:
        with pytest.raises(ConnectionLost, match="not trusted"):
            await EtcdClient.connect(other.places[0].endpoint, cluster.tls())
        trusting = other.tls()
        trusting.load_verify_locations(cadata=cluster.authority.pair.certificate.decode())
        # With TLS 1.3 the server's verdict on the client comes after the handshake.
        client = await EtcdClient.connect(cluster.places[0].endpoint, trusting)
        with pytest.raises(ConnectionLost):
            await client.maintenance.status()
        await client.close()


async def fill(client: EtcdClient) -> None:
    for number in range(1000):  # etcd looks at its size now and then, not at every write
        await client.kv.put(b"/fat/%d" % number, bytes(100_000))


async def test_too_little_space_raises_an_alarm_that_can_be_disarmed() -> None:
    with EtcdCluster(1, arguments=["--quota-backend-bytes=2000000"]) as cluster:
        async with asking(cluster) as client:
            member = (await client.maintenance.status()).header.member_id
            with pytest.raises(NoSpace):
                await fill(client)
            alarms = await client.maintenance.alarms()
            assert [(alarm.member_id, alarm.alarm) for alarm in alarms] == [(member, AlarmType.NOSPACE)]
            assert any("NOSPACE" in words for words in (await client.maintenance.status()).errors)
            with pytest.raises(NoSpace):
                await client.kv.put(b"/thin", b"")
            deleted = await client.kv.delete(b"/fat/", after_prefix(b"/fat/"))
            await client.kv.compact(deleted.header.revision, physical=True)
            before = (await client.maintenance.status()).db_size
            await client.maintenance.defragment()
            assert (await client.maintenance.status()).db_size < before
            assert len(await client.maintenance.disarm()) == 1
            assert await client.maintenance.alarms() == ()
            await client.kv.put(b"/thin", b"")


async def test_tenants_with_a_prefix_each_cannot_touch_each_others_keys() -> None:
    tenants = {"blue": b"/tenants/blue/", "red": b"/tenants/red/"}
    with EtcdCluster(1) as cluster:
        async with AsyncExitStack() as stack:
            root = await stack.enter_async_context(asking(cluster))
            with pytest.raises(FailedPrecondition, match="root user does not exist"):
                await root.auth.enable()
            await root.auth.add_user("root")
            await root.auth.add_role("root")
            await root.auth.grant_role("root", "root")
            for name, prefix in tenants.items():
                await root.auth.add_user(name)
                await root.auth.add_role(name)
                await root.auth.grant_prefix(name, prefix)
                await root.auth.grant_role(name, name)
            await root.auth.enable()
            assert await root.auth.enabled()
            with pytest.raises(UserExists):
                await root.auth.add_user("blue")
            with pytest.raises(RoleExists):
                await root.auth.add_role("blue")
            assert await root.auth.permissions("blue") == (
                Permission(PermissionType.READWRITE, b"/tenants/blue/", b"/tenants/blue0"),
            )
            assert await root.auth.user_roles("blue") == ("blue",)
            assert set(await root.auth.users()) == {"root", *tenants}
            assert set(await root.auth.roles()) == {"root", *tenants}

            blue = await stack.enter_async_context(asking(cluster, user="blue"))
            red = await stack.enter_async_context(asking(cluster, user="red"))
            nobody = await stack.enter_async_context(asking(cluster, user="nobody"))
            await blue.kv.put(b"/tenants/blue/a", b"1")
            await red.kv.put(b"/tenants/red/a", b"1")
            assert await blue.kv.get(b"/tenants/blue/a") is not None
            everything = RangeRequest(b"/tenants/", after_prefix(b"/tenants/"))
            for key in (b"/tenants/blue/a", b"/tenants/blue", b"/tenants/blue0", b"/tenants/", b"\x00"):
                for attempt in (red.kv.get(key), red.kv.put(key, b""), red.kv.delete(key), nobody.kv.get(key)):
                    with pytest.raises(PermissionDenied):
                        await attempt
            for client in (blue, red, nobody):
                with pytest.raises(PermissionDenied):
                    await client.kv.range(everything)
                with pytest.raises((PermissionDenied, UserNotFound)):
                    await client.auth.add_user("mallory")
            smuggle = RequestOp(put=PutRequest(b"/tenants/blue/a", b"2"))
            with pytest.raises(PermissionDenied):
                await red.kv.transaction(TxnRequest(success=(smuggle,)))
            assert len((await root.kv.range(everything)).kvs) == 2

            await root.auth.revoke_role("red", "red")
            with pytest.raises(PermissionDenied):
                await red.kv.get(b"/tenants/red/a")
            await root.auth.revoke("blue", b"/tenants/blue/", b"/tenants/blue0")
            with pytest.raises(PermissionDenied):
                await blue.kv.get(b"/tenants/blue/a")
            await root.auth.delete_user("red")
            await root.auth.delete_role("red")
            with pytest.raises(UserNotFound):
                await root.auth.user_roles("red")
            with pytest.raises(RoleNotFound):
                await root.auth.permissions("red")
            await root.auth.disable()
            assert await red.kv.get(b"/tenants/red/a") is not None
