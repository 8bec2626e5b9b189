"""Killing the process after any of its writes, in the life of a cluster and in its deletion."""

from __future__ import annotations

from typing import Any

import pytest

from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.cluster.machine_deployment import MACHINE_DEPLOYMENTS
from nagaya.api.kind import Kind
from support.builders import CLUSTER, CONTROL_PLANE
from support.harbour import DEPLOYMENT, NAMESPACE, Harbour, grow, harbour, owned
from support.seen_cluster import INFRASTRUCTURE
from support.virtual_run import run

pytestmark = pytest.mark.slow

LEFT: tuple[tuple[Kind[Any], str], ...] = (
    (CLUSTERS, CLUSTER),
    (MACHINE_DEPLOYMENTS, "workers"),
    (CONTROL_PLANE, CLUSTER),
    (INFRASTRUCTURE, CLUSTER),
)


async def life(here: Harbour) -> None:
    """All that users and providers do in the life of a cluster. Done again, it changes nothing that is done."""
    await grow(here)
    deployment = {**DEPLOYMENT, "metadata": {**DEPLOYMENT["metadata"], **owned(await here.cluster())}}
    await here.make(MACHINE_DEPLOYMENTS, "workers", **deployment)


async def death(here: Harbour) -> None:
    """Let everything go that is going, as providers do, until nothing changes."""
    for kind, name in LEFT[1:]:
        if await here.exists(kind, name) and (await here.user.get(kind, NAMESPACE, name)).metadata.deleting:
            await here.change(kind, name, metadata={"finalizers": None})


async def grows_up(here: Harbour, lives: int) -> bool:
    """A cluster comes up although the process dies after so many writes. Returns whether it died."""
    await here.restart(lives)
    await life(here)
    died = here.process.transport.dead
    if died:
        await here.restart()
        await here.settled()
    found = await here.cluster()
    assert found.status.phase == "Provisioned"
    assert found.status.initialization.control_plane_initialized
    assert found.status.workers.desired_replicas == 3
    for kind in (CONTROL_PLANE, INFRASTRUCTURE):
        assert (await here.user.get(kind, NAMESPACE, CLUSTER)).metadata.owner_references
    return died


async def goes(here: Harbour, lives: int) -> bool:
    """A cluster goes although the process dies after so many writes. Returns whether it died."""
    await here.restart(lives)
    await here.delete(CLUSTERS)
    died = False
    for _ in LEFT:
        if here.process.transport.dead:
            died = True
            await here.restart()
        await here.settled()
        await death(here)
    for kind, name in LEFT:
        assert not await here.exists(kind, name), f"{kind} is left after a death at write {lives}"
    return died


def test_dying_after_any_write_ends_in_the_same_state() -> None:
    async def main() -> None:
        async with harbour() as here:
            lives, alive = 1, True
            while alive:
                died = [await grows_up(here, lives), await goes(here, lives)]
                alive = any(died)
                lives += 1
            assert lives > 10

    run(main())
