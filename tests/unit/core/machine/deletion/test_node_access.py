from __future__ import annotations

import pytest

from nagaya.core.machine.deletion.node_access import node_access, node_name
from nagaya.core.machine.seen import Seen
from support.builders import CONTROL_PLANE, cluster, machine, provider
from support.deletion_seen import CONTROL_PLANE_MACHINE, WORKER, going
from support.machine_seen import node
from support.subtest_cases import subtest_cases

PROVIDER = provider(CONTROL_PLANE, "harbour")
EXTERNAL = PROVIDER.having(status={"externalManagedControlPlane": True})


@subtest_cases(
    ("view", "why_not"),
    [
        (going(cluster=cluster().deleting()), "cluster is being deleted"),
        (going(machine("a").deleting(), nodes=None), "noderef is nil"),
        (going(machine("a").deleting(), nodes=()), "noderef is nil"),
        (going(machine("a").provisioned().deleting(), nodes=(node(), node("other"))), "noderef is nil"),
        (going(control_plane=PROVIDER.deleting()), "control plane is being deleted"),
        (going(control_plane=EXTERNAL.deleting()), "control plane is being deleted"),
        (going(others=()), "no control plane members"),
        (going(others=(CONTROL_PLANE_MACHINE.deleting(),)), "no control plane members"),
        (going(others=(machine("b").running(),)), "no control plane members"),
        (going(CONTROL_PLANE_MACHINE.deleting(), others=()), "no control plane members"),
    ],
)
def test_a_node_is_left_alone_when_nobody_is_left_to_care(view: Seen, why_not: str) -> None:
    access = node_access(view)
    assert (access.allowed, access.why_not, access.problem) == (False, why_not, "")


@pytest.mark.parametrize(
    "view",
    [
        going(),
        going(control_plane=None),
        going(control_plane=EXTERNAL, others=()),
        going(control_plane=PROVIDER.having(status={"externalManagedControlPlane": "yes"})),
        going(CONTROL_PLANE_MACHINE.deleting(), others=(machine("cp2").control_plane(),)),
    ],
)
def test_a_node_of_a_cluster_that_goes_on_is_drained_and_deleted(view: Seen) -> None:
    assert node_access(view).allowed


def test_a_control_plane_that_cannot_be_looked_at_decides_nothing() -> None:
    access = node_access(going(control_plane="Nobody serves it."))
    assert (access.allowed, access.problem) == (False, "Nobody serves it.")


def test_the_node_is_found_by_provider_id_if_the_machine_does_not_know_it_yet() -> None:
    assert node_name(going(machine("a").provisioned().deleting())) == "node-a"
    assert node_name(going(WORKER.having(status={"nodeRef": {"name": "told"}}))) == "told"
