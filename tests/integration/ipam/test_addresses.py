"""Claims and addresses: what is made, what it says, and what becomes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from nagaya.api.cluster.annotations import PAUSED
from nagaya.api.cluster.labels import CLUSTER_NAME
from nagaya.api.ipam.group import PROTECT_ADDRESS, PROTECT_POOL, RELEASE_ADDRESS
from support.ipam import claim, cluster, pool
from support.ipam_lab import counted, entries, given, gone, refused, served, told
from support.lab import Lab, Scenario
from support.servers import both_servers

Play = Callable[[Scenario], None]


@both_servers
def test_a_claim_gets_an_address_with_owners_finalizers_and_labels(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        where = lab.namespace
        await lab.create(
            cluster("shop", namespace=where),
            pool("p", "10.0.0.10-10.0.0.12", namespace=where, gateway="10.0.0.1"),
            claim("a", "p", namespace=where, cluster="shop"),
        )
        assert await served(lab, "a") == {"a": "10.0.0.10"}
        address, wish = await lab.get("IPAddress", "a"), await lab.get("IPAddressClaim", "a")
        found = await lab.get("InClusterIPPool", "p")
        assert (address.spec.prefix, address.spec.gateway, address.spec.claim_ref.name) == (24, "10.0.0.1", "a")
        assert address.spec.pool_ref == wish.spec.pool_ref
        assert address.metadata.finalizers == (PROTECT_ADDRESS,)
        assert address.metadata.labels == {CLUSTER_NAME: "shop"}
        owners = {
            each.kind: (each.uid, bool(each.controller), each.block_owner_deletion)
            for each in address.metadata.owner_references
        }
        assert owners == {
            "IPAddressClaim": (wish.metadata.uid, True, True),
            "InClusterIPPool": (found.metadata.uid, False, True),
        }
        assert wish.metadata.finalizers == (RELEASE_ADDRESS,)
        assert wish.status.address_ref.name == "a"
        assert found.metadata.finalizers == (PROTECT_POOL,)
        await counted(lab, "p", total=3, used=1, free=2, out_of_range=0)

    play(scenario)


def test_capmox_763_claims_of_one_machine_never_get_the_same_address(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        names = [f"machine-net{number}" for number in range(4)]
        await lab.create(pool("p", "10.0.0.10-10.0.0.30", namespace=lab.namespace))
        await lab.create(*(claim(name, "p", namespace=lab.namespace) for name in names))
        addresses = await served(lab, *names)
        assert len({*addresses.values()}) == len(names)

    play(scenario)


def test_ipam_179_starving_claims_are_served_when_an_address_is_given_back(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        where = lab.namespace
        await lab.create(
            cluster("shop", namespace=where),
            pool("p", "10.0.0.10", namespace=where, addressReuseGracePeriodSeconds=0),
            claim("a", "p", namespace=where, cluster="shop"),
        )
        await served(lab, "a")
        await lab.create(claim("b", "p", namespace=where))
        assert await refused(lab, "b", "PoolExhausted") == (
            f"InClusterIPPool {where}/p has no free address: 1 of 1 are in use (1 by Cluster {where}/shop). "
            "Add a range to spec.addresses of the pool, or delete machines or claims."
        )
        await lab.delete("IPAddressClaim", "a")
        assert await served(lab, "b") == {"b": "10.0.0.10"}
        await lab.create(claim("c", "p", namespace=where))
        await refused(lab, "c", "PoolExhausted")
        await lab.merge("InClusterIPPool", "p", {"spec": {"addresses": ["10.0.0.10-10.0.0.11"]}})
        assert await served(lab, "c") == {"c": "10.0.0.11"}

    play(scenario)


def test_ipam_332_an_address_rests_before_another_claim_gets_it(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        where, rest = lab.namespace, 20 if lab.real else 60  # long enough to be seen
        spec = {"addressReuseGracePeriodSeconds": rest} if lab.real else {}
        await lab.create(pool("p", "10.0.0.10", namespace=where, **spec), claim("a", "p", namespace=where))
        await served(lab, "a")
        await lab.delete("IPAddressClaim", "a")
        await gone(lab, "IPAddressClaim", "a")  # at once: nothing that uses the claim is held up
        await lab.create(claim("b", "p", namespace=where))
        await refused(lab, "b", "PoolExhausted", "1 rest after their release")
        entry = (await entries(lab))["10.0.0.10"]
        assert entry.spec.released_at is not None
        await served(lab, "b")
        address = await lab.get("IPAddress", "b")
        assert (address.metadata.creation_timestamp - entry.spec.released_at).total_seconds() > rest - 1.1

    play(scenario)


def test_a_claim_gets_the_address_that_it_asks_for_or_a_reason(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        where = lab.namespace
        await lab.create(pool("p", "fd00::10-fd00::20", namespace=where, prefix=64, addressReuseGracePeriodSeconds=0))
        await lab.create(claim("sticky", "p", namespace=where, wants="fd00::15"))
        assert await served(lab, "sticky") == {"sticky": "fd00::15"}
        await lab.create(claim("late", "p", namespace=where, wants="fd00::15"))
        await refused(lab, "late", "AllocationFailed", "held by IPAddressClaim")
        await lab.delete("IPAddressClaim", "sticky")
        assert await served(lab, "late") == {"late": "fd00::15"}

    play(scenario)


@both_servers
def test_more_claims_than_one_look_serves_are_all_served(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        names = [f"c{number}" for number in range(130)]
        await lab.create(pool("p", "10.0.0.0/8", namespace=lab.namespace, prefix=8))
        await lab.create(*(claim(name, "p", namespace=lab.namespace) for name in names))
        addresses = await served(lab, *names)
        assert len({*addresses.values()}) == len(names)
        await counted(lab, "p", total=2**24 - 2, used=len(names))

    play(scenario)


def test_an_address_cannot_be_deleted_while_its_claim_is_there(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        where = lab.namespace
        await lab.create(pool("p", "10.0.0.10", namespace=where), claim("a", "p", namespace=where))
        await served(lab, "a")
        await lab.delete("IPAddress", "a")
        await asyncio.sleep(1)
        assert (await lab.get("IPAddress", "a")).metadata.deleting
        await lab.delete("IPAddressClaim", "a")
        await gone(lab, "IPAddress", "a")
        await gone(lab, "IPAddressClaim", "a")

    play(scenario)


def test_a_pool_stays_until_its_last_address_is_given_back(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        where = lab.namespace
        await lab.create(pool("p", "10.0.0.10-10.0.0.20", namespace=where), claim("a", "p", namespace=where))
        await served(lab, "a")
        await lab.annotate("InClusterIPPool", "p", **{"ipam.cluster.x-k8s.io/skip-validate-delete-webhook": ""})
        await lab.delete("InClusterIPPool", "p")
        await told(lab, "p", "Ready", "Deleting")
        await lab.create(claim("b", "p", namespace=where))
        await refused(lab, "b", "PoolNotReady", "is being deleted")
        await lab.delete("IPAddressClaim", "a")
        await gone(lab, "InClusterIPPool", "p")
        await refused(lab, "b", "PoolNotReady", "does not exist")
        await lab.create(pool("p", "10.0.1.10", namespace=where))
        assert await served(lab, "b") == {"b": "10.0.1.10"}

    play(scenario)


def test_nothing_is_done_for_a_paused_cluster_or_a_paused_pool(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        where = lab.namespace
        await lab.create(
            cluster("shop", namespace=where, paused=True),
            pool("p", "10.0.0.10-10.0.0.20", namespace=where),
            claim("a", "p", namespace=where, cluster="shop"),
            claim("b", "p", namespace=where),
        )
        assert await served(lab, "b") == {"b": "10.0.0.10"}
        assert (await lab.get("IPAddressClaim", "a")).metadata.finalizers == ()
        await lab.merge("Cluster", "shop", {"spec": {"paused": False}})
        assert await served(lab, "a") == {"a": "10.0.0.11"}
        await lab.annotate("InClusterIPPool", "p", **{PAUSED: ""})
        await lab.idle()
        await lab.delete("IPAddressClaim", "b")
        await asyncio.sleep(2)
        assert await given(lab) == {"a": "10.0.0.11", "b": "10.0.0.10"}
        await lab.annotate("InClusterIPPool", "p", **{PAUSED: None})
        await gone(lab, "IPAddressClaim", "b")

    play(scenario)


def test_a_claim_whose_cluster_comes_later_is_served_then(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        where = lab.namespace
        await lab.create(pool("p", "10.0.0.10", namespace=where), claim("a", "p", namespace=where, cluster="shop"))
        await refused(lab, "a", "AllocationFailed", f"Cluster {where}/shop does not exist")
        await lab.create(cluster("shop", namespace=where))
        await served(lab, "a")

    play(scenario)
