"""The etcd of simulated clusters judged by a real one: the same calls, the same answers."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from nagaya.kube.etcd.client import EtcdClient
from nagaya.kube.etcd.errors import EtcdError
from nagaya.kube.etcd.pool import EtcdPool, Reached
from nagaya.kube.streams.stream import Stream
from nagaya.kube.streams.tcp import TcpStream
from nagaya.pki.authority import CertificateAuthority
from nagaya.simulators.tenant.settings import Fault, TenantSettings, Timing
from nagaya.simulators.tenant.tenant import Tenant
from nagaya.wire.etcd.kv import RangeRequest
from nagaya.world import World
from support.etcd_cluster import EtcdCluster
from support.tenant_etcd import first, further, pool

pytestmark = pytest.mark.long("starts real clusters of etcd and waits for elections")

NAMES = ("m0", "m1", "m2")
UNKNOWN = 4711
ELSEWHERE = "https://127.0.0.9:2380"
Outcome = tuple[str, object]


@dataclass(frozen=True)
class Subject:
    """A cluster of three."""

    members: EtcdPool
    stop: Callable[[str], None]


class Pods:
    """A dialer to real members, as if each ran in the pod `etcd-<name>`."""

    def __init__(self, cluster: EtcdCluster) -> None:
        self._cluster = cluster

    async def dial(self, namespace: str, name: str, port: int) -> Stream:
        place = self._cluster.place(name.removeprefix("etcd-"))
        return await TcpStream.connect("127.0.0.1", place.client_port)


@asynccontextmanager
async def real() -> AsyncIterator[Subject]:
    with EtcdCluster() as cluster:
        # Reads wait for each other, and each for as long as etcd waits for a majority: some seconds.
        members = EtcdPool(Pods(cluster), cluster.tls(check_name=False), call_timeout=60)
        # Not by `kill`, which waits for the first program that has ended: here two do.
        yield Subject(members, lambda name: os.killpg(cluster._processes.pids[name], signal.SIGKILL))


@asynccontextmanager
async def simulated() -> AsyncIterator[Subject]:
    world = World()
    etcd = CertificateAuthority.create("etcd-ca", world.clock)
    authority = CertificateAuthority.create("kubernetes", world.clock)
    timing = Timing(node_ready=0, pod_start=0, static_pod_start=0, etcd_catch_up=0)
    tenant = await Tenant.start(TenantSettings("test", authority, listen=False, timing=timing), world)
    try:
        await tenant.join(first(NAMES[0], etcd))
        for name in NAMES[1:]:
            await tenant.settled()
            await tenant.join(further(name, etcd))
        await tenant.settled()
        yield Subject(pool(tenant, etcd, world.clock), lambda name: tenant.fail(name, Fault.ETCD_DOWN))
    finally:
        await tenant.stop()


async def outcome(what: Awaitable[Any], meaning: Callable[[Any], object] = lambda _: "done") -> Outcome:
    """What came of a call: its meaning, or the code and the words of the refusal."""
    try:
        return "done", meaning(await what)
    except EtcdError as error:
        return error.code.name, error.words


async def eventually(attempt: Callable[[], Awaitable[Outcome]], *not_yet: object) -> Outcome:
    """A real member counts as connected only after some seconds, and elections take a moment."""
    async with asyncio.timeout(120):
        while True:
            found = await attempt()
            if found[1] not in not_yet:
                return found
            await asyncio.sleep(0.2)


async def healthy(client: EtcdClient, other: EtcdClient) -> list[Outcome]:
    """What a cluster of three answers."""
    cluster, maintenance, kv = client.cluster, client.maintenance, client.kv
    members = {each.name: each for each in await cluster.members()}
    voter, unhealthy = members["m1"].id, "etcdserver: unhealthy cluster"
    found = [
        await outcome(cluster.members(), lambda all: sorted(each.name for each in all)),
        await outcome(cluster.members(linearizable=False), len),
        await outcome(cluster.members(), lambda all: [each.id for each in all] == sorted(each.id for each in all)),
        await outcome(maintenance.alarms()),
        await outcome(maintenance.move_leader(UNKNOWN)),
        await outcome(other.maintenance.move_leader(voter)),
        await outcome(cluster.remove(UNKNOWN)),
        await outcome(cluster.promote(UNKNOWN)),
        await outcome(cluster.promote(voter)),
        await outcome(cluster.add(["nowhere"])),
        await outcome(cluster.update(UNKNOWN, [ELSEWHERE])),
        await eventually(lambda: outcome(cluster.add(members["m1"].peer_urls)), unhealthy),
        await eventually(lambda: outcome(cluster.add(members["m1"].peer_urls, learner=True)), unhealthy),
        await outcome(
            cluster.add([ELSEWHERE], learner=True), lambda made: (made.name, made.peer_urls, made.is_learner)
        ),
        await outcome(cluster.add(["https://127.0.0.8:2380"], learner=True)),
        await outcome(cluster.members(), lambda all: sorted((each.name, each.is_learner) for each in all)),
    ]
    learner = next(each.id for each in await cluster.members() if each.is_learner)
    return [
        *found,
        await outcome(cluster.promote(learner)),
        await outcome(cluster.update(learner, members["m1"].peer_urls)),
        await outcome(cluster.remove(learner), lambda all: sorted(each.name for each in all)),
        await outcome(cluster.remove(learner)),
        await outcome(kv.put(b"", b"")),
        await outcome(kv.put(b"a", b"1")),
        await outcome(kv.put(b"b", b"2", prev_kv=True), lambda answer: answer.prev_kv),
        await outcome(kv.put(b"a", b"3", prev_kv=True), lambda answer: (answer.prev_kv.value, answer.prev_kv.version)),
        await outcome(
            other.kv.range(RangeRequest(key=b"a", range_end=b"\0", limit=1)),
            lambda answer: ([each.value for each in answer.kvs], answer.more, answer.count),
        ),
        await outcome(other.kv.get(b"a"), lambda one: (one.version, one.mod_revision - one.create_revision)),
        await outcome(other.kv.delete_prefix(b"a"), int),
        await outcome(other.kv.get(b"a"), lambda one: one),
        await outcome(maintenance.status(), lambda status: (status.errors, status.is_learner, status.leader != 0)),
        await outcome(maintenance.defragment()),
    ]


async def without_majority(client: EtcdClient, members: list[int]) -> list[Outcome]:
    """What the last of three answers."""
    cluster, maintenance = client.cluster, client.maintenance
    await eventually(lambda: outcome(maintenance.status(), lambda status: status.leader == 0), False)
    slow = await asyncio.gather(
        outcome(cluster.members()),
        outcome(client.kv.get(b"a")),
        outcome(client.kv.put(b"a", b"")),
        outcome(maintenance.alarms()),
    )
    return [
        await outcome(maintenance.status(), lambda status: (status.errors, status.leader)),
        await outcome(cluster.members(linearizable=False), len),
        await outcome(client.kv.range(RangeRequest(key=b"b", serializable=True)), lambda answer: answer.count),
        await outcome(maintenance.move_leader(members[0])),
        await outcome(cluster.add([ELSEWHERE])),
        await outcome(cluster.add([ELSEWHERE], learner=True)),
        *((code, str(words).partition(",")[0]) for code, words in slow),  # the real one guesses at the reason
    ]


async def answers(subject: Subject) -> list[Outcome]:
    async with await eventually_leading(subject.members) as leader:
        follower = next(name for name in NAMES if name != leader.node)
        async with await subject.members.member(follower) as other:
            found = await healthy(leader.client, other.client)
        members = [each.id for each in await leader.client.cluster.members()]
        for name in NAMES:
            if name != leader.node:
                subject.stop(name)
        return found + await without_majority(leader.client, members)


async def eventually_leading(members: EtcdPool) -> Reached:
    async with asyncio.timeout(120):
        while True:
            try:
                return await members.leader(NAMES)
            except (EtcdError, OSError):
                await asyncio.sleep(0.2)


async def test_a_simulated_etcd_answers_as_a_real_one() -> None:
    async with real() as subject:
        expected = await answers(subject)
    async with simulated() as subject:
        found = await answers(subject)
    assert list(enumerate(found)) == list(enumerate(expected))
