"""ClusterResourceSets: what a cluster is to have from the start is applied to it, once or again and again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.kube.errors import NotFound
from nagaya.kube.patches import Merge
from support.lab import SECRETS, Lab, Scenario, condition
from support.manifests.simulated import Manifest, Simulated
from support.servers import both_servers

Play = Callable[[Scenario], None]
CONFIG_MAPS = Kind("", "v1", "ConfigMap", "configmaps", Untyped)
CONTENT = """
apiVersion: v1
kind: ConfigMap
metadata: {name: network, namespace: kube-system}
data: {mode: VALUE}
"""


@both_servers
def test_resources_are_applied_to_the_clusters_that_are_selected(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        await _source(lab, "first")
        await lab.create(_resource_set(lab, "ApplyOnce"))
        await lab.create(*Simulated("demo", lab.namespace, workers=0).manifests())
        await lab.available("demo")
        assert await _applied(lab) is None, "the cluster is not selected yet"
        await lab.merge("Cluster", "demo", {"metadata": {"labels": {"network": "yes"}}})
        await lab.until("the resource is applied", lambda: _has(lab, "first"))

        async def told() -> bool:
            found = await lab.get("ClusterResourceSet", "network")
            return condition(found, "ResourcesApplied")[0] == "True"

        await lab.until("the set says so", told)
        (binding,) = await lab.all("ClusterResourceSetBinding")
        assert binding.metadata.name == "demo"
        await lab.delete("Cluster", "demo")

        async def unbound() -> bool:
            return not await lab.all("ClusterResourceSetBinding")

        await lab.until("the binding goes with the Cluster", unbound)
        await lab.delete("ClusterResourceSet", "network")
        await lab.gone("demo")

    play(scenario)


def test_with_reconcile_a_change_of_the_source_is_applied_too(play: Play) -> None:
    async def scenario(lab: Lab) -> None:
        await _source(lab, "first")
        await lab.create(_resource_set(lab, "Reconcile"))
        await lab.create(*Simulated("demo", lab.namespace, workers=0).manifests())
        await lab.merge("Cluster", "demo", {"metadata": {"labels": {"network": "yes"}}})
        await lab.available("demo")
        await lab.until("the resource is applied", lambda: _has(lab, "first"))
        changed = {"stringData": {"network.yaml": CONTENT.replace("VALUE", "second")}}
        await lab.client.patch(SECRETS, lab.namespace, "network", Merge(changed))
        await lab.until("the change is applied", lambda: _has(lab, "second"))
        await lab.delete("ClusterResourceSet", "network")

    play(scenario)


def _resource_set(lab: Lab, strategy: str) -> Manifest:
    return {
        "apiVersion": "addons.cluster.x-k8s.io/v1beta2",
        "kind": "ClusterResourceSet",
        "metadata": {"name": "network", "namespace": lab.namespace},
        "spec": {
            "clusterSelector": {"matchLabels": {"network": "yes"}},
            "resources": [{"kind": "Secret", "name": "network"}],
            "strategy": strategy,
        },
    }


async def _source(lab: Lab, value: str) -> None:
    content = {
        "metadata": {"name": "network", "namespace": lab.namespace},
        "type": "addons.cluster.x-k8s.io/resource-set",
        "stringData": {"network.yaml": CONTENT.replace("VALUE", value)},
    }
    await lab.client.create(SECRETS, content)


async def _applied(lab: Lab) -> Any:
    try:
        return await lab.tenant("demo").get(CONFIG_MAPS, "kube-system", "network")
    except NotFound:
        return None


async def _has(lab: Lab, value: str) -> bool:
    found = await _applied(lab)
    return found is not None and found.at("data", "mode") == value
