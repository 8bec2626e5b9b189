"""Rollouts that are played: the order is that of the planners' rules, and there is always an end."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from nagaya.insight.foresight.fleet import Fleet
from nagaya.insight.foresight.rollout import play
from unit.insight.foresight.fleets import NEW, changed, fleet, settled, shown


def strategy(surge: int, unavailable: int) -> dict[str, Any]:
    rolling = {"maxSurge": surge, "maxUnavailable": unavailable}
    return {"rollout": {"strategy": {"type": "RollingUpdate", "rollingUpdate": rolling}}}


def test_a_new_deployment_makes_its_machines() -> None:
    made = fleet(3)
    assert shown(play(made)) == "+new1 +new2 +new3"
    assert sorted(made.machines) == ["workers-new1", "workers-new2", "workers-new3"]


def test_nothing_moves_where_all_is_as_declared() -> None:
    found = play(settled(3))
    assert (found.moves, found.settled, found.blocked) == ((), True, ())


@pytest.mark.parametrize(
    ("allowed", "moves", "most", "least"),
    [
        (strategy(1, 0), "+new4 -new1 +new5 -new2 +new6 -new3", 4, 3),
        (strategy(0, 1), "-new1 +new4 -new2 +new5 -new3 +new6", 3, 2),
        (strategy(3, 0), "+new4 +new5 +new6 -new1 -new2 -new3", 6, 3),
    ],
    ids=["surge", "no surge", "all at once"],
)
def test_an_upgrade_keeps_to_its_strategy(allowed: dict[str, Any], moves: str, most: int, least: int) -> None:
    made = changed(settled(3, **allowed), machine={"version": NEW})
    found = play(made)
    assert shown(found) == moves
    assert found.most == most
    assert found.least == (("MachineDeployment workers", least, 3),)
    assert {each.spec.version for each in made.machines.values()} == {NEW}
    assert len(made.sets) == 1, "sets that are empty go at the end"


def test_growing_and_shrinking() -> None:
    assert shown(play(changed(settled(2), replicas=4))) == "+new3 +new4"
    assert shown(play(changed(settled(4), replicas=1))) == "-new1 -new2 -new3"


def test_machines_that_never_come_up_stop_the_rollout_and_no_more_go() -> None:
    made = changed(settled(3), machine={"version": NEW}).copy(never=["workers-new4"])
    found = play(made)
    assert shown(found) == "+new4"
    assert found.settled
    assert sum(each.status.node_ref is not None for each in made.machines.values()) == 3


def test_a_template_that_is_missing_is_told() -> None:
    made = settled(2)
    reference = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "BoatMachineTemplate", "name": "nowhere"}
    found = play(changed(made, machine={"infrastructureRef": reference}))
    assert found.moves == ()
    assert found.blocked, "somebody waits"
    assert all("MachineDeployment workers" in who for who, _ in found.blocked)


def test_a_paused_cluster_stands_still() -> None:
    made = changed(settled(2), replicas=5)
    spec = msgspec.structs.replace(made.cluster.spec, paused=True)
    made.cluster = msgspec.structs.replace(made.cluster, spec=spec)
    assert play(made).moves == ()


def test_a_copy_is_played_without_touching_the_fleet() -> None:
    made: Fleet = changed(settled(2), machine={"version": NEW})
    before = sorted(made.machines)
    first, second = play(made.copy()), play(made.copy())
    assert shown(first) == shown(second)
    assert sorted(made.machines) == before
    assert made.moves == []


def test_many_machines_come_to_an_end() -> None:
    found = play(changed(settled(60, **strategy(10, 0)), machine={"version": NEW}))
    assert found.settled
    assert len(found.moves) == 120
    assert found.most <= 70
