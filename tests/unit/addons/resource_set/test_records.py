"""What becomes of sets and records: shared, paused, late, deleted."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from nagaya.api.addons.cluster_resource_set import CLUSTER_RESOURCE_SETS
from nagaya.api.addons.cluster_resource_set_binding import CLUSTER_RESOURCE_SET_BINDINGS
from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.kube.errors import NotFound
from nagaya.kube.patches import Merge
from unit.addons.resource_set.plane import CONFIG_MAPS, NAMESPACE, Plane, manifest, on_a_plane

pytestmark = pytest.mark.slow


def test_several_sets_share_the_record_of_a_cluster_without_conflict() -> None:
    async def test(plane: Plane) -> None:
        await plane.cluster()
        await plane.connect()
        await asyncio.gather(*(plane.config_map(f"maps-{n}", one=manifest(f"one-{n}")) for n in range(5)))
        await asyncio.gather(*(plane.resource_set(("ConfigMap", f"maps-{n}"), name=f"set-{n}") for n in range(5)))
        assert await plane.record() == {f"set-{n}": {f"maps-{n}": True} for n in range(5)}
        binding = await plane.binding()
        assert binding is not None
        assert {each.name for each in binding.metadata.owner_references} == {f"set-{n}" for n in range(5)}
        assert set(plane.transport.answers) <= {200, 201}

    on_a_plane(test)


def test_a_deleted_set_is_taken_off_the_records_and_takes_nothing_from_clusters() -> None:
    async def test(plane: Plane) -> None:
        await plane.config_map("one", one=manifest("one"))
        await plane.config_map("two", two=manifest("two"))
        await plane.cluster()
        await plane.connect()
        await plane.resource_set(("ConfigMap", "one"), name="first")
        await plane.resource_set(("ConfigMap", "two"), name="second")
        await plane.user.delete(CLUSTER_RESOURCE_SETS, NAMESPACE, "first")
        await plane.idle()
        assert await plane.record() == {"second": {"two": True}}
        binding = await plane.binding()
        assert binding is not None
        assert [each.name for each in binding.metadata.owner_references] == ["second"]
        with pytest.raises(NotFound):
            await plane.found("first")
        await plane.user.delete(CLUSTER_RESOURCE_SETS, NAMESPACE, "second")
        await plane.idle()
        assert await plane.binding() is None
        assert await plane.in_tenant("one") == {}
        assert await plane.in_tenant("two") == {}

    on_a_plane(test)


def test_the_record_goes_with_the_cluster() -> None:
    async def test(plane: Plane) -> None:
        await plane.config_map("maps", one=manifest("one"))
        await plane.cluster()
        await plane.connect()
        await plane.resource_set(("ConfigMap", "maps"))
        held = Merge({"metadata": {"finalizers": ["example.com/hold"]}})
        await plane.user.patch(CLUSTERS, NAMESPACE, "a", held)
        await plane.user.delete(CLUSTERS, NAMESPACE, "a")
        await plane.idle()
        assert await plane.binding() is None

    on_a_plane(test)


def test_a_record_that_somebody_deletes_is_made_again() -> None:
    async def test(plane: Plane) -> None:
        await plane.config_map("maps", one=manifest("one"))
        await plane.cluster()
        await plane.connect()
        await plane.resource_set(("ConfigMap", "maps"))
        await plane.user.delete(CLUSTER_RESOURCE_SET_BINDINGS, NAMESPACE, "a")
        await plane.idle()
        assert await plane.record() == {"cni": {"maps": True}}

    on_a_plane(test)


def test_a_paused_set_is_left_alone() -> None:
    async def test(plane: Plane) -> None:
        await plane.config_map("maps", one=manifest("one"))
        await plane.resource_set(("ConfigMap", "maps"))

        async def pause(value: str | None) -> None:
            content = {"metadata": {"annotations": {"cluster.x-k8s.io/paused": value}}}
            await plane.user.patch(CLUSTER_RESOURCE_SETS, NAMESPACE, "cni", Merge(content))
            await plane.idle()

        await pause("")
        await plane.cluster()
        await plane.connect()
        assert await plane.in_tenant("one") is None
        told = {each.type: each for each in (await plane.found()).status.conditions}
        assert told["Paused"].status == "True"
        assert told["Paused"].message == "ClusterResourceSet has the cluster.x-k8s.io/paused annotation"
        await pause(None)
        assert await plane.in_tenant("one") == {}

    on_a_plane(test)


def test_a_cluster_that_hangs_delays_no_other() -> None:
    async def test(plane: Plane) -> None:
        await plane.config_map("maps", one=manifest("one"))
        await plane.cluster("a")
        await plane.connect("a")
        answer = plane.tenant_transport.send

        async def hangs(call: Any) -> Any:
            if call.method == "POST":
                await asyncio.sleep(50)
            return await answer(call)

        plane.tenant_transport.send = hangs  # type: ignore[method-assign]  # the first cluster's answers come late
        await plane.resource_set(("ConfigMap", "maps"))
        assert await plane.told() == "", "it is not known yet"
        plane.tenant_transport.send = answer  # type: ignore[method-assign]  # the second one answers at once
        await plane.cluster("b")
        await plane.connect("b")
        assert await plane.record("b") == {"cni": {"maps": True}}
        await asyncio.sleep(60)
        await plane.idle()
        assert await plane.record("a") == {"cni": {"maps": True}}
        assert await plane.told() == "True Applied: "

    on_a_plane(test)


def test_what_changes_while_an_errand_is_late_is_brought_when_it_is_back() -> None:
    async def test(plane: Plane) -> None:
        await plane.config_map("maps", one=manifest("one", a="1"))
        await plane.cluster()
        await plane.connect()
        answer = plane.tenant_transport.send

        async def hangs(call: Any) -> Any:
            if call.method == "POST":
                await asyncio.sleep(30)
            return await answer(call)

        plane.tenant_transport.send = hangs  # type: ignore[method-assign]  # a slow cluster
        await plane.resource_set(("ConfigMap", "maps"), strategy="Reconcile")
        await plane.user.patch(CONFIG_MAPS, NAMESPACE, "maps", Merge({"data": {"one": manifest("one", a="2")}}))
        await plane.idle()
        assert await plane.in_tenant("one") is None
        await asyncio.sleep(60)
        await plane.idle()
        assert await plane.in_tenant("one") == {"a": "2"}
        assert await plane.told() == "True Applied: "

    on_a_plane(test)
