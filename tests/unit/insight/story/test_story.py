"""Stories: every line in its place, in words."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from nagaya.insight.story.story import story
from nagaya.insight.story.told import Told
from unit.insight.scene import START, Scene

UPID = "UPID:pve2:0001A2B3:00C4D5E6:69A42BCC:qmclone:9000:nagaya@pve!token:"


def lines(scene: Scene, **more: Any) -> list[str]:
    found = story(scene.picture(), **more)
    return [f"{int((each.at - START).total_seconds()):>3} {each.subject}: {each.what}" for each in found]


def test_lives_conditions_and_events_are_one_story() -> None:
    scene = Scene()
    cluster = scene.cluster(("Available", "True", "Available", "", 30), ("Paused", "False", "NotPaused"))
    machine = scene.machine(
        "a",
        None,
        ("InfrastructureReady", "True", "Provisioned", "", 10),
        ("NodeReady", "True", "NodeReady", "", 20),
        ("Ready", "False", "NotReady", "* NodeHealthy:\n  * it is cut off", 20),
        status={"nodeRef": {"name": "node-a"}},
        born=2,
        host=None,
    )
    scene.event(machine, "SuccessfulSetNodeRef", "node-a", 15.5)
    scene.event(cluster, "Provisioned", "Cluster demo is Provisioned", 5)
    assert lines(scene) == [
        "  0 Cluster demo: it was created",
        "  0 SimulatedCluster demo: it was created",
        "  0 SimulatedCluster demo: Ready is True (Provisioned)",
        "  2 Machine a: it was created",
        "  5 Cluster demo: Cluster demo is Provisioned",
        " 10 Machine a: its host is provisioned",
        " 15 Machine a: SuccessfulSetNodeRef: node-a",
        " 20 Machine a: its node node-a is ready",
        " 20 Machine a: it is not ready (NotReady): NodeHealthy: it is cut off",
        " 30 Cluster demo: it is available",
    ]


def test_what_says_nothing_is_not_told() -> None:
    scene = Scene()
    scene.cluster(
        ("ScalingUp", "False", "NotScalingUp", "", 1),
        ("WorkerMachinesReady", "True", "NoReplicas", "", 9),
        ("ScalingDown", "False", "NotScalingDown", "", 9),
    )
    said = [each for each in lines(scene) if " Cluster demo" in each]
    assert said == ["  0 Cluster demo: it was created", "  9 Cluster demo: ScalingDown is False (NotScalingDown)"]


def test_only_what_is_since_then() -> None:
    scene = Scene()
    scene.cluster(("Available", "True", "Available", "", 30))
    assert lines(scene, since=START + timedelta(seconds=29)) == [" 30 Cluster demo: it is available"]


def test_the_story_of_a_machine_is_that_of_its_objects() -> None:
    scene = Scene()
    scene.cluster()
    for name in ("a", "b"):
        machine = scene.machine(name, None, ("Ready", "True", "Ready", "", 5))
        scene.event(machine, "Told", f"of {name} a thing", 6)
    assert {each.split(":")[0][4:] for each in lines(scene, machine="a")} == {"Machine a", "SimulatedMachine a"}


def test_a_deletion_says_what_it_waits_for() -> None:
    scene = Scene()
    scene.cluster(deleting=40)
    assert lines(scene)[-1] == " 40 Cluster demo: it is being deleted and waits for: example.com/finalizer"


def test_an_event_that_came_often_says_so() -> None:
    scene = Scene()
    cluster = scene.cluster()
    series = {"count": 7, "lastObservedTime": "2026-03-01T12:05:00.000000Z"}
    scene.event(cluster, "Failed", "It went wrong", 60, type="Warning", series=series)
    (last,) = story(scene.picture(), since=START + timedelta(seconds=61))
    assert last.what == "It went wrong (7 times since 12:01:00)"
    assert last.warning


def test_tasks_are_told_by_their_names_and_by_what_proxmox_says_of_them() -> None:
    scene = Scene()
    scene.cluster()
    scene.add("ProxmoxMachine", "a", status={"taskRef": UPID})
    began = [each for each in story(scene.picture()) if each.task]
    assert [each.what for each in began] == ["task qmclone of VM 9000 began on host pve2"]
    told = {UPID: Told("failed: storage 'local-lvm' is full", failed=True, log=("cloning", "TASK ERROR: full"))}
    (ended,) = (each for each in story(scene.picture(), told=told) if each.task)
    assert ended.what == "task qmclone of VM 9000 began on host pve2 and failed: storage 'local-lvm' is full"
    assert ended.warning
    assert ended.document()["log"] == ["cloning", "TASK ERROR: full"]


def test_tasks_that_are_over_are_told_with_what_they_were_for() -> None:
    scene = Scene()
    scene.cluster()
    clone, start = UPID, UPID.replace(":qmclone:9000:", ":qmstart:104:").replace("69A42BCC", "69A42BDC")
    machine = scene.add("ProxmoxMachine", "a", status={"taskRef": start})
    scene.event(machine, "TaskBegun", f"The machine goes to pve2, cloned from template 9000. ({clone})", 1)
    scene.event(machine, "TaskBegun", f"The VM is started on pve2. ({start})", 17)
    told = {clone: Told("succeeded"), start: Told("runs still")}
    assert [each.what for each in story(scene.picture(), told=told) if each.kind == "ProxmoxMachine"][1:] == [
        "The machine goes to pve2, cloned from template 9000; task qmclone of VM 9000 began on host pve2 and succeeded",
        "The VM is started on pve2; task qmstart of VM 104 began on host pve2 and runs still",
    ]


def test_a_task_of_a_storage_is_not_called_one_of_a_vm() -> None:
    scene = Scene()
    scene.cluster()
    scene.add("ProxmoxMachine", "a", status={"taskRef": UPID.replace(":qmclone:9000:", ":imgdel:shared:")})
    (task,) = (each for each in story(scene.picture()) if each.task)
    assert task.what == "task imgdel of storage shared began on host pve2"


def test_a_task_that_several_objects_tell_of_is_told_once() -> None:
    scene = Scene()
    scene.cluster()
    failed = ("VirtualMachineProvisioned", "False", "TaskFailed", f"Task {UPID} failed.", 3)
    machine = scene.add("ProxmoxMachine", "a", failed, status={"taskRef": UPID})
    scene.event(machine, "TaskFailed", f"Task {UPID} failed, and UPID:cut off is none.", 4)
    assert len([each for each in story(scene.picture()) if each.task]) == 1


def test_the_same_picture_tells_the_same_lines() -> None:
    scene = Scene()
    scene.event(scene.cluster(), "Told", "of it a thing", 1)
    first, again = story(scene.picture()), story(scene.picture())
    assert [each.identity for each in first] == [each.identity for each in again]
    assert len({each.identity for each in first}) == len(first)
