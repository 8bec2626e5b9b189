"""CSI nodes."""

from typing import Any

from support.core_kinds import CoreKinds

NAME = "csinodes.storage.k8s.io"


def driver(**members: Any) -> dict[str, Any]:
    return {"name": "d", "nodeID": "n", **members}


async def refused(*drivers: dict[str, Any]) -> list[str]:
    return await CoreKinds().refused(NAME, {"spec": {"drivers": [*drivers]}})


async def test_a_driver_has_a_name_of_its_own_and_one_for_the_node() -> None:
    assert await refused(driver(), driver(nodeID="")) == [
        "spec.drivers[1].nodeID: Required value",
        'spec.drivers[1].name: Duplicate value: "d"',
    ]
    assert await refused(driver(name="a" * 64)) == ["spec.drivers[0].name: Too long: may not be more than 63 bytes"]


async def test_topology_keys_are_labels_of_nodes() -> None:
    assert await refused(driver(topologyKeys=["a", "a"])) == ['spec.drivers[0]: Duplicate value: "a"']
    found = await refused(driver(topologyKeys=[""]))
    assert found[:2] == [
        "spec.drivers[0]: Required value",
        'spec.drivers[0]: Invalid value: "": name part must be non-empty',
    ]


async def test_only_the_room_that_a_driver_has_may_change() -> None:
    kinds = CoreKinds()
    await kinds.create(NAME, {"spec": {"drivers": [driver(topologyKeys=["a"])]}})
    changed = await kinds.change(
        NAME, "it", {"spec": {"drivers": [driver(topologyKeys=["a"], allocatable={"count": 3})]}}
    )
    assert changed["spec"]["drivers"][0]["allocatable"] == {"count": 3}
    found = await kinds.change_refused(NAME, "it", {"spec": {"drivers": [driver(nodeID="m")]}})
    shown = '{"Name":"d","NodeID":"m","TopologyKeys":null,"Allocatable":null}'
    assert found == [f"spec.drivers: Invalid value: {shown}: field is immutable"]
