"""Which changes concern which Clusters."""

from __future__ import annotations

from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.kind import Kind
from nagaya.api.meta import ObjectMeta
from nagaya.api.untyped import Untyped
from nagaya.core.cluster.changes import of_machine, of_secret
from nagaya.kube.cache.change import Change
from nagaya.kube.key import Key
from nagaya.kube.tenant_secrets import TenantSecret
from support.builders import CLUSTER, machine
from support.harbour import (
    DEFINITIONS,
    KEY,
    NAMESPACE,
    harbour,
    provider_definition,
)
from support.seen_cluster import BOTH, INFRASTRUCTURE
from support.virtual_run import run


def test_a_provider_that_is_installed_late_is_noticed() -> None:
    async def main() -> None:
        async with harbour() as here:
            ref = {"apiGroup": INFRASTRUCTURE.group, "kind": "RaftCluster", "name": CLUSTER}
            await here.make(CLUSTERS, spec={**BOTH, "infrastructureRef": ref})
            status, reason, message = await here.told("InfrastructureReady")
            assert (status, reason) == ("Unknown", "InternalError")
            assert "Install the provider that brings it" in message
            rafts = Kind(INFRASTRUCTURE.group, "v1", "RaftCluster", "raftclusters", Untyped)
            await here.user.create(DEFINITIONS, provider_definition(rafts))
            await here.settled()
            assert await here.told("InfrastructureReady") == (
                "False",
                "ObjectDoesNotExist",
                "RaftCluster does not exist",
            )
            await here.make(rafts)
            assert (await here.user.get(rafts, NAMESPACE, CLUSTER)).metadata.owner_references

    run(main())


def test_a_machine_is_news_only_if_a_cluster_tells_of_it() -> None:
    before = machine("a").reporting("Ready", "False", message="no node").made()
    key = Key(before.metadata.namespace, CLUSTER)
    addressed = machine("a").reporting("Ready", "False", message="no node").having(status={"phase": "Running"}).made()
    ready = machine("a").reporting("Ready", "True").made()
    assert [*of_machine(Change(before, addressed))] == []
    assert [*of_machine(Change(before, ready))] == [key]
    assert [*of_machine(Change(None, ready))] == [*of_machine(Change(ready, None))] == [key]


def test_of_secrets_only_authorities_and_kubeconfigs_are_news() -> None:
    def secret(name: str) -> Change[TenantSecret]:
        metadata = ObjectMeta(name=name, namespace=NAMESPACE, labels={"cluster.x-k8s.io/cluster-name": CLUSTER})
        return Change(None, TenantSecret(metadata=metadata))

    for suffix, keys in {"-ca": [KEY], "-kubeconfig": [KEY], "-etcd": []}.items():
        assert [*of_secret(secret(CLUSTER + suffix))] == keys
