"""What references lead to, with CRDs and objects as a server has them."""

from __future__ import annotations

from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.core.cluster import references
from nagaya.kube.patches import Merge
from support.harbour import DEFINITIONS, harbour
from support.seen_cluster import BOTH, INFRASTRUCTURE
from support.virtual_run import run

CRD = f"{INFRASTRUCTURE.plural}.{INFRASTRUCTURE.group}"


def test_a_reference_tells_what_it_leads_to() -> None:
    async def main() -> None:
        async with harbour() as here:
            rt = here.process.runtime
            await here.make(CLUSTERS, spec=BOTH)
            cluster = await here.cluster()

            found = references.infrastructure(rt, cluster)
            assert found is not None
            assert (found.missing, found.live, found.problem) == (True, None, "")

            await here.make(INFRASTRUCTURE)
            found = references.infrastructure(rt, cluster)
            assert found is not None
            assert found.live is not None
            assert found.live.contract == "v1beta2"

            await here.change(INFRASTRUCTURE, status={"initialization": {"provisioned": "yes"}})
            found = references.infrastructure(rt, cluster)
            assert found is not None
            assert found.provider is not None
            assert found.live is None
            assert "status.initialization.provisioned" in found.problem
            assert (await here.cluster()).status.observed_generation is not None

            unlabelled = Merge({"metadata": {"labels": None}})
            await here.user.patch(DEFINITIONS, "", CRD, unlabelled)
            await here.settled()
            found = references.infrastructure(rt, cluster)
            assert found is not None
            assert "does not say which contract it fulfils" in found.problem
            assert not found.missing
            assert await here.told("InfrastructureReady") == ("Unknown", "InternalError", found.problem)

    run(main())


def test_with_its_kind_an_object_is_certainly_gone() -> None:
    async def main() -> None:
        async with harbour() as here:
            ref = {**BOTH["infrastructureRef"], "kind": "RaftCluster"}
            await here.make(CLUSTERS, spec={**BOTH, "infrastructureRef": ref})
            found = references.infrastructure(here.process.runtime, await here.cluster())
            assert found is not None
            assert "Nobody serves the kind RaftCluster" in found.problem
            await here.delete(CLUSTERS)
            assert not await here.exists(CLUSTERS)

    run(main())
