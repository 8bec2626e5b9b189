from __future__ import annotations

import pytest

from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.api.cluster.machine_set import MACHINE_SETS
from nagaya.clusters.owners import controller
from nagaya.core.machine.ownership import foreign_controller, owners_of_machine, owners_of_provider
from support.builders import CONTROL_PLANE, INFRASTRUCTURE, Draft, cluster, machine, machine_set, provider

CLUSTER = cluster().made()
SET = machine_set().made()


def test_a_machine_that_nobody_manages_belongs_to_its_cluster() -> None:
    (owner,) = owners_of_machine(machine().made(), CLUSTER)
    assert (owner.api_version, owner.kind, owner.name, owner.uid) == (
        "cluster.x-k8s.io/v1beta2",
        "Cluster",
        "harbour",
        "uid-harbour",
    )
    assert owner.controller is None


@pytest.mark.parametrize(
    "draft",
    [
        machine().owned_by(SET, MACHINE_SETS, controller=True),
        machine().owned_by(CLUSTER, CLUSTERS),
        machine().labelled({"cluster.x-k8s.io/set-name": "s"}),
        machine().labelled({"cluster.x-k8s.io/pool-name": "p"}),
        machine().labelled({"cluster.x-k8s.io/control-plane-name": "c"}),
    ],
)
def test_a_machine_that_somebody_manages_or_will_claim_is_left_to_him(draft: Draft[Machine]) -> None:
    made = draft.made()
    assert owners_of_machine(made, CLUSTER) == made.metadata.owner_references


def test_a_machine_takes_the_place_of_the_set_that_made_its_objects() -> None:
    made = machine().made()
    before = provider(INFRASTRUCTURE).owned_by(SET, MACHINE_SETS).made().metadata.owner_references
    after = owners_of_provider(made, CLUSTER, before)
    assert after == (controller(MACHINES, made),)
    assert owners_of_provider(made, CLUSTER, after) == after


def test_the_control_plane_is_a_maker_of_control_plane_machines_only() -> None:
    plane = provider(CONTROL_PLANE, "harbour").made()
    before = provider(INFRASTRUCTURE).owned_by(plane, CONTROL_PLANE).made().metadata.owner_references
    worker, member = machine().made(), machine().control_plane().made()
    assert owners_of_provider(member, CLUSTER, before) == (controller(MACHINES, member),)
    assert owners_of_provider(worker, CLUSTER, before) == (*before, controller(MACHINES, worker))


def test_other_owners_stay() -> None:
    before = provider(INFRASTRUCTURE).owned_by(CLUSTER, CLUSTERS).made().metadata.owner_references
    made = machine().made()
    assert owners_of_provider(made, CLUSTER, before) == (*before, controller(MACHINES, made))


def test_a_machine_of_the_same_name_but_another_life_is_replaced() -> None:
    made = machine().made()
    former = machine().having(metadata={"uid": "former"}).made()
    assert owners_of_provider(made, CLUSTER, (controller(MACHINES, former),)) == (controller(MACHINES, made),)


def test_an_object_that_somebody_else_controls_is_found_out() -> None:
    made, other = machine().made(), machine("b").made()
    theirs = provider(INFRASTRUCTURE).having(metadata={"ownerReferences": None}).made()
    assert foreign_controller(made, theirs.metadata, CLUSTER) is None
    taken = provider(INFRASTRUCTURE).made()
    taken_by = provider(INFRASTRUCTURE).having(
        metadata={
            "ownerReferences": [
                {"apiVersion": "x/v1", "kind": "Machine", "name": other.metadata.name, "uid": "u", "controller": True}
            ]
        }
    )
    owner = foreign_controller(made, taken_by.made().metadata, CLUSTER)
    assert owner is not None
    assert owner.name == "b"
    assert foreign_controller(made, taken.metadata, CLUSTER) is None


def test_a_maker_that_controls_an_object_is_not_somebody_else() -> None:
    made = machine().made()
    by_set = provider(INFRASTRUCTURE).owned_by(SET, MACHINE_SETS, controller=True).made()
    assert foreign_controller(made, by_set.metadata, CLUSTER) is None
