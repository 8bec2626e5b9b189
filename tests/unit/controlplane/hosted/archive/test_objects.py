"""Objects in archives: what is kept of them, and how they look under another name."""

from __future__ import annotations

from nagaya.api.cluster.annotations import PAUSED
from nagaya.api.cluster.labels import CLUSTER_NAME
from nagaya.controlplane.hosted.archive.objects import (
    RESTORING,
    Names,
    cluster_as,
    control_plane_as,
    kept,
    secrets_as,
)
from support.tenant_archives import NAMES, OTHER_UID, cluster, control_plane, secret

FORK = Names("team", "trial", "trial")


def test_what_is_declared_is_kept_and_what_others_add_is_not() -> None:
    plane = control_plane(annotations={PAUSED: "", RESTORING: "{}", "mine": "stays"}, later="field")
    plane["metadata"] |= {"finalizers": ["a"], "ownerReferences": [{}], "creationTimestamp": "x", "managedFields": []}
    plane["status"] = {"ready": True}

    assert kept(plane) == {
        "apiVersion": "controlplane.cluster.x-k8s.io/v1alpha1",
        "kind": "HostedControlPlane",
        "metadata": {
            "name": "shop-plane",
            "namespace": "team",
            "labels": {CLUSTER_NAME: "shop"},
            "annotations": {"mine": "stays"},
        },
        "spec": {"version": "v1.36.3", "replicas": 2, "dataStoreRef": {"name": "default"}, "later": "field"},
    }
    assert kept(cluster(paused=True))["spec"].keys() == {"controlPlaneRef"}
    assert "tenantID" not in kept(control_plane(tenantID=OTHER_UID))["spec"]


def test_under_its_own_name_a_tenant_keeps_its_place() -> None:
    endpoint = {"host": "192.0.2.1", "port": 6443}
    owner = kept(cluster(controlPlaneEndpoint=endpoint, infrastructureRef={"kind": "SimulatedCluster"}))
    plane = kept(control_plane(controlPlaneEndpoint=endpoint, network={"port": 6443}))

    assert cluster_as(owner, NAMES, NAMES) == owner
    assert control_plane_as(plane, NAMES, NAMES) == plane


def test_under_another_name_it_gets_another_place_and_no_machines() -> None:
    endpoint = {"host": "192.0.2.1", "port": 6443}
    owner = kept(
        cluster(
            controlPlaneEndpoint=endpoint,
            infrastructureRef={"kind": "SimulatedCluster"},
            topology={},
            clusterNetwork={},
        )
    )
    owner["metadata"]["labels"] = {"topology.cluster.x-k8s.io/owned": "", "team": "a"}
    forked = cluster_as(owner, NAMES, FORK)
    assert forked["metadata"] == {"name": "trial", "namespace": "team", "labels": {"team": "a"}}
    assert forked["spec"].keys() == {"controlPlaneRef", "clusterNetwork"}
    assert forked["spec"]["controlPlaneRef"]["name"] == "trial"

    network = {"address": "192.0.2.1", "port": 6443, "serviceCIDRs": ["10.1.0.0/16"]}
    plane = control_plane_as(kept(control_plane(controlPlaneEndpoint=endpoint, network=network)), NAMES, FORK)
    assert plane["metadata"]["name"] == "trial"
    assert plane["metadata"]["labels"] == {CLUSTER_NAME: "trial"}
    assert plane["spec"]["network"] == {"serviceCIDRs": ["10.1.0.0/16"]}
    assert "controlPlaneEndpoint" not in plane["spec"]


def test_data_can_go_into_another_store() -> None:
    plane = control_plane_as(kept(control_plane()), NAMES, NAMES, "second")
    assert plane["spec"]["dataStoreRef"] == {"name": "second"}


def test_secrets_of_the_cluster_follow_its_name_and_those_of_users_do_not() -> None:
    keys = kept(secret("encryption"))
    keys["metadata"].pop("labels")
    forked = secrets_as(
        {"shop-ca": kept(secret("shop-ca")), "encryption": keys}, NAMES, Names("other", "trial", "trial")
    )

    assert set(forked) == {"trial-ca", "encryption"}
    assert forked["trial-ca"]["metadata"]["labels"] == {CLUSTER_NAME: "trial"}
    assert forked["encryption"]["metadata"] == {"name": "encryption", "namespace": "other"}
    assert forked["trial-ca"]["data"] == {"tls.crt": "QQ=="}
