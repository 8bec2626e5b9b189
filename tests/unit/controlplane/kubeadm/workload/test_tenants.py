"""Looks at tenants: what they cost, whom they wait for, and what brings the next one about."""

from __future__ import annotations

import asyncio
import base64
import random
from collections.abc import AsyncIterator
from typing import Any

import pytest

from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.clusters.certificates.key_maker import KeyMaker
from nagaya.clusters.certificates.reader import SecretReader
from nagaya.controlplane.kubeadm.tenant_seen import TenantSeen
from nagaya.controlplane.kubeadm.workload.static_pod import STATIC_PODS
from nagaya.controlplane.kubeadm.workload.tenant import LISTING_PATIENCE
from nagaya.controlplane.kubeadm.workload.tenants import Tenants
from nagaya.controlplane.kubeadm.workload_port import Question, Workload, WorkloadError
from nagaya.kube.cache.cache import Cache
from nagaya.kube.connection import Connection
from nagaya.kube.contract_kinds import ContractKinds
from nagaya.kube.key import Key
from nagaya.kube.recorder import Recorder
from nagaya.kube.remote import Remotes
from nagaya.kube.runtime import Runtime
from nagaya.kube.streams.stream import Stream, StreamBroken
from nagaya.pki.authority import CertificateAuthority
from nagaya.world import World
from support.kube import FakeServer
from support.virtual_time import LoopClock
from unit.controlplane.kubeadm.examples import ROLE, kcp, member

HARBOUR = Key("fleet", "harbour")
SYSTEM = "kube-system"
NODES, PODS, CONFIG_MAPS = "api/v1/nodes", "api/v1/pods", "api/v1/configmaps"
EARLY = Question(pods=False)
CONTROL_PLANE = Question(nodes=frozenset({"a"}))


class NoPods:
    """A way to pods of which none answers."""

    def __init__(self) -> None:
        self.dialed: list[str] = []

    async def dial(self, namespace: str, name: str, port: int) -> Stream:
        self.dialed.append(name)
        raise StreamBroken("connection refused")


class Fleet:
    """A management API, and one tenant."""

    def __init__(self) -> None:
        self.world = World(LoopClock(), random.Random(1))
        self.management, self.tenant = FakeServer(), FakeServer()
        self.pods = NoPods()
        self.news: list[Key] = []
        self.leads = True
        client = self.management.client(self.world)
        cache = Cache(client, self.world)
        self.remotes = Remotes(lambda _: self.tenant, self.world)
        recorder = Recorder(client, self.world)
        runtime = Runtime(client, cache, ContractKinds(cache), self.remotes, recorder, self.world)
        self.tenants = Tenants(runtime, SecretReader(client, cache), KeyMaker(), lambda _: self.pods, self.guard)
        self.tenants.on_change(self.news.append)
        self.cluster: Cluster = CLUSTERS.convert({"metadata": {"namespace": "fleet", "name": "harbour", "uid": "1"}})

    def guard(self) -> None:
        if not self.leads:
            raise PermissionError("another process leads")

    async def connect(self, token: str = "") -> None:
        self.remotes.want(HARBOUR)
        self.remotes.offer(HARBOUR, Connection("https://harbour", token=token))
        await asyncio.sleep(0.1)

    def workload(self) -> Workload:
        found = self.tenants.get(self.cluster, kcp().made())
        assert found is not None
        return found

    async def look(self, question: Question = CONTROL_PLANE) -> TenantSeen:
        return await self.workload().look(question)

    def node(self, name: str, *, label: bool = True, **more: Any) -> None:
        self.tenant.put(NODES, "", name, metadata={"labels": {ROLE: ""} if label else {}}, **more)

    def pod(self, name: str, **status: Any) -> None:
        self.tenant.put(PODS, SYSTEM, name, metadata={"labels": {"tier": "control-plane"}}, status=status)

    def static_pods(self) -> set[Key]:
        """Which pods of the tenant are kept."""
        remote = self.remotes.get(HARBOUR)
        assert remote is not None
        return {Key.of(pod) for pod in remote.cache.list(STATIC_PODS)}

    def heard(self) -> bool:
        """Whether there was news since this was asked last."""
        found = bool(self.news)
        self.news.clear()
        return found


@pytest.fixture
async def fleet() -> AsyncIterator[Fleet]:
    made = Fleet()
    yield made
    await made.tenants.close()
    await made.remotes.close()


async def test_a_tenant_that_is_not_connected_cannot_be_talked_to(fleet: Fleet) -> None:
    assert fleet.tenants.get(fleet.cluster, kcp().made()) is None
    await fleet.connect()
    assert fleet.heard()
    first = fleet.workload()
    assert fleet.workload() is first
    await fleet.connect("another")
    assert fleet.heard()
    assert fleet.workload() is not first


async def test_the_end_of_kubeadm_init_is_news_and_then_nothing_is_followed_any_more(fleet: Fleet) -> None:
    await fleet.connect()
    assert not (await fleet.look(EARLY)).kubeadm_config
    await asyncio.sleep(1)
    fleet.news.clear()
    fleet.tenant.put(CONFIG_MAPS, SYSTEM, "kube-root-ca.crt")
    await asyncio.sleep(1)
    assert not fleet.heard()
    fleet.tenant.put(CONFIG_MAPS, SYSTEM, "kubeadm-config")
    await asyncio.sleep(1)
    assert fleet.heard()
    assert (await fleet.look(EARLY)).kubeadm_config
    fleet.tenant.calls.clear()
    for _ in range(5):
        await fleet.look(EARLY)
        await asyncio.sleep(400)
    assert [each for each in fleet.tenant.calls if "configmaps" in each] == []


async def test_nodes_are_those_of_the_role_those_named_and_those_of_machines(fleet: Fleet) -> None:
    fleet.node("a", label=False)
    fleet.node("b")
    fleet.node("c", label=False, spec={"providerID": "boat://c"})
    fleet.node("worker", label=False)
    fleet.pod("etcd-b", phase="Running", conditions=[{"type": "Ready", "status": "True"}])
    fleet.pod("etcd-worker", phase="Running")
    await fleet.connect()
    seen = await fleet.look(Question(frozenset({"a", "gone"}), frozenset({"boat://c"})))
    assert set(seen.nodes) == {"a", "b", "c"}
    assert set(seen.pods) == {"etcd-b"}
    assert seen.pods["etcd-b"].ready
    assert not seen.nodes_problem


async def test_of_pods_only_those_that_kubeadm_labels_in_its_namespace_are_listed_and_watched(fleet: Fleet) -> None:
    labels = {"tier": "control-plane"}
    fleet.node("a")
    fleet.pod("etcd-a")
    fleet.tenant.put(PODS, SYSTEM, "coredns")
    fleet.tenant.put(PODS, "default", "etcd-b", metadata={"labels": labels})
    await fleet.connect()
    await fleet.look()
    await asyncio.sleep(0.1)  # virtual time: the watch delivers its events
    assert fleet.static_pods() == {Key(SYSTEM, "etcd-a")}
    fleet.news.clear()
    fleet.tenant.put(PODS, SYSTEM, "coredns", status={"phase": "Running"})
    fleet.tenant.put(PODS, "default", "etcd-b", status={"phase": "Running"})
    fleet.tenant.put(PODS, "default", "etcd-c", metadata={"labels": labels})
    await asyncio.sleep(0.1)  # virtual time: the watch delivers its events
    assert not fleet.heard()
    assert fleet.static_pods() == {Key(SYSTEM, "etcd-a")}
    asked = {call for call in fleet.tenant.calls if call.endswith("/pods")}
    assert asked == {f"{verb} /api/v1/namespaces/{SYSTEM}/pods" for verb in ("GET", "WATCH")}


async def test_a_steady_tenant_is_not_asked_for_anything(fleet: Fleet) -> None:
    fleet.node("a")
    await fleet.connect()
    await fleet.look()
    fleet.tenant.calls.clear()
    for _ in range(10):
        await fleet.look()
    assert fleet.tenant.calls == []


async def test_changes_of_control_plane_nodes_and_static_pods_are_news(fleet: Fleet) -> None:
    fleet.node("a")
    await fleet.connect()
    await fleet.look()
    await asyncio.sleep(0.1)
    fleet.news.clear()
    fleet.node("worker", label=False)
    await asyncio.sleep(0.1)
    assert not fleet.heard()
    fleet.node("a", spec={"taints": []})
    await asyncio.sleep(0.1)
    assert not fleet.heard()
    fleet.node("a", status={"conditions": [{"type": "Ready", "status": "True"}]})
    await asyncio.sleep(0.1)
    assert fleet.heard()
    fleet.pod("etcd-a", phase="Running")
    await asyncio.sleep(0.1)
    assert fleet.heard()
    fleet.tenant.remove(NODES, "", "a")
    await asyncio.sleep(0.1)
    assert fleet.heard()


async def test_a_tenant_that_hangs_keeps_a_look_for_seconds_only(fleet: Fleet) -> None:
    await fleet.connect()
    fleet.tenant.hung = True
    loop = asyncio.get_running_loop()
    begun = loop.time()
    seen = await fleet.look()
    assert loop.time() - begun < LISTING_PATIENCE + 0.1
    assert "nodes" in seen.nodes_problem
    assert seen.etcd.members is None
    begun = loop.time()
    assert (await fleet.look()).nodes_problem
    assert loop.time() - begun < 0.1
    fleet.tenant.hung = False
    fleet.node("a")
    fleet.news.clear()
    await asyncio.sleep(60)
    assert fleet.heard()
    assert set((await fleet.look()).nodes) == {"a"}


async def test_etcd_is_asked_on_nodes_that_are_there_and_what_is_wrong_is_told(fleet: Fleet) -> None:
    fleet.node("a")
    await fleet.connect()
    question = Question(frozenset({"a", "b"}), etcd_on=("b", "a"))
    seen = await fleet.look(question)
    assert seen.etcd.problem == "Failed to connect to etcd: Secret fleet/harbour-etcd does not exist"
    assert fleet.pods.dialed == []
    with pytest.raises(WorkloadError, match="etcd cannot be reached: Secret fleet/harbour-etcd does not exist"):
        await fleet.workload().move_leader("a", ["b"])


async def test_a_process_that_leads_no_longer_changes_no_etcd(fleet: Fleet) -> None:
    await fleet.connect()
    authority = CertificateAuthority.create("etcd-ca", LoopClock())
    data = {"tls.crt": authority.certificate_pem, "tls.key": authority.key_pem}
    encoded = {name: base64.b64encode(value).decode() for name, value in data.items()}
    fleet.management.put("api/v1/secrets", "fleet", "harbour-etcd", data=encoded)
    fleet.leads = False
    with pytest.raises(PermissionError):
        await fleet.workload().move_leader("a", ["b"])
    with pytest.raises(PermissionError):
        await fleet.workload().remove_member(member("a"), ["b"])
    assert fleet.pods.dialed == []
    fleet.leads = True
    with pytest.raises(WorkloadError, match="connection refused"):
        await fleet.workload().remove_member(member("a"), ["a", "b"])
    assert fleet.pods.dialed == ["etcd-b"]


async def test_add_ons_are_looked_at_when_something_else_is_declared_and_once_in_a_while(fleet: Fleet) -> None:
    await fleet.connect()
    wanted = kcp().made()

    async def asked(version: str = "") -> bool:
        fleet.tenant.calls.clear()
        await fleet.workload().update_kube_proxy(kcp(version=version).made() if version else wanted)
        return any("kube-proxy" in each for each in fleet.tenant.calls)

    assert await asked()
    assert not await asked()
    assert await asked("v1.36.9")
    assert not await asked("v1.36.9")
    await asyncio.sleep(700)
    assert await asked("v1.36.9")


async def test_what_the_tenant_refuses_is_told_and_tried_again(fleet: Fleet) -> None:
    await fleet.connect()
    for _ in range(2):
        with pytest.raises(WorkloadError, match=r"the cluster configuration cannot be brought in line: .*not found"):
            await fleet.workload().update_kubeadm_config(kcp().made())


async def test_a_certificate_that_cannot_be_looked_at_is_told(fleet: Fleet) -> None:
    await fleet.connect()
    with pytest.raises(WorkloadError, match="kube-apiserver on Node a cannot be looked at: connection refused"):
        await fleet.workload().certificate_expiry("a", 6443)
    assert fleet.pods.dialed == ["kube-apiserver-a"]
