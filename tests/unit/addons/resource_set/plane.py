"""A server in memory with the controllers of add-ons.

It is the tenant of all clusters, too, which saves starting another: what is brought goes to the namespace `default`,
and everything else is in one of its own.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from nagaya.addons.resource_set import controller as sets
from nagaya.addons.resource_set_binding import controller as bindings
from nagaya.api.addons import cluster_resource_set, cluster_resource_set_binding
from nagaya.api.addons.cluster_resource_set import CLUSTER_RESOURCE_SETS, SECRET_TYPE, ClusterResourceSet
from nagaya.api.addons.cluster_resource_set_binding import CLUSTER_RESOURCE_SET_BINDINGS, ClusterResourceSetBinding
from nagaya.api.cluster import cluster
from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.crd import render
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.apiserver.server import ApiServer, Config
from nagaya.cli.in_process import InProcessTransport
from nagaya.kube.client import Client
from nagaya.kube.conditions import get
from nagaya.kube.connection import Connection
from nagaya.kube.contract_kinds import ContractKinds
from nagaya.kube.errors import NotFound
from nagaya.kube.key import Key
from nagaya.kube.manager import Manager
from nagaya.kube.recorder import Recorder
from nagaya.kube.remote import Remotes
from nagaya.kube.runtime import Runtime
from nagaya.kube.transport import Answer, AnswerLost, Call, NoAnswer
from nagaya.world import World
from support.virtual_run import run, virtual_world

NAMESPACE = "fleet"
NAMESPACES = Kind("", "v1", "Namespace", "namespaces", Untyped, namespaced=False)
DEFINITIONS = Kind(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", Untyped, namespaced=False
)
CONFIG_MAPS = Kind("", "v1", "ConfigMap", "configmaps", Untyped)
SECRETS = Kind("", "v1", "Secret", "secrets", Untyped)


class Recording(InProcessTransport):
    """Remembers writes, and after so many of them loses everything, as if its process had ended."""

    def __init__(self, server: ApiServer, lives: int | None = None) -> None:
        super().__init__(server)
        self.lives = lives
        self.writes: list[str] = []
        self.answers: list[int] = []

    @property
    def dead(self) -> bool:
        return self.lives is not None and len(self.writes) >= self.lives

    async def send(self, call: Call) -> Answer:
        if self.dead:
            raise AnswerLost(call, "dead")
        answer = await super().send(call)
        if call.method != "GET" and "/events" not in call.path:
            self.writes.append(f"{call.method} {'/'.join(call.path.split('/')[-2:])}")
            self.answers.append(answer.status)
        if self.dead:
            raise AnswerLost(call, "dead")
        return answer


class Plane:
    """The server, the controllers, and a user who does what a test says."""

    def __init__(self, server: ApiServer, user: Client, world: World) -> None:
        self.server = server
        self.world = world
        self.user = self.tenant = user
        self._begin(None)

    def _begin(self, lives: int | None) -> None:
        server, world = self.server, self.world
        self.transport = Recording(server, lives)
        self.tenant_transport = Recording(server)
        client = Client(self.transport, world=world)
        self.manager = Manager(client, world)
        cache = self.manager.cache
        self.remotes = Remotes(lambda _: self.tenant_transport, world)
        self.rt = Runtime(client, cache, ContractKinds(cache), self.remotes, Recorder(client, world), world)
        self.sets = self.manager.add(sets.controller(self.rt))
        self.manager.add(bindings.controller(self.rt))

    async def restart(self, lives: int | None = None) -> None:
        """End the process and begin another, which may end after so many writes."""
        await self.stop()
        self._begin(lives)
        await self.manager.start()

    async def stop(self) -> None:
        await self.manager.stop()
        await self.remotes.close()

    async def idle(self) -> None:
        """Let everything happen that happens without time."""
        await self.server.settled()
        try:
            await self.manager.idle()
        except NoAnswer:
            assert self.transport.dead
        await self.server.settled()

    async def cluster(self, name: str = "a", **labels: str) -> None:
        metadata = {"name": name, "namespace": NAMESPACE, "labels": labels or {"cni": "yes"}}
        spec = {"controlPlaneEndpoint": {"host": "10.0.0.1", "port": 6443}}
        await self.user.create(CLUSTERS, {"metadata": metadata, "spec": spec})
        await self.idle()

    async def connect(self, name: str = "a") -> None:
        key = Key(NAMESPACE, name)
        told = asyncio.Event()
        self.remotes.subscribe(lambda _: told.set())
        self.remotes.offer(key, Connection("https://tenant"))
        self.remotes.want(key)
        await told.wait()
        assert self.remotes.get(key) is not None
        await self.idle()

    async def config_map(self, name: str, **texts: str) -> None:
        await self.user.create(CONFIG_MAPS, {"metadata": {"name": name, "namespace": NAMESPACE}, "data": texts})
        await self.idle()

    async def secret(self, name: str, type: str = SECRET_TYPE, **texts: str) -> None:
        data = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
        content = {"metadata": {"name": name, "namespace": NAMESPACE}, "type": type, "data": data}
        await self.user.create(SECRETS, content)
        await self.idle()

    async def resource_set(self, *resources: tuple[str, str], name: str = "cni", strategy: str = "ApplyOnce") -> None:
        """A set that brings resources, given as kind and name, to all clusters that want one."""
        spec: dict[str, Any] = {
            "clusterSelector": {"matchLabels": {"cni": "yes"}},
            "resources": [{"kind": kind, "name": each} for kind, each in resources],
            "strategy": strategy,
        }
        await self.user.create(
            CLUSTER_RESOURCE_SETS, {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec}
        )
        await self.idle()

    async def found(self, name: str = "cni") -> ClusterResourceSet:
        return await self.user.get(CLUSTER_RESOURCE_SETS, NAMESPACE, name)

    async def told(self, name: str = "cni") -> str:
        """What the set says of its resources."""
        condition = get((await self.found(name)).status.conditions, "ResourcesApplied")
        return "" if condition is None else f"{condition.status} {condition.reason}: {condition.message}"

    async def binding(self, name: str = "a") -> ClusterResourceSetBinding | None:
        try:
            return await self.user.get(CLUSTER_RESOURCE_SET_BINDINGS, NAMESPACE, name)
        except NotFound:
            return None

    async def record(self, name: str = "a") -> dict[str, dict[str, bool]]:
        """Which sets brought which resources, and whether that went well."""
        binding = await self.binding(name)
        assert binding is not None
        return {
            each.cluster_resource_set_name: {resource.name: resource.applied for resource in each.resources}
            for each in binding.spec.bindings
        }

    async def in_tenant(self, name: str) -> dict[str, str] | None:
        """The data of a ConfigMap in the tenant."""
        try:
            found = await self.tenant.get(CONFIG_MAPS, "default", name)
        except NotFound:
            return None
        return dict(found.raw.get("data") or {})


def manifest(name: str, namespace: str = "default", **data: str) -> str:
    """A ConfigMap as YAML."""
    lines = [f"  {key}: {value!r}" for key, value in data.items()]
    head = f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  namespace: {namespace}\n"
    return head + ("data:\n" + "\n".join(lines) + "\n" if lines else "")


@asynccontextmanager
async def running() -> AsyncIterator[Plane]:
    """A plane with the controllers at work."""
    world = virtual_world()
    server = await ApiServer.start(Config(), world)
    await server.settled()
    user = Client(InProcessTransport(server, user="user"), world=world)
    await user.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
    for module in (cluster, cluster_resource_set, cluster_resource_set_binding):
        await user.create(DEFINITIONS, render(module.DEFINITION))
    await server.settled()
    here = Plane(server, user, world)
    await here.manager.start()
    try:
        yield here
    finally:
        await here.stop()
        await server.stop()


def on_a_plane(test: Callable[[Plane], Awaitable[None]]) -> None:
    """Run a test on virtual time."""

    async def main() -> None:
        async with running() as plane:
            await test(plane)

    run(main())
