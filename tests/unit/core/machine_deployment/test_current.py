"""Which MachineSet is the current one."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from nagaya.api.cluster.machine_deployment import MachineDeployment
from nagaya.api.cluster.machine_set import MachineSet
from nagaya.core.machine_deployment.current import Division, divide
from support.builders import NOW, date, machine_deployment, machine_set


def deployment(**spec: Any) -> MachineDeployment:
    return machine_deployment().having(spec=spec).made()


def a_set(name: str, replicas: int = 1, *, version: str = "v1.36.3", created: datetime = NOW) -> MachineSet:
    draft = machine_set(name).having(
        metadata={"creationTimestamp": date(created)},
        spec={"replicas": replicas, "template": {"spec": {"version": version}}},
    )
    return draft.made()


def names(division: Division) -> tuple[str, list[str]]:
    current = "" if division.current is None else division.current.metadata.name
    return current, [each.metadata.name for each in division.old]


def test_without_sets_a_new_one_is_needed() -> None:
    found = divide(deployment(), (), NOW)
    assert found == Division(None, (), "no MachineSets exist for the MachineDeployment")


def test_the_set_with_the_same_template_is_current() -> None:
    found = divide(deployment(), [a_set("a", version="v1"), a_set("b")], NOW)
    assert names(found) == ("b", ["a"])


def test_changes_in_place_do_not_make_a_set_old() -> None:
    changed = deployment(template={"metadata": {"labels": {"x": "y"}}, "spec": {"minReadySeconds": 9}})
    assert names(divide(changed, [a_set("a")], NOW)) == ("a", [])


def test_among_equals_the_largest_then_the_oldest_then_the_first_by_name_is_current() -> None:
    older = NOW - timedelta(minutes=1)
    assert names(divide(deployment(), [a_set("a", 1), a_set("b", 2)], NOW)) == ("b", ["a"])
    assert names(divide(deployment(), [a_set("a"), a_set("b", created=older)], NOW)) == ("b", ["a"])
    assert names(divide(deployment(), [a_set("b"), a_set("a")], NOW)) == ("a", ["b"])


def test_why_a_new_set_is_needed_names_every_difference() -> None:
    found = divide(deployment(), [a_set("a", version="v1"), a_set("b", 3, version="v2")], NOW)
    assert names(found) == ("", ["b", "a"])
    assert found.why_none == (
        "couldn't find MachineSet matching MachineDeployment spec template: "
        "MachineSet b needs rollout: spec.version v2, v1.36.3 required; "
        "MachineSet a needs rollout: spec.version v1, v1.36.3 required"
    )


def test_a_rollout_that_is_due_later_changes_nothing_yet() -> None:
    later = deployment(rollout={"after": date(NOW + timedelta(seconds=1))})
    assert names(divide(later, [a_set("a")], NOW)) == ("a", [])


def test_a_rollout_that_is_due_makes_sets_from_before_old() -> None:
    before, due = NOW - timedelta(hours=1), NOW - timedelta(minutes=1)
    deployed = deployment(rollout={"after": date(due)})
    found = divide(deployed, [a_set("a", 3, created=before)], NOW)
    assert names(found) == ("", ["a"])
    assert found.why_none == (
        "spec.rollout.after on MachineDeployment set to 2026-11-01T11:59:00Z, no MachineSet has been created afterwards"
    )
    assert names(divide(deployed, [a_set("a", 3, created=before), a_set("b", created=due)], NOW)) == ("b", ["a"])
    assert names(divide(deployed, [a_set("a", created=due)], due)) == ("a", [])


def test_a_set_that_differs_and_is_too_old_tells_both() -> None:
    deployed = deployment(rollout={"after": date(NOW - timedelta(minutes=1))})
    found = divide(deployed, [a_set("a", version="v1", created=NOW - timedelta(hours=1))], NOW)
    assert found.why_none.endswith("required, MachineDeployment spec.rolloutAfter expired")
