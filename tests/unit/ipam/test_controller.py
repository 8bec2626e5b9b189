"""Pools and the infrastructure of Clusters, whose objects may take long to be listed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.ipam import (
    global_in_cluster_ip_pool,
    in_cluster_ip_pool,
    ip_address,
    ip_address_claim,
    ip_address_reservation,
)
from nagaya.api.ipam.in_cluster_ip_pool import IN_CLUSTER_IP_POOLS
from nagaya.api.ipam.ip_address import IP_ADDRESSES
from nagaya.api.ipam.ip_address_claim import IP_ADDRESS_CLAIMS
from nagaya.ipam.pool.controller import Pools
from nagaya.kube.transport import Answer, Call
from support.harbour import Harbour, harbour
from support.ipam import claim, pool
from support.seen_cluster import BOTH, INFRASTRUCTURE
from support.virtual_run import run

DEFINITIONS = [
    module.DEFINITION
    for module in (global_in_cluster_ip_pool, in_cluster_ip_pool, ip_address, ip_address_claim, ip_address_reservation)
]


@asynccontextmanager
async def slow_harbour(seconds: float) -> AsyncIterator[Harbour]:
    """A pool, and a Cluster at its first address. Only its infrastructure knows that, and takes `seconds` to tell."""
    async with harbour(lambda rt: Pools(rt, IN_CLUSTER_IP_POOLS).controller, DEFINITIONS) as here:
        await here.make(CLUSTERS, spec=BOTH)
        await here.make(INFRASTRUCTURE, spec={"controlPlaneEndpoint": {"host": "10.0.0.10", "port": 6443}})
        transport = here.process.transport
        send = transport.send

        async def slowly(call: Call) -> Answer:
            if INFRASTRUCTURE.plural in call.path:
                await asyncio.sleep(seconds)  # virtual time: the API server answers late
            return await send(call)

        transport.send = slowly  # type: ignore[method-assign]  # only this kind is slow, of all that the transport sends
        await here.user.create(IN_CLUSTER_IP_POOLS, pool("pool", "10.0.0.10-10.0.0.13"))
        yield here


async def claimed(here: Harbour, name: str, *, wait: float) -> dict[str, str]:
    """Who has which address so many seconds after one more claim was made."""
    await here.user.create(IP_ADDRESS_CLAIMS, claim(name, "pool"))
    await asyncio.sleep(wait)  # virtual time: the controller waits for late answers
    return {address.metadata.name: address.spec.address for address in (await here.user.list(IP_ADDRESSES)).items}


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        record.getMessage()
        for record in caplog.records
        if (record.name, record.levelname) == (Pools.__module__, "WARNING")
    ]


def test_no_address_is_given_out_before_it_is_known_where_clusters_are_reached(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        async with slow_harbour(5) as here:
            assert await claimed(here, "early", wait=4) == {}
            assert await claimed(here, "late", wait=4) == {"early": "10.0.0.11", "late": "10.0.0.12"}

    run(main())
    assert warnings(caplog) == []


def test_a_pool_goes_on_with_one_warning_if_infrastructure_cannot_be_listed(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with slow_harbour(86400) as here:
            assert await claimed(here, "first", wait=9) == {}
            assert {*await claimed(here, "second", wait=2)} == {"first", "second"}
            assert {*await claimed(here, "third", wait=1)} == {"first", "second", "third"}

    run(main())
    (told,) = warnings(caplog)
    assert told.startswith("endpoints of Clusters may be missed until then: boatclusters")
