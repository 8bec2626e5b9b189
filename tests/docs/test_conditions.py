"""Every condition and every reason of the API is explained, and none that is not there."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

import pytest

import nagaya.api
from docs.page import ROOT, section
from nagaya.api.addons import cluster_resource_set
from nagaya.api.cluster import pause
from nagaya.api.cluster.cluster_class import ClusterClassCondition, ClusterClassReason
from nagaya.api.cluster.cluster_conditions import ClusterCondition, ClusterReason
from nagaya.api.cluster.machine_conditions import MachineCondition, MachineReason
from nagaya.api.cluster.machine_deployment_conditions import MachineDeploymentCondition, MachineDeploymentReason
from nagaya.api.cluster.machine_health_check import MachineHealthCheckCondition, MachineHealthCheckReason
from nagaya.api.cluster.machine_pool import MachinePoolCondition
from nagaya.api.cluster.machine_set_conditions import MachineSetCondition, MachineSetReason
from nagaya.api.cluster.provider_conditions import ProviderCondition, ProviderReason
from nagaya.api.controlplane.data_store_conditions import DataStoreCondition, DataStoreReason
from nagaya.api.controlplane.hosted_conditions import HostedControlPlaneCondition, HostedControlPlaneReason
from nagaya.api.proxmox.conditions import (
    ProxmoxClusterCondition,
    ProxmoxClusterReason,
    ProxmoxConnectionCondition,
    ProxmoxConnectionReason,
    ProxmoxMachineCondition,
    ProxmoxMachineReason,
)
from nagaya.api.simulated.conditions import SimulatedCondition, SimulatedReason

PAGE = (ROOT / "docs/reference/conditions.md").read_text()
_PAUSE = frozenset({pause.PAUSED, pause.NOT_PAUSED})
_ENDS = ("Condition", "Reason")
_STATUSES = {"True", "False", "Unknown"}


@dataclass(frozen=True, slots=True)
class Told:
    """What a section, or several of them, must tell: no more and no less."""

    sections: tuple[str, ...]
    conditions: frozenset[str]
    reasons: frozenset[str]
    enums: tuple[type[StrEnum], ...] = ()


def _enums(sections: tuple[str, ...], conditions: type[StrEnum], *reasons: type[StrEnum]) -> Told:
    enums = (conditions, *reasons)
    return Told(sections, _values(conditions), frozenset().union(*map(_values, reasons)), enums)


def _values(words: Iterable[str]) -> frozenset[str]:
    return frozenset(map(str, words))


_SIMULATED = _enums(("SimulatedCluster", "SimulatedMachine"), SimulatedCondition, SimulatedReason)
_APPLIED = (
    cluster_resource_set.APPLIED,
    cluster_resource_set.NOT_APPLIED,
    cluster_resource_set.WRONG_SECRET_TYPE,
    cluster_resource_set.INTERNAL_ERROR,
)

IN_DETAIL = [
    _enums(("Cluster",), ClusterCondition, ClusterReason),
    _enums(("Machine",), MachineCondition, MachineReason),
    _enums(("MachineSet",), MachineSetCondition, MachineSetReason),
    _enums(("MachineDeployment",), MachineDeploymentCondition, MachineDeploymentReason),
    _enums(("MachineHealthCheck",), MachineHealthCheckCondition, MachineHealthCheckReason),
    Told(
        ("ClusterResourceSet",),
        frozenset({cluster_resource_set.RESOURCES_APPLIED, pause.CONDITION}),
        _PAUSE.union(_APPLIED),
    ),
    _enums(("HostedControlPlane",), HostedControlPlaneCondition, HostedControlPlaneReason),
    _enums(("DataStore",), DataStoreCondition, DataStoreReason),
    _enums(("ProxmoxCluster",), ProxmoxClusterCondition, ProxmoxClusterReason),
    _enums(("ProxmoxMachine",), ProxmoxMachineCondition, ProxmoxMachineReason),
    _enums(("ProxmoxConnection",), ProxmoxConnectionCondition, ProxmoxConnectionReason),
    replace(_SIMULATED, reasons=_SIMULATED.reasons | _PAUSE),
]
IN_SHORT = [
    _enums(("ClusterClass",), ClusterClassCondition, ClusterClassReason),
    _enums(("MachinePool",), MachinePoolCondition),
    _enums(("Providers",), ProviderCondition, ProviderReason),
]


def _words(told: Told) -> str:
    return " ".join(told.sections)


@pytest.mark.parametrize("told", IN_DETAIL, ids=_words)
def test_every_condition_has_a_section_and_nothing_else_has(told: Told) -> None:
    text = "".join(section(PAGE, f"## {each}") for each in told.sections)

    assert set(re.findall(r"^### (\w+)$", text, re.MULTILINE)) == told.conditions


@pytest.mark.parametrize("told", IN_DETAIL, ids=_words)
def test_every_reason_has_a_row_and_nothing_else_has(told: Told) -> None:
    rows = [row for each in told.sections for row in _rows(section(PAGE, f"## {each}"))]

    assert {reason for reason, _, _ in rows} == told.reasons


@pytest.mark.parametrize("told", IN_DETAIL, ids=_words)
def test_every_condition_has_reasons_each_once_with_a_status_and_a_meaning(told: Told) -> None:
    for name in told.sections:
        for heading in re.findall(r"^### \w+$", section(PAGE, f"## {name}"), re.MULTILINE):
            rows = _rows(section(section(PAGE, f"## {name}"), heading))
            reasons = [reason for reason, _, _ in rows]
            assert reasons, f"{name}: '{heading}' has no reasons"
            assert len(reasons) == len(set(reasons)), f"{name}: '{heading}' has a reason twice"
            assert all(status in _STATUSES and meaning for _, status, meaning in rows), f"{name}: '{heading}'"


@pytest.mark.parametrize("told", IN_SHORT, ids=_words)
def test_conditions_of_kinds_without_a_controller_are_named(told: Told) -> None:
    rows = re.findall(r"^\| (`.+?) \| (.+) \|$", section(PAGE, f"### {told.sections[0]}"), re.MULTILINE)

    assert {name for row in rows for name in _quoted(row[0])} == told.conditions
    assert {name for row in rows for name in _quoted(row[1])} == told.reasons


def test_no_condition_of_the_api_is_forgotten() -> None:
    known = {each for told in (*IN_DETAIL, *IN_SHORT) for each in told.enums}
    found: set[type[StrEnum]] = set()
    for module in pkgutil.walk_packages(nagaya.api.__path__, "nagaya.api."):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, type) and issubclass(value, StrEnum) and value.__name__.endswith(_ENDS):
                found.add(value)

    assert found == known


def _rows(text: str) -> list[tuple[str, str, str]]:
    return re.findall(r"^\| `(\w+)` \| (\w+) \| (.+) \|$", text, re.MULTILINE)


def _quoted(text: str) -> list[str]:
    return re.findall(r"`(\w+)`", text)
