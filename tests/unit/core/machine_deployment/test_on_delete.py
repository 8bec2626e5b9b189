"""The arithmetic of OnDelete."""

from __future__ import annotations

from datetime import timedelta

from nagaya.core.machine_deployment.on_delete import plan_on_delete
from nagaya.core.machine_deployment.sizes import Group
from support.builders import NOW
from support.subtest_cases import subtest_cases


def group(name: str, wanted: int, machines: int | None = None, age: int = 0) -> Group:
    there = wanted if machines is None else machines
    return Group(name, NOW - timedelta(minutes=age), wanted, there, there)


@subtest_cases(
    ("replicas", "current", "old", "expected"),
    [
        # as long as nobody deletes anything, nothing happens
        (3, group("new", 0), [group("old", 3)], {}),
        # a machine that somebody deleted is not made again by the old set, but by the new one
        (3, group("new", 0), [group("old", 3, 2)], {"old": 2}),
        (3, group("new", 0), [group("old", 2)], {"new": 1}),
        # scaling
        (5, group("new", 0), [group("old", 3)], {"new": 2}),
        (2, group("new", 3), [], {"new": 2}),
        (2, group("new", 1), [group("b", 2, age=1), group("a", 1, age=2)], {"a": 0, "b": 1}),
        # what is gone already counts for the scaling down
        (4, group("new", 2), [group("a", 3, 2, age=2), group("b", 2, age=1)], {"a": 1}),
        (0, group("new", 1), [group("old", 2)], {"new": 0, "old": 0}),
    ],
)
def test_sizes(replicas: int, current: Group, old: list[Group], expected: dict[str, int]) -> None:
    assert plan_on_delete(replicas, current, old).chosen == expected


def test_reasons_tell_who_decided() -> None:
    gone = plan_on_delete(3, group("new", 0), [group("old", 3, 2)])
    assert gone.why("old") == "scale down to align to existing Machines"
    scaled = plan_on_delete(2, group("new", 0), [group("old", 3)])
    assert scaled.why("old") == "scale down to align MachineSet spec.replicas to MachineDeployment spec.replicas"
    made = plan_on_delete(3, group("new", 0), [group("old", 2)])
    assert made.why("new") == "2 current Machines < 3 MachineDeployment spec.replicas"
