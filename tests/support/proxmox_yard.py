"""A management API with the controllers of Proxmox machines at work on an emulated data center, on virtual time."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from nagaya.api.bootstrap.kubeadm_config import KUBEADM_CONFIGS
from nagaya.api.catalog import PARTS
from nagaya.api.cluster import cluster, machine
from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.cluster.machine import MACHINES
from nagaya.api.crd import render
from nagaya.api.ipam.in_cluster_ip_pool import IN_CLUSTER_IP_POOLS
from nagaya.api.ipam.ip_address_claim import IP_ADDRESS_CLAIMS
from nagaya.api.kind import Kind
from nagaya.api.proxmox import proxmox_cluster, proxmox_connection, proxmox_machine, proxmox_virtual_machine
from nagaya.api.proxmox.proxmox_cluster import PROXMOX_CLUSTERS, ProxmoxCluster
from nagaya.api.proxmox.proxmox_machine import PROXMOX_MACHINES, ProxmoxMachine
from nagaya.api.proxmox.proxmox_virtual_machine import (
    PROXMOX_VIRTUAL_MACHINES,
    NamespacedConnectionReference,
    ProxmoxVirtualMachine,
)
from nagaya.api.untyped import Untyped
from nagaya.apiserver.server import ApiServer, Config
from nagaya.cli.in_process import InProcessTransport
from nagaya.infrastructure.proxmox.machine import controller as machines
from nagaya.infrastructure.proxmox.virtual_machine import controller as virtual_machines
from nagaya.infrastructure.proxmox.virtual_machine.link import Link
from nagaya.ipam import global_in_cluster, in_cluster
from nagaya.kube.cache.cache import Cache
from nagaya.kube.client import Client
from nagaya.kube.contract_kinds import ContractKinds
from nagaya.kube.errors import NotFound
from nagaya.kube.manager import Manager
from nagaya.kube.metrics import Metrics
from nagaya.kube.patches import Merge
from nagaya.kube.recorder import Recorder
from nagaya.kube.remote import Remotes
from nagaya.kube.runtime import Runtime
from nagaya.simulators.proxmox.control.control import Control
from support.proxmox_transport import DataCenter, data_center
from support.virtual_run import run

NAMESPACE = "fleet"
NAMESPACES = Kind("", "v1", "Namespace", "namespaces", Untyped, namespaced=False)
SECRETS = Kind("", "v1", "Secret", "secrets", Untyped)
DEFINITIONS = Kind(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", Untyped, namespaced=False
)
KINDS = (
    cluster.DEFINITION,
    machine.DEFINITION,
    proxmox_cluster.DEFINITION,
    proxmox_connection.DEFINITION,
    proxmox_machine.DEFINITION,
    proxmox_virtual_machine.DEFINITION,
    *PARTS["ipam"],
)
LABELS = {"cluster.x-k8s.io/cluster-name": "harbour"}
TAGS = ["kubernetes", "kubernetes-v1.36.3"]


@dataclass(slots=True)
class OneLink:
    """The connection of all machines."""

    link: Link | str

    async def of_cluster(self, _: ProxmoxCluster) -> Link | str:
        return self.link

    async def of_reference(self, _: NamespacedConnectionReference, used_in: str) -> Link | str:
        return self.link


@dataclass(slots=True)
class Yard:
    """A management API with the controllers of machines at work; the test plays the core."""

    server: ApiServer
    user: Client
    there: DataCenter
    links: OneLink
    control: Control
    manager: Manager | None = None
    recorder: Recorder | None = None
    """Of the process. Nobody runs it: who wants to see events flushes it."""

    async def start(self) -> None:
        """A process begins."""
        world = self.server.world
        client = Client(InProcessTransport(self.server), world=world)
        cache = Cache(client, world)
        manager = Manager(client, world, metrics=Metrics(), cache=cache)
        remotes = Remotes(_no_tenant, world)
        recorder = self.recorder = Recorder(client, world)
        runtime = Runtime(client, cache, ContractKinds(cache), remotes, recorder, world)
        for module in (machines, virtual_machines):
            manager.add(module.controller(runtime, self.links))
        for pools in (in_cluster, global_in_cluster):
            manager.add(pools.controller(runtime))
        await manager.start()
        self.manager = manager

    async def stop(self) -> None:
        """The process ends."""
        assert self.manager is not None
        await self.manager.stop()

    async def cluster(self, **spec: Any) -> None:
        """A Cluster whose infrastructure is there, with a pool of addresses."""
        owner = await self.user.create(
            CLUSTERS,
            {
                "metadata": {"namespace": NAMESPACE, "name": "harbour"},
                "spec": {"infrastructureRef": _reference(PROXMOX_CLUSTERS, "harbour")},
            },
        )
        await self._status(CLUSTERS, "harbour", {"initialization": {"infrastructureProvisioned": True}})
        config = {"addresses": ["10.0.0.10-10.0.0.90"], "prefix": 24, "gateway": "10.0.0.1"}
        await self.user.create(
            IN_CLUSTER_IP_POOLS,
            {"metadata": {"namespace": NAMESPACE, "name": "harbour-v4-icip"}, "spec": config},
        )
        await self.user.create(
            PROXMOX_CLUSTERS,
            {
                "metadata": {
                    "namespace": NAMESPACE,
                    "name": "harbour",
                    "labels": LABELS,
                    "ownerReferences": [_owner(CLUSTERS, owner)],
                },
                "spec": {"ipv4Config": config, "dnsServers": ["10.0.0.1"], **spec},
            },
        )
        pools = [{"zone": "default", "inClusterIPPoolRefV4": {"name": "harbour-v4-icip"}}]
        await self._status(PROXMOX_CLUSTERS, "harbour", {"inClusterZoneRef": pools})

    async def machine(self, name: str, *, provider: bool = False, **spec: Any) -> None:
        """A Machine with boot data, by hand or of a bootstrap provider, and its ProxmoxMachine."""
        value = base64.b64encode(b"#cloud-config\n{}\n").decode()
        metadata = {"namespace": NAMESPACE, "name": name, "labels": LABELS}
        await self.user.create(SECRETS, {"metadata": metadata, "data": {"value": value}})
        made = await self.user.create(
            MACHINES,
            {
                "metadata": metadata,
                "spec": {
                    "clusterName": "harbour",
                    "version": "v1.36.3",
                    "bootstrap": {
                        "dataSecretName": name,
                        **({"configRef": _reference(KUBEADM_CONFIGS, name)} if provider else {}),
                    },
                    "infrastructureRef": _reference(PROXMOX_MACHINES, name),
                },
            },
        )
        await self.user.create(
            PROXMOX_MACHINES,
            {
                "metadata": {**metadata, "ownerReferences": [_owner(MACHINES, made)]},
                "spec": {
                    "templateSelector": {"matchTags": TAGS},
                    "numCores": 2,
                    "memoryMiB": 4096,
                    "disks": {"bootVolume": {"disk": "scsi0", "sizeGb": 30}},
                    "network": {"networkDevices": [{"name": "net0", "bridge": "vmbr0", "defaultIPv4": True}]},
                    **spec,
                },
            },
        )

    async def node_joined(self, name: str) -> None:
        """The core has found the Node."""
        await self._status(MACHINES, name, {"nodeRef": {"name": name}})

    async def get(self, name: str) -> ProxmoxMachine:
        return await self.user.get(PROXMOX_MACHINES, NAMESPACE, name)

    async def delete(self, name: str) -> None:
        await self.user.delete(PROXMOX_MACHINES, NAMESPACE, name)

    async def exists(self, name: str) -> bool:
        try:
            await self.get(name)
        except NotFound:
            return False
        return True

    async def provisioned(self, *names: str, within: float = 300) -> list[ProxmoxMachine]:
        """The machines, once they are made."""

        async def all_are() -> bool:
            return all([(await self.get(name)).status.initialization.provisioned for name in names])

        await self.until(all_are, within, names)
        return [await self.get(name) for name in names]

    async def gone(self, *names: str, within: float = 300) -> None:
        async def all_are() -> bool:
            return not any([await self.exists(name) for name in names])

        await self.until(all_are, within, names)

    async def until(self, holds: Callable[[], Awaitable[bool]], within: float, names: tuple[str, ...]) -> None:
        for _ in range(int(within)):
            if await holds():
                break
            await asyncio.sleep(1)
        else:
            said = [await self.says(name) for name in names if await self.exists(name)]
            assert self.manager is not None
            errors = [each.errors for each in self.manager.controllers if each.errors]
            raise AssertionError(f"waited in vain: {said} {errors}")

    async def says(self, name: str, type: str = "") -> Mapping[str, tuple[str, str, str]]:
        """What the conditions of a machine say."""
        found = (await self.get(name)).status.conditions
        return {each.type: (each.status, each.reason, each.message) for each in found if type in ("", each.type)}

    async def reservations(self) -> list[ProxmoxVirtualMachine]:
        return (await self.user.list(PROXMOX_VIRTUAL_MACHINES)).items

    async def nothing_left(self) -> None:
        """No VM, disk, image, reservation or claim has outlived its machine."""
        await asyncio.sleep(5)  # pools take addresses back in their own time
        datacenter = self.there.emulator.datacenter
        assert [vmid for vmid in datacenter.guests if vmid < 9000] == []
        assert [each.id for each in datacenter.volumes.values() if each.vmid is not None and each.vmid < 9000] == []
        assert [each.id for each in datacenter.volumes.values() if "user-data" in each.id] == []
        assert await self.reservations() == []
        assert (await self.user.list(IP_ADDRESS_CLAIMS)).items == []

    async def _status(self, kind: Kind[Any], name: str, status: Mapping[str, Any]) -> None:
        await self.user.patch(kind, NAMESPACE, name, Merge({"status": status}), subresource="status")


def _no_tenant(connection: Any) -> Any:
    raise AssertionError(f"nobody asked for {connection}")


def _reference(kind: Kind[Any], name: str) -> dict[str, str]:
    return {"apiGroup": kind.group, "kind": kind.kind, "name": name}


def _owner(kind: Kind[Any], obj: Any) -> dict[str, str]:
    return {"apiVersion": kind.api_version, "kind": kind.kind, "name": obj.metadata.name, "uid": obj.metadata.uid}


@asynccontextmanager
async def yard(**options: Any) -> AsyncIterator[Yard]:
    async with data_center(**options) as there:
        world = there.client.calls.world
        server = await ApiServer.start(Config(), world)
        user = Client(InProcessTransport(server, user="somebody"), world=world)
        await user.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        await asyncio.gather(*(user.create(DEFINITIONS, render(each)) for each in KINDS))
        await server.settled()
        reference = NamespacedConnectionReference(namespace=NAMESPACE, name="demo")
        links = OneLink(Link(there.client, "demo", reference, pool="nagaya"))
        made = Yard(server, user, there, links, Control(there.emulator))
        await made.start()
        try:
            yield made
        finally:
            await made.stop()
            await server.stop()


def play(scenario: Callable[[Yard], Awaitable[None]], **options: Any) -> None:
    async def main() -> None:
        async with yard(**options) as made:
            await scenario(made)

    run(main())
