"""Nodes."""

from typing import Any

from nagaya.apiserver.builtins.kinds.node import NodeStrategy
from support.core_kinds import CoreKinds

TAINT = {"key": "a", "effect": "NoSchedule"}


async def test_a_node_may_come_with_a_status() -> None:
    made = await CoreKinds().create("nodes", {"status": {"capacity": {"cpu": "1500u"}, "config": {"error": "x"}}})
    assert made["status"]["capacity"] == made["status"]["allocatable"] == {"cpu": "2m"}
    assert "config" not in made["status"]
    assert made["status"]["daemonEndpoints"] == {"kubeletEndpoint": {"Port": 0}}


async def test_both_fields_for_networks_say_the_same() -> None:
    kinds = CoreKinds()
    made = await kinds.create("nodes", {"spec": {"podCIDR": "10.0.0.0/24"}})
    assert made["spec"]["podCIDRs"] == ["10.0.0.0/24"]
    two = ["10.1.0.0/24", "fd00::/64"]
    made = await kinds.create("nodes", {"metadata": {"name": "two"}, "spec": {"podCIDRs": two}})
    assert made["spec"] == {"podCIDR": "10.1.0.0/24", "podCIDRs": two}
    conflicting = {"podCIDR": "10.0.0.0/24", "podCIDRs": two}
    made = await kinds.create("nodes", {"metadata": {"name": "three"}, "spec": conflicting})
    assert made["spec"]["podCIDRs"] == ["10.0.0.0/24"]


async def test_networks_are_of_different_families() -> None:
    found = await CoreKinds().refused("nodes", {"spec": {"podCIDRs": ["10.0.0.0/24", "10.1.0.0/24"]}})
    detail = "may specify no more than one CIDR for each IP family"
    assert found == [f'spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.1.0.0/24"]: {detail}']


async def test_a_taint_has_each_effect_once() -> None:
    found = await CoreKinds().refused("nodes", {"spec": {"taints": [TAINT, {**TAINT, "value": "v"}, {"key": "b"}]}})
    assert found == [
        'metadata.taints[1]: Duplicate value: {"Key":"a","Value":"v","Effect":"NoSchedule","TimeAdded":null}: '
        "taints must be unique by key and effect pair",
        "metadata.taints[2].effect: Required value",
    ]


async def test_what_a_node_was_given_stays() -> None:
    kinds = CoreKinds()
    await kinds.create("nodes", {})
    given: dict[str, Any] = {"podCIDR": "10.0.0.0/24", "providerID": "p://1", "unschedulable": True}
    await kinds.change("nodes", "it", {"spec": given})
    found = await kinds.change_refused(
        "nodes", "it", {"spec": {"podCIDR": "10.1.0.0/24", "providerID": "p://2", "unschedulable": None}}
    )
    assert found == [
        'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid',
        'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid',
    ]
    await kinds.change("nodes", "it", {"spec": {"unschedulable": None}})


async def test_an_address_is_told_once() -> None:
    kinds = CoreKinds()
    await kinds.create("nodes", {})
    address = {"type": "InternalIP", "address": "1.2.3.4"}
    found = await kinds.change_refused("nodes", "it", {"status": {"addresses": [address, address]}}, "status")
    assert found == ['status.addresses[1]: Duplicate value: {"Type":"InternalIP","Address":"1.2.3.4"}']
    changed = await kinds.change(
        "nodes", "it", {"status": {"addresses": [address]}, "spec": {"taints": [TAINT]}}, "status"
    )
    assert "taints" not in changed["spec"]


async def test_features_are_listed_in_order() -> None:
    found = await CoreKinds().refused("nodes", {"status": {"declaredFeatures": ["B", "A", "A"]}})
    assert found == [
        'status.declaredFeatures[1]: Invalid value: "A": list must be sorted alphabetically',
        'status.declaredFeatures[2]: Duplicate value: "A"',
    ]


async def test_taints_in_the_old_annotation_are_checked() -> None:
    name = "scheduler.alpha.kubernetes.io/taints"
    found = await CoreKinds().refused("nodes", {"metadata": {"annotations": {name: "{}"}}})
    problem = "json: cannot unmarshal object into Go value of type []core.Taint"
    assert found == [f'metadata.annotations: Invalid value: "{name}": {problem}']


def test_nodes_can_be_selected_by_whether_pods_go_there() -> None:
    assert NodeStrategy().select({"spec": {}}) == {"spec.unschedulable": "false"}
    assert NodeStrategy().select({"spec": {"unschedulable": True}}) == {"spec.unschedulable": "true"}
