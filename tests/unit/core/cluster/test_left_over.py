"""The last look before a Cluster is let go."""

from __future__ import annotations

import asyncio

from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.cluster.machine_deployment import MACHINE_DEPLOYMENTS
from support.builders import CLUSTER
from support.harbour import (
    DEPLOYMENT,
    NAMESPACE,
    harbour,
    owned,
)
from support.seen_cluster import BOTH
from support.virtual_run import run


def test_a_cluster_is_not_let_go_while_the_server_has_what_the_cache_has_not_heard_of() -> None:
    async def main() -> None:
        async with harbour() as here:
            await here.make(CLUSTERS, spec=BOTH)
            late = {"labels": {"cluster.x-k8s.io/cluster-name": CLUSTER}, **owned(await here.cluster())}
            here.process.transport.deafen("machinedeployments")
            await here.user.create(
                MACHINE_DEPLOYMENTS,
                {**DEPLOYMENT, "metadata": {"name": "late", "namespace": NAMESPACE, **late}},
            )
            await here.user.delete(CLUSTERS, NAMESPACE, CLUSTER)
            await asyncio.sleep(10)
            assert await here.exists(CLUSTERS)
            here.process.transport.hears.set()
            await asyncio.sleep(60)
            assert not await here.exists(MACHINE_DEPLOYMENTS, "late")
            assert not await here.exists(CLUSTERS)

    run(main())
