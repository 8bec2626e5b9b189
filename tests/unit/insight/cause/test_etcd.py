"""Remedies that would cost the data of a cluster say so first, or advise against it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from nagaya.api.cluster.labels import CONTROL_PLANE
from nagaya.api.untyped import Untyped
from nagaya.insight.cause.etcd import costs_machine, even_members, odd_members
from nagaya.insight.cause.explanation import explain
from nagaya.insight.cause.leaf import missing
from nagaya.insight.cause.remedies import REMEDIES
from nagaya.insight.cause.surroundings import Lead, Surroundings
from nagaya.insight.picture.member import member
from unit.insight.scene import CORE, LABEL, START, Condition, Scene, reference

KUBEADM = "controlplane.cluster.x-k8s.io/v1beta2"
OFF = ("Ready", "False", "HostUnreachable", "Host pve1 is off.")
EXTERNAL = {"clusterConfiguration": {"etcd": {"external": {"endpoints": ["https://10.0.0.5:2379"]}}}}
COSTLY = sorted(key for key, text in REMEDIES.items() if "elet" in text + "elease" and key[0] == "ProxmoxMachine")


def machine(
    scene: Scene, name: str, owner: Untyped, reason: str, *, healthy: bool, plane: bool = True, **more: Any
) -> None:
    """A Machine on a ProxmoxMachine. Whatever is wrong is said by the latter."""
    labels = {LABEL: "demo"} | ({CONTROL_PLANE: ""} if plane else {})
    good = ("EtcdMemberHealthy", "True" if healthy else "Unknown", "Healthy" if healthy else "InspectionFailed")
    mirrored = ("InfrastructureReady", "False", reason) if reason else ("InfrastructureReady", "True", "Ready")
    ready = ("Ready", "False" if reason else "True", "NotReady" if reason else "Ready")
    spec = {"clusterName": "demo", "infrastructureRef": reference("ProxmoxMachine", name)}
    made = scene.add(
        "Machine", name, ready, mirrored, good, version=CORE, owner=owner, labels=labels, spec=spec,
        **more.get("going", {}),
        status={"nodeRef": {"name": name}} if more.get("joined", True) else {},
    )  # fmt: skip
    told = [("Ready", "False", reason, "Host pve1 is off.")] if reason else [("Ready", "True", "Ready")]
    if going := more.get("going", {}):
        told = [("Deleting", "True", reason, "Host pve1 is off.")]
    scene.add("ProxmoxMachine", name, *told, owner=made, **going)


def control_plane(
    *healthy: bool, reason: str = "HostUnreachable", external: bool = False, told: Sequence[Condition] = (),
    going: Mapping[str, int] | None = None, **more: Any
) -> Scene:  # fmt: skip
    """A cluster whose control plane has a machine for each value. The first one's host is off."""
    scene = Scene()
    cluster = scene.cluster(
        ("Available", "False", "NotAvailable"), ("ControlPlaneInitialized", "True", "Initialized"), *told,
        spec={"controlPlaneRef": reference("KubeadmControlPlane", "demo", "controlplane.cluster.x-k8s.io")}, **more,
    )  # fmt: skip
    spec = {"replicas": len(healthy), "kubeadmConfigSpec": EXTERNAL if external else {}}
    plane = scene.add("KubeadmControlPlane", "demo", version=KUBEADM, owner=cluster, spec=spec)
    for number, good in enumerate(healthy):
        machine(
            scene, f"cp-{number}", plane, "" if number else reason, healthy=good, going={} if number else going or {}
        )
    return scene


def remedy(scene: Scene, name: str = "cp-0", leads: tuple[Lead, ...] = ()) -> str:
    picture = scene.picture()
    subject = picture.named("Machine", name)
    assert subject is not None
    (cause, *_) = explain(Surroundings(picture, START + timedelta(hours=1), leads), subject).causes
    return cause.remedy


@pytest.mark.parametrize("reason", [reason for _, reason in COSTLY])
def test_the_only_copy_of_etcd_is_never_deleted_or_released(reason: str) -> None:
    said = remedy(control_plane(False, reason=reason))
    assert said.startswith("Do not delete or release Machine cp-0: it has the only copy of the cluster's data (etcd)")
    assert "restore a snapshot of etcd" in said
    assert "to Release" not in said
    assert "Delete the Machine" not in said


DELETES = re.compile(r"\b(?:delet(?:e|ing)|release|remove)\b", re.I)
COST = re.compile(r"\bdata\b|\blost\b|would be given to another|Whoever set|does not replace it")


@pytest.mark.parametrize("key", sorted(key for key, text in REMEDIES.items() if DELETES.search(text)))
def test_advice_that_deletes_says_what_it_costs(key: tuple[str, str]) -> None:
    """For machines the caution adds it, by what is known of their etcd: it has to recognise the advice."""
    kind, _ = key
    text = REMEDIES[key]
    assert costs_machine(text) if kind.endswith("Machine") and not COST.search(text) else COST.search(text)


def test_the_members_that_are_left_are_kept_where_two_of_three_are_lost() -> None:
    said = remedy(control_plane(False, False, True))
    assert "Keep the disks of the other members, too" in said
    assert "backup of the VM" not in said, "an old copy of one of several members is none of etcd"


def test_an_object_without_its_cluster_is_not_deleted_lightly() -> None:
    scene = Scene()
    scene.cluster()
    plane = member(scene.add("KubeadmControlPlane", "demo", version=KUBEADM, labels={LABEL: "gone"}))
    picture = replace(scene.picture(), cluster=plane)
    (cause,) = missing(Surroundings(picture, START, cluster_name="gone"), plane)
    assert cause.remedy.startswith("Create Cluster gone, or restore it from a backup. Deleting")
    assert "the data of that" in cause.remedy


def test_what_helps_without_a_loss_is_still_advised() -> None:
    assert "Bring the host back." in remedy(control_plane(False))


@pytest.mark.parametrize("healthy", [(False, False, True), (False, False, False), (True, False, True), (False, True)])
def test_a_member_without_which_etcd_has_no_majority_is_kept(healthy: tuple[bool, ...]) -> None:
    said = remedy(control_plane(*healthy))
    assert said.startswith("Do not delete or release Machine cp-0: etcd has no majority without it")
    assert "Release" not in said


def test_a_member_is_healthy_only_as_long_as_nothing_says_that_this_is_old() -> None:
    """When two of three hosts go off, what was known of etcd stays for five minutes."""
    two = control_plane(False, True, True)
    two.objects = [each for each in two.objects if each.metadata.name != "cp-1"]
    (plane,) = [each for each in two.objects if each.kind == "KubeadmControlPlane"]
    machine(two, "cp-1", plane, "HostUnreachable", healthy=True)
    assert remedy(two).startswith("Do not delete or release Machine cp-0: etcd has no majority without it (1 of 3")
    silent = control_plane(False, True, True, told=[("RemoteConnectionProbe", "False", "ProbeFailed")])
    assert remedy(silent).startswith("Do not delete or release Machine cp-0")
    alone = Lead("nagaya-system/nagaya-controllers", "", None, 15)
    assert remedy(control_plane(False, True, True), leads=(alone,)).startswith("Do not delete or release Machine cp-0")


def test_a_member_that_is_not_needed_for_the_majority_may_go_and_its_disks_are_named() -> None:
    said = remedy(control_plane(False, True, True))
    assert said.startswith("Deleting or releasing the Machine gives up the data on its disks.")
    assert "keeps a majority of 2 healthy members of 3" in said
    assert "to Release" in said


def test_a_worker_may_go_and_its_disks_are_named() -> None:
    scene = control_plane(True)
    machine(scene, "worker", scene.deployment(), "HostUnreachable", healthy=False, plane=False)
    said = remedy(scene, "worker")
    assert said.startswith("Deleting or releasing the Machine gives up the data on its disks. Bring the host back.")
    assert "etcd" not in said


def test_etcd_elsewhere_is_not_lost_with_a_machine() -> None:
    assert "Do not delete" not in remedy(control_plane(False, external=True))


def test_a_machine_that_has_never_joined_has_nothing_to_lose() -> None:
    scene = control_plane(True)
    machine(scene, "new", scene.deployment(), "CloudInitFailed", healthy=False, plane=False, joined=False)
    assert remedy(scene, "new") == REMEDIES["ProxmoxMachine", "CloudInitFailed"]


@pytest.mark.parametrize("reason", ["WaitingForHost", "DeletionFailed"])
def test_the_only_copy_of_etcd_is_saved_before_its_host_is_brought_back(reason: str) -> None:
    """Somebody has deleted its Machine: the VM is destroyed as soon as its host is back."""
    going = {"deleting": 10}
    scene = control_plane(False, reason=reason, going=going)
    said = remedy(scene)
    pause = "kubectl annotate proxmoxmachine.infrastructure.cluster.x-k8s.io cp-0 -n default cluster.x-k8s.io/paused="
    assert said.index(pause) < said.index("bring the machine back")
    assert "Release" not in said
    assert pause not in remedy(control_plane(False, reason=reason, going=going, deleting=10)), "the user wants that"
    assert pause not in remedy(control_plane(False, True, True, reason=reason, going=going)), "its member is out"


def test_a_cluster_that_is_to_go_is_not_held_back() -> None:
    assert "Do not delete" not in remedy(control_plane(False, deleting=10))


@pytest.mark.parametrize(
    ("replicas", "external", "even"), [(0, 0, 1), (1, 0, 0), (2, 0, 1), (3, 0, 0), (4, 0, 1), (2, 1, 0)]
)
def test_an_even_number_of_etcd_members_is_a_cause_with_the_command_that_adds_one(
    replicas: int, external: bool, even: bool
) -> None:
    scene = Scene()
    cluster = scene.cluster()
    spec = {"replicas": replicas, "kubeadmConfigSpec": EXTERNAL if external else {}}
    told = ("Available", "True", "Available")
    plane = scene.add("KubeadmControlPlane", "demo", told, version=KUBEADM, owner=cluster, spec=spec)
    found = explain(Surroundings(scene.picture(), START), member(plane))
    assert bool(even_members(member(plane))) == bool(even)
    assert found.well is not bool(even)
    if even:
        (cause,) = found.causes
        assert (f"no more failures than {replicas - 1} would" if replicas else "has no etcd") in cause.headline
        assert f"--replicas {replicas + 1}" in odd_members(member(plane))
        assert odd_members(member(plane)) in cause.remedy
