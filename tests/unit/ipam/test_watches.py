"""Which pools hear of which changes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.ipam.in_cluster_ip_pool import IN_CLUSTER_IP_POOLS
from nagaya.api.ipam.ip_address_claim import IP_ADDRESS_CLAIMS
from nagaya.api.ipam.ip_address_reservation import IP_ADDRESS_RESERVATIONS, IPAddressReservation
from nagaya.api.kind import Kind
from nagaya.ipam.pool.seen import add_indexes
from nagaya.ipam.pool.specs import Specs
from nagaya.ipam.pool.watches import watches
from nagaya.kube.cache.cache import Cache
from nagaya.kube.cache.change import Change
from nagaya.kube.client import Client
from nagaya.kube.controller import Watch
from nagaya.kube.key import Key
from nagaya.world import World
from support.ipam import NAMESPACE, Manifest, Scene, claim, cluster, pool
from support.kube import FakeServer
from support.standing_clock import StandingClock

LOW, HIGH, FAR = (Key(NAMESPACE, name) for name in ("low", "high", "far"))
HELD = Scene(None, name="low").reserved("a", "10.0.0.20").entries[0]
RELEASED = Scene(None, name="low").released("10.0.0.20", 5).entries[0]


@dataclass(frozen=True)
class Ears:
    """What the pools of namespaces listen to."""

    client: Client
    cache: Cache
    watches: tuple[Watch, ...]

    async def claimed(self, *manifests: Manifest) -> None:
        for manifest in manifests:
            await self.client.create(IP_ADDRESS_CLAIMS, manifest)
        await self.cache.current()

    def hear(self, kind: Kind[Any], change: Change[Any]) -> list[Key]:
        """The pools that a change of an object concerns."""
        (watch,) = [found for found in self.watches if found.kind == kind]
        return [*watch.keys(change)]


@pytest.fixture
async def ears() -> AsyncIterator[Ears]:
    """Pools low and high share 10.0.0.20, and far has nothing of that."""
    world = World(StandingClock(), Random(1))
    client = FakeServer().client(world)
    cache = Cache(client, world)
    add_indexes(cache)
    for manifest in (
        pool("low", "10.0.0.10-10.0.0.20"),
        pool("high", "10.0.0.20-10.0.0.30"),
        pool("far", "10.0.1.10-10.0.1.20"),
    ):
        await client.create(IN_CLUSTER_IP_POOLS, manifest)
    await cache.current()
    yield Ears(client, cache, watches(cache, IN_CLUSTER_IP_POOLS, Specs()))
    await cache.close()


def changed(kind: Kind[Any], before: Manifest | None, after: Manifest | None) -> Change[Any]:
    old, new = (None if manifest is None else kind.convert(manifest) for manifest in (before, after))
    return Change(old, new)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(Change(HELD, RELEASED), [LOW, HIGH], id="released"),
        pytest.param(Change(HELD, None), [LOW, HIGH], id="held and forgotten"),
        pytest.param(Change(RELEASED, None), [LOW, HIGH], id="released and forgotten"),
        pytest.param(Change(None, HELD), [LOW], id="taken"),
        pytest.param(Change(RELEASED, HELD), [LOW], id="taken again"),
    ],
)
async def test_an_address_that_becomes_free_concerns_all_pools_that_have_it_and_one_that_is_taken_its_own(
    ears: Ears, change: Change[IPAddressReservation], expected: list[Key]
) -> None:
    found = ears.hear(IP_ADDRESS_RESERVATIONS, change)
    assert found[0] == LOW
    assert sorted(found) == sorted(expected)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param("", "10.0.0.15", [LOW], id="told"),
        pytest.param("10.0.0.25", "10.0.1.15", [FAR, HIGH], id="moved"),
        pytest.param("10.0.0.20", "", [HIGH, LOW], id="withdrawn"),
        pytest.param("10.0.0.15", "10.0.0.15", [], id="as before"),
        pytest.param("", "harbour.example", [], id="no address"),
    ],
)
async def test_the_endpoint_of_a_cluster_concerns_the_pools_that_have_its_address(
    ears: Ears, before: str, after: str, expected: list[Key]
) -> None:
    change = changed(CLUSTERS, cluster("shop", host=before), cluster("shop", host=after))
    assert sorted(ears.hear(CLUSTERS, change)) == expected


async def test_a_cluster_that_is_paused_concerns_the_pools_of_its_claims(ears: Ears) -> None:
    await ears.claimed(claim("a", "high", cluster="shop"), claim("b", "far", cluster="other"))
    change = changed(CLUSTERS, cluster("shop"), cluster("shop", paused=True))
    assert ears.hear(CLUSTERS, change) == [HIGH]


async def test_a_cluster_that_goes_concerns_each_pool_once(ears: Ears) -> None:
    """The pool of its claims is also the one that has its endpoint."""
    await ears.claimed(*(claim(name, "low", cluster="shop") for name in ("a", "b")))
    change = changed(CLUSTERS, cluster("shop", host="10.0.0.15"), None)
    assert ears.hear(CLUSTERS, change) == [LOW]
