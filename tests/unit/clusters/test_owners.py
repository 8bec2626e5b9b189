from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.cluster.machine_set import MACHINE_SETS
from nagaya.api.meta import OwnerReference
from nagaya.clusters.owners import Owners, controller, is_a, names, owner, with_owner
from support.builders import cluster, machine_set

CLUSTER = cluster().made()
SET = machine_set().made()
OURS = owner(CLUSTERS, CLUSTER)
OTHER = owner(MACHINE_SETS, SET)


def changed(reference: OwnerReference, **fields: object) -> OwnerReference:
    return msgspec.structs.replace(reference, **fields)


def test_an_owner_that_is_there_changes_nothing() -> None:
    present = (OTHER, OURS)
    assert with_owner(present, OURS) is present


def test_a_new_owner_comes_last() -> None:
    assert with_owner((OTHER,), OURS) == (OTHER, OURS)


def test_an_owner_by_another_uid_or_version_is_brought_up_to_date_in_its_place() -> None:
    assert with_owner((changed(OURS, uid="before-the-move"), OTHER), OURS) == (OURS, OTHER)
    assert with_owner((changed(OURS, api_version="cluster.x-k8s.io/v1beta1"), OTHER), OURS) == (OURS, OTHER)


def test_an_owner_becomes_the_controller_and_stops_being_it() -> None:
    managing = controller(CLUSTERS, CLUSTER)
    assert with_owner((OURS,), managing) == (managing,)
    assert with_owner((managing,), OURS) == (OURS,)


def test_the_same_name_in_another_group_is_another_owner() -> None:
    foreign = changed(OURS, api_version="fleet.example.com/v1")
    assert with_owner((foreign,), OURS) == (foreign, OURS)
    assert not is_a(foreign, CLUSTERS)
    assert not names(foreign, CLUSTERS, CLUSTER)


@given(st.lists(st.sampled_from([OURS, OTHER, controller(CLUSTERS, CLUSTER), changed(OURS, uid="old")]), max_size=2))
def test_asking_twice_is_asking_once(present: list[OwnerReference]) -> None:
    once: Owners = with_owner(tuple(present), OURS)
    assert OURS in once
    assert with_owner(once, OURS) == once
