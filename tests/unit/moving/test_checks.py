from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from nagaya.api.cluster.annotations import PAUSED
from nagaya.api.definition import DELETE_FOR_MOVE
from nagaya.api.untyped import Untyped
from nagaya.moving.annotations import MOVED_FROM, MOVING
from nagaya.moving.belongings import belongings
from nagaya.moving.checks import problems
from nagaya.moving.item import Item
from support.moving import item

TARGET = "target-uid"
READY = {"initialization": {"infrastructureProvisioned": True, "controlPlaneInitialized": True}}


def definition(kind: Item, version: str = "v1") -> Untyped:
    return Untyped(
        {
            "metadata": {"name": f"{kind.kind.plural}.{kind.kind.group}"},
            "spec": {"versions": [{"name": version, "served": True}]},
            "status": {"conditions": [{"type": "Established", "status": "True"}]},
        }
    )


def found(*items: Item, target: tuple[Item, ...] | None = None, there: Sequence[Item] = ()) -> list[str]:
    served = {each.metadata.name: each for each in map(definition, items if target is None else target)}
    return problems(belongings(items), TARGET, served, there)


def cluster(**change: Any) -> Item:
    return item("Cluster", "shop", **{"status": READY, **change})


def test_a_cluster_that_is_whole_may_move() -> None:
    whole = cluster()
    assert found(whole, item("Machine", "m", whole, status={"nodeRef": {"name": "n"}})) == []


def test_kinds_that_the_target_lacks_are_named_with_the_command_that_brings_them() -> None:
    (problem,) = found(cluster(), target=())
    assert "clusters.cluster.x-k8s.io" in problem
    assert "nagaya crds" in problem


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"status": {}}, "is not there yet"),
        ({"annotations": {MOVING: "elsewhere"}, "spec": {"paused": True}}, "another API already"),
        ({"deletionTimestamp": "2026-01-01T00:00:00Z"}, "being deleted"),
    ],
)
def test_a_cluster_that_may_not_move_says_why(change: dict[str, Any], words: str) -> None:
    assert any(words in each for each in found(cluster(**change))), found(cluster(**change))


def test_a_cluster_that_somebody_has_paused_moves_as_it_is() -> None:
    assert found(cluster(spec={"paused": True})) == []


def test_names_that_the_target_has_already_are_told_before_anything_is_changed() -> None:
    whole = cluster()
    assert found(whole, there=[cluster(annotations={MOVED_FROM: whole.uid})]) == []
    (problem,) = found(whole, there=[cluster(annotations={MOVED_FROM: "of-another"})])
    assert problem.startswith("The target has another Cluster here/shop already, which did not come from here.")


def test_a_move_that_ended_early_may_go_on() -> None:
    assert found(cluster(annotations={MOVING: TARGET}, spec={"paused": True})) == []


def test_what_an_earlier_move_was_taking_away_is_no_obstacle_to_the_next() -> None:
    when = "2026-01-01T00:00:00Z"
    annotations = {MOVING: TARGET, DELETE_FOR_MOVE: ""}
    assert found(cluster(deletionTimestamp=when, annotations=annotations, spec={"paused": True})) == []


def test_a_class_that_the_move_has_paused_itself_is_no_obstacle_to_it() -> None:
    whole = item("ClusterClass", "plain", annotations={PAUSED: "true"})
    assert any("paused by somebody else" in each for each in found(whole))
    assert found(item("ClusterClass", "plain", annotations={PAUSED: "true", MOVING: TARGET})) == []


def test_a_machine_without_node_is_waited_for() -> None:
    whole = cluster()
    (problem,) = found(whole, item("Machine", "m", whole, status={}))
    assert (
        problem
        == "Machine here/m has no Node yet. Wait for it. If it was never part of the cluster, delete the Machine."
    )


def test_an_owner_that_stays_behind_stands_in_the_way() -> None:
    whole, foreign = cluster(), item("Thing", "foreign")
    owned = item("Machine", "m", whole, foreign, status={"nodeRef": {"name": "n"}})
    (problem,) = found(whole, foreign, owned)
    assert "Machine here/m belongs to Thing here/foreign" in problem
