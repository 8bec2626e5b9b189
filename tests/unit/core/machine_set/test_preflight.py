"""When machines may be made. Cases and texts are those of Cluster API's own tests."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from nagaya.api.cluster.topology import Topology
from nagaya.core.machine_set.preflight import preflight
from unit.core.machine_set.examples import CONFIG_TEMPLATES, CONFIGS, cluster, control_plane, seen, template, workers

SKIP = "machineset.cluster.x-k8s.io/skip-preflight-checks"
ALL = ("All",)


def topology(version: str) -> Topology:
    return msgspec.convert({"classRef": {"name": "c"}, "version": version}, Topology)


def kubeadm(version: str) -> Any:
    machine_set = workers(version=version)
    spec = msgspec.to_builtins(machine_set)
    spec["spec"]["template"]["spec"]["bootstrap"]["configRef"]["kind"] = "KubeadmConfigTemplate"
    return msgspec.convert(spec, type(machine_set))


def test_a_control_plane_that_stands_still_lets_machines_pass() -> None:
    assert preflight(seen(), "Scale up", ALL) == ()


@pytest.mark.parametrize(
    ("plane", "problem"),
    [
        (control_plane("v1.36.3", ""), "TestControlPlane tenants/cp is provisioning"),
        (control_plane("v1.36.3", "v1.36.2"), "TestControlPlane tenants/cp is upgrading"),
        (control_plane("v1.36.3", "v1.36.2", "v1.36.3"), "TestControlPlane tenants/cp is upgrading"),
        (control_plane("v1.36.3+a", "v1.36.3+b"), "TestControlPlane tenants/cp is upgrading"),
    ],
)
def test_one_that_moves_does_not(plane: Any, problem: str) -> None:
    assert preflight(seen(control_plane=plane), "Scale up", ALL) == (
        f'{problem} ("ControlPlaneIsStable" preflight check failed)',
    )


def test_machines_are_not_newer_than_their_control_plane() -> None:
    assert preflight(seen(workers(version="v1.37.0")), "Scale up", ALL) == (
        "MachineSet version (1.37.0) and ControlPlane version (1.36.3) do not conform to the kubernetes version skew "
        "policy as MachineSet version is higher than ControlPlane version "
        '("KubernetesVersionSkew" preflight check failed)',
    )


def test_machines_are_not_older_than_three_minor_versions() -> None:
    assert preflight(seen(workers(version="v1.33.0")), "Scale up", ALL) == ()
    (problem,) = preflight(seen(workers(version="v1.32.0")), "Scale up", ALL)
    assert "MachineSet version is more than 3 minor versions older than the ControlPlane version" in problem


def test_kubeadm_joins_the_same_minor_version_only() -> None:
    (problem,) = preflight(seen(kubeadm("v1.35.9")), "Scale up", ALL)
    assert problem == (
        "MachineSet version (1.35.9) and ControlPlane version (1.36.3) do not conform to kubeadm version skew policy "
        "as kubeadm only supports joining with the same major+minor version as the control plane "
        '("KubeadmVersionSkew" preflight check failed)'
    )
    assert preflight(seen(kubeadm("v1.36.0")), "Scale up", ALL) == ()


def test_a_topology_waits_for_its_version_to_arrive() -> None:
    shop = cluster(topology=topology("v1.36.4"))
    (problem,) = preflight(seen(cluster=shop), "Scale up", ALL)
    assert problem == (
        "TestControlPlane tenants/cp has a pending version upgrade to v1.36.4 "
        '("ControlPlaneIsStable" preflight check failed)'
    )
    (problem,) = preflight(seen(workers(version="v1.36.2"), cluster=cluster(topology=topology("v1.36.3"))), "x", ALL)
    assert problem == (
        "MachineSet version (v1.36.2) is not yet the same as the ControlPlane version (v1.36.3), waiting for version "
        'to be propagated to the MachineSet ("ControlPlaneVersionSkew" preflight check failed)'
    )


def test_all_that_is_wrong_is_told() -> None:
    problems = preflight(seen(workers(version="v1.37.0"), control_plane=control_plane("v1.36.3", "")), "x", ALL)
    assert [each.split('"')[1] for each in problems] == ["ControlPlaneIsStable", "KubernetesVersionSkew"]


@pytest.mark.parametrize("skipped", ["All", "ControlPlaneIsStable", "KubeadmVersionSkew, ControlPlaneIsStable"])
def test_checks_can_be_skipped(skipped: str) -> None:
    moving = control_plane("v1.36.3", "")
    assert preflight(seen(workers(annotations={SKIP: skipped}), control_plane=moving), "x", ALL) == ()
    boot = template(CONFIG_TEMPLATES, CONFIGS, **{SKIP: skipped})
    assert preflight(seen(bootstrap=boot, control_plane=moving), "x", ALL) == ()


def test_only_the_checks_that_are_asked_for_are_made() -> None:
    both = seen(workers(version="v1.37.0"), control_plane=control_plane("v1.36.3", ""))
    assert len(preflight(both, "x", ("KubernetesVersionSkew",))) == 1
    assert preflight(both, "x", ()) == ()


def test_nothing_is_checked_without_a_control_plane_or_its_version() -> None:
    assert preflight(seen(cluster=cluster(control_plane_ref=None), control_plane=None), "x", ALL) == ()
    assert preflight(seen(workers(version="v9.9.9"), control_plane=control_plane(None)), "x", ALL) == ()


def test_a_control_plane_that_is_missing_holds_machines_up() -> None:
    assert preflight(seen(control_plane=None, control_plane_problem="gone"), "Scale up", ALL) == (
        'failed to perform "Scale up": failed to perform preflight checks: failed to get ControlPlane tenants/cp: gone',
    )


def test_versions_that_cannot_be_read_are_named() -> None:
    (problem,) = preflight(seen(control_plane=control_plane("latest")), "x", ALL)
    assert 'failed to parse version "latest" of ControlPlane tenants/cp' in problem
    (problem,) = preflight(seen(workers(version="latest")), "x", ALL)
    assert 'failed to parse version "latest" of MachineSet tenants/workers' in problem
