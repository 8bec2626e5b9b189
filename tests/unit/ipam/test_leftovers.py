"""Claims and addresses that nobody needs any more."""

from __future__ import annotations

from typing import Any

from nagaya.api.ipam.ip_address import IP_ADDRESSES
from nagaya.api.ipam.ip_address_claim import IP_ADDRESS_CLAIMS
from nagaya.api.meta import OwnerReference
from nagaya.cli.in_process import InProcessTransport
from nagaya.ipam.leftovers import remove, unneeded
from nagaya.kube.client import Client
from nagaya.kube.patches import Merge
from support.prepared import start_prepared
from support.virtual_run import run, virtual_world

POOL = {"apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": "pool"}


def owners(*uids: str) -> list[dict[str, Any]]:
    # A kind that nobody serves: the garbage collector of the API leaves what it owns alone.
    return [{"apiVersion": "example.com/v1", "kind": "Boat", "name": f"of-{uid}", "uid": uid} for uid in uids]


async def exists(owner: OwnerReference, _: str) -> bool | None:
    return {"here": True, "gone": False}.get(owner.uid)


async def claim(client: Client, name: str, *uids: str) -> None:
    metadata = {"name": name, "namespace": "default", "ownerReferences": owners(*uids)}
    await client.create(IP_ADDRESS_CLAIMS, {"metadata": metadata, "spec": {"poolRef": POOL}})


async def address(client: Client, name: str, number: int, **pool: str) -> None:
    spec = {"claimRef": {"name": name}, "poolRef": {**POOL, **pool}, "address": f"10.0.0.{number}", "prefix": 24}
    await client.create(IP_ADDRESSES, {"metadata": {"name": name, "namespace": "default"}, "spec": spec})


def test_only_what_had_an_owner_and_has_none_goes() -> None:
    async def main() -> None:
        world = virtual_world()
        server = await start_prepared(world)
        client = Client(InProcessTransport(server), world=world)
        try:
            await claim(client, "by-hand")
            await claim(client, "kept", "here")
            await claim(client, "shared", "gone", "here")
            await claim(client, "unknown", "gone", "somewhere")
            await claim(client, "lost", "gone")
            await address(client, "kept", 10)
            await address(client, "stray", 11)
            await address(client, "foreign", 12, kind="OtherPool")
            claim_found, address_found = await unneeded(client, exists)
            assert claim_found.leftover.what == "IPAddressClaim default/lost"
            assert claim_found.leftover.proof == "its owner Boat of-gone (uid gone) is gone"
            assert address_found.leftover.what == "IPAddress default/stray (10.0.0.11)"
            assert "IPAddressClaim stray is gone" in address_found.leftover.proof
            assert await remove(client, claim_found)
            assert await remove(client, claim_found)
            held = Merge({"metadata": {"finalizers": ["ipam.cluster.x-k8s.io/ProtectAddress"]}})
            await client.patch(IP_ADDRESSES, "default", "stray", held)
            assert not await remove(client, address_found)
            assert await unneeded(client, exists) == ()
        finally:
            await client.close()
            await server.stop()

    run(main())
