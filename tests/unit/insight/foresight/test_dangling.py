"""What an object names: references of every form, and nothing that only looks like one."""

from __future__ import annotations

from typing import Any

from nagaya.api.untyped import Untyped
from nagaya.insight.foresight.dangling import Named, names

INFRASTRUCTURE = "infrastructure.cluster.x-k8s.io"


def named(kind: str, api_version: str, **spec: Any) -> dict[str, Named]:
    metadata = {"name": "one", "namespace": "team"}
    return dict(names(Untyped({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec})))


def test_references_by_group_and_by_version_are_found_at_any_depth() -> None:
    by_group = {"apiGroup": INFRASTRUCTURE, "kind": "BoatTemplate", "name": "a"}
    by_version = {"apiVersion": f"{INFRASTRUCTURE}/v1", "kind": "BoatTemplate", "name": "b", "namespace": "other"}
    found = named("MachineDeployment", "cluster.x-k8s.io/v1beta2", template={"refs": [by_group, by_version]})
    assert found == {
        ".spec.template.refs[0]": Named(INFRASTRUCTURE, "BoatTemplate", "team", "a"),
        ".spec.template.refs[1]": Named(INFRASTRUCTURE, "BoatTemplate", "other", "b"),
    }


def test_references_that_are_a_name_alone_are_known_by_their_field() -> None:
    found = named("ProxmoxCluster", f"{INFRASTRUCTURE}/v1alpha2", connectionRef={"name": "lab"}, bridge={"name": "x"})
    assert found == {".spec.connectionRef": Named(INFRASTRUCTURE, "ProxmoxConnection", "team", "lab")}


def test_the_cluster_of_machines_is_known_by_its_field() -> None:
    template = {"spec": {"clusterName": "shop"}}
    found = named("MachineDeployment", "cluster.x-k8s.io/v1beta2", clusterName="shop", template=template)
    assert found == {".spec.clusterName": Named("cluster.x-k8s.io", "Cluster", "team", "shop")}


def test_objects_of_other_groups_are_left_alone() -> None:
    assert not named(
        "HorizontalPodAutoscaler", "autoscaling/v2", ref={"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}
    )
