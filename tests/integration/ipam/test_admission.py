"""Pools that are refused when they are written or deleted: by the embedded server itself, elsewhere by the webhook."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nagaya.api.catalog import PARTS
from nagaya.cli.admission import AdmissionServer
from nagaya.kube.errors import ApiError
from support.ipam import Manifest, claim, global_pool, pool
from support.ipam_lab import gone, served
from support.lab import KINDS, Lab, Scenario
from support.servers import both_servers

Play = Callable[[Scenario], None]


@pytest.fixture
def checked(play: Play) -> Play:
    """Plays a scenario where pools are checked. The embedded server does so by itself."""

    def run(scenario: Scenario) -> None:
        async def with_webhook(lab: Lab) -> None:
            if not lab.real:
                await scenario(lab)
                return
            webhook = AdmissionServer(lab.client, lab.world, PARTS["ipam"], stop_timeout=240.0)
            await webhook.start("127.0.0.1", 0)
            try:
                await scenario(lab)
            finally:
                await webhook.stop()

        play(with_webhook)

    return run


async def refusal(lab: Lab, made: Manifest) -> str:
    with pytest.raises(ApiError) as caught:
        await lab.client.create(KINDS[made["kind"]], made)
    return str(caught.value)


@both_servers
def test_capmox_16_overlapping_pools_are_refused_with_the_name_of_the_other(checked: Play) -> None:
    async def scenario(lab: Lab) -> None:
        where = lab.namespace
        await lab.create(pool("p", "10.88.0.10-10.88.0.20", namespace=where))
        why = await refusal(lab, pool("q", "10.88.0.15-10.88.0.30", namespace=where))
        assert f"10.88.0.15-10.88.0.20 belongs to InClusterIPPool {where}/p already" in why
        assert f"belongs to InClusterIPPool {where}/p" in await refusal(lab, global_pool("g", "10.88.0.0/24"))
        await lab.create(pool("q", "10.88.0.21-10.88.0.30", namespace=where))
        with pytest.raises(ApiError, match="belongs to InClusterIPPool"):
            await lab.merge("InClusterIPPool", "q", {"spec": {"addresses": ["10.88.0.20-10.88.0.30"]}})
        await lab.merge("InClusterIPPool", "q", {"metadata": {"labels": {"any": "label"}}})

    checked(scenario)


@both_servers
def test_a_pool_in_use_is_neither_deleted_nor_shrunk(checked: Play) -> None:
    async def scenario(lab: Lab) -> None:
        where = lab.namespace
        await lab.create(pool("p", "10.88.0.10-10.88.0.20", namespace=where), claim("a", "p", namespace=where))
        await served(lab, "a")
        with pytest.raises(ApiError, match=rf"Pool has IPAddresses allocated.*{where}/a \(10.88.0.10\)"):
            await lab.delete("InClusterIPPool", "p")
        with pytest.raises(ApiError, match=r"pool addresses do not contain allocated addresses: \[10.88.0.10\]"):
            await lab.merge("InClusterIPPool", "p", {"spec": {"addresses": ["10.88.0.11-10.88.0.20"]}})
        await lab.delete("IPAddressClaim", "a")
        await gone(lab, "IPAddressClaim", "a")
        await lab.delete("InClusterIPPool", "p")
        await gone(lab, "InClusterIPPool", "p")

    checked(scenario)
