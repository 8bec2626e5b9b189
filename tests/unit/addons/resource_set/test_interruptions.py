"""The process ends after any write, before its answer arrives; the next one ends in the same state."""

from __future__ import annotations

import asyncio

import pytest

from nagaya.api.addons.cluster_resource_set import CLUSTER_RESOURCE_SETS
from nagaya.kube.errors import NotFound
from unit.addons.resource_set.plane import NAMESPACE, Plane, manifest, on_a_plane


@pytest.mark.parametrize("strategy", ["ApplyOnce", "Reconcile"])
def test_a_set_that_is_interrupted_at_any_write_is_brought_and_taken_away_all_the_same(strategy: str) -> None:
    async def test(plane: Plane) -> None:
        await plane.config_map("maps", one=manifest("one", a="1"))
        await plane.cluster()
        for lives in range(1, 5):
            name = f"set-{lives}"
            await plane.restart(lives)
            await plane.connect()
            await plane.resource_set(("ConfigMap", "maps"), name=name, strategy=strategy)
            assert plane.transport.dead
            await plane.restart()
            await plane.connect()
            assert await plane.told(name) == "True Applied: "
            assert (await plane.record())[name] == {"maps": True}
            assert await plane.in_tenant("one") == {"a": "1"}
        for lives in range(1, 3):
            await plane.restart(lives)
            await plane.user.delete(CLUSTER_RESOURCE_SETS, NAMESPACE, f"set-{lives}")
            await plane.idle()
            assert plane.transport.dead
            await plane.restart()
            await asyncio.sleep(1)
            await plane.idle()
            assert f"set-{lives}" not in await plane.record()
            with pytest.raises(NotFound):
                await plane.found(f"set-{lives}")

    on_a_plane(test)
