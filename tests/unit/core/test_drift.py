"""Which changes of a template need new machines."""

from __future__ import annotations

from typing import Any

import pytest

from nagaya.api.cluster.machine_spec import MachineSpec
from nagaya.core.drift import drift, fingerprint
from support.builders import machine_deployment


def template(**spec: Any) -> MachineSpec:
    return machine_deployment().having(spec={"template": {"spec": spec}}).made().spec.template.spec


IN_PLACE: list[dict[str, Any]] = [
    {"minReadySeconds": 10},
    {"readinessGates": [{"conditionType": "Moored"}]},
    {"deletion": {"nodeDrainTimeoutSeconds": 60}},
    {"taints": [{"key": "a/b", "effect": "NoSchedule", "propagation": "Always"}]},
    {"providerID": "boat:///1"},
]


@pytest.mark.parametrize("change", IN_PLACE)
def test_what_changes_in_place_is_no_drift(change: dict[str, Any]) -> None:
    assert not drift(template(), template(**change))
    assert fingerprint(template()) == fingerprint(template(**change))


@pytest.mark.parametrize(
    ("change", "reason", "shown"),
    [
        ({"version": "v1.36.4"}, "spec.version v1.36.3, v1.36.4 required", "Version v1.36.3, v1.36.4 required"),
        (
            {"bootstrap": {"configRef": {"name": "other"}}},
            "spec.bootstrap.configRef BoatConfigTemplate boot, BoatConfigTemplate other required",
            "BoatConfig is not up-to-date",
        ),
        (
            {"infrastructureRef": {"name": "other"}},
            "spec.infrastructureRef BoatMachineTemplate host, BoatMachineTemplate other required",
            "BoatMachine is not up-to-date",
        ),
        ({"failureDomain": "west"}, "spec.failureDomain , west required", "Failure domain , west required"),
    ],
)
def test_what_needs_new_machines_is_told_to_operators_and_to_users(
    change: dict[str, Any], reason: str, shown: str
) -> None:
    found = drift(template(), template(**change))
    assert found.reasons == (reason,)
    assert found.shown == (shown,)
    assert fingerprint(template()) != fingerprint(template(**change))


def test_another_secret_with_boot_data_needs_new_machines() -> None:
    before = template(bootstrap={"configRef": None, "dataSecretName": "a"})
    found = drift(before, template(bootstrap={"configRef": None, "dataSecretName": "b"}))
    assert found.reasons == found.shown == ("spec.bootstrap.dataSecretName a, b required",)
    assert drift(before, template()).reasons == ("spec.bootstrap.dataSecretName a, nil required",)


def test_all_differences_are_told_the_version_first() -> None:
    found = drift(template(), template(failureDomain="west", version="v1.37.0"))
    assert [each.split()[0] for each in found.shown] == ["Version", "Failure"]
