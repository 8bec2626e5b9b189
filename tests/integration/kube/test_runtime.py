"""A controller as simple as one can be, on three servers: embedded without a network, embedded over HTTPS, and the real
kube-apiserver. A Fleet shall have so many Boats; whatever happens to either, it gets them."""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from nagaya.api.kind import Kind, Resource
from nagaya.api.meta import Condition, ObjectMeta, OwnerReference
from nagaya.api.model import Model
from nagaya.api.untyped import Untyped
from nagaya.apiserver.server import ApiServer
from nagaya.cli.in_process import InProcessTransport
from nagaya.kube import kubeconfig
from nagaya.kube.api import Api
from nagaya.kube.client import Client
from nagaya.kube.conditions import condition, get, is_true, set_condition
from nagaya.kube.controller import Controller, Watch
from nagaya.kube.errors import ApiError, NotFound
from nagaya.kube.http import HttpTransport
from nagaya.kube.key import Key
from nagaya.kube.manager import Manager
from nagaya.kube.mapping import owner
from nagaya.kube.patches import Merge
from nagaya.kube.transport import NoAnswer, Transport
from nagaya.world import World
from support.real import RealControlPlane
from support.running_server import RunningServer

SERVERS = ["in-process", "embedded", "real"]
FINALIZER = "example.com/fleet"
PATIENCE = 120.0
DEFINITIONS = Kind(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", Untyped, namespaced=False
)


class FleetSpec(Model):
    size: int = 0


class FleetStatus(Model):
    size: int | None = None
    conditions: tuple[Condition, ...] = ()


class Fleet(Resource):
    spec: FleetSpec = FleetSpec()
    status: FleetStatus = FleetStatus()


class Boat(Resource):
    pass


def definition(group: str, kind: str) -> dict[str, Any]:
    """A CRD that takes anything in its spec."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    conditions = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {**anything, "required": ["type"], "properties": {"type": {"type": "string"}}},
    }
    status = {"type": "object", "properties": {"size": {"type": "integer"}, "conditions": conditions}}
    schema = {"type": "object", "properties": {"spec": anything, "status": status}}
    version = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}}
    plural = f"{kind.lower()}s"
    return {
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
            "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
        },
    }


@dataclass
class Harbour:
    """A server with the two kinds, and what tests do with it."""

    transport: Transport
    group: str = field(default_factory=lambda: f"g{uuid.uuid4().hex[:8]}.example.com")
    requests: Counter[tuple[str, int]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.world = World()
        self.fleets = Kind(self.group, "v1", "Fleet", "fleets", Fleet)
        self.boats = Kind(self.group, "v1", "Boat", "boats", Boat)
        self.client = Client(self.transport, world=self.world)

    async def install(self) -> None:
        for kind in ("Fleet", "Boat"):
            await self.client.create(DEFINITIONS, definition(self.group, kind))
        await insist(lambda: self.client.list(self.fleets))
        await insist(lambda: self.client.list(self.boats))

    async def remove(self) -> None:
        for kind in ("fleets", "boats"):
            await self.client.delete(DEFINITIONS, "", f"{kind}.{self.group}")

    def manager(self) -> Manager:
        """The controller in a process of its own, so to speak."""

        def told(verb: str, kind: str, code: int, seconds: float) -> None:
            self.requests[verb, code] += 1

        client = Client(self.transport, world=self.world, told=told)
        manager = Manager(client, self.world)
        reconcile = Fleets(self, manager).reconcile
        manager.add(Controller("fleet", self.fleets, reconcile, watches=[Watch(self.boats, owner(self.fleets))]))
        return manager

    async def fleet(self, size: int) -> Fleet:
        metadata = {"name": "f", "namespace": "default"}
        return await self.client.create(self.fleets, {"metadata": metadata, "spec": {"size": size}})

    async def resize(self, size: int) -> None:
        await self.client.patch(self.fleets, "default", "f", Merge({"spec": {"size": size}}))

    async def names(self) -> list[str]:
        return [boat.metadata.name for boat in (await self.client.list(self.boats, "default")).items]


async def insist(ask: Callable[[], Awaitable[object]]) -> None:
    """Ask until it is answered: a kind is served, and a server is back, a moment later than one would wish."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await ask()
            except (ApiError, NoAnswer):
                await asyncio.sleep(0.05)
            else:
                return


class Fleets:
    """The controller: boats 0 to size - 1, a finalizer, and a status."""

    def __init__(self, harbour: Harbour, manager: Manager) -> None:
        self._fleets, self._boats = harbour.fleets, harbour.boats
        self._cache, self._world = manager.cache, harbour.world
        self._api = Api(manager.client, manager.cache, "fleet-controller")

    async def reconcile(self, key: Key) -> None:
        fleet = self._cache.get(self._fleets, key)
        if fleet is None:
            return
        boats = self._cache.owned(self._boats, fleet.metadata.uid)
        if fleet.metadata.deleting:
            for boat in boats:
                await self._api.delete(self._boats, boat)
            if not self._cache.owned(self._boats, fleet.metadata.uid):
                await self._api.metadata(self._fleets, fleet, finalizers=())
            return
        fleet = await self._api.metadata(self._fleets, fleet, finalizers=(FINALIZER,))
        reference = OwnerReference(
            api_version=self._fleets.api_version, kind="Fleet", name=key.name, uid=fleet.metadata.uid, controller=True
        )
        wanted = {f"{key.name}-{number}" for number in range(fleet.spec.size)}
        for boat in boats:
            if boat.metadata.name not in wanted:
                await self._api.delete(self._boats, boat)
        for name in sorted(wanted - {boat.metadata.name for boat in boats}):
            metadata = ObjectMeta(name=name, namespace=key.namespace, owner_references=(reference,))
            await self._api.create(self._boats, Boat(metadata=metadata))
        await self._tell(fleet)

    async def _tell(self, fleet: Fleet) -> None:
        size = len(self._cache.owned(self._boats, fleet.metadata.uid))
        conditions = set_condition(
            fleet.status.conditions,
            condition("Ready", size == fleet.spec.size, "Counted", f"{size} boats."),
            now=self._world.clock.now(),
            generation=fleet.metadata.generation,
        )
        status = FleetStatus(size=size, conditions=conditions)
        await self._api.status(self._fleets, fleet, status, conditions={"Ready"}, fields={"size"})


@pytest.fixture(params=SERVERS)
async def harbour(request: pytest.FixtureRequest) -> AsyncIterator[Harbour]:
    server: ApiServer | None = None
    if request.param == "real":
        plane: RealControlPlane = request.getfixturevalue("real_control_plane")
        way: Transport = HttpTransport(kubeconfig.load(plane.kubeconfig), world=World())
    else:
        server = await ApiServer.start()
        if request.param == "embedded":
            await server.listen()
            way = HttpTransport(kubeconfig.parse(server.kubeconfig()), world=World())
        else:
            way = InProcessTransport(server)
    here = Harbour(way)
    await here.install()
    yield here
    await here.remove()
    await way.close()
    if server is not None:
        await server.stop()


async def test_a_fleet_grows_heals_shrinks_and_goes_without_a_conflict(harbour: Harbour) -> None:
    manager = harbour.manager()
    await manager.start()
    await harbour.fleet(3)
    await manager.idle()
    assert await harbour.names() == ["f-0", "f-1", "f-2"]
    await harbour.client.delete(harbour.boats, "default", "f-1")
    await manager.idle()
    assert await harbour.names() == ["f-0", "f-1", "f-2"]
    await harbour.resize(1)
    await manager.idle()
    assert await harbour.names() == ["f-0"]
    fleet = await harbour.client.get(harbour.fleets, "default", "f")
    assert fleet.status.size == 1
    assert is_true(fleet.status.conditions, "Ready")
    found = get(fleet.status.conditions, "Ready")
    assert found is not None
    assert found.observed_generation == fleet.metadata.generation
    await harbour.client.delete(harbour.fleets, "default", "f")
    await manager.idle()
    assert await harbour.names() == []
    with pytest.raises(NotFound):
        await harbour.client.get(harbour.fleets, "default", "f")
    refused = {request: count for request, count in harbour.requests.items() if request[1] >= 400}
    assert refused == {}, "nothing was refused in the usual course"
    await manager.stop()


async def test_a_fleet_at_rest_is_not_written_to(harbour: Harbour) -> None:
    manager = harbour.manager()
    await manager.start()
    await harbour.fleet(2)
    await manager.idle()
    before = Counter(harbour.requests)
    version = (await harbour.client.get(harbour.fleets, "default", "f")).metadata.resource_version
    for _ in range(3):
        manager.controllers[0]._resync_all()
        await manager.idle()
    writes = {verb for verb, _ in harbour.requests - before} - {"get", "list", "watch"}
    assert writes == set()
    after = (await harbour.client.get(harbour.fleets, "default", "f")).metadata.resource_version
    assert after == version
    await manager.stop()
    again = harbour.manager()
    before = Counter(harbour.requests)
    await again.start()
    await again.idle()
    assert {verb for verb, _ in harbour.requests - before} - {"get", "list", "watch"} == set()
    await again.stop()


async def test_what_happened_while_nobody_looked_is_made_good(harbour: Harbour) -> None:
    manager = harbour.manager()
    await manager.start()
    await harbour.fleet(3)
    await manager.idle()
    await manager.stop()
    await harbour.client.delete(harbour.boats, "default", "f-2")
    await harbour.resize(4)
    again = harbour.manager()
    await again.start()
    await again.idle()
    assert await harbour.names() == ["f-0", "f-1", "f-2", "f-3"]
    await again.stop()


async def test_controllers_outlive_a_server_that_is_killed() -> None:
    with RunningServer() as server:
        transport = HttpTransport(kubeconfig.load(server.kubeconfig), world=World())
        harbour = Harbour(transport)
        await harbour.install()
        manager = harbour.manager()
        await manager.start()
        await harbour.fleet(2)
        await manager.idle()
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.start)
        await insist(partial(harbour.resize, 3))
        async with asyncio.timeout(PATIENCE):
            await manager.idle()
        assert await harbour.names() == ["f-0", "f-1", "f-2"]
        await manager.stop()
        await transport.close()
