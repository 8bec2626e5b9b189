from __future__ import annotations

import copy
from typing import Any

import pytest

from nagaya.api.admission.content import put
from nagaya.api.admission.kubeadm_control_plane import default, validate
from nagaya.api.admission.kubeadm_control_plane_template import validate as validate_template
from support.subtest_cases import subtest_cases

REFERENCE = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "SimulatedMachineTemplate", "name": "cp"}
PLANE: dict[str, Any] = {
    "metadata": {"name": "cp", "namespace": "ns"},
    "spec": {
        "replicas": 3,
        "version": "v1.36.3",
        "machineTemplate": {"spec": {"infrastructureRef": REFERENCE}},
        "rollout": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}},
    },
}
CLUSTER = ("spec", "kubeadmConfigSpec", "clusterConfiguration")


def plane(value: Any, *path: str) -> Any:
    return put(PLANE, value, *path)


def problems(new: Any, old: Any = None) -> list[str]:
    return [str(error) for error in validate(new, old)]


def test_a_usual_control_plane_is_fine() -> None:
    assert problems(PLANE) == []
    assert problems(PLANE, PLANE) == []


def test_what_was_left_out_is_filled_in() -> None:
    given = {"spec": {"version": "1.36.3"}}
    before = copy.deepcopy(given)
    assert default(given, None)["spec"] == {
        "version": "v1.36.3",
        "replicas": 1,
        "rollout": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}},
    }
    assert given == before
    assert default(default(given, None), None) == default(given, None)


@pytest.mark.parametrize(
    ("replicas", "expected"),
    [
        (0, ["cannot be less than or equal to 0", "cannot be an even number when etcd is stacked"]),
        (2, ["cannot be an even number when etcd is stacked"]),
        (5, []),
    ],
)
def test_stacked_etcd_wants_an_odd_number(replicas: int, expected: list[str]) -> None:
    assert problems(plane(replicas, "spec", "replicas")) == [f"spec.replicas: Forbidden: {each}" for each in expected]


def test_external_etcd_allows_even_numbers() -> None:
    external = {"endpoints": ["https://a"], "caFile": "a", "certFile": "b", "keyFile": "c"}
    assert problems(put(plane(2, "spec", "replicas"), external, *CLUSTER, "etcd", "external")) == []


def test_removing_the_old_machine_first_needs_three() -> None:
    scale_in = plane(0, "spec", "rollout", "strategy", "rollingUpdate", "maxSurge")
    assert problems(scale_in) == []
    assert problems(put(scale_in, 1, "spec", "replicas")) == [
        "spec.rollout.strategy.rollingUpdate: Required value: when KubeadmControlPlane is configured to scale-in, "
        "replica count needs to be at least 3"
    ]


def test_a_rollout_adds_one_machine_at_most() -> None:
    assert problems(plane(2, "spec", "rollout", "strategy", "rollingUpdate", "maxSurge")) == [
        "spec.rollout.strategy.rollingUpdate.maxSurge: Required value: value must be 1 or 0"
    ]


def test_certificates_end_before_their_authority_and_after_their_rollout() -> None:
    new = put(plane(30, *CLUSTER, "certificateValidityPeriodDays"), 20, *CLUSTER, "caCertificateValidityPeriodDays")
    new = put(new, 30, "spec", "rollout", "before", "certificatesExpiryDays")
    assert [error.field for error in validate(new, None)] == [
        "spec.kubeadmConfigSpec.clusterConfiguration.certificateValidityPeriodDays",
        "spec.rollout.before.certificatesExpiryDays",
    ]


@pytest.mark.parametrize(
    ("template", "detail"),
    [
        ("{{ .cluster.name }}", "invalid template, {{ .random }} is missing"),
        ("{{ .kubeadmControlPlane.name }}-{{ .random }}", ""),
        ("UPPER-{{ .random }}", "invalid template, generated names would not be valid Kubernetes object names: "),
    ],
)
def test_names_of_machines_differ_and_are_names(template: str, detail: str) -> None:
    found = problems(plane(template, "spec", "machineNaming", "template"))
    assert bool(found) == bool(detail)
    assert all(detail in each for each in found)


@subtest_cases(
    "path",
    [
        ("metadata", "labels", "a"),
        ("spec", "version"),
        ("spec", "machineTemplate", "spec", "infrastructureRef", "name"),
        (*CLUSTER, "dns", "imageRepository"),
        (*CLUSTER, "etcd", "local", "imageTag"),
        (*CLUSTER, "encryptionAlgorithm"),
        ("spec", "kubeadmConfigSpec", "initConfiguration", "patches", "directory"),
        ("spec", "kubeadmConfigSpec", "joinConfiguration", "discovery", "tlsBootstrapToken"),
        ("spec", "kubeadmConfigSpec", "format"),
        ("spec", "remediation", "maxRetry"),
    ],
)
def test_most_fields_may_change(path: tuple[str, ...]) -> None:
    value = "v1.36.4" if path[-1] == "version" else "cloud-config" if path[-1] == "format" else "x"
    assert problems(plane(value, *path), PLANE) == []


@pytest.mark.parametrize("name", ["controlPlaneEndpoint", "certificatesDir", "caCertificateValidityPeriodDays"])
def test_what_the_cluster_was_built_with_stays(name: str) -> None:
    expected = f"spec.kubeadmConfigSpec.clusterConfiguration.{name}: Forbidden: cannot be modified"
    assert problems(plane(400, *CLUSTER, name), PLANE) == [expected]
    assert problems(PLANE, plane(400, *CLUSTER, name)) == ["spec.kubeadmConfigSpec: Forbidden: cannot be modified"]


@pytest.mark.parametrize(
    ("version", "fine"), [("v1.35.0", True), ("v1.37.9", True), ("v1.38.0", False), ("v2.0.0", False)]
)
def test_upgrades_go_one_minor_version_at_a_time(version: str, fine: bool) -> None:
    expected = f"spec.version: Forbidden: cannot update Kubernetes version from v1.36.3 to {version}"
    assert problems(plane(version, "spec", "version"), PLANE) == ([] if fine else [expected])


def test_coredns_never_goes_back() -> None:
    old, new = (plane(tag, *CLUSTER, "dns", "imageTag") for tag in ("v1.12.1", "v1.11.3"))
    (found,) = problems(new, old)
    assert "cannot migrate CoreDNS up to '1.11.3' from '1.12.1'" in found
    assert problems(put(new, "", "metadata", "annotations", "controlplane.cluster.x-k8s.io/skip-coredns"), old) == []


def test_etcd_never_moves() -> None:
    external = plane({"endpoints": ["https://a"]}, *CLUSTER, "etcd", "external")
    expected = (
        "spec.kubeadmConfigSpec.clusterConfiguration.etcd.external: Forbidden: cannot change between external and "
        "local etcd"
    )
    assert expected in problems(external, PLANE)


def test_init_and_join_wait_equally_long() -> None:
    path = ("spec", "kubeadmConfigSpec", "initConfiguration", "timeouts", "controlPlaneComponentHealthCheckSeconds")
    found = validate(plane(60, *path), None)
    assert [error.value for error in found] == ["60", "unset"]


def test_a_template_never_changes() -> None:
    old = {"metadata": {"name": "t"}, "spec": {"template": {"spec": {"kubeadmConfigSpec": {"verbosity": 1}}}}}
    assert validate_template(old, old) == []
    (found,) = validate_template(put(old, 2, "spec", "template", "spec", "kubeadmConfigSpec", "verbosity"), old)
    assert "field is immutable" in found.detail
    assert found.detail.endswith("Diff: kubeadmConfigSpec.verbosity")


def test_a_template_may_lose_what_older_releases_filled_in() -> None:
    new = {"metadata": {"name": "t"}, "spec": {"template": {"spec": {"kubeadmConfigSpec": {"verbosity": 1}}}}}
    old = put(new, {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}, "spec", "template", "spec", "rollout")
    old = put(new, old["spec"]["template"]["spec"]["rollout"], "spec", "template", "spec", "rollout", "strategy")
    old = put(old, "cloud-config", "spec", "template", "spec", "kubeadmConfigSpec", "format")
    assert validate_template(new, old) == []
