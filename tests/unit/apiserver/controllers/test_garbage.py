"""What becomes of dependents when their owners go."""

from __future__ import annotations

from typing import Any

import pytest

from support.in_process import Api, owner

pytestmark = pytest.mark.slow

WIDGETS: dict[str, Any] = {
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        ],
    },
}
MAPS = "/api/v1/namespaces/default/configmaps"


async def test_dependents_go_after_their_owner(api: Api) -> None:
    root = await api.config_map("root")
    child = await api.config_map("child", owners=[owner(root)])
    await api.config_map("grandchild", owners=[owner(child)])
    await api.delete(f"{MAPS}/root")
    for name in ("root", "child", "grandchild"):
        assert await api.get(f"{MAPS}/{name}") is None


async def test_a_dependent_with_another_owner_stays_and_forgets_the_one_that_went(api: Api) -> None:
    first, second = await api.config_map("first"), await api.config_map("second")
    await api.config_map("child", owners=[owner(first), owner(second)])
    await api.delete(f"{MAPS}/first")
    child = await api.must(f"{MAPS}/child")
    assert child["metadata"]["ownerReferences"] == [owner(second)]
    await api.delete(f"{MAPS}/second")
    assert await api.get(f"{MAPS}/child") is None


async def test_orphaning_takes_the_reference_off_and_keeps_the_dependent(api: Api) -> None:
    root = await api.config_map("root")
    await api.config_map("child", owners=[owner(root)])
    await api.delete(f"{MAPS}/root", "Orphan")
    assert await api.get(f"{MAPS}/root") is None
    child = await api.must(f"{MAPS}/child")
    assert "ownerReferences" not in child["metadata"]


async def test_in_the_foreground_the_owner_waits_for_a_dependent_that_blocks_it(api: Api) -> None:
    root = await api.config_map("root")
    await api.config_map("child", owners=[owner(root, blocks=True)], finalizers=["example.com/wait"])
    await api.delete(f"{MAPS}/root", "Foreground")
    waiting = await api.must(f"{MAPS}/root")
    assert waiting["metadata"]["finalizers"] == ["foregroundDeletion"]
    assert (await api.must(f"{MAPS}/child"))["metadata"]["deletionTimestamp"]
    await api.merge(f"{MAPS}/child", {"metadata": {"finalizers": None}})
    assert await api.get(f"{MAPS}/child") is None
    assert await api.get(f"{MAPS}/root") is None


async def test_in_the_foreground_the_owner_does_not_wait_for_one_that_does_not_block(api: Api) -> None:
    root = await api.config_map("root")
    await api.config_map("child", owners=[owner(root)], finalizers=["example.com/wait"])
    await api.delete(f"{MAPS}/root", "Foreground")
    assert await api.get(f"{MAPS}/root") is None
    assert (await api.must(f"{MAPS}/child"))["metadata"]["deletionTimestamp"]


async def test_in_the_foreground_a_whole_tree_goes_from_the_leaves_up(api: Api) -> None:
    root = await api.config_map("root")
    child = await api.config_map("child", owners=[owner(root, blocks=True)])
    await api.config_map("leaf", owners=[owner(child, blocks=True)], finalizers=["example.com/wait"])
    await api.delete(f"{MAPS}/root", "Foreground")
    for name in ("root", "child"):
        found = await api.must(f"{MAPS}/{name}")
        assert found["metadata"]["finalizers"] == ["foregroundDeletion"]
    await api.merge(f"{MAPS}/leaf", {"metadata": {"finalizers": None}})
    for name in ("root", "child", "leaf"):
        assert await api.get(f"{MAPS}/{name}") is None


async def test_a_dependent_that_comes_while_its_owner_waits_goes_too(api: Api) -> None:
    root = await api.config_map("root")
    await api.config_map("first", owners=[owner(root, blocks=True)], finalizers=["example.com/wait"])
    await api.delete(f"{MAPS}/root", "Foreground")
    await api.config_map("late", owners=[owner(root, blocks=True)])
    assert await api.get(f"{MAPS}/late") is None


async def test_an_owner_with_a_finalizer_of_someone_keeps_its_dependents_until_it_is_gone(api: Api) -> None:
    root = await api.config_map("root", finalizers=["example.com/wait"])
    await api.config_map("child", owners=[owner(root)])
    await api.delete(f"{MAPS}/root")
    assert await api.get(f"{MAPS}/child") is not None
    await api.merge(f"{MAPS}/root", {"metadata": {"finalizers": None}})
    assert await api.get(f"{MAPS}/child") is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "never-was"},
        {"uid": "00000000-0000-4000-8000-000000000000"},
    ],
)
async def test_who_has_only_owners_that_do_not_exist_goes(api: Api, wrong: dict[str, str]) -> None:
    root = await api.config_map("root")
    await api.config_map("child", owners=[{**owner(root), **wrong}])
    assert await api.get(f"{MAPS}/child") is None
    assert await api.get(f"{MAPS}/root") is not None


async def test_an_owner_in_another_namespace_is_none(api: Api) -> None:
    root = await api.config_map("root", namespace="kube-public")
    await api.config_map("child", owners=[owner(root)])
    assert await api.get(f"{MAPS}/child") is None


async def test_a_new_object_of_the_owners_name_is_not_the_owner(api: Api) -> None:
    root = await api.config_map("root", finalizers=["example.com/wait"])
    await api.config_map("child", owners=[owner(root)])
    await api.delete(f"{MAPS}/root")
    await api.merge(f"{MAPS}/root", {"metadata": {"finalizers": None}})
    await api.config_map("root")
    assert await api.get(f"{MAPS}/child") is None
    assert await api.get(f"{MAPS}/root") is not None


async def test_an_owner_of_an_unknown_kind_keeps_its_dependent(api: Api) -> None:
    widget = {"metadata": {"name": "w", "uid": "00000000-0000-4000-8000-000000000000"}}
    await api.config_map("child", owners=[owner(widget, kind="Widget", version="example.com/v1")])
    assert await api.get(f"{MAPS}/child") is not None


async def test_an_owner_of_an_unknown_kind_is_looked_for_when_the_kind_comes(api: Api) -> None:
    widget = {"metadata": {"name": "w", "uid": "00000000-0000-4000-8000-000000000000"}}
    await api.config_map("child", owners=[owner(widget, kind="Widget", version="example.com/v1")])
    await api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", WIDGETS)
    assert await api.get(f"{MAPS}/child") is None


async def test_dependents_of_a_custom_object_go_even_if_its_kind_goes_with_it(api: Api) -> None:
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    await api.create(definitions, WIDGETS)
    body = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
    widget = await api.create("/apis/example.com/v1/namespaces/default/widgets", body)
    await api.config_map("child", owners=[owner(widget, kind="Widget", version="example.com/v1")])
    assert await api.get(f"{MAPS}/child") is not None
    await api.delete(f"{definitions}/widgets.example.com")
    assert await api.get(f"{definitions}/widgets.example.com") is None
    assert await api.get(f"{MAPS}/child") is None


@pytest.mark.parametrize("left", [None, "unblocked"])
async def test_a_waiting_owner_goes_when_its_dependent_no_longer_blocks_it(api: Api, left: str | None) -> None:
    root = await api.config_map("root")
    await api.config_map("child", owners=[owner(root, blocks=True)], finalizers=["example.com/wait"])
    await api.delete(f"{MAPS}/root", "Foreground")
    assert await api.get(f"{MAPS}/root") is not None
    await api.merge(f"{MAPS}/child", {"metadata": {"ownerReferences": left and [owner(root)]}})
    assert await api.get(f"{MAPS}/root") is None


async def test_objects_that_own_each_other_stay_until_one_is_deleted(api: Api) -> None:
    first = await api.config_map("first")
    second = await api.config_map("second", owners=[owner(first)])
    await api.merge(f"{MAPS}/first", {"metadata": {"ownerReferences": [owner(second)]}})
    assert await api.get(f"{MAPS}/first") is not None
    await api.delete(f"{MAPS}/second")
    assert await api.get(f"{MAPS}/first") is None


@pytest.mark.parametrize("propagation", ["Foreground", "Background"])
async def test_a_circle_that_blocks_itself_goes_all_the_same(api: Api, propagation: str) -> None:
    first = await api.config_map("first")
    second = await api.config_map("second", owners=[owner(first, blocks=True)])
    await api.merge(f"{MAPS}/first", {"metadata": {"ownerReferences": [owner(second, blocks=True)]}})
    await api.delete(f"{MAPS}/first", propagation)
    assert await api.get(f"{MAPS}/first") is None
    assert await api.get(f"{MAPS}/second") is None


async def test_a_cluster_scoped_owner_may_own_what_is_in_a_namespace(api: Api) -> None:
    role = await api.create("/apis/rbac.authorization.k8s.io/v1/clusterroles", {"metadata": {"name": "root"}})
    reference = owner(role, kind="ClusterRole", version="rbac.authorization.k8s.io/v1")
    await api.config_map("child", owners=[reference])
    assert await api.get(f"{MAPS}/child") is not None
    await api.delete("/apis/rbac.authorization.k8s.io/v1/clusterroles/root")
    assert await api.get(f"{MAPS}/child") is None


async def test_a_namespaced_owner_of_a_cluster_scoped_object_is_left_alone(api: Api) -> None:
    root = await api.config_map("root")
    body: dict[str, Any] = {"metadata": {"name": "child", "ownerReferences": [owner(root)]}}
    await api.create("/apis/rbac.authorization.k8s.io/v1/clusterroles", body)
    assert await api.get("/apis/rbac.authorization.k8s.io/v1/clusterroles/child") is not None


async def test_nothing_is_written_when_nothing_changes(api: Api) -> None:
    root = await api.config_map("root")
    await api.config_map("child", owners=[owner(root)])
    assert await api.quiet()
