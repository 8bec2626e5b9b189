"""Fields of CAPMOX's older version that would do nothing."""

from __future__ import annotations

from typing import Any

from nagaya.insight.foresight.rehearsal import Manifest
from nagaya.insight.foresight.unheeded import unheeded

OLD = "infrastructure.cluster.x-k8s.io/v1alpha1"


def told(kind: str, spec: dict[str, Any], api_version: str = OLD) -> list[str]:
    content = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, "spec": spec}
    return [each.what for each in unheeded([Manifest(content, "a.yaml")])]


def test_a_misspelt_field_is_told_with_the_one_that_was_meant() -> None:
    spec = {"template": {"metadata": {"labels": {"any": "thing"}}, "spec": {"numCores": 2, "memoryMib": 2048}}}
    (what,) = told("ProxmoxMachineTemplate", spec)
    assert what == (
        "ProxmoxMachineTemplate a (a.yaml): v1alpha1 has no field spec.template.spec.memoryMib, so it would do "
        "nothing. Did you mean memoryMiB?"
    )


def test_fields_are_found_in_lists_and_maps() -> None:
    device = {"name": "net1", "bridge": "vmbr1", "vlanTag": 7}
    machine = {"network": {"additionalDevices": [device]}, "nosuch": {"deeper": 1}}
    found = told("ProxmoxCluster", {"cloneSpec": {"machineSpec": {"controlPlane": machine}}})
    begin = "spec.cloneSpec.machineSpec.controlPlane"
    assert [each.split(" no field ")[1].split(",")[0] for each in found] == [
        f"{begin}.network.additionalDevices[0].vlanTag",
        f"{begin}.nosuch",
    ]


def test_what_a_server_judges_itself_is_left_to_it() -> None:
    newer = "infrastructure.cluster.x-k8s.io/v1alpha2"
    assert told("ProxmoxMachine", {"nosuch": 1}, newer) == []
    assert told("SomebodysMachine", {"nosuch": 1}) == []
    assert told("ProxmoxConnection", {"nosuch": 1}) == [], "a kind that the older version does not have"
    assert told("ProxmoxMachine", {"sourceNode": "pve1", "network": None}) == []
