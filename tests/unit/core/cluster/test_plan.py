from __future__ import annotations

import pytest

from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.meta import OwnerReference
from nagaya.api.untyped import Untyped
from nagaya.core.cluster.plan import owners_with, plan
from support.builders import CLUSTER, Draft
from support.seen_cluster import (
    BOTH,
    ENDPOINT,
    bare_cluster,
    control_plane,
    grown_cluster,
    infrastructure,
    new_cluster,
    seen,
)

OWNER = OwnerReference(api_version="cluster.x-k8s.io/v1beta2", kind="Cluster", name=CLUSTER, uid=f"uid-{CLUSTER}")


def adopted(draft: Draft[Untyped]) -> Draft[Untyped]:
    return draft.owned_by(new_cluster().made(), CLUSTERS)


def provisioned() -> Draft[Untyped]:
    return adopted(infrastructure()).having(status={"initialization": {"provisioned": True}})


def initialized() -> Draft[Untyped]:
    return adopted(control_plane()).having(status={"initialization": {"controlPlaneInitialized": True}})


def test_what_a_cluster_refers_to_is_made_its_own() -> None:
    steps = plan(seen(new_cluster(), infrastructure(), control_plane()))
    assert [(each.kind.kind, each.owners) for each in steps.adopt] == [
        ("BoatCluster", (OWNER,)),
        ("BoatControlPlane", (OWNER,)),
    ]


def test_what_is_its_own_already_is_left_alone() -> None:
    assert plan(seen(new_cluster(), adopted(infrastructure()), adopted(control_plane()))).adopt == ()


def test_an_object_without_the_label_is_labelled() -> None:
    unlabelled = adopted(infrastructure()).labelled({"cluster.x-k8s.io/cluster-name": None})
    (step,) = plan(seen(new_cluster(), unlabelled)).adopt
    assert step.owners == (OWNER,)


def test_an_object_that_is_going_is_adopted_too_for_its_provider_waits_for_an_owner() -> None:
    assert len(plan(seen(new_cluster().deleting(), infrastructure().deleting())).adopt) == 1


def test_the_owner_of_before_a_move_is_replaced_where_it_stands() -> None:
    other = OwnerReference(api_version="v1", kind="Team", name="x", uid="1")
    old = OwnerReference(api_version="cluster.x-k8s.io/v1beta1", kind="Cluster", name=CLUSTER, uid="old")
    assert owners_with(new_cluster().made(), (old, other)) == (OWNER, other)


def test_the_cluster_controls_its_objects_only_with_a_topology() -> None:
    topology = {"classRef": {"name": "small"}, "version": "v1.36.3"}
    (owner,) = owners_with(new_cluster().having(spec={"topology": topology}).made(), ())
    assert (owner.controller, owner.block_owner_deletion) == (True, True)
    (owner,) = owners_with(new_cluster().made(), ())
    assert owner.controller is None


def test_nothing_is_taken_over_before_the_infrastructure_is_complete() -> None:
    steps = plan(seen(new_cluster(), infrastructure().having(spec={"controlPlaneEndpoint": ENDPOINT}), control_plane()))
    assert (steps.endpoint, steps.initialization.infrastructure_provisioned, steps.connect) == (None, None, False)
    assert steps.happened == ()
    assert steps.sentence == "Waiting for the infrastructure provider."


def test_a_complete_infrastructure_gives_endpoint_and_failure_domains() -> None:
    domains = [{"name": "b", "controlPlane": True}, {"name": "a", "attributes": {"rack": "1"}}]
    ready = provisioned().having(spec={"controlPlaneEndpoint": ENDPOINT}, status={"failureDomains": domains})
    steps = plan(seen(new_cluster(), ready, control_plane()))
    assert str(steps.endpoint) == "10.0.0.1:6443"
    assert [each.name for each in steps.failure_domains] == ["a", "b"]
    assert steps.initialization.infrastructure_provisioned
    assert steps.connect
    assert [(each.reason, each.note) for each in steps.happened] == [
        ("InfrastructureReady", f"Cluster {CLUSTER} InfrastructureProvisioned is now True")
    ]


def test_the_old_contract_is_understood() -> None:
    old = infrastructure().having(status={"ready": True, "failureDomains": {"a": {"controlPlane": True}}})
    steps = plan(seen(new_cluster(), old, contract="v1beta1"))
    assert steps.initialization.infrastructure_provisioned
    assert [each.name for each in steps.failure_domains] == ["a"]


def test_the_endpoint_may_come_from_the_control_plane() -> None:
    steps = plan(seen(new_cluster(), provisioned(), initialized().having(spec={"controlPlaneEndpoint": ENDPOINT})))
    assert str(steps.endpoint) == "10.0.0.1:6443"
    assert [each.reason for each in steps.happened] == ["InfrastructureReady", "ControlPlaneInitialized"]


def test_an_endpoint_that_a_user_gave_stands() -> None:
    given = new_cluster().having(spec={"controlPlaneEndpoint": {"host": "api.example.com", "port": 443}})
    assert plan(seen(given, provisioned().having(spec={"controlPlaneEndpoint": ENDPOINT}))).endpoint is None


def test_half_an_endpoint_is_none() -> None:
    half = provisioned().having(spec={"controlPlaneEndpoint": {"host": "10.0.0.1"}})
    assert plan(seen(new_cluster(), half)).endpoint is None


@pytest.mark.parametrize("now", [infrastructure(), None, "it cannot be read"])
def test_what_became_true_stays_true(now: Draft[Untyped] | str | None) -> None:
    domains = [{"name": "a", "controlPlane": True}]
    before = grown_cluster().having(status={"failureDomains": domains})
    steps = plan(seen(before, now, now if isinstance(now, str) else None))
    assert steps.initialization.infrastructure_provisioned
    assert steps.initialization.control_plane_initialized
    assert steps.happened == ()
    told_none = isinstance(now, Draft)
    assert steps.failure_domains == (() if told_none else before.made().status.failure_domains)


def test_without_infrastructure_there_is_nothing_to_wait_for() -> None:
    steps = plan(seen(bare_cluster()))
    assert steps.initialization.infrastructure_provisioned
    assert steps.happened == ()


@pytest.mark.parametrize(
    ("draft", "has_kubeconfig", "wanted"),
    [
        (bare_cluster(), False, False),
        (bare_cluster().having(spec={"controlPlaneEndpoint": ENDPOINT}), False, True),
        (bare_cluster().having(spec={"controlPlaneEndpoint": ENDPOINT}), True, False),
        (bare_cluster().having(spec={"controlPlaneEndpoint": ENDPOINT}).deleting(), False, False),
        (grown_cluster(), False, False),
    ],
)
def test_a_kubeconfig_is_made_only_where_nobody_looks_after_the_control_plane(
    draft: Draft[Cluster], has_kubeconfig: bool, wanted: bool
) -> None:
    assert plan(seen(draft, has_kubeconfig=has_kubeconfig)).kubeconfig is wanted


def test_a_kubeconfig_follows_the_endpoint_in_the_same_run() -> None:
    draft = bare_cluster().having(spec={"infrastructureRef": BOTH["infrastructureRef"]})
    steps = plan(seen(draft, provisioned().having(spec={"controlPlaneEndpoint": ENDPOINT})))
    assert steps.kubeconfig


def test_a_topology_is_waited_for() -> None:
    draft = bare_cluster().having(spec={"topology": {"classRef": {"name": "small"}, "version": "v1.36.3"}})
    steps = plan(seen(draft))
    assert steps.sentence == "Waiting for the topology to be generated."
    assert steps.initialization.infrastructure_provisioned is None


@pytest.mark.parametrize(
    ("draft", "sentence"),
    [
        (new_cluster(), f"BoatCluster {CLUSTER} does not exist yet."),
        (grown_cluster(), f"BoatCluster {CLUSTER} has been deleted while the cluster still exists."),
        (grown_cluster().deleting(), "Deleting: Deletion completed"),
    ],
)
def test_every_plan_says_what_it_waits_for(draft: Draft[Cluster], sentence: str) -> None:
    assert plan(seen(draft)).sentence == sentence
