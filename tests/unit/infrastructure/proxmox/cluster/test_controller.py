"""The controller at work on a management API in memory: which ProxmoxClusters it looks after."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from nagaya.api.proxmox.proxmox_cluster import PROXMOX_CLUSTERS
from nagaya.infrastructure.proxmox.cluster.controller import controller
from nagaya.infrastructure.proxmox.connection.connections import Connections
from nagaya.kube.contract_kinds import ContractKinds
from nagaya.kube.key import Key
from nagaya.kube.manager import Manager
from nagaya.kube.recorder import Recorder
from nagaya.kube.remote import Remotes
from nagaya.kube.runtime import Runtime
from support.kube import FakeServer
from support.virtual_run import run, virtual_world

SHOP = Key("default", "shop")
COLLECTION = PROXMOX_CLUSTERS.path().strip("/")
MANAGED_BY = "cluster.x-k8s.io/managed-by"


@asynccontextmanager
async def at_work(server: FakeServer) -> AsyncIterator[Manager]:
    """The controller, which has seen what the server has."""
    world = virtual_world()
    client = server.client(world)
    manager = Manager(client, world)
    cache, recorder, remotes = manager.cache, Recorder(client, world), Remotes(lambda _: server, world)
    rt = Runtime(client, cache, ContractKinds(cache), remotes, recorder, world)
    manager.add(controller(rt, Connections(client, cache, world)))
    await manager.start()
    try:
        await manager.idle()
        yield manager
    finally:
        await manager.stop()
        await remotes.close()


def test_a_cluster_that_something_else_manages_is_left_alone_until_it_does_not_any_more() -> None:
    async def main() -> None:
        server = FakeServer()
        made = server.put(COLLECTION, *SHOP, spec={}, metadata={"annotations": {MANAGED_BY: "terraform"}})
        async with at_work(server) as manager:
            assert server.objects[COLLECTION, *SHOP] == made
            server.put(COLLECTION, *SHOP, metadata={"annotations": {}})
            await manager.idle()
            conditions = server.objects[COLLECTION, *SHOP]["status"]["conditions"]
            reasons = {condition["type"]: condition["reason"] for condition in conditions}
            assert reasons["Ready"] == "WaitingForOwner"

    run(main())
