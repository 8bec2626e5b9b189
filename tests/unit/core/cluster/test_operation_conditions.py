from __future__ import annotations

from collections.abc import Callable

import pytest

from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.meta import Condition
from nagaya.core.cluster.operation_conditions import rolling_out, scaling_down, scaling_up
from nagaya.core.cluster.seen import Seen
from support.builders import machine_deployment, machine_set
from support.seen_cluster import bare_cluster, control_plane, grown_cluster, seen

ALL = [("RollingOut", rolling_out), ("ScalingUp", scaling_up), ("ScalingDown", scaling_down)]
Compute = Callable[[Seen], Condition]


def told(condition: Condition) -> tuple[str, str, str, str]:
    return condition.type, condition.status, condition.reason, condition.message


@pytest.mark.parametrize(("type", "compute"), ALL)
def test_an_operation_is_told_from_all_that_report_it(type: str, compute: Compute) -> None:
    view = seen(
        grown_cluster(),
        None,
        control_plane().reporting(type, "True", message="of 3 replicas"),
        deployments=[
            machine_deployment("one").reporting(type, "True", message="of 5 replicas"),
            machine_deployment("two").reporting(type, "False"),
            machine_deployment("three"),
        ],
    )
    assert told(compute(view)) == (
        type,
        "True",
        type,
        "* BoatControlPlane harbour: of 3 replicas\n* MachineDeployment one: of 5 replicas\n"
        f"* MachineDeployment three: Condition {type} not yet reported",
    )


@pytest.mark.parametrize(("type", "compute"), ALL)
def test_a_control_plane_that_tells_nothing_is_left_out(type: str, compute: Compute) -> None:
    assert told(compute(seen(grown_cluster(), None, control_plane()))) == (type, "False", f"Not{type}", "")
    broken = control_plane().having(status={"conditions": [{"type": type}]})
    assert told(compute(seen(grown_cluster(), None, broken))) == (type, "False", f"Not{type}", "")


@pytest.mark.parametrize(("type", "compute"), ALL)
def test_without_anything_there_is_no_operation(type: str, compute: Compute) -> None:
    assert told(compute(seen(bare_cluster()))) == (type, "False", f"Not{type}", "")
    assert told(compute(seen(grown_cluster()))) == (type, "False", f"Not{type}", "")


@pytest.mark.parametrize(("type", "compute"), ALL)
def test_a_control_plane_that_cannot_be_read_leaves_it_open(type: str, compute: Compute) -> None:
    view = seen(grown_cluster(), None, "no contract")
    assert told(compute(view)) == (type, "Unknown", "InternalError", "no contract")


@pytest.mark.parametrize(("type", "compute"), ALL)
def test_deployments_that_tell_nothing_leave_it_open(type: str, compute: Compute) -> None:
    view = seen(grown_cluster(), deployments=[machine_deployment("one")])
    message = f"* MachineDeployment one: Condition {type} not yet reported"
    assert told(compute(view)) == (type, "Unknown", f"{type}Unknown", message)


def test_sets_on_their_own_tell_of_scaling_only() -> None:
    owner = grown_cluster().made()
    alone = machine_set("alone", "").owned_by(owner, CLUSTERS)
    for type in ("RollingOut", "ScalingUp", "ScalingDown"):
        alone = alone.reporting(type, "True", message="of 2 replicas")
    managed = machine_set("managed").reporting("ScalingUp", "True", message="of 9 replicas")
    view = seen(grown_cluster(), sets=[alone, managed])
    assert told(scaling_up(view)) == ("ScalingUp", "True", "ScalingUp", "* MachineSet alone: of 2 replicas")
    assert told(scaling_down(view)) == ("ScalingDown", "True", "ScalingDown", "* MachineSet alone: of 2 replicas")
    assert told(rolling_out(view)) == ("RollingOut", "False", "NotRollingOut", "")
