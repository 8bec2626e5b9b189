"""Workloads as Scales."""

from typing import Any

from nagaya.apiserver.builtins.kinds.scaling import scale_of
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.registry.strategy import Strategy
from support.core_kinds import CoreKinds

TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"a": "b", "c": "d"}},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}


def test_kinds_with_replicas_can_be_scaled_and_others_cannot() -> None:
    for group, resource in (("apps", "deployments"), ("apps", "statefulsets"), ("", "replicationcontrollers")):
        scale = scale_of(GroupResource(group, resource), Strategy())
        assert scale is not None
        assert scale.verbs == {"get", "patch", "update"}
    assert scale_of(GroupResource("apps", "daemonsets"), Strategy()) is None


async def test_a_changed_number_of_replicas_makes_a_new_generation() -> None:
    kinds = CoreKinds()
    selector = {"matchLabels": {"a": "b"}}
    made = await kinds.create("deployments.apps", {"spec": {"selector": selector, "template": TEMPLATE}})
    assert (made["spec"]["replicas"], made["metadata"]["generation"]) == (1, 1)
    changed = await kinds.change("deployments.apps", "it", {"spec": {"replicas": 3}})
    assert changed["metadata"]["generation"] == 2
    same = await kinds.change("deployments.apps", "it", {"metadata": {"labels": {"x": "y"}}})
    assert same["metadata"]["generation"] == 2


async def test_deleting_what_used_to_leave_its_pods_alone_still_does() -> None:
    kinds = CoreKinds()
    await kinds.create("replicationcontrollers", {"spec": {"template": TEMPLATE}})
    await kinds.delete("replicationcontrollers", "it")
    left = kinds.get("replicationcontrollers", "it")
    assert left is not None
    assert left["metadata"]["finalizers"] == ["orphan"]
