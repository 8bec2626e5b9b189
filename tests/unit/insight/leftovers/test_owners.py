"""Whether owners exist."""

from __future__ import annotations

from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.meta import OwnerReference
from nagaya.cli.in_process import InProcessTransport
from nagaya.insight.leftovers.owners import Owners
from nagaya.insight.picture.read import read_kinds
from nagaya.kube.client import Client
from support.prepared import start_prepared
from support.virtual_run import run, virtual_world


def test_an_owner_is_known_by_its_uid_and_asked_for_once() -> None:
    async def main() -> None:
        world = virtual_world()
        server = await start_prepared(world)
        client = Client(InProcessTransport(server), world=world)
        try:
            reference = {"apiGroup": "example.com", "kind": "Boat", "name": "b"}
            content = {"metadata": {"name": "a", "namespace": "default"}, "spec": {"infrastructureRef": reference}}
            made = await client.create(CLUSTERS, content)
            owners = Owners(client, await read_kinds(client))

            def named(name: str, uid: str, group: str = "cluster.x-k8s.io") -> OwnerReference:
                return OwnerReference(api_version=f"{group}/v1beta1", kind="Cluster", name=name, uid=uid)

            assert await owners.exists(named("a", made.metadata.uid), "default") is True
            assert await owners.exists(named("a", "another"), "default") is False
            assert await owners.exists(named("b", "u-1"), "default") is False
            assert await owners.exists(named("a", "u-2", "boats.example.com"), "default") is None
            await client.delete(CLUSTERS, "default", "a")
            assert await owners.exists(named("a", made.metadata.uid), "default") is True
        finally:
            await client.close()
            await server.stop()

    run(main())
