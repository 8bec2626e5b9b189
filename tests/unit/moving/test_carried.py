from __future__ import annotations

from nagaya.moving.annotations import MOVED_FROM
from nagaya.moving.carried import carried
from support.moving import item

CLUSTER = item("Cluster", "shop")


def test_what_the_servers_gave_stays_and_owners_get_their_new_uids() -> None:
    machine = item(
        "Machine",
        "machine",
        CLUSTER,
        spec={"version": "v1"},
        status={"phase": "Running"},
        resourceVersion="7",
        generation=3,
        creationTimestamp="2026-01-01T00:00:00Z",
        labels={"a": "b"},
        annotations={"c": "d"},
        finalizers=["keep"],
    )
    assert carried(machine, {CLUSTER.uid: "new"}) == {
        "apiVersion": "cluster.x-k8s.io/v1",
        "kind": "Machine",
        "metadata": {
            "name": "machine",
            "namespace": "here",
            "labels": {"a": "b"},
            "annotations": {"c": "d", MOVED_FROM: machine.uid},
            "finalizers": ["keep"],
            "ownerReferences": [
                {"apiVersion": "cluster.x-k8s.io/v1", "kind": "Cluster", "name": "shop", "uid": "new"},
            ],
        },
        "spec": {"version": "v1"},
    }


def test_an_owner_that_does_not_move_is_none_at_the_target() -> None:
    assert "ownerReferences" not in carried(item("Machine", "machine", CLUSTER), {})["metadata"]


def test_the_object_itself_is_not_changed() -> None:
    machine = item("Machine", "machine", CLUSTER, annotations={"c": "d"})
    carried(machine, {})
    assert machine.metadata.annotations == {"c": "d"}
    assert len(machine.metadata.owner_references) == 1
