"""A server in memory with the MachineHealthCheck controller, on virtual time. It is the tenant, too."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from nagaya.api.cluster import cluster, machine, machine_health_check
from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.api.cluster.machine_health_check import MACHINE_HEALTH_CHECKS, MachineHealthCheck
from nagaya.api.crd import render
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.apiserver.server import ApiServer, Config
from nagaya.cli.in_process import InProcessTransport
from nagaya.clusters.node import NODES
from nagaya.core.machine_health_check.controller import controller
from nagaya.kube.client import Client
from nagaya.kube.conditions import get
from nagaya.kube.connection import Connection
from nagaya.kube.contract_kinds import ContractKinds
from nagaya.kube.key import Key
from nagaya.kube.manager import Manager
from nagaya.kube.patches import Apply, Merge
from nagaya.kube.recorder import EVENTS, Recorder
from nagaya.kube.remote import Remotes
from nagaya.kube.runtime import Runtime
from nagaya.kube.transport import Answer, Call
from nagaya.world import World
from support.builders import CLUSTER, date
from support.harbour import DEFINITIONS, provider_definition
from support.virtual_run import run, virtual_world

NAMESPACE = "default"
KEY = Key(NAMESPACE, CLUSTER)
REQUESTS = Kind("remediation.example.com", "v1", "BoatRemediation", "boatremediations", Untyped)
TEMPLATES = Kind("remediation.example.com", "v1", "BoatRemediationTemplate", "boatremediationtemplates", Untyped)
REFERENCE = {"apiVersion": "remediation.example.com/v1", "kind": "BoatRemediationTemplate", "name": "reboot"}


class Recording(InProcessTransport):
    """Remembers writes, and forbids some."""

    def __init__(self, server: ApiServer) -> None:
        super().__init__(server)
        self.writes: list[str] = []
        self.answers: list[int] = []
        self.refused = ""

    async def send(self, call: Call) -> Answer:
        if self.refused and self.refused in call.path and call.method != "GET":
            return Answer(403, {}, b'{"kind":"Status","reason":"Forbidden","message":"not here"}')
        answer = await super().send(call)
        if call.method != "GET" and "/events" not in call.path:
            self.writes.append(f"{call.method} {call.path.rpartition('/namespaces/default/')[2]}")
            self.answers.append(answer.status)
        return answer


class Plane:
    """The server, the controller, and everybody else as a test says."""

    def __init__(self, server: ApiServer, user: Client, world: World) -> None:
        self.server = server
        self.user = user
        self.world = world
        self.transport = Recording(server)
        client = Client(self.transport, world=world)
        self.manager = Manager(client, world)
        cache = self.manager.cache
        self.remotes = Remotes(lambda _: InProcessTransport(server), world)
        self.recorder = Recorder(client, world)
        rt = Runtime(client, cache, ContractKinds(cache), self.remotes, self.recorder, world)
        self.controller = self.manager.add(controller(rt))

    async def idle(self) -> None:
        """Let everything happen that happens without time."""
        await self.server.settled()
        remote = self.remotes.get(KEY)
        caches = [] if remote is None or not remote.cache.kinds else [remote.cache]
        await self.manager.idle(*caches)
        await self.manager.idle(*caches)

    async def pass_time(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await self.idle()

    async def cluster(self) -> None:
        """A Cluster that is there."""
        spec = {"controlPlaneEndpoint": {"host": "10.0.0.1", "port": 6443}}
        await self.user.create(CLUSTERS, {"metadata": {"name": CLUSTER, "namespace": NAMESPACE}, "spec": spec})
        await self.report(CLUSTERS, CLUSTER, ControlPlaneInitialized="True", InfrastructureReady="True")

    async def connect(self) -> None:
        told = asyncio.Event()
        self.remotes.subscribe(lambda _: told.set())
        self.remotes.offer(KEY, Connection("https://tenant"))
        self.remotes.want(KEY)
        await told.wait()
        await self.idle()

    async def machine(self, name: str, ready: str = "True") -> None:
        """A Machine with a Node."""
        labels = {"cluster.x-k8s.io/cluster-name": CLUSTER, "role": "worker"}
        infrastructure = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "BoatMachine", "name": name}
        spec = {"clusterName": CLUSTER, "bootstrap": {"dataSecretName": "x"}, "infrastructureRef": infrastructure}
        metadata = {"name": name, "namespace": NAMESPACE, "labels": labels}
        await self.user.create(MACHINES, {"metadata": metadata, "spec": spec})
        await self.user.create(NODES, {"metadata": {"name": f"node-{name}"}})
        await self.node(name, ready)
        await self.user.patch(
            MACHINES, NAMESPACE, name, Merge({"status": {"nodeRef": {"name": f"node-{name}"}}}), subresource="status"
        )
        await self.idle()

    async def node(self, name: str, ready: str) -> None:
        """What a kubelet says of itself."""
        said = {"type": "Ready", "status": ready, "reason": "Said", "lastTransitionTime": date(self.world.clock.now())}
        content = {"status": {"conditions": [said]}}
        await self.user.patch(NODES, "", f"node-{name}", Merge(content), subresource="status")
        await self.idle()

    async def check(self, **remediation: Any) -> None:
        checks = {"unhealthyNodeConditions": [{"type": "Ready", "status": "False", "timeoutSeconds": 60}]}
        spec: dict[str, Any] = {
            "clusterName": CLUSTER,
            "selector": {"matchLabels": {"role": "worker"}},
            "checks": checks,
        }
        if remediation:
            spec["remediation"] = remediation
        await self.user.create(
            MACHINE_HEALTH_CHECKS, {"metadata": {"name": "workers", "namespace": NAMESPACE}, "spec": spec}
        )
        await self.idle()

    async def change(self, kind: Kind[Any], name: str, **content: Any) -> None:
        await self.user.patch(kind, NAMESPACE, name, Merge(content))
        await self.idle()

    async def report(self, kind: Kind[Any], name: str, manager: str = "somebody", **statuses: str) -> None:
        """Conditions that somebody else sets, by server-side apply."""
        conditions = [
            {
                "type": type,
                "status": status,
                "reason": manager.capitalize(),
                "message": "",
                "lastTransitionTime": date(self.world.clock.now()),
            }
            for type, status in statuses.items()
        ]
        patch = Apply({"status": {"conditions": conditions}}, manager)
        await self.user.patch(kind, NAMESPACE, name, patch, subresource="status")
        await self.idle()

    async def found(self) -> MachineHealthCheck:
        return await self.user.get(MACHINE_HEALTH_CHECKS, NAMESPACE, "workers")

    async def told(self, name: str, type: str) -> str:
        """A condition of a machine."""
        found: Machine = await self.user.get(MACHINES, NAMESPACE, name)
        condition = get(found.status.conditions, type)
        return "" if condition is None else f"{condition.status} {condition.reason}"

    async def events(self) -> list[str]:
        await self.recorder.flush()
        listed = (await self.user.list(EVENTS, NAMESPACE)).items
        return sorted(f"{each.at('reason')}: {each.at('note')}" for each in listed)


@asynccontextmanager
async def running() -> AsyncIterator[Plane]:
    """A plane with a Cluster that is connected, and the controller at work."""
    world = virtual_world()
    server = await ApiServer.start(Config(), world)
    await server.settled()
    user = Client(InProcessTransport(server, user="user"), world=world)
    for module in (cluster, machine, machine_health_check):
        await user.create(DEFINITIONS, render(module.DEFINITION))
    for kind in (REQUESTS, TEMPLATES):
        await user.create(DEFINITIONS, provider_definition(kind))
    await server.settled()
    here = Plane(server, user, world)
    await here.manager.start()
    await here.cluster()
    await here.connect()
    try:
        yield here
    finally:
        await here.manager.stop()
        await here.remotes.close()
        await server.stop()


def on_a_plane(test: Callable[[Plane], Awaitable[None]]) -> None:
    """Run a test on virtual time."""

    async def main() -> None:
        async with running() as plane:
            await test(plane)

    run(main())
