"""What one look of the controller does for a control plane, on a machine whose programs are stand-ins."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from nagaya.api.controlplane.hosted_control_plane import FINALIZER, HOSTED_CONTROL_PLANES, HostedControlPlane
from nagaya.clusters.certificates.reader import SecretReader
from nagaya.controlplane.hosted.control_plane.controller import HostedControlPlanes
from nagaya.controlplane.hosted.data_store.driver import Driver
from nagaya.controlplane.hosted.data_store.errors import StoreError
from nagaya.controlplane.hosted.data_store.tenant import Tenant
from nagaya.controlplane.hosted.data_store.tenant_store import TenantStore
from nagaya.controlplane.hosted.data_store_controller.seen import add_index
from nagaya.controlplane.hosted.data_store_controller.stores import Stores
from nagaya.controlplane.hosted.host import addresses, ownership
from nagaya.controlplane.hosted.host.tenant_folder import Started
from nagaya.controlplane.hosted.phases import TRY_AGAIN
from nagaya.kube.cache.cache import Cache
from nagaya.kube.contract_kinds import ContractKinds
from nagaya.kube.controller import Result
from nagaya.kube.key import Key
from nagaya.kube.recorder import Recorder
from nagaya.kube.remote import Remotes
from nagaya.kube.runtime import Runtime
from nagaya.simulators.proxmox.guests.clusters import Clusters
from nagaya.simulators.tenant.shared import Shared
from nagaya.world import World
from support.kube import FakeServer
from support.plane.machine_room import ADDRESS, MachineRoom
from support.plane.prepared_keys import PreparedKeys
from support.plane.room_host import RoomHost
from support.standing_clock import StandingClock
from support.waiting import eventually

KEY = Key("default", "one")
PLANES, CLUSTERS, STORES = (
    "apis/controlplane.cluster.x-k8s.io/v1alpha1/hostedcontrolplanes",
    "apis/cluster.x-k8s.io/v1beta2/clusters",
    "apis/controlplane.cluster.x-k8s.io/v1alpha1/datastores",
)


class Store:
    """A store that answers when the test lets it, and then reports that it is full."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.answers = asyncio.Event()

    async def provision(self, tenant: Tenant, kept: Mapping[str, bytes] | None = None) -> TenantStore:
        self.asked.append(tenant.uid)
        await self.answers.wait()
        raise StoreError("etcd is full.")


class Place:
    """A management API with a Cluster and its control plane, and the controller."""

    def __init__(self, folder: Path) -> None:
        self.server = FakeServer()
        cluster = self.server.put(CLUSTERS, KEY.namespace, "one", spec={})
        uid = cluster["metadata"]["uid"]
        owner = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "one", "uid": uid}
        metadata = {"creationTimestamp": "2026-11-01T11:00:00Z", "ownerReferences": [owner]}
        self.server.put(PLANES, *KEY, metadata=metadata, spec={"version": "v1.36.3"})
        world = World(StandingClock(), random.Random(1))
        client = self.server.client(world)
        self.cache = cache = Cache(client, world)
        self.stores = Stores()
        remotes, recorder = Remotes(lambda _: cast(Any, None), world), Recorder(client, world)
        self.host = RoomHost(
            MachineRoom(world, Clusters(world), folder, lambda _: "", Shared()), asyncio.Event(), world
        )
        add_index(cache)
        reader = SecretReader(client, cache)
        rt = Runtime(client, cache, ContractKinds(cache), remotes, recorder, world)
        self.planes = HostedControlPlanes(rt, self.host, self.stores, reader, PreparedKeys())
        for kind in self.planes.controller.kinds:
            if not cache.has(kind):
                cache.start(kind)

    @property
    def plane(self) -> HostedControlPlane:
        return HOSTED_CONTROL_PLANES.convert(self.server.objects[PLANES, *KEY])

    def conditions(self) -> dict[str, tuple[str, str]]:
        """Reason and message of each condition."""
        reported = self.plane.status.conditions
        return {condition.type: (condition.reason, condition.message) for condition in reported}

    def names(self, collection: str) -> set[str]:
        return {name for place, _, name in self.server.objects if place == collection}


@asynccontextmanager
async def place(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Place]:
    monkeypatch.setattr(addresses, "is_own", lambda address: address == ADDRESS)
    monkeypatch.setattr(addresses, "is_free", lambda address, port: True)
    found = Place(folder)
    await found.cache.synced()
    try:
        yield found
    finally:
        await found.planes.controller.stop()
        await found.cache.close()


async def test_one_look_does_all_that_waits_for_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with place(tmp_path, monkeypatch) as here:
        await here.planes.reconcile(KEY)

        plane = here.plane
        assert plane.metadata.finalizers == (FINALIZER,)
        assert plane.spec.control_plane_endpoint.host == ADDRESS
        assert plane.status.data_store is not None
        assert plane.status.data_store.name == "default"
        assert here.names(STORES) == {"default"}
        assert here.names("api/v1/secrets") == {"one-ca", "one-sa", "one-proxy", "one-kubeconfig"}
        owner = ownership.read(here.host.folder(plane.tenant_id).path)
        assert owner == ownership.Owner.of(plane.metadata)
        assert here.conditions()["APIServerReady"][0] == "WaitingForDataStore"


async def test_what_takes_long_is_told_while_it_does_and_what_fails_is_tried_again_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with place(tmp_path, monkeypatch) as here:
        store = Store()
        here.server.put(STORES, "", "default", metadata={"uid": "store"}, spec={"driver": "etcd", "managed": True})
        await here.cache.current()
        here.stores.put("store", cast(Driver, store))
        looking = asyncio.create_task(here.planes.reconcile(KEY))
        await eventually(lambda: looking.done() or (store.asked and here.conditions()))

        assert here.conditions()["DataStoreReady"] == (
            "WaitingForDataStore",
            "A place in DataStore default is being made.",
        )
        store.answers.set()
        assert await looking == Result(TRY_AGAIN)
        assert here.conditions()["DataStoreReady"] == ("ProvisioningFailed", "etcd is full.")
        assert set(store.asked) == {here.plane.tenant_id}


async def test_a_port_of_programs_that_do_not_run_right_now_is_not_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with place(tmp_path, monkeypatch) as here:
        first = here.host.settings.ports[0]
        other = "0ac1a655-ff52-49dc-aec3-5816fda3d0aa"
        metadata = {"uid": other, "creationTimestamp": "2026-11-01T12:00:00Z"}
        here.server.put(PLANES, "elsewhere", "other", metadata=metadata, spec={"version": "v1.36.3"})
        await here.cache.current()
        started = Started("digest", "v1.36.3", f"{ADDRESS}:{first}")
        here.host.folder(other).note_started({f"{other}.kube-apiserver-0": started})
        await here.planes.reconcile(KEY)

        assert here.plane.spec.control_plane_endpoint.port == first + 1
