"""A server in memory with the Cluster controller on it, and users and providers who do what a test says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from typing import Any

from nagaya.api.cluster import cluster, machine, machine_deployment, machine_pool, machine_set
from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.crd import render
from nagaya.api.definition import Definition
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.apiserver.server import ApiServer, Config
from nagaya.cli.in_process import InProcessTransport
from nagaya.core.cluster.controller import controller
from nagaya.kube.client import Client
from nagaya.kube.conditions import get
from nagaya.kube.connection import Connection
from nagaya.kube.contract_kinds import ContractKinds
from nagaya.kube.controller import Controller
from nagaya.kube.errors import AlreadyExists, NotFound
from nagaya.kube.key import Key
from nagaya.kube.manager import Manager
from nagaya.kube.patches import Merge
from nagaya.kube.recorder import Recorder
from nagaya.kube.remote import Remotes
from nagaya.kube.runtime import Runtime
from nagaya.kube.transport import Answer, AnswerLost, Call, NoAnswer, StreamAnswer, Transport
from nagaya.world import World
from support.builders import CLUSTER, CONTROL_PLANE
from support.kube import FakeServer
from support.seen_cluster import BOTH, ENDPOINT, INFRASTRUCTURE
from support.transports import refuses
from support.virtual_run import virtual_world

NAMESPACE = "default"
KEY = Key(NAMESPACE, CLUSTER)
DEFINITIONS = Kind(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", Untyped, namespaced=False
)
SECRETS = Kind("", "v1", "Secret", "secrets", Untyped)
HOLD = "boats.example.com/hold"
TENANT = "https://10.0.0.1:6443"


class Mortal:
    """A transport that remembers writes, and after so many of them loses everything, as if its process had died."""

    def __init__(self, inner: Transport, lives: int | None) -> None:
        self._inner = inner
        self._lives = lives
        self.writes: list[str] = []
        self.answers: list[int] = []
        self.refused = ""
        """Writes to paths with this in them are forbidden."""
        self.hears = asyncio.Event()
        """While it is not set, events from paths with `deaf_to` in them do not arrive."""
        self.hears.set()
        self.deaf_to = ""

    def deafen(self, part: str) -> None:
        self.deaf_to = part
        self.hears.clear()

    @property
    def dead(self) -> bool:
        return self._lives is not None and len(self.writes) >= self._lives

    async def send(self, call: Call) -> Answer:
        if self.dead:
            raise AnswerLost(call, "dead")
        if self.refused and self.refused in call.path and call.method != "GET":
            return refuses(403, "Forbidden", "not in this harbour")
        answer = await self._inner.send(call)
        if call.method != "GET" and "events" not in call.path:
            self.writes.append(f"{call.method} {call.path.rpartition('/namespaces/default/')[2]}")
            self.answers.append(answer.status)
        if self.dead:
            raise AnswerLost(call, "dead")
        return answer

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[StreamAnswer]:
        async with self._inner.stream(call) as answer:
            yield _Delayed(self, call, answer)

    async def close(self) -> None:
        await self._inner.close()


class _Delayed:
    """A watch whose events wait while their transport is deaf."""

    def __init__(self, transport: Mortal, call: Call, answer: StreamAnswer) -> None:
        self._transport = transport
        self._call = call
        self._answer = answer
        self.status = answer.status
        self.headers = answer.headers

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._answer:
            if self._transport.deaf_to in self._call.path:
                await self._transport.hears.wait()
            yield chunk

    async def body(self) -> bytes:
        return await self._answer.body()


class Process:
    """The controllers of one life."""

    def __init__(
        self,
        server: ApiServer,
        world: World,
        tenant: FakeServer,
        lives: int | None = None,
        make: Callable[[Runtime], Controller] = controller,
    ) -> None:
        self.transport = Mortal(InProcessTransport(server), lives)
        client = Client(self.transport, world=world)
        self.manager = Manager(client, world)
        cache = self.manager.cache
        self.remotes = Remotes(lambda connection: self._connect(connection, tenant), world)
        recorder = Recorder(client, world)
        self.runtime = Runtime(client, cache, ContractKinds(cache), self.remotes, recorder, world)
        self.manager.add(make(self.runtime))
        self._events = asyncio.create_task(recorder.run())

    def _connect(self, connection: Connection, tenant: FakeServer) -> FakeServer:
        assert connection.server == TENANT
        return tenant

    async def stop(self) -> None:
        self._events.cancel()
        await self.manager.stop()
        await self.remotes.close()


class Harbour:
    """A server, the controllers of a process, and users and providers who do what a test says."""

    def __init__(self, server: ApiServer, world: World, make: Callable[[Runtime], Controller] = controller) -> None:
        self.server = server
        self.world = world
        self._make = make
        self.user = Client(InProcessTransport(server, user="user"), world=world)
        self.tenant = FakeServer()
        self.process = Process(server, world, self.tenant, make=make)

    async def restart(self, lives: int | None = None) -> None:
        await self.process.stop()
        self.process = Process(self.server, self.world, self.tenant, lives, self._make)
        await self.process.manager.start()

    async def settled(self) -> None:
        """Let everything happen that happens without time."""
        await self.server.settled()
        try:
            await self.process.manager.idle()
        except NoAnswer:
            assert self.process.transport.dead
        await self.server.settled()

    async def make(self, kind: Kind[Any], name: str = CLUSTER, **content: Any) -> None:
        metadata = {"name": name, "namespace": NAMESPACE, **content.pop("metadata", {})}
        try:
            await self.user.create(kind, {"metadata": metadata, **content})
        except AlreadyExists:
            return
        await self.settled()

    async def change(self, kind: Kind[Any], name: str = CLUSTER, **content: Any) -> None:
        subresource = "status" if "status" in content else ""
        await self.user.patch(kind, NAMESPACE, name, Merge(content), subresource=subresource)
        await self.settled()

    async def delete(self, kind: Kind[Any], name: str = CLUSTER) -> None:
        await self.user.delete(kind, NAMESPACE, name)
        await self.settled()

    async def exists(self, kind: Kind[Any], name: str = CLUSTER) -> bool:
        try:
            await self.user.get(kind, NAMESPACE, name)
        except NotFound:
            return False
        return True

    async def cluster(self) -> Cluster:
        return await self.user.get(CLUSTERS, NAMESPACE, CLUSTER)

    async def told(self, type: str) -> tuple[str, str, str]:
        condition = get((await self.cluster()).status.conditions, type)
        assert condition is not None
        return condition.status, condition.reason, condition.message

    async def writes(self) -> int:
        await self.settled()
        return len(self.process.transport.writes)


@asynccontextmanager
async def harbour(
    make: Callable[[Runtime], Controller] = controller, definitions: Collection[Definition] = ()
) -> AsyncIterator[Harbour]:
    """A harbour with one controller; `definitions` are its kinds, if they are not those of the core."""
    world = virtual_world()
    server = await ApiServer.start(Config(), world)
    await server.settled()
    here = Harbour(server, world, make)
    core = (each.DEFINITION for each in (cluster, machine, machine_deployment, machine_pool, machine_set))
    for definition in (*core, *definitions):
        await here.user.create(DEFINITIONS, render(definition))
    for kind in (INFRASTRUCTURE, CONTROL_PLANE):
        await here.user.create(DEFINITIONS, provider_definition(kind))
    await server.settled()
    await here.process.manager.start()
    try:
        yield here
    finally:
        await here.process.stop()
        await server.stop()


def provider_definition(kind: Kind[Any]) -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "metadata": {"name": f"{kind.plural}.{kind.group}", "labels": {"cluster.x-k8s.io/v1beta2": kind.version}},
        "spec": {
            "group": kind.group,
            "scope": "Namespaced",
            "names": {"kind": kind.kind, "plural": kind.plural, "singular": kind.kind.lower()},
            "versions": [
                {
                    "name": kind.version,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }


DEPLOYMENT: Mapping[str, Any] = {
    "metadata": {
        "labels": {"cluster.x-k8s.io/cluster-name": CLUSTER},
        "finalizers": [HOLD],
    },
    "spec": {
        "clusterName": CLUSTER,
        "replicas": 3,
        "selector": {"matchLabels": {"a": "b"}},
        "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {
                "clusterName": CLUSTER,
                "bootstrap": {"dataSecretName": "boot"},
                "infrastructureRef": {
                    "apiGroup": "infrastructure.cluster.x-k8s.io",
                    "kind": "BoatMachineTemplate",
                    "name": "x",
                },
            },
        },
    },
}


async def grow(here: Harbour) -> None:
    """A cluster from nothing to all there."""
    held = {"finalizers": [HOLD]}
    await here.make(CLUSTERS, spec=BOTH)
    await here.make(INFRASTRUCTURE, metadata=held)
    await here.make(CONTROL_PLANE, metadata=held, spec={"replicas": 1})
    await provision(here)
    await initialize(here)


async def provision(here: Harbour) -> None:
    await here.change(INFRASTRUCTURE, spec={"controlPlaneEndpoint": ENDPOINT})
    await here.change(INFRASTRUCTURE, status={"initialization": {"provisioned": True}})


async def initialize(here: Harbour) -> None:
    await here.change(CONTROL_PLANE, status={"initialization": {"controlPlaneInitialized": True}, "replicas": 1})


def owned(cluster: Cluster) -> dict[str, Any]:
    reference = {
        "apiVersion": CLUSTERS.api_version,
        "kind": "Cluster",
        "name": cluster.metadata.name,
        "uid": cluster.metadata.uid,
    }
    return {"ownerReferences": [reference]}
