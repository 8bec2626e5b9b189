"""A plane with the core's kinds, providers whose kinds do nothing, and the MachineSet controller alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from nagaya.api.cluster import cluster, machine, machine_deployment, machine_set
from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.api.cluster.machine_set import MACHINE_SETS, MachineSet
from nagaya.api.crd import render
from nagaya.api.kind import Kind
from nagaya.api.meta import Condition
from nagaya.api.untyped import Untyped
from nagaya.apiserver.server import ApiServer, Config
from nagaya.cli.in_process import InProcessTransport
from nagaya.core.machine_set.controller import controller
from nagaya.kube.client import Client
from nagaya.kube.contract_kinds import ContractKinds
from nagaya.kube.key import Key
from nagaya.kube.manager import Manager
from nagaya.kube.patches import Merge
from nagaya.kube.recorder import Recorder
from nagaya.kube.remote import Remotes
from nagaya.kube.runtime import Runtime
from nagaya.kube.transport import Answer, AnswerLost, Call, Transport
from nagaya.world import World
from support.virtual_run import virtual_world

DEFINITIONS = Kind(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", Untyped, namespaced=False
)
NAMESPACES = Kind("", "v1", "Namespace", "namespaces", Untyped, namespaced=False)
HOSTS = Kind("infrastructure.cluster.x-k8s.io", "v1", "TestMachine", "testmachines", Untyped)
CONFIGS = Kind("bootstrap.cluster.x-k8s.io", "v1", "TestConfig", "testconfigs", Untyped)
HOST_TEMPLATES = Kind("infrastructure.cluster.x-k8s.io", "v1", "TestMachineTemplate", "testmachinetemplates", Untyped)
CONFIG_TEMPLATES = Kind("bootstrap.cluster.x-k8s.io", "v1", "TestConfigTemplate", "testconfigtemplates", Untyped)
CONTROL_PLANES = Kind("controlplane.cluster.x-k8s.io", "v1", "TestControlPlane", "testcontrolplanes", Untyped)
PROVIDERS = (HOSTS, CONFIGS, HOST_TEMPLATES, CONFIG_TEMPLATES, CONTROL_PLANES)
SHOP = "shop"
KEY = Key("tenants", "workers")


class Killed(Exception):
    """The process ended here."""


@dataclass
class Recording:
    """A transport that notes every write, and ends the process before or after one of them."""

    inner: Transport
    writes: list[str] = field(default_factory=list)
    refuse: dict[str, int] = field(default_factory=dict)
    """What is answered 500 when a write begins with it, so many times."""
    last: int | None = None
    """After so many writes, nothing goes through any more."""
    stopped: bool = False
    """Whether that has happened."""
    lose: str = ""
    """The answer to the first write that begins with this is lost."""

    async def send(self, call: Call) -> Answer:
        if call.method == "GET" or "/events" in call.path:
            return await self.inner.send(call)
        if self.last is not None and len(self.writes) >= self.last:
            self.stopped = True
            raise Killed
        what = f"{call.method} {call.path.split('/namespaces/tenants/')[-1]}"
        self.writes.append(what)
        for prefix in self.refuse:
            if what.startswith(prefix) and self.refuse[prefix]:
                self.refuse[prefix] -= 1
                return Answer(403, {}, b'{"kind":"Status","reason":"Forbidden","message":"not here"}')
        answer = await self.inner.send(call)
        if self.lose and what.startswith(self.lose):
            self.lose = ""
            raise AnswerLost(call, "the connection was reset")
        return answer

    def stream(self, call: Call) -> Any:
        return self.inner.stream(call)

    async def close(self) -> None:
        await self.inner.close()


@dataclass
class Plane:
    """A server, somebody who uses it, and the controller."""

    server: ApiServer
    user: Client
    world: World
    transport: Recording
    manager: Manager

    @property
    def writes(self) -> list[str]:
        return self.transport.writes

    async def idle(self) -> None:
        """Wait until nothing happens any more."""
        await self.server.settled()
        await self.manager.idle()

    async def pass_time(self) -> None:
        """Give the controller the time to come to its end, whether that is a good one or not."""
        for _ in range(500):
            await asyncio.sleep(0)
            if self.transport.stopped:
                return
        await self.idle()

    async def look(self) -> None:
        """Have the controller look at all sets once more."""
        for found in (await self.user.list(MACHINE_SETS, "tenants")).items:
            self.manager.controllers[0].queue.add(Key.of(found))
        await self.idle()

    async def start(self, last: int | None = None) -> None:
        """Run the controller, as a process that was just started, and that may end after so many writes."""
        self.transport = Recording(InProcessTransport(self.server), last=last)
        self.manager = _manager(self.transport, self.world)
        await self.manager.start()

    async def stop(self) -> None:
        await self.manager.stop()

    async def template(self) -> None:
        """A control plane that stands still, and templates for workers."""
        await self.user.create(
            CONTROL_PLANES,
            {
                "metadata": {"name": SHOP, "namespace": "tenants", "labels": {"cluster.x-k8s.io/cluster-name": SHOP}},
                "spec": {"version": "v1.36.3"},
                "status": {"version": "v1.36.3"},
            },
        )
        for kind in (HOST_TEMPLATES, CONFIG_TEMPLATES):
            inner = {"metadata": {"labels": {"from": "template"}}, "spec": {"size": 3}}
            await self.user.create(
                kind, {"metadata": {"name": "small", "namespace": "tenants"}, "spec": {"template": inner}}
            )

    async def cluster(self) -> None:
        ref = {"apiGroup": CONTROL_PLANES.group, "kind": CONTROL_PLANES.kind, "name": SHOP}
        content = {"metadata": {"name": SHOP, "namespace": "tenants"}, "spec": {"controlPlaneRef": ref}}
        await self.user.create(CLUSTERS, content)

    async def workers(self, replicas: int = 2, name: str = "workers", **template: Any) -> MachineSet:
        """A MachineSet that stands alone."""
        return await self.user.create(
            MACHINE_SETS,
            {
                "metadata": {"name": name, "namespace": "tenants"},
                "spec": {
                    "clusterName": SHOP,
                    "replicas": replicas,
                    "selector": {"matchLabels": {"set": name}},
                    "template": {
                        "metadata": {"labels": {"set": name, **template.pop("labels", {})}},
                        "spec": {
                            "clusterName": SHOP,
                            "version": "v1.36.3",
                            "bootstrap": {"configRef": reference(CONFIG_TEMPLATES, "small")},
                            "infrastructureRef": reference(HOST_TEMPLATES, "small"),
                            **template,
                        },
                    },
                },
            },
        )

    async def change(self, content: Mapping[str, Any], name: str = "workers") -> None:
        await self.user.patch(MACHINE_SETS, "tenants", name, Merge(content))

    async def machine_set(self, name: str = "workers") -> MachineSet:
        return await self.user.get(MACHINE_SETS, "tenants", name)

    async def machines(self) -> list[Machine]:
        return (await self.user.list(MACHINES, "tenants")).items

    async def hosts(self) -> list[Untyped]:
        return (await self.user.list(HOSTS, "tenants")).items

    async def configs(self) -> list[Untyped]:
        return (await self.user.list(CONFIGS, "tenants")).items

    async def take_over(self) -> None:
        """Do what the Machine controller does: providers' objects become their Machine's."""
        for each in await self.machines():
            owner = {
                "apiVersion": MACHINES.api_version,
                "kind": MACHINES.kind,
                "name": each.metadata.name,
                "uid": each.metadata.uid,
                "controller": True,
            }
            for kind in (HOSTS, CONFIGS):
                patch = Merge({"metadata": {"ownerReferences": [owner]}})
                await self.user.patch(kind, "tenants", each.metadata.name, patch)


async def condition(plane: Plane, type: str) -> Condition:
    """A condition of the set `workers`."""
    found = {each.type: each for each in (await plane.machine_set()).status.conditions}
    return found[type]


def reference(kind: Kind[Any], name: str) -> dict[str, str]:
    """A reference as manifests have it."""
    return {"apiGroup": kind.group, "kind": kind.kind, "name": name}


def _manager(transport: Transport, world: World) -> Manager:
    client = Client(transport, world=world)
    manager = Manager(client, world)
    rt = Runtime(
        client=client,
        cache=manager.cache,
        kinds=ContractKinds(manager.cache),
        remotes=Remotes(lambda _: transport, world),
        recorder=Recorder(client, world),
        world=world,
    )
    manager.add(controller(rt))
    return manager


def _provider_definition(kind: Kind[Any]) -> dict[str, Any]:
    return {
        "metadata": {
            "name": f"{kind.plural}.{kind.group}",
            "labels": {"cluster.x-k8s.io/v1beta2": "v1"},
        },
        "spec": {
            "group": kind.group,
            "scope": "Namespaced",
            "names": {"plural": kind.plural, "singular": kind.kind.lower(), "kind": kind.kind},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                    },
                }
            ],
        },
    }


@asynccontextmanager
async def running_plane() -> AsyncIterator[Plane]:
    """A plane with a Cluster and templates, and the controller at work."""
    world = virtual_world(seed=7)
    server = await ApiServer.start(Config(), world)
    await server.settled()
    user = Client(InProcessTransport(server, user="somebody"), world=world)
    await user.create(NAMESPACES, {"metadata": {"name": "tenants"}})
    for definition in (cluster.DEFINITION, machine.DEFINITION, machine_set.DEFINITION, machine_deployment.DEFINITION):
        await user.create(DEFINITIONS, render(definition))
    for kind in PROVIDERS:
        await user.create(DEFINITIONS, _provider_definition(kind))
    await server.settled()
    transport = Recording(InProcessTransport(server))
    here = Plane(server, user, world, transport, _manager(transport, world))
    await here.cluster()
    await here.template()
    await here.manager.start()
    yield here
    await here.stop()
    await server.stop()
