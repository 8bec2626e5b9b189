"""The versions that a deployment's machines run."""

from __future__ import annotations

from nagaya.api.cluster.machine_set import MachineSet
from nagaya.core.machine_deployment.versions import versions
from support.builders import machine_set


def a_set(**counts: int) -> MachineSet:
    listed = [{"version": name.replace("_", "."), "replicas": count} for name, count in counts.items()]
    return machine_set().having(status={"versions": listed}).made()


def test_versions_of_all_sets_add_up_oldest_first() -> None:
    found = versions([a_set(v1_36_3=2), a_set(v1_9_0=1, v1_36_3=1, latest=1), a_set()])
    assert [(each.version, each.replicas) for each in found] == [("v1.9.0", 1), ("v1.36.3", 3), ("latest", 1)]


def test_without_machines_there_are_no_versions() -> None:
    assert versions([a_set()]) == ()
