"""CSI storage capacities."""

from support.core_kinds import CoreKinds

NAME = "csistoragecapacities.storage.k8s.io"


async def test_a_capacity_is_not_negative() -> None:
    found = await CoreKinds().refused(NAME, {"storageClassName": "a", "capacity": "-1"})
    assert found == ['capacity: Invalid value: "-1": must be greater than or equal to 0']


async def test_what_the_capacity_is_of_stays() -> None:
    kinds = CoreKinds()
    selector = {"matchExpressions": [{"key": "a", "operator": "Exists"}]}
    await kinds.create(NAME, {"storageClassName": "a", "nodeTopology": selector})
    patch = {"storageClassName": "b", "nodeTopology": {"matchLabels": {"z": "1", "a": "2"}}}
    shown = '{"matchLabels":{"a":"2","z":"1"},"matchExpressions":[{"key":"a","operator":"Exists"}]}'
    assert await kinds.change_refused(NAME, "it", patch) == [
        f"nodeTopology: Invalid value: {shown}: field is immutable",
        'storageClassName: Invalid value: "b": field is immutable',
    ]
    changed = await kinds.change(NAME, "it", {"capacity": "5Gi"})
    assert changed["capacity"] == "5Gi"
