from __future__ import annotations

import pytest

from nagaya.api.contract.versions import NoContract
from nagaya.kube.cache.cache import Cache
from nagaya.kube.contract_kinds import ContractKinds, NotInstalled
from support.kube import FakeServer
from support.virtual_run import run, virtual_world

DEFINITIONS = "apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP = "infrastructure.example.com"


def install(server: FakeServer, scope: str = "Namespaced", **labels: str) -> None:
    server.put(
        DEFINITIONS,
        "",
        f"boats.{GROUP}",
        metadata={"labels": {f"cluster.x-k8s.io/{contract}": versions for contract, versions in labels.items()}},
        spec={"group": GROUP, "names": {"kind": "Boat", "plural": "boats"}, "scope": scope},
    )


def test_a_kind_is_spoken_as_it_is_served_at_the_moment() -> None:
    async def main() -> None:
        server, world = FakeServer(), virtual_world()
        cache = Cache(server.client(world), world)
        kinds = ContractKinds(cache)
        await cache.synced()
        with pytest.raises(NotInstalled):
            kinds.resolve(GROUP, "Boat")
        install(server, v1beta1="v1alpha1_v1beta1")
        await cache.current()
        first = kinds.resolve(GROUP, "Boat")
        assert (first.contract, first.kind.api_version) == ("v1beta1", f"{GROUP}/v1beta1")
        assert kinds.resolve(GROUP, "Boat") is first
        install(server, v1beta1="v1beta1", v1beta2="v1")
        await cache.current()
        assert kinds.resolve(GROUP, "Boat").kind.version == "v1"
        install(server)
        await cache.current()
        with pytest.raises(NoContract):
            kinds.resolve(GROUP, "Boat")
        server.remove(DEFINITIONS, "", f"boats.{GROUP}")
        await cache.current()
        with pytest.raises(NotInstalled):
            kinds.resolve(GROUP, "Boat")
        await cache.close()

    run(main())


def test_a_reference_cannot_mean_a_cluster_scoped_kind() -> None:
    async def main() -> None:
        server, world = FakeServer(), virtual_world()
        cache = Cache(server.client(world), world)
        kinds = ContractKinds(cache)
        install(server, "Cluster", v1beta2="v1")
        await cache.synced()
        with pytest.raises(NotInstalled, match=f"Boat of {GROUP} is a cluster-scoped kind"):
            kinds.resolve(GROUP, "Boat")
        await cache.close()

    run(main())
