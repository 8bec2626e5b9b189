"""What sets bring to clusters, and how little is written for that."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from nagaya.api.addons.cluster_resource_set import CLUSTER_RESOURCE_SETS, FINALIZER
from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.kube.patches import Merge
from nagaya.kube.transport import Answer, Call
from unit.addons.resource_set.plane import CONFIG_MAPS, NAMESPACE, SECRETS, Plane, manifest, on_a_plane

pytestmark = pytest.mark.slow

CHECK_LOGS = "False InternalError: Please check controller logs for errors"


def test_a_cluster_gets_config_maps_and_secrets_once_it_is_connected() -> None:
    async def test(plane: Plane) -> None:
        await plane.config_map("maps", one=manifest("one", a="1"), two=manifest("two", b="2"))
        await plane.secret("hidden", three=manifest("three", c="3"))
        await plane.cluster()
        await plane.resource_set(("ConfigMap", "maps"), ("Secret", "hidden"))
        assert await plane.told() == CHECK_LOGS
        assert await plane.record() == {"cni": {}}
        await plane.connect()
        assert await plane.in_tenant("one") == {"a": "1"}
        assert await plane.in_tenant("two") == {"b": "2"}
        assert await plane.in_tenant("three") == {"c": "3"}
        assert await plane.told() == "True Applied: "
        assert await plane.record() == {"cni": {"maps": True, "hidden": True}}
        found = await plane.found()
        assert found.metadata.finalizers == (FINALIZER,)
        assert found.status.observed_generation == found.metadata.generation
        for kind, name in ((CONFIG_MAPS, "maps"), (SECRETS, "hidden")):
            (owner,) = (await plane.user.get(kind, NAMESPACE, name)).metadata.owner_references
            assert (owner.kind, owner.name, owner.uid) == ("ClusterResourceSet", "cni", found.metadata.uid)
        binding = await plane.binding()
        assert binding is not None
        assert binding.spec.cluster_name == "a"
        assert [each.uid for each in binding.metadata.owner_references] == [found.metadata.uid]
        assert all(each.hash.startswith("sha256:") for each in binding.spec.bindings[0].resources)

    on_a_plane(test)


def test_a_connected_cluster_costs_one_write_of_its_record() -> None:
    async def test(plane: Plane) -> None:
        await plane.config_map("maps", one=manifest("one"))
        await plane.cluster()
        await plane.connect()
        await plane.resource_set(("ConfigMap", "maps"))
        assert plane.transport.writes == [
            "PATCH clusterresourcesets/cni",  # the finalizer
            "PATCH configmaps/maps",  # the owner
            "POST fleet/clusterresourcesetbindings",
            "PATCH cni/status",
        ]
        assert plane.tenant_transport.writes == ["POST default/configmaps"]
        before = len(plane.transport.writes)
        await asyncio.sleep(3600)
        await plane.idle()
        assert len(plane.transport.writes) == before, "nothing is written when nothing happens"
        assert set(plane.transport.answers) <= {200, 201}

    on_a_plane(test)


def test_a_cluster_gets_its_resources_when_its_labels_are_changed_to_match() -> None:
    async def test(plane: Plane) -> None:
        await plane.config_map("maps", one=manifest("one"))
        await plane.resource_set(("ConfigMap", "maps"))
        await plane.cluster(cni="no")
        await plane.connect()
        assert await plane.told() == ""
        assert await plane.binding() is None
        await plane.user.patch(CLUSTERS, NAMESPACE, "a", Merge({"metadata": {"labels": {"cni": "yes"}}}))
        await plane.idle()
        assert await plane.in_tenant("one") == {}
        assert await plane.told() == "True Applied: "

    on_a_plane(test)


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret"])
def test_a_resource_that_comes_later_is_brought_when_it_does(kind: str) -> None:
    async def test(plane: Plane) -> None:
        await plane.config_map("maps", one=manifest("one"))
        await plane.cluster()
        await plane.connect()
        await plane.resource_set(("ConfigMap", "maps"), (kind, "late"))
        assert await plane.in_tenant("one") == {}, "what is there is brought"
        assert await plane.told() == CHECK_LOGS
        await (plane.secret if kind == "Secret" else plane.config_map)("late", two=manifest("two"))
        assert await plane.in_tenant("two") == {}
        assert await plane.told() == "True Applied: "

    on_a_plane(test)


def test_a_secret_of_another_type_is_refused_and_nothing_is_brought() -> None:
    async def test(plane: Plane) -> None:
        await plane.config_map("maps", one=manifest("one"))
        await plane.secret("opaque", type="Opaque", two=manifest("two"))
        await plane.cluster()
        await plane.connect()
        await plane.resource_set(("ConfigMap", "maps"), ("Secret", "opaque"))
        assert await plane.told() == "False WrongSecretType: Secret type of resource opaque is not supported"
        assert await plane.in_tenant("one") is None
        assert (await plane.user.get(SECRETS, NAMESPACE, "opaque")).metadata.owner_references == ()

    on_a_plane(test)


@pytest.mark.parametrize(("strategy", "after"), [("ApplyOnce", {"a": "1"}), ("Reconcile", {"a": "2"})])
def test_a_changed_resource_is_brought_again_only_by_reconcile(strategy: str, after: dict[str, str]) -> None:
    async def test(plane: Plane) -> None:
        await plane.config_map("maps", one=manifest("one", a="1", b="1"))
        await plane.cluster()
        await plane.connect()
        await plane.resource_set(("ConfigMap", "maps"), strategy=strategy)
        changed: dict[str, Any] = {"data": {"one": manifest("one", a="2")}}
        await plane.user.patch(CONFIG_MAPS, NAMESPACE, "maps", Merge(changed))
        await plane.idle()
        found = await plane.in_tenant("one")
        assert found is not None
        assert found["a"] == after["a"]
        assert ("b" in found) is (strategy == "ApplyOnce"), "what the manifest no longer has goes"

    on_a_plane(test)


def test_reconcile_does_not_undo_what_is_changed_in_the_tenant_until_its_resource_changes() -> None:
    async def test(plane: Plane) -> None:
        await plane.config_map("maps", one=manifest("one", a="1"))
        await plane.cluster()
        await plane.connect()
        await plane.resource_set(("ConfigMap", "maps"), strategy="Reconcile")
        await plane.tenant.patch(CONFIG_MAPS, "default", "one", Merge({"data": {"a": "mine"}}))
        await asyncio.sleep(3600)
        await plane.idle()
        assert await plane.in_tenant("one") == {"a": "mine"}

    on_a_plane(test)


def test_apply_once_leaves_alone_what_exists() -> None:
    async def test(plane: Plane) -> None:
        metadata = {"name": "one", "namespace": "default"}
        await plane.tenant.create(CONFIG_MAPS, {"metadata": metadata, "data": {"a": "mine"}})
        await plane.config_map("maps", one=manifest("one", a="1"), two=manifest("two"))
        await plane.cluster()
        await plane.connect()
        await plane.resource_set(("ConfigMap", "maps"))
        assert await plane.in_tenant("one") == {"a": "mine"}
        assert await plane.in_tenant("two") == {}
        assert await plane.told() == "True Applied: "

    on_a_plane(test)


def test_what_cannot_be_brought_is_told_and_tried_again_until_it_can() -> None:
    async def test(plane: Plane) -> None:
        await plane.config_map("maps", one=manifest("one", namespace="late"), two=manifest("two"))
        await plane.cluster()
        await plane.connect()
        await plane.resource_set(("ConfigMap", "maps"))
        failed = "False NotApplied: Failed to apply ClusterResourceSet resources to Cluster"
        assert await plane.told() == failed
        assert await plane.record() == {"cni": {"maps": False}}
        assert await plane.in_tenant("two") == {}, "one object does not keep the next from being brought"
        (problem,) = plane.sets.errors.values()
        assert "ConfigMap late/one" in problem
        await plane.tenant.raw("POST", "/api/v1/namespaces", content={"metadata": {"name": "late"}})
        await asyncio.sleep(1000)
        await plane.idle()
        assert await plane.told() == "True Applied: "
        assert await plane.record() == {"cni": {"maps": True}}

    on_a_plane(test)


def test_errands_end_with_the_controller() -> None:
    async def test(plane: Plane) -> None:
        await plane.config_map("maps", one=manifest("one"))
        await plane.cluster()
        await plane.connect()
        hung = asyncio.Event()

        async def hang(call: Call) -> Answer:
            hung.set()
            await asyncio.Event().wait()
            raise AssertionError("nobody ends the wait")

        plane.tenant_transport.send = hang  # type: ignore[method-assign]  # a tenant that no longer answers
        made = asyncio.create_task(plane.resource_set(("ConfigMap", "maps")))
        await hung.wait()
        made.cancel()
        await plane.manager.stop()
        assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("resources of")]

    on_a_plane(test)


def test_the_record_is_looked_after_by_whoever_looks_after_the_set() -> None:
    async def test(plane: Plane) -> None:
        await plane.config_map("maps", one=manifest("one"))
        await plane.resource_set(("ConfigMap", "maps"))
        label = {"metadata": {"labels": {"cluster.x-k8s.io/watch-filter": "nagaya"}}}
        await plane.user.patch(CLUSTER_RESOURCE_SETS, NAMESPACE, "cni", Merge(label))
        await plane.cluster()
        await plane.connect()
        binding = await plane.binding()
        assert binding is not None
        assert binding.metadata.labels == label["metadata"]["labels"]

    on_a_plane(test)
