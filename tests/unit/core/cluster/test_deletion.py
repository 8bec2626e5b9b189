from __future__ import annotations

import itertools

from nagaya.api.cluster.cluster import CLUSTERS, Cluster
from nagaya.api.cluster.machine_set import MACHINE_SETS
from nagaya.core.cluster.deletion import Deletion, deletion
from support.builders import Draft, machine, machine_deployment, machine_set
from support.seen_cluster import bare_cluster, control_plane, grown_cluster, infrastructure, seen
from support.subtest_cases import subtest_cases

GOING = grown_cluster().deleting()
OWNER = GOING.made()


def doomed(step: Deletion) -> list[str]:
    return [f"{each.kind.kind} {each.object.metadata.name}" for each in step.delete]


def test_workers_go_first_and_only_what_the_cluster_owns_is_deleted_by_it() -> None:
    deployed = machine_set("workers-1")
    step = deletion(
        seen(
            GOING,
            infrastructure(),
            control_plane(),
            deployments=[machine_deployment().owned_by(OWNER, CLUSTERS)],
            sets=[deployed, machine_set("alone", "").owned_by(OWNER, CLUSTERS)],
            workers=[machine("a").owned_by(deployed.made(), MACHINE_SETS), machine("b").owned_by(OWNER, CLUSTERS)],
            control_plane_machines=[machine("cp").control_plane()],
        )
    )
    assert step.reason == "WaitingForWorkersDeletion"
    assert step.message == ("* MachineDeployments: workers\n* MachineSets: alone, workers-1\n* Worker Machines: a, b")
    assert doomed(step) == ["MachineDeployment workers", "MachineSet alone", "Machine b"]


def test_what_is_going_already_is_not_deleted_again() -> None:
    step = deletion(seen(GOING, workers=[machine("a").owned_by(OWNER, CLUSTERS).deleting()]))
    assert step.reason == "WaitingForWorkersDeletion"
    assert step.delete == ()


def test_five_names_are_shown() -> None:
    step = deletion(seen(GOING, workers=[machine(name) for name in "gfedcba"]))
    assert step.message == "* Worker Machines: a, b, c, d, e, ... (2 more)"


def test_machines_of_a_control_plane_without_an_object_go_with_the_workers() -> None:
    alone = bare_cluster().deleting()
    machines = [machine("cp").control_plane().owned_by(alone.made(), CLUSTERS)]
    step = deletion(seen(alone, control_plane_machines=machines))
    assert step.message == "* Control plane Machines: cp"
    assert doomed(step) == ["Machine cp"]


def test_the_control_plane_goes_before_the_infrastructure() -> None:
    step = deletion(seen(GOING, infrastructure(), control_plane(), control_plane_machines=[machine("cp")]))
    assert (step.reason, step.message) == (
        "WaitingForControlPlaneDeletion",
        "Waiting for BoatControlPlane to be deleted",
    )
    assert doomed(step) == ["BoatControlPlane harbour"]
    step = deletion(seen(GOING, infrastructure()))
    assert (step.reason, step.message) == (
        "WaitingForInfrastructureDeletion",
        "Waiting for BoatCluster to be deleted",
    )
    assert doomed(step) == ["BoatCluster harbour"]
    assert doomed(deletion(seen(GOING, infrastructure().deleting()))) == []


def test_nothing_is_left_behind_because_it_could_not_be_read() -> None:
    step = deletion(seen(GOING, "the CRD says nothing of a contract"))
    assert (step.reason, step.message) == ("InternalError", "the CRD says nothing of a contract")
    assert not step.completed


def test_in_the_end_the_cluster_goes() -> None:
    step = deletion(seen(GOING))
    assert step.completed
    assert (step.reason, step.message) == ("DeletionCompleted", "Deletion completed")


STATES = ("there", "going", "gone", "unreadable")


@subtest_cases(
    ("workers", "sets", "deployments", "machines", "floor", "plane", "with_plane"),
    itertools.product(*[[False, True]] * 4, STATES, STATES, [False, True]),
)
def test_the_order_holds_whatever_is_there(
    workers: bool, sets: bool, deployments: bool, machines: bool, floor: str, plane: str, with_plane: bool
) -> None:
    subject: Draft[Cluster] = GOING if with_plane else GOING.having(spec={"controlPlaneRef": None})
    objects = {"there": infrastructure(), "going": infrastructure().deleting(), "gone": None, "unreadable": "?"}
    planes = {"there": control_plane(), "going": control_plane().deleting(), "gone": None, "unreadable": "?"}
    step = deletion(
        seen(
            subject,
            objects[floor],
            planes[plane],
            deployments=[machine_deployment().owned_by(OWNER, CLUSTERS)] if deployments else [],
            sets=[machine_set().owned_by(OWNER, CLUSTERS)] if sets else [],
            workers=[machine("a").owned_by(OWNER, CLUSTERS)] if workers else [],
            control_plane_machines=[machine("cp").owned_by(OWNER, CLUSTERS)] if machines else [],
        )
    )
    workers_left = workers or sets or deployments or (machines and not with_plane)
    plane_left = with_plane and plane != "gone"
    kinds = {each.kind.kind for each in step.delete}
    assert step.completed == (not workers_left and not plane_left and floor == "gone")
    assert not (kinds & {"BoatControlPlane", "BoatCluster"} and workers_left)
    assert not ("BoatCluster" in kinds and plane_left)
    assert step.message
