"""Priority classes."""

import pytest

from nagaya.apiserver.meta.status import ApiError
from support.core_kinds import CoreKinds

NAME = "priorityclasses.scheduling.k8s.io"


async def test_pods_of_a_class_may_take_the_place_of_others() -> None:
    made = await CoreKinds().create(NAME, {"value": 5})
    assert made["preemptionPolicy"] == "PreemptLowerPriority"
    assert made["metadata"]["generation"] == 1


async def test_users_stay_below_the_system() -> None:
    found = await CoreKinds().refused(NAME, {"value": 1_000_000_001})
    assert found == ["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"]


async def test_the_system_has_two_classes() -> None:
    kinds = CoreKinds()
    reserved = "priority class names with 'system-' prefix are reserved for system use only."

    async def found(name: str, value: int, **members: bool) -> list[str]:
        return await kinds.refused(NAME, {"metadata": {"name": name}, "value": value, **members})

    assert await found("system-x", 5) == [
        f"metadata.name: Forbidden: {reserved} error: system-x is not a known system priority class"
    ]
    assert await found("system-node-critical", 5) == [
        f"metadata.name: Forbidden: {reserved} error: value of system-node-critical PriorityClass must be 2000001000"
    ]
    assert await found("system-node-critical", 2000001000, globalDefault=True) == [
        f"metadata.name: Forbidden: {reserved} error: globalDefault of system-node-critical PriorityClass must be false"
    ]


async def test_the_classes_of_the_system_cannot_be_deleted() -> None:
    kinds = CoreKinds()
    await kinds.create(NAME, {"metadata": {"name": "system-node-critical"}, "value": 2000001000})
    with pytest.raises(ApiError) as refused:
        await kinds.delete(NAME, "system-node-critical")
    assert refused.value.code == 403
    assert "this is a system priority class and cannot be deleted" in refused.value.message


async def test_what_a_class_means_stays() -> None:
    kinds = CoreKinds()
    await kinds.create(NAME, {"value": 5})
    found = await kinds.change_refused(NAME, "it", {"value": 6, "preemptionPolicy": "Never"})
    assert found == [
        "value: Forbidden: may not be changed in an update.",
        'preemptionPolicy: Invalid value: "Never": field is immutable',
    ]
    changed = await kinds.change(NAME, "it", {"description": "for tests"})
    assert changed["description"] == "for tests"
