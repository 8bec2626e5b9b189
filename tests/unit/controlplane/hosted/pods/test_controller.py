"""What the controller of control planes of pods listens to, and what it does before a Cluster owns one."""

from __future__ import annotations

import base64
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, cast

import pytest

from nagaya.api.controlplane.hosted_control_plane import FINALIZER, HOSTED_CONTROL_PLANES
from nagaya.clusters.certificates.reader import SecretReader
from nagaya.controlplane.hosted.control_plane.status import OWNED_SOON
from nagaya.controlplane.hosted.data_store.driver import Driver
from nagaya.controlplane.hosted.data_store_controller.stores import Stores
from nagaya.controlplane.hosted.pods.controller import HostedControlPlanes
from nagaya.controlplane.hosted.pods.settings import PodSettings
from nagaya.kube.cache.cache import Cache
from nagaya.kube.connection import Connection
from nagaya.kube.contract_kinds import ContractKinds
from nagaya.kube.controller import Result
from nagaya.kube.key import Key
from nagaya.kube.recorder import Recorder
from nagaya.kube.remote import Remotes
from nagaya.kube.runtime import Runtime
from nagaya.kube.tenant_secrets import TENANT_SECRETS, follow_secrets
from nagaya.kube.transport import Call
from nagaya.world import World
from support.kube import FakeServer
from support.plane.prepared_keys import PreparedKeys
from support.standing_clock import StandingClock

NAMESPACE = "tenants"
PLANES, CLUSTERS, STORES = (
    "apis/controlplane.cluster.x-k8s.io/v1alpha1/hostedcontrolplanes",
    "apis/cluster.x-k8s.io/v1beta2/clusters",
    "apis/controlplane.cluster.x-k8s.io/v1alpha1/datastores",
)
NOW, LONG_AGO = "2026-11-01T12:00:00Z", "2026-11-01T11:00:00Z"


class Management(FakeServer):
    """An API that also makes what is applied and not there yet."""

    def _answer(self, call: Call) -> tuple[int, dict[str, Any]]:
        status, content = super()._answer(call)
        if status == 404 and call.method == "PATCH":
            return super()._answer(replace(call, method="POST", path=call.path.rpartition("/")[0]))
        return status, content


class Offered(Remotes):
    """Notes what credentials are offered, and connects to nobody."""

    def __init__(self, world: World) -> None:
        super().__init__(lambda _: cast(Any, None), world)
        self.offers: list[tuple[Key, str]] = []

    def offer(self, key: Key, connection: Connection | None, problem: str = "") -> None:
        self.offers.append((key, "" if connection is None else connection.server))


class Place:
    """A management API, and the controller, whose reconcile is called by the test."""

    def __init__(self) -> None:
        self.server = Management()
        world = World(StandingClock(), random.Random(1))
        client = self.server.client(world)
        self.cache = Cache(client, world)
        self.remotes = Offered(world)
        self.stores = Stores()
        recorder = Recorder(client, world)
        self.rt = Runtime(client, self.cache, ContractKinds(self.cache), self.remotes, recorder, world)
        self.planes: HostedControlPlanes
        self.looked_at: list[Key] = []

    async def start(self, monkeypatch: pytest.MonkeyPatch) -> None:
        reader = SecretReader(self.rt.client, self.cache)
        self.planes = HostedControlPlanes(self.rt, self.stores, reader, PreparedKeys(), PodSettings(()))
        monkeypatch.setattr(self.planes.controller, "look_at", self.looked_at.extend)
        for kind in self.planes.controller.kinds:
            if not self.cache.has(kind):
                self.cache.start(kind)
        await self.cache.synced()

    def plane(self, name: str = "one", made: str = LONG_AGO, store: str = "default", **metadata: Any) -> None:
        spec = {"version": "v1.36.3", "dataStoreRef": {"name": store}}
        self.server.put(PLANES, NAMESPACE, name, metadata={"creationTimestamp": made, **metadata}, spec=spec)

    def kubeconfig(self, cluster: str, server: str) -> None:
        connection = {"name": "a", "cluster": {"server": server}}
        context = {"name": "a", "context": {"cluster": "a", "user": "a"}}
        content = {"clusters": [connection], "contexts": [context], "users": [{"name": "a", "user": {}}]}
        value = base64.b64encode(str({**content, "current-context": "a"}).encode()).decode()
        metadata = {"labels": {"cluster.x-k8s.io/cluster-name": cluster}}
        self.server.put("api/v1/secrets", NAMESPACE, f"{cluster}-kubeconfig", metadata=metadata, data={"value": value})

    def conditions(self, name: str = "one") -> dict[str, tuple[str, str]]:
        """Status and reason of each condition."""
        found = HOSTED_CONTROL_PLANES.convert(self.server.objects[PLANES, NAMESPACE, name])
        return {condition.type: (condition.status, condition.reason) for condition in found.status.conditions}


@asynccontextmanager
async def place() -> AsyncIterator[Place]:
    found = Place()
    try:
        yield found
    finally:
        await found.cache.close()


async def test_one_that_nobody_owns_says_so_unless_it_was_declared_just_now(monkeypatch: pytest.MonkeyPatch) -> None:
    async with place() as here:
        here.plane("old")
        here.plane("new", NOW)
        await here.start(monkeypatch)

        assert await here.planes.reconcile(Key(NAMESPACE, "old")) is None
        assert await here.planes.reconcile(Key(NAMESPACE, "new")) == Result(OWNED_SOON)
        assert here.conditions("old")["Available"] == ("False", "WaitingForCluster")
        assert here.conditions("new") == {}


@pytest.mark.parametrize("made", [NOW, LONG_AGO])
async def test_one_that_a_cluster_owns_is_begun_with_at_once(monkeypatch: pytest.MonkeyPatch, made: str) -> None:
    async with place() as here:
        cluster = here.server.put(CLUSTERS, NAMESPACE, "one", spec={})
        uid = cluster["metadata"]["uid"]
        owner = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "one", "uid": uid}
        here.plane("one", made, ownerReferences=[owner])
        await here.start(monkeypatch)

        await here.planes.reconcile(Key(NAMESPACE, "one"))
        assert here.server.objects[PLANES, NAMESPACE, "one"]["metadata"]["finalizers"] == [FINALIZER]
        assert ("api/v1/services", NAMESPACE, "one-kube-apiserver") in here.server.objects
        assert here.conditions()["EndpointReady"] == ("False", "WaitingForLoadBalancer")


async def test_those_who_use_a_store_are_looked_at_when_it_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    async with place() as here:
        for name in ("default", "other"):
            here.server.put(STORES, "", name, metadata={"uid": f"uid of {name}"}, spec={"driver": "etcd"})
        for name, store in (("a", "default"), ("b", "other"), ("c", "default")):
            here.plane(name, store=store)
        await here.start(monkeypatch)
        driver = cast(Driver, None)

        here.stores.put("uid of default", driver)
        assert here.looked_at == [Key(NAMESPACE, "a"), Key(NAMESPACE, "c")]
        here.stores.put("uid of none", driver)
        here.stores.put("uid of default", driver)
        assert len(here.looked_at) == 2


@pytest.mark.parametrize("others_do", [False, True], ids=["alone", "beside others"])
async def test_kubeconfigs_of_tenants_are_followed_once(monkeypatch: pytest.MonkeyPatch, others_do: bool) -> None:
    """Whichever controllers are in the process: of those that need them, the first one has them followed."""
    async with place() as here:
        if others_do:
            follow_secrets(here.cache, here.remotes)
        here.kubeconfig("one", "https://192.0.2.10:6443")
        await here.start(monkeypatch)
        here.kubeconfig("two", "https://192.0.2.11:6443")
        await here.cache.current()

        expected = [("one", "https://192.0.2.10:6443"), ("two", "https://192.0.2.11:6443")]
        assert here.remotes.offers == [(Key(NAMESPACE, name), server) for name, server in expected]
        assert len(here.cache.list(TENANT_SECRETS)) == 2
