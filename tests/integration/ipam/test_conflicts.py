"""Addresses that somebody else has: control plane endpoints, other pools, other namespaces, another life."""

from __future__ import annotations

import uuid
from collections.abc import Callable

from nagaya.api.ipam.ip_address_reservation import IP_ADDRESS_RESERVATIONS
from nagaya.api.kind import Object
from support.ipam import Manifest, claim, cluster, global_pool, pool
from support.ipam_lab import counted, entries, given, gone, refused, served, told
from support.lab import KINDS, NAMESPACES, Lab, Scenario, condition
from support.servers import both_servers

Play = Callable[[Scenario], None]
GLOBAL = "GlobalInClusterIPPool"


def simulated(name: str, namespace: str, host: str) -> tuple[Manifest, Manifest]:
    """A Cluster whose infrastructure says where its control plane will be."""
    content = cluster(name, namespace=namespace)
    content["spec"]["infrastructureRef"]["kind"] = "SimulatedCluster"
    endpoint = {"controlPlaneEndpoint": {"host": host, "port": 6443}}
    metadata = {"name": name, "namespace": namespace}
    return {"kind": "SimulatedCluster", "metadata": metadata, "spec": endpoint}, content


def test_capmox_412_an_endpoint_in_the_range_of_a_pool_is_kept_back_and_told(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        where = lab.namespace
        await lab.create(pool("p", "10.0.0.10-10.0.0.12", namespace=where))
        await lab.create(cluster("shop", namespace=where, host="10.0.0.10"), *simulated("farm", where, "10.0.0.11"))
        why = await told(lab, "p", "Disjoint", "AddressesExcluded")
        assert f"10.0.0.10 is the control plane endpoint of Cluster {where}/shop" in why

        async def both() -> bool:
            return "10.0.0.11" in await told(lab, "p", "Disjoint", "AddressesExcluded")

        await lab.until("the endpoint of the infrastructure is told, too", both)
        await lab.create(claim("a", "p", namespace=where), claim("b", "p", namespace=where))
        assert await served(lab, "a") == {"a": "10.0.0.12"}
        await refused(lab, "b", "PoolExhausted")
        await counted(lab, "p", total=1, used=1, free=0)
        await lab.delete("Cluster", "shop")
        assert await served(lab, "b") == {"b": "10.0.0.10"}

    play(scenario)


def test_ipam_297_capmox_304_an_endpoint_comes_from_a_pool_by_a_claim(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        where = lab.namespace
        await lab.create(
            cluster("shop", namespace=where),
            pool("p", "10.0.0.10-10.0.0.11", namespace=where, addressReuseGracePeriodSeconds=0),
            claim("shop-endpoint", "p", namespace=where, cluster="shop"),
        )
        vip = (await served(lab, "shop-endpoint"))["shop-endpoint"]
        await lab.merge("Cluster", "shop", {"spec": {"controlPlaneEndpoint": {"host": vip, "port": 6443}}})
        await lab.create(claim("a", "p", namespace=where), claim("b", "p", namespace=where))
        assert await served(lab, "a") == {"a": "10.0.0.11"}
        await refused(lab, "b", "PoolExhausted")
        await counted(lab, "p", total=2, used=2, free=0)
        # The claim is lost, and the Cluster still has the endpoint: nobody else gets it.
        await lab.delete("IPAddressClaim", "shop-endpoint")
        await gone(lab, "IPAddressClaim", "shop-endpoint")
        await told(lab, "p", "Disjoint", "AddressesExcluded")
        assert await given(lab) == {"a": "10.0.0.11"}
        await lab.create(claim("again", "p", namespace=where, cluster="shop", wants=vip))
        assert await served(lab, "again") == {"again": vip}

    play(scenario)


def test_capmox_16_pools_that_came_to_overlap_share_no_address(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        where = lab.namespace
        names = [f"c{number}" for number in range(6)]
        # Where admission does not see other pools, or two are made at the same time.
        await lab.create(*(claim(name, "pq"[number % 2], namespace=where) for number, name in enumerate(names)))
        await lab.create(pool("p", "10.0.0.10-10.0.0.12", namespace=where))
        try:
            await lab.client.create(KINDS["InClusterIPPool"], pool("q", "10.0.0.11-10.0.0.13", namespace=where))
        except Exception as error:
            assert "belongs to InClusterIPPool" in str(error)
            return
        assert "10.0.0.11-10.0.0.12 is in InClusterIPPool" in await told(lab, "p", "Disjoint", "OverlapsPool")

        async def four() -> bool:
            return len(await given(lab)) == 4

        await lab.until("all four addresses are given", four)
        addresses = await given(lab)
        assert sorted(addresses.values()) == ["10.0.0.10", "10.0.0.11", "10.0.0.12", "10.0.0.13"]

    play(scenario)


@both_servers
def test_a_global_pool_serves_all_namespaces_and_never_what_a_namespace_holds(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        where, name = lab.namespace, f"g-{uuid.uuid4().hex[:8]}"
        other = f"{name}-other"
        await lab.client.create(NAMESPACES, {"metadata": {"name": other}})
        await lab.create(pool("p", "10.77.0.10-10.77.0.11", namespace=where), claim("a", "p", namespace=where))
        assert await served(lab, "a") == {"a": "10.77.0.10"}
        made = global_pool(name, "10.77.0.10-10.77.0.12")
        try:
            await lab.client.create(KINDS[GLOBAL], made)
        except Exception as error:
            assert "belongs to InClusterIPPool" in str(error)
            made = global_pool(name, "10.77.0.12")
            await lab.client.create(KINDS[GLOBAL], made)
        await lab.client.create(KINDS["IPAddressClaim"], claim("x", name, namespace=other, kind=GLOBAL))
        await lab.create(claim("wrong", name, namespace=where))
        await refused(
            lab, "wrong", "PoolNotReady", f"There is GlobalInClusterIPPool {name}, which serves other claims."
        )
        await lab.delete("IPAddressClaim", "wrong")

        async def elsewhere() -> bool:
            return bool((await lab.client.list(KINDS["IPAddress"], other)).items)

        await lab.until("the claim of the other namespace is served", elsewhere)
        (address,) = (await lab.client.list(KINDS["IPAddress"], other)).items
        assert address.spec.address in ("10.77.0.11", "10.77.0.12")
        await lab.create(claim("b", "p", namespace=where))

        async def answered() -> bool:
            found = condition(await lab.get("IPAddressClaim", "b"), "Ready")
            return found in (("True", "Ready"), ("False", "PoolExhausted"))

        await lab.until("the other claim has an address, or there is none", answered)
        assert address.spec.address not in (await given(lab)).values()
        await lab.client.delete(KINDS["IPAddressClaim"], other, "x")

        async def released() -> bool:
            return not await elsewhere()

        await lab.until("the address of the other namespace is released", released)
        await lab.client.delete(KINDS[GLOBAL], "", name)

    play(scenario)


def test_ipam_207_addresses_that_are_moved_here_keep_their_owners_and_their_claims(play: Play) -> None:
    """What `clusterctl move` does: the Cluster comes paused, then pool, claims and addresses, with new uids."""

    async def scenario(lab: Lab) -> None:
        where = lab.namespace
        await lab.create(
            cluster("shop", namespace=where, paused=True),
            pool("p", "10.0.0.10-10.0.0.20", namespace=where),
            claim("a", "p", namespace=where, cluster="shop"),
        )
        wish, found = await lab.get("IPAddressClaim", "a"), await lab.get("InClusterIPPool", "p")
        owners = [
            _owner("ipam.cluster.x-k8s.io/v1beta2", "IPAddressClaim", wish, controller=True),
            _owner("ipam.cluster.x-k8s.io/v1alpha2", "InClusterIPPool", found, controller=False),
        ]
        metadata = {
            "name": "a",
            "namespace": where,
            "ownerReferences": owners,
            "finalizers": ["ipam.cluster.x-k8s.io/ProtectAddress"],
            "labels": {"cluster.x-k8s.io/cluster-name": "shop"},
        }
        spec = {
            "address": "10.0.0.13",
            "prefix": 24,
            "claimRef": {"name": "a"},
            "poolRef": claim("a", "p")["spec"]["poolRef"],
        }
        await lab.create({"kind": "IPAddress", "metadata": metadata, "spec": spec})
        before = await lab.get("IPAddress", "a")
        await lab.idle()
        await lab.merge("Cluster", "shop", {"spec": {"paused": False}})
        assert await served(lab, "a") == {"a": "10.0.0.13"}
        after = await lab.get("IPAddress", "a")
        assert after.metadata.uid == before.metadata.uid
        assert after.metadata.owner_references == before.metadata.owner_references
        assert (await entries(lab))["10.0.0.13"].spec.claim_ref.uid == wish.metadata.uid
        await lab.create(*(claim(f"b{number}", "p", namespace=where) for number in range(5)))
        addresses = await served(lab, *(f"b{number}" for number in range(5)))
        assert "10.0.0.13" not in addresses.values()

    play(scenario)


def test_controllers_that_are_started_again_go_on_where_they_were(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        where = lab.namespace
        await lab.create(pool("p", "10.0.0.10-10.0.0.12", namespace=where), claim("a", "p", namespace=where))
        await lab.create(claim("b", "p", namespace=where))
        before = await served(lab, "a", "b")
        await counted(lab, "p", used=2, free=1)
        await lab.idle()
        versions = await _versions(lab)
        await lab.stop()
        await lab.start()
        await lab.idle()
        assert await _versions(lab) == versions, "somebody wrote although nothing had changed"
        await lab.stop()
        client = lab.client = type(lab.client)(lab.transport(), world=lab.world, field_manager="test")
        await lab.create(claim("c", "p", namespace=where))
        await lab.delete("IPAddressClaim", "a")
        await client.close()
        await lab.start()
        await gone(lab, "IPAddressClaim", "a")
        after = await served(lab, "b", "c")
        assert after["b"] == before["b"]
        assert after["c"] == "10.0.0.12"

    play(scenario)


def test_an_address_reserved_for_a_claim_that_is_gone_comes_back(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        where = lab.namespace
        await lab.create(pool("p", "10.0.0.10", namespace=where))
        await counted(lab, "p", free=1)
        # As a process leaves it that died after the reservation, before the claim was deleted by force.
        spec = {
            "address": "10.0.0.10",
            "poolRef": {"kind": "InClusterIPPool", "namespace": where, "name": "p"},
            "claimRef": {"namespace": where, "name": "ghost", "uid": "of-a-former-life"},
        }
        await lab.client.create(IP_ADDRESS_RESERVATIONS, {"metadata": {"name": f"10.0.0.10.{where}"}, "spec": spec})

        async def released() -> bool:
            return (await entries(lab))["10.0.0.10"].spec.released_at is not None

        await lab.until("the reservation is released", released)
        await lab.create(claim("a", "p", namespace=where))
        if not lab.real:
            assert await served(lab, "a") == {"a": "10.0.0.10"}

    play(scenario)


async def _versions(lab: Lab) -> list[str]:
    kinds = ("InClusterIPPool", "IPAddressClaim", "IPAddress")
    found: list[Object] = [each for kind in kinds for each in await lab.all(kind)]
    found += (await entries(lab)).values()
    return [each.metadata.resource_version for each in found]


def _owner(api_version: str, kind: str, obj: Object, *, controller: bool) -> Manifest:
    metadata = obj.metadata
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": metadata.name,
        "uid": metadata.uid,
        "controller": controller,
        "blockOwnerDeletion": True,
    }
