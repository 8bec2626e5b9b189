"""Resource slices."""

from typing import Any

import pytest

from support.core_kinds import CoreKinds

NAME = "resourceslices.resource.k8s.io"


def slice_of(*devices: dict[str, Any], **members: Any) -> dict[str, Any]:
    spec = {"driver": "d", "pool": {"name": "p", "resourceSliceCount": 1}, "allNodes": True, "devices": [*devices]}
    return {"spec": {**spec, **members}}


async def refused(*devices: dict[str, Any], **members: Any) -> list[str]:
    return await CoreKinds().refused(NAME, slice_of(*devices, **members))


async def capacity_refused(**policy: Any) -> list[str]:
    capacity = {"m": {"value": "10", "requestPolicy": policy}}
    found = await refused({"name": "a", "allowMultipleAllocations": True, "capacity": capacity})
    return [each.removeprefix("spec.devices[0].capacity[m].requestPolicy.") for each in found]


async def test_taints_are_there_from_now_on() -> None:
    taint = {"key": "a", "effect": "NoSchedule"}
    made = await CoreKinds().create(NAME, slice_of({"name": "a", "taints": [taint]}))
    assert made["spec"]["devices"][0]["taints"] == [{**taint, "timeAdded": "2026-11-01T12:00:00Z"}]


async def test_what_is_not_enabled_is_not_kept() -> None:
    device = {"name": "a", "nodeAllocatableResourceMappings": {"cpu": {}}, "attributes": {"x": {"int": 1, "ints": [2]}}}
    made = await CoreKinds().create(NAME, slice_of(device))
    assert made["spec"]["devices"] == [{"name": "a", "attributes": {"x": {"int": 1}}}]


async def test_devices_are_somewhere() -> None:
    one = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
    assert await refused(allNodes=None) == [f"spec: Required value: {one}"]
    assert await refused(nodeName="n") == [
        f'spec: Invalid value: "{{`nodeName`, `allNodes`}}": {one}, but multiple fields are set'
    ]
    only = "can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec"
    assert await refused({"name": "a", "nodeName": "n"}) == [
        f"spec.devices[0]: Invalid value: null: `nodeName`, `nodeSelector` and `allNodes` {only}"
    ]


async def test_devices_have_names_of_their_own_and_limits() -> None:
    assert await refused({"name": "a"}, {"name": "a"}) == ['spec.devices[1]: Duplicate value: "a"']
    many: list[dict[str, Any]] = [{"name": f"a{number}"} for number in range(129)]
    assert await refused(*many) == ["spec.devices: Too many: 129: must have at most 128 items"]
    counted = {"consumesCounters": [{"counterSet": "c", "counters": {"x": {"value": "1"}}}]}
    many = [{"name": f"a{number}", **counted} for number in range(65)]
    assert await refused(*many) == ["spec.devices: Too many: 65: must have at most 64 items"]


async def test_an_attribute_has_one_value() -> None:
    where = "spec.devices[0].attributes"
    assert await refused({"name": "a", "attributes": {"x": {}}}) == [
        f'{where}[x]: Invalid value: "": exactly one value must be specified'
    ]
    assert await refused({"name": "a", "attributes": {"x": {"version": "1.2"}}}) == [
        f'{where}[x].version: Invalid value: "1.2": must be a string compatible with semver.org spec 2.0.0'
    ]
    name = "n" * 100
    assert (await refused({"name": "a", "attributes": {f"d/{name}": {"int": 1}}}))[0] == (
        f"{where}: Too long: may not be more than 32 bytes"
    )


@pytest.mark.parametrize(
    ("policy", "found"),
    [
        ({"validValues": ["1"]}, ["default: Required value: required when validValues is defined"]),
        (
            {"default": "1", "validValues": ["2", "1"]},
            ['validValues[1]: Invalid value: "1": values must be sorted in ascending order'],
        ),
        (
            {"default": "1", "validValues": ["1", "11"]},
            ['validValues[1]: Invalid value: "11": option is larger than capacity value: 10'],
        ),
        (
            {"default": "5", "validRange": {"min": "1", "max": "4"}},
            ['validRange.max: Invalid value: "5": default is more than max: 4'],
        ),
        (
            {"default": "2", "validRange": {"min": "1", "step": "3"}},
            ['validRange.step: Invalid value: "2": value is not a multiple of a given step (3) from (1)'],
        ),
    ],
)
async def test_a_shared_capacity_is_asked_for_in_portions(policy: dict[str, Any], found: list[str]) -> None:
    assert await capacity_refused(**policy) == found


async def test_only_shared_devices_have_portions() -> None:
    capacity = {"m": {"value": "10", "requestPolicy": {"default": "1"}}}
    assert await refused({"name": "a", "capacity": capacity}) == [
        "spec.devices[0].capacity[m].requestPolicy: Forbidden: allowMultipleAllocations must be true"
    ]


async def test_counters_stand_in_slices_without_devices() -> None:
    counters = {"sharedCounters": [{"name": "c", "counters": {"x": {"value": "1"}}}]}
    assert await refused({"name": "a"}, **counters) == [
        'spec: Invalid value: "": only one of `sharedCounters` or `devices` is allowed'
    ]


async def test_whose_devices_they_are_stays() -> None:
    kinds = CoreKinds()
    await kinds.create(NAME, slice_of({"name": "a"}))
    found = await kinds.change_refused(NAME, "it", {"spec": {"driver": "e", "pool": {"name": "q"}}})
    assert found == [
        'spec.pool.name: Invalid value: "q": field is immutable',
        'spec.driver: Invalid value: "e": field is immutable',
    ]


def test_slices_are_chosen_by_driver_and_node() -> None:
    strategy = CoreKinds().resource(NAME).strategy
    assert strategy.select(slice_of(nodeName="n")) == {"spec.driver": "d", "spec.nodeName": "n"}
    assert strategy.field_label("spec.driver") == "spec.driver"
    with pytest.raises(ValueError, match="field label not supported for resource"):
        strategy.field_label("metadata.namespace")
