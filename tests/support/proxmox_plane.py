"""The Proxmox provider's controllers, an embedded management API and an emulated data center, all on virtual time."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from nagaya.api.catalog import PARTS
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.cli.in_process import InProcessTransport
from nagaya.infrastructure.proxmox.client.transport import Transport
from nagaya.infrastructure.proxmox.cluster import controller as cluster_controller
from nagaya.infrastructure.proxmox.connection import controller as connection_controller
from nagaya.infrastructure.proxmox.connection.connections import Connections
from nagaya.infrastructure.proxmox.connection.findings import datacenter_id
from nagaya.infrastructure.proxmox.machine_template import controller as template_controller
from nagaya.ipam import in_cluster
from nagaya.kube.cache.cache import Cache
from nagaya.kube.client import Client
from nagaya.kube.contract_kinds import ContractKinds
from nagaya.kube.errors import NotFound
from nagaya.kube.http import HttpTransport
from nagaya.kube.manager import Manager
from nagaya.kube.patches import Merge
from nagaya.kube.recorder import Recorder
from nagaya.kube.remote import Remotes
from nagaya.kube.runtime import Runtime
from nagaya.simulators.proxmox.cluster.certificates import AUTHORITY_FILE
from nagaya.simulators.proxmox.emulator import Emulator
from nagaya.simulators.proxmox.layouts.demo import demo, secret
from nagaya.simulators.proxmox.state.datacenter import Datacenter
from nagaya.world import World
from support.passing_time import PassingLoop
from support.prepared import start_prepared
from support.proxmox_transport import ToEmulator, Valid
from support.virtual_run import virtual_world

KINDS: Mapping[str, Kind[Any]] = {each.kind.kind: each.kind for part in PARTS.values() for each in part} | {
    "Secret": Kind("", "v1", "Secret", "secrets", Untyped),
    "ConfigMap": Kind("", "v1", "ConfigMap", "configmaps", Untyped),
    "Namespace": Kind("", "v1", "Namespace", "namespaces", Untyped, namespaced=False),
}
NAMESPACE = "default"
GROUP = "infrastructure.cluster.x-k8s.io"
PATIENCE = 300.0


@dataclass(slots=True)
class ProxmoxPlane:
    """What a scenario acts on."""

    client: Client
    manager: Manager
    connections: Connections
    emulator: Emulator
    transports: list[ToEmulator]
    world: World

    @property
    def datacenter(self) -> Datacenter:
        return self.emulator.datacenter

    @property
    def datacenter_id(self) -> str:
        """How the data center is called in names of objects: by its name, and the authority of its certificates."""
        return datacenter_id("demo", self.emulator.tickets.fingerprint(AUTHORITY_FILE))

    def asked(self) -> list[str]:
        """All that was asked of the data center."""
        return [each for transport in self.transports for each in transport.asked()]

    async def create(self, *manifests: Mapping[str, Any]) -> None:
        for content in manifests:
            await self.client.create(KINDS[content["kind"]], content)

    async def get(self, kind: str, name: str, namespace: str = NAMESPACE) -> Any:
        """An object as the server has it, None if it is gone."""
        try:
            return await self.client.get(KINDS[kind], namespace if KINDS[kind].namespaced else "", name)
        except NotFound:
            return None

    async def merge(self, kind: str, name: str, content: Mapping[str, Any], subresource: str = "") -> None:
        await self.client.patch(KINDS[kind], NAMESPACE, name, Merge(content), subresource=subresource)

    async def delete(self, kind: str, name: str) -> None:
        await self.client.delete(KINDS[kind], NAMESPACE, name)

    async def until(self, what: str, check: Callable[[], Awaitable[Any]], patience: float = PATIENCE) -> Any:
        """Wait until a check returns something true, and return that."""
        loop = asyncio.get_running_loop()
        end = loop.time() + patience
        while True:
            found = await check()
            if found:
                return found
            if loop.time() > end:
                raise AssertionError(f"after {patience:g} s not yet: {what}\n{await self._story()}")
            await asyncio.sleep(0.5)

    async def told(self, kind: str, name: str, type: str, reason: str, words: str = "") -> str:
        """Wait until a condition has a reason, and return what it says."""

        async def check() -> Any:
            obj = await self.get(kind, name)
            conditions = () if obj is None else obj.status.conditions
            return next(
                (each for each in conditions if (each.type, each.reason) == (type, reason) and words in each.message),
                None,
            )

        return str((await self.until(f"{kind} {name}: {type} is {reason}", check)).message)

    async def gone(self, kind: str, name: str) -> None:
        async def check() -> bool:
            return await self.get(kind, name) is None

        await self.until(f"{kind} {name} is gone", check)

    async def _story(self) -> str:
        lines = []
        for kind in ("ProxmoxConnection", "ProxmoxCluster", "InClusterIPPool", "IPAddressClaim"):
            for obj in (await self.client.list(KINDS[kind], NAMESPACE)).items:
                lines.append(f"{kind}/{obj.metadata.name} {obj.metadata.finalizers}")
                lines += [
                    f"    {each.type}={each.status} {each.reason}: {each.message}" for each in obj.status.conditions
                ]
        for controller in self.manager.controllers:
            lines += [f"{controller.name} {key}: {why}" for key, why in controller.errors.items()]
        return "\n".join(lines)


Scenario = Callable[[ProxmoxPlane], Awaitable[None]]


def play(scenario: Scenario, *, hosts: int = 3) -> None:
    """Run a scenario."""

    async def main() -> None:
        async with _running(hosts) as plane:
            await scenario(plane)

    with asyncio.Runner(loop_factory=PassingLoop) as runner:
        runner.run(main())


@asynccontextmanager
async def _running(hosts: int) -> AsyncIterator[ProxmoxPlane]:
    world = virtual_world()
    server = await start_prepared(world)
    emulator = Emulator(world, demo(world, hosts=hosts))
    transports: list[ToEmulator] = []

    def transport() -> Transport:
        transports.append(ToEmulator(emulator))
        return Valid(transports[-1])

    client = Client(InProcessTransport(server), world=world, field_manager="test")
    inner = Client(InProcessTransport(server), world=world)
    cache = Cache(inner, world)
    manager = Manager(inner, world, cache=cache)
    remotes = Remotes(lambda tenant: HttpTransport(tenant, world=world), world)
    recorder = Recorder(inner, world)
    rt = Runtime(inner, cache, ContractKinds(cache), remotes, recorder, world)
    connections = Connections(inner, cache, world, transport=transport)
    manager.add(connection_controller.controller(rt, connections))
    manager.add(cluster_controller.controller(rt, connections))
    manager.add(template_controller.controller(rt))
    manager.add(in_cluster.controller(rt))
    await manager.start()
    try:
        yield ProxmoxPlane(client, manager, connections, emulator, transports, world)
    finally:
        await manager.stop()
        await connections.close()
        await remotes.close()
        await inner.close()
        await client.close()
        await emulator.close()
        await server.stop()


def credentials(plane: ProxmoxPlane, name: str = "pve", *, namespace: str = NAMESPACE, **data: str) -> dict[str, Any]:
    """A Secret with the token of root, with other content where that is given."""
    content = {
        "url": "https://pve1:8006/api2/json",
        "token": "root@pam!demo",
        "secret": secret(plane.datacenter),
        "insecure": "true",
        **data,
    }
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in content.items() if value}
    return {"kind": "Secret", "metadata": {"name": name, "namespace": namespace}, "data": encoded}


def connection(name: str = "pve", *, secret: str = "pve", **spec: Any) -> dict[str, Any]:
    """A ProxmoxConnection."""
    spec = {"endpoints": ["pve1", "pve2", "pve3"], "credentialsRef": {"name": secret}, **spec}
    return {"kind": "ProxmoxConnection", "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec}


async def make_cluster(plane: ProxmoxPlane, name: str = "shop", *, control_plane: str = "", **spec: Any) -> None:
    """A Cluster with its ProxmoxCluster, which it owns, as the core would have it. None as a value leaves out."""
    content = {
        "controlPlaneEndpoint": {"host": "10.0.0.5", "port": 6443},
        "ipv4Config": {"addresses": ["10.0.0.10-10.0.0.20"], "prefix": 24, "gateway": "10.0.0.1"},
        "dnsServers": ["10.0.0.1"],
        **spec,
    }
    reference = {"apiGroup": GROUP, "kind": "ProxmoxCluster", "name": name}
    wanted: dict[str, Any] = {"infrastructureRef": reference}
    if control_plane:
        wanted["controlPlaneRef"] = {"apiGroup": "controlplane.nagaya.dev", "kind": control_plane, "name": name}
    await plane.create({"kind": "Cluster", "metadata": {"name": name, "namespace": NAMESPACE}, "spec": wanted})
    owner = await plane.get("Cluster", name)
    owners = [
        {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": name, "uid": owner.metadata.uid},
    ]
    metadata = {
        "name": name,
        "namespace": NAMESPACE,
        "labels": {"cluster.x-k8s.io/cluster-name": name},
        "ownerReferences": owners,
    }
    kept = {key: value for key, value in content.items() if value is not None}
    await plane.create({"kind": "ProxmoxCluster", "metadata": metadata, "spec": kept})
