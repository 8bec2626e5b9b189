"""Trees of clusters as they are printed into a pipe."""

from __future__ import annotations

from datetime import timedelta

from nagaya.cli.output.tree import tree_table
from nagaya.insight.tree.document import document
from nagaya.insight.tree.shown import Shown
from nagaya.insight.tree.tree import tree
from unit.insight.scene import CORE, START, Scene, reference

WAITS = ("Ready", "False", "NotReady", "* InfrastructureReady: The machine boots.", 10)


def drawn(scene: Scene, shown: Shown | None = None) -> list[str]:
    """The lines without the columns of numbers, each part two spaces from the next."""
    table = tree_table(tree(scene.picture(), shown or Shown()), START + timedelta(seconds=60))
    return ["  ".join(line.split("  ")).rstrip() for line in table.plain().splitlines()]


def names(scene: Scene, shown: Shown | None = None) -> list[str]:
    """The first column."""
    table = tree_table(tree(scene.picture(), shown or Shown()), START)
    return [row[0].whole for row in table.rows]


def test_a_cluster_that_is_well() -> None:
    scene = Scene()
    counts = {"desiredReplicas": 2, "replicas": 2, "readyReplicas": 2, "availableReplicas": 2, "upToDateReplicas": 2}
    scene.cluster(status={"workers": counts})
    workers = scene.deployment()
    scene.machine("demo-workers-x-a", workers)
    scene.machine("demo-workers-x-b", workers)
    assert tree_table(tree(scene.picture()), START + timedelta(seconds=60)).plain() == (
        "NAME                                                 REPLICAS  AVAILABLE  READY  UP TO DATE  STATUS  REASON       SINCE  MESSAGE\n"  # noqa: E501 - a golden table
        "Cluster default/demo (simulated)                     2/2       2          2      2           True    Available    60s\n"  # noqa: E501 - a golden table
        "├─SimulatedCluster default/demo (simulated)                                                  True    Provisioned  60s\n"  # noqa: E501 - a golden table
        "└─Workers\n"
        "  └─MachineDeployment default/demo-workers, v1.36.3  2/2       2          2      2           True    Available    60s\n"  # noqa: E501 - a golden table
        "    └─2 Machines... (simulated)                                2          2      2           True    Ready        60s    See demo-workers-x-a, demo-workers-x-b\n"  # noqa: E501 - a golden table
    )


def test_machines_are_one_line_only_if_the_same_is_wrong_with_them() -> None:
    scene = Scene()
    scene.cluster()
    workers = scene.deployment(4)
    full = ("Ready", "False", "NotReady", "* InfrastructureReady: The storage is full.", 10)
    waiting = ("Ready", "False", "Booting")
    scene.machine("a", workers, WAITS, host=waiting)
    scene.machine("b", workers, WAITS, host=waiting)
    scene.machine("c", workers, full, host=("Ready", "False", "NoSuitableHost", "The storage is full."))
    assert names(scene)[4:] == [
        "    ├─2 Machines... (simulated)",
        "    └─Machine default/c, v1.36.3 (simulated)",
        "      └─SimulatedMachine default/c (simulated)",
    ]
    assert "See a, b: * InfrastructureReady: The machine boots." in "\n".join(drawn(scene))


def test_without_grouping_each_machine_has_its_line() -> None:
    scene = Scene()
    scene.cluster()
    workers = scene.deployment()
    scene.machine("a", workers)
    scene.machine("b", workers)
    assert names(scene, Shown(grouping=False))[4:] == [
        "    ├─Machine default/a, v1.36.3 (simulated)",
        "    └─Machine default/b, v1.36.3 (simulated)",
    ]


def test_what_is_being_deleted_says_so_and_stands_for_itself() -> None:
    scene = Scene()
    scene.cluster()
    workers = scene.deployment()
    scene.machine("a", workers, deleting=20, host=None)
    scene.machine("b", workers)
    assert names(scene)[4:] == [
        "    ├─Machine default/a, v1.36.3 (deleting, simulated)",
        "    └─Machine default/b, v1.36.3 (simulated)",
    ]


def test_an_object_that_is_named_and_does_not_exist_is_shown() -> None:
    scene = Scene()
    scene.cluster()
    scene.machine("a", None, WAITS, host=None)
    assert names(scene)[-1] == "      └─SimulatedMachine default/a"
    assert "NotFound" in drawn(scene)[-1]


def test_a_deployment_without_machines_is_shown() -> None:
    scene = Scene()
    scene.cluster()
    scene.deployment(0)
    assert names(scene)[-2:] == ["└─Workers", "  └─MachineDeployment default/demo-workers, v1.36.3"]


def test_a_control_plane_of_another_provider_is_counted_by_its_contract() -> None:
    scene = Scene()
    scene.cluster(spec={"controlPlaneRef": reference("BoatPlane", "demo", "boats.example.com")})
    scene.add(
        "BoatPlane",
        "demo",
        ("Ready", "True", "Sails"),
        version="boats.example.com/v1",
        labels={},
        spec={"version": "v1.36.3", "replicas": 3},
        status={"replicas": 2, "readyReplicas": 1},
    )
    scene.machine("p", None, labels={"cluster.x-k8s.io/cluster-name": "demo", "cluster.x-k8s.io/control-plane": ""})
    found = document(tree(scene.picture()))["children"][0]
    assert found["machines"] == {"desired": 3, "replicas": 2, "ready": 1}
    assert found["condition"]["reason"] == "Sails"
    assert [each["name"] for each in found["children"]] == ["p"]


def test_conditions_are_shown_of_what_is_asked_for() -> None:
    scene = Scene()
    scene.cluster(("Available", "True", "Available"), ("Paused", "False", "NotPaused"), ("Deleting", "True", "X"))
    assert [each.strip("│├└─ ") for each in names(scene, Shown(("Cluster",)))][1:4] == [
        "Available",
        "Paused",
        "Deleting",
    ]
    assert [each.strip("│├└─ ") for each in names(scene, Shown(("cluster/demo!",)))][1:3] == ["Available", "Deleting"]
    assert len(names(scene, Shown(("Machine",)))) == 2


def test_machine_sets_are_shown_on_demand_and_those_made_by_hand_always() -> None:
    scene = Scene()
    scene.cluster()
    scene.machine("a", scene.deployment())
    scene.add("MachineSet", "by-hand", version=CORE, spec={"clusterName": "demo"})
    assert [each.strip("│├└─ ").split(",")[0] for each in names(scene, Shown(machine_sets=True))][3:6] == [
        "MachineDeployment default/demo-workers",
        "MachineSet default/demo-workers-x",
        "Machine default/a",
    ]
    assert "MachineSet default/by-hand" in "\n".join(names(scene))


def test_objects_of_a_machine_that_say_nothing_new_are_left_out_unless_asked_for() -> None:
    scene = Scene()
    scene.cluster()
    scene.machine("a")
    assert not any("SimulatedMachine" in each for each in names(scene))
    assert any("SimulatedMachine default/a" in each for each in names(scene, Shown(echo=True)))


def test_conditions_that_cannot_be_read_are_told_as_that() -> None:
    scene = Scene()
    scene.cluster()
    scene.objects[-1].raw["status"]["conditions"] = [{"type": "Ready", "status": "Maybe"}]
    assert "Unreadable" in drawn(scene)[2]
