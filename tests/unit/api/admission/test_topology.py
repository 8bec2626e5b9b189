"""Changes of a topology that can be judged without its class."""

from __future__ import annotations

from typing import Any

from nagaya.api.admission.cluster import validate


def cluster(version: str = "v1.30.0", annotations: dict[str, str] | None = None, **topology: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "one", "namespace": "default", "annotations": annotations or {}},
        "spec": {"topology": {"classRef": {"name": "k"}, "version": version, **topology}},
    }


UNMANAGED = {"metadata": {"name": "one"}, "spec": {"infrastructureRef": {"name": "i"}}}


def problems(new: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
    return [str(error) for error in validate(new, old)]


def test_the_version_can_only_rise() -> None:
    assert problems(cluster("v1.30.1"), cluster("v1.30.0")) == []
    assert problems(cluster("v1.30.0-rc.1"), cluster("v1.30.0")) == []
    assert problems(cluster("v1.29.9"), cluster("v1.30.0")) == [
        'spec.topology.version: Invalid value: "v1.29.9": version cannot be decreased from "1.30.0" to "1.29.9"'
    ]


def test_an_annotation_allows_any_version() -> None:
    unsafe = {"unsafe.topology.cluster.x-k8s.io/disable-update-version-check": ""}
    assert problems(cluster("v1.29.9", unsafe), cluster("v1.30.0")) == []


def test_a_topology_is_not_added_later_unless_an_annotation_says_so() -> None:
    assert problems(cluster(), UNMANAGED)[-1] == (
        "spec.topology.class: Forbidden: classRef cannot be set on an existing Cluster"
    )
    unsafe = {"unsafe.topology.cluster.x-k8s.io/disable-update-class-name-check": ""}
    assert "spec.topology.class: Forbidden: classRef cannot be set on an existing Cluster" not in problems(
        cluster(annotations=unsafe), UNMANAGED
    )


def test_health_checks_in_a_topology_are_checked_like_others() -> None:
    check = {"checks": {"nodeStartupTimeoutSeconds": 5}, "remediation": {"maxInFlight": "many"}}
    workers = {"machineDeployments": [{"class": "w", "name": "md", "healthCheck": check}]}
    assert problems(cluster(workers=workers)) == [
        "spec.topology.workers.machineDeployments[md].healthCheck.checks.nodeStartupTimeoutSeconds: "
        "Invalid value: 5: must be at least 30s",
        "spec.topology.workers.machineDeployments[md].healthCheck.remediation.maxInFlight: "
        'Invalid value: "many": must be either an int or a percentage: '
        "invalid value for IntOrString: invalid type: string is not a percentage",
    ]
