from __future__ import annotations

import pytest

from nagaya.addons.resource_set_binding.controller import cluster_of, going, migration, owners_of, why_obsolete
from nagaya.api.addons.cluster_resource_set import CLUSTER_RESOURCE_SETS
from nagaya.api.addons.cluster_resource_set_binding import CLUSTER_RESOURCE_SET_BINDINGS
from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.kube.cache.change import Change
from nagaya.kube.key import Key
from support.builders import CLUSTER, NAMESPACE, Draft, cluster

KEY = Key(NAMESPACE, CLUSTER)


def test_a_record_goes_before_its_cluster_and_not_without_need() -> None:
    assert why_obsolete(None) == "its Cluster does not exist."
    assert why_obsolete(cluster().deleting().made()) == "its Cluster is being deleted."
    assert why_obsolete(cluster().made()) == ""


@pytest.mark.parametrize(
    ("old", "new", "keys"),
    [
        (None, cluster().made(), ()),
        (cluster().made(), cluster().labelled({"a": "b"}).made(), ()),
        (cluster().made(), cluster().deleting().made(), (KEY,)),
        (cluster().deleting().made(), None, (KEY,)),
        (cluster().deleting().made(), cluster().deleting().labelled({"a": "b"}).made(), ()),
    ],
)
def test_only_clusters_that_go_are_news(old: Cluster | None, new: Cluster | None, keys: tuple[Key, ...]) -> None:
    assert going(Change(old, new)) == keys


def test_the_cluster_is_no_owner_of_its_record() -> None:
    metadata = {"namespace": NAMESPACE, "name": CLUSTER}
    draft = Draft(CLUSTER_RESOURCE_SET_BINDINGS, {"metadata": metadata, "spec": {"clusterName": CLUSTER}})
    owner, other = cluster().made(), cluster("other").made()
    binding = draft.owned_by(owner, CLUSTERS).owned_by(other, CLUSTER_RESOURCE_SETS).made()
    assert [each.kind for each in owners_of(binding)] == [CLUSTER_RESOURCE_SETS.kind]


def test_a_record_that_only_its_owner_gives_a_name_to_gets_it() -> None:
    draft = Draft(CLUSTER_RESOURCE_SET_BINDINGS, {"metadata": {"namespace": NAMESPACE, "name": CLUSTER}, "spec": {}})
    owner, other = cluster().made(), cluster("other").made()
    binding = draft.owned_by(other, CLUSTER_RESOURCE_SETS).owned_by(owner, CLUSTERS).made()
    assert cluster_of(binding) == CLUSTER
    change = migration(binding)
    assert change is not None
    assert change["spec"] == {"clusterName": CLUSTER}
    assert [each["kind"] for each in change["metadata"]["ownerReferences"]] == [CLUSTER_RESOURCE_SETS.kind]


def test_a_record_that_names_its_cluster_is_left_as_it_is() -> None:
    content = {"metadata": {"namespace": NAMESPACE, "name": CLUSTER}, "spec": {"clusterName": CLUSTER}}
    assert migration(Draft(CLUSTER_RESOURCE_SET_BINDINGS, content).made()) is None
    content = {"metadata": {"namespace": NAMESPACE, "name": CLUSTER}, "spec": {}}
    assert cluster_of(Draft(CLUSTER_RESOURCE_SET_BINDINGS, content).made()) == ""
