"""Storage classes, and the classes of volume attributes that share their rules."""

from typing import Any

from support.core_kinds import CoreKinds

NAME = "storageclasses.storage.k8s.io"
ATTRIBUTES = "volumeattributesclasses.storage.k8s.io"


async def refused(**members: Any) -> list[str]:
    return await CoreKinds().refused(NAME, {"provisioner": "x", **members})


async def test_volumes_are_made_at_once_and_go_with_their_claim() -> None:
    made = await CoreKinds().create(NAME, {"provisioner": "x"})
    assert (made["reclaimPolicy"], made["volumeBindingMode"]) == ("Delete", "Immediate")


async def test_a_provisioner_is_checked_in_small_letters() -> None:
    assert await refused(provisioner="") == ["provisioner: Required value"]
    assert (await refused(provisioner="A//B"))[0].startswith('provisioner: Invalid value: "a//b": a valid label key')
    made = await CoreKinds().create(NAME, {"provisioner": "Example.com/X"})
    assert made["provisioner"] == "Example.com/X"


async def test_parameters_have_limits() -> None:
    many = {str(number): "" for number in range(513)}
    assert await refused(parameters=many) == ["parameters: Too long: may not be more than 512 bytes"]
    large = {"a": "b" * (256 * 1024)}
    assert await refused(parameters=large) == ["parameters: Too long: may not be more than 262144 bytes"]
    assert await refused(parameters={"": "b"}) == ['parameters: Invalid value: "": field can not be empty.']


async def test_policies_and_modes_are_known_ones() -> None:
    assert await refused(reclaimPolicy="Recycle", volumeBindingMode="Later") == [
        'reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"',
        'volumeBindingMode: Unsupported value: "Later": supported values: "Immediate", "WaitForFirstConsumer"',
    ]


async def test_no_two_topologies_are_the_same() -> None:
    term = {"matchLabelExpressions": [{"key": "a", "values": ["b"]}]}
    again = 'allowedTopologies[1].matchLabelExpressions: Duplicate value: ""'
    assert await refused(allowedTopologies=[term, term]) == [again]
    first = 'allowedTopologies[0].matchLabelExpressions: Duplicate value: ""'
    assert await refused(allowedTopologies=[{}]) == [first]


async def test_a_topology_has_values_for_each_key_once() -> None:
    expressions = [{"key": "a", "values": ["b", "b"]}, {"key": "a", "values": []}]
    where = "allowedTopologies[0].matchLabelExpressions"
    assert await refused(allowedTopologies=[{"matchLabelExpressions": expressions}]) == [
        f'{where}[0].values[1]: Duplicate value: "b"',
        f"{where}[1].values: Required value",
        f'{where}[1].key: Duplicate value: "a"',
    ]


async def test_how_volumes_are_made_stays() -> None:
    kinds = CoreKinds()
    await kinds.create(NAME, {"provisioner": "x", "parameters": {"a": "b"}})
    found = await kinds.change_refused(NAME, "it", {"parameters": None, "reclaimPolicy": "Retain"})
    assert found == [
        "parameters: Invalid value: null: field is immutable",
        'reclaimPolicy: Invalid value: "Retain": field is immutable',
    ]
    changed = await kinds.change(NAME, "it", {"allowVolumeExpansion": True})
    assert changed["allowVolumeExpansion"] is True


async def test_attributes_have_parameters_and_stay() -> None:
    kinds = CoreKinds()
    found = await kinds.refused(ATTRIBUTES, {"driverName": "x"})
    assert found == ["parameters: Required value: must contain at least one key/value pair"]
    await kinds.create(ATTRIBUTES, {"driverName": "x", "parameters": {"a": "b"}})
    found = await kinds.change_refused(ATTRIBUTES, "it", {"driverName": "y", "parameters": {"a": "c"}})
    assert found == [
        "driverName: Forbidden: updates to driverName are forbidden.",
        "parameters: Forbidden: updates to parameters are forbidden.",
    ]
