"""From an object to its causes: the deepest one is found, whichever way leads to it, and nothing is made up."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from nagaya.api.cluster.annotations import PAUSED, PRE_DRAIN_DELETE_HOOK_PREFIX
from nagaya.api.proxmox.proxmox_connection import FINALIZER
from nagaya.api.untyped import Untyped
from nagaya.insight.cause.cause import Weight
from nagaya.insight.cause.explanation import Explanation, explain
from nagaya.insight.cause.surroundings import Lead, Surroundings
from nagaya.insight.story.told import Told
from unit.insight.scene import CORE, START, Scene, reference

UPID = "UPID:pve2:0001A2B3:00C4D5E6:69A42BCC:qmclone:104:nagaya@pve!token:"
NOT = ("Available", "False", "NotAvailable", "", 10)
LONG = timedelta(hours=1)


def why(scene: Scene, kind: str = "Cluster", name: str = "demo", after: timedelta = LONG, **more: Any) -> Explanation:
    """The explanation of an object, so long after the scene began."""
    picture = scene.picture()
    subject = picture.named(kind, name)
    assert subject is not None
    return explain(Surroundings(picture, START + after, **more), subject)


def proxmox(scene: Scene, name: str, owner: Untyped, reason: str, message: str, **more: Any) -> Untyped:
    """A Machine of a set on a ProxmoxMachine that is not provisioned."""
    spec = {"clusterName": "demo", "infrastructureRef": reference("ProxmoxMachine", name)}
    machine = scene.add(
        "Machine", name, ("Ready", "False", "NotReady"), ("InfrastructureReady", "False", reason), version=CORE,
        owner=owner, spec=spec,
    )  # fmt: skip
    told = (("Ready", "False", reason, message), ("VirtualMachineProvisioned", "False", reason, message, 20))
    return scene.add("ProxmoxMachine", name, *told, owner=machine, **more)


def changed(scene: Scene, obj: Untyped, **metadata: Any) -> None:
    """Give an object other metadata."""
    scene.objects.remove(obj)
    scene.objects.append(Untyped({**obj.raw, "metadata": {**obj.raw["metadata"], **metadata}}))


def broken(*names: str, reason: str = "CloningFailed", message: str = "") -> Scene:
    scene = Scene()
    scene.cluster(NOT)
    machine_set = scene.deployment(len(names))
    for name in names:
        proxmox(scene, name, machine_set, reason, message or f"VM of {name} cannot be made")
    return scene


def test_the_chain_leads_to_the_deepest_object_and_leaves_sets_out() -> None:
    found = why(broken("a"))
    (cause,) = found.causes
    assert [each.sentence for each in cause.steps] == [
        "Cluster demo is not available",
        "MachineDeployment demo-workers has machines that are not ready",
        "Machine a is not ready",
        "ProxmoxMachine a says that VirtualMachineProvisioned is False (CloningFailed)",
    ]
    assert cause.headline == "ProxmoxMachine a: VM of a cannot be made"
    assert cause.weight is Weight.FAILED
    assert (found.well, found.summary) == (False, "Cluster default/demo is not available")


def test_a_chain_begins_at_the_object_that_was_asked_for() -> None:
    scene = broken("a")
    assert [each.kind for each in why(scene, "Machine", "a").causes[0].steps] == ["Machine", "ProxmoxMachine"]
    assert [each.kind for each in why(scene, "ProxmoxMachine", "a").causes[0].steps] == ["ProxmoxMachine"]
    kinds = [each.kind for each in why(scene, "MachineSet", "demo-workers-x").causes[0].steps]
    assert kinds == ["MachineSet", "Machine", "ProxmoxMachine"]


def test_equal_causes_of_many_machines_are_one() -> None:
    (cause,) = why(broken("a", "b", "c", "d")).causes
    assert cause.headline.startswith("4 ProxmoxMachines (a, b, c, ... (1 more)): ")
    assert cause.steps[2].sentence == "4 Machines (a, b, c, ... (1 more)) are not ready"
    assert cause.deepest.names == ("a", "b", "c", "d")


def test_different_causes_stay_apart_and_the_most_important_is_first() -> None:
    scene = broken("a")
    machine_set = next(each for each in scene.objects if each.kind == "MachineSet")
    proxmox(scene, "b", machine_set, "Cloning", "The machine goes to pve1.")
    proxmox(scene, "c", machine_set, "TemplateNotFound", "no template has the tags x")
    weights = [each.weight for each in why(scene).causes]
    assert weights == [Weight.HELD, Weight.FAILED, Weight.WORKING]


def test_a_task_that_failed_is_named_with_host_meaning_and_log() -> None:
    said = f"Task qmclone on pve2 failed: clone failed. The log ends: out of space. It is tried again. ({UPID})"
    log = ("create full clone of drive scsi0", "TASK ERROR: zfs error: out of space")
    (cause,) = why(broken("a", message=said), told={UPID: Told("failed: out of space", failed=True, log=log)}).causes
    headline = f"PVE task {UPID} (qmclone) on host pve2 failed: the storage of its disks on host pve2 is full"
    assert cause.headline == headline
    assert (cause.task, cause.log) == (UPID, log)
    assert "Free space there" in cause.remedy
    assert f"Proxmox VE says of task {UPID}: it failed: out of space." in cause.evidence


def test_a_wait_is_followed_across_to_whom_it_is_for() -> None:
    """Workers wait for boot data, that for the control plane, and that for its machine's host."""
    scene = Scene()
    plane = reference("KubeadmControlPlane", "demo", "controlplane.cluster.x-k8s.io")
    scene.cluster(NOT, spec={"controlPlaneRef": plane})
    told = (("Available", "False", "NotAvailable"), ("Initialized", "False", "NotInitialized"))
    kcp = scene.add("KubeadmControlPlane", "demo", *told, version="controlplane.cluster.x-k8s.io/v1beta2")
    first = proxmox(scene, "cp", kcp, "NoSuitableHost", "no host can have the machine now")
    machine_set = scene.deployment(1)
    spec = {
        "clusterName": "demo",
        "infrastructureRef": reference("ProxmoxMachine", "w"),
        "bootstrap": {"configRef": reference("KubeadmConfig", "w", "bootstrap.cluster.x-k8s.io")},
    }
    worker = scene.add("Machine", "w", ("Ready", "False", "NotReady"), version=CORE, owner=machine_set, spec=spec)
    waits = ("VirtualMachineProvisioned", "False", "WaitingForBootstrapData", "Waiting for the Machine.")
    scene.add("ProxmoxMachine", "w", waits, owner=worker)
    awaits = "Waiting for Cluster control plane to be initialized"
    scene.add(
        "KubeadmConfig", "w", ("DataSecretAvailable", "False", "NotAvailable", awaits), owner=worker,
        version="bootstrap.cluster.x-k8s.io/v1beta2",
    )  # fmt: skip
    (cause,) = why(scene).causes
    assert cause.deepest.uid == first.metadata.uid
    assert cause.also == ("MachineDeployment demo-workers",)
    kinds = [each.kind for each in why(scene, "Machine", "w").causes[0].steps]
    assert kinds == ["Machine", "KubeadmConfig", "KubeadmControlPlane", "Machine", "ProxmoxMachine"]


def test_a_hosted_control_plane_leads_to_its_data_store() -> None:
    scene = Scene()
    version = "controlplane.cluster.x-k8s.io/v1alpha1"
    plane = reference("HostedControlPlane", "demo", "controlplane.cluster.x-k8s.io")
    scene.cluster(NOT, spec={"controlPlaneRef": plane})
    told = (
        ("Available", "False", "NotAvailable"),
        ("DataStoreReady", "False", "DataStoreNotReady", "not ready"),
        ("APIServerReady", "False", "WaitingForDataStore"),
    )
    scene.add("HostedControlPlane", "demo", *told, version=version, spec={"dataStoreRef": {"name": "etcd"}})
    (cause,) = why(scene).causes
    assert cause.headline == "HostedControlPlane demo names DataStore etcd in .spec.dataStoreRef, which does not exist"
    unreachable = ("Ready", "False", "Unreachable", "nobody answers at 10.0.0.9:2379")
    scene.add("DataStore", "etcd", unreachable, version=version, labels={}, namespace="")
    (cause,) = why(scene).causes
    assert [each.kind for each in cause.steps] == ["Cluster", "HostedControlPlane", "DataStore"]
    assert cause.headline == "DataStore etcd: nobody answers at 10.0.0.9:2379"
    assert "spec.endpoints" in cause.remedy


def test_one_cause_that_holds_up_everything_is_told_once() -> None:
    scene = Scene()
    infrastructure = reference("ProxmoxCluster", "demo")
    scene.add("Cluster", "demo", NOT, version=CORE, labels={}, spec={"infrastructureRef": infrastructure})
    spec = {"connectionRef": {"name": "pve"}}
    told = (("Ready", "False", "WaitingForProxmox"), ("ProxmoxAvailable", "False", "ConnectionNotReady", "not ready"))
    scene.add("ProxmoxCluster", "demo", *told, spec=spec)
    refused = ("CredentialsAccepted", "False", "Refused", "Proxmox VE refuses the credentials.")
    scene.add("ProxmoxConnection", "pve", refused, ("Ready", "False", "NotReady"), ("Quorate", "Unknown", "Unknown"))
    machine_set = scene.deployment(2)
    for name in ("a", "b"):
        proxmox(scene, name, machine_set, "WaitingForProxmox", "Proxmox VE does not answer")
    (cause,) = why(scene).causes
    assert [each.kind for each in cause.steps] == ["Cluster", "ProxmoxCluster", "ProxmoxConnection"]
    assert cause.headline == "ProxmoxConnection pve: Proxmox VE refuses the credentials"
    assert cause.also == ("MachineDeployment demo-workers",)


def test_an_object_that_is_named_and_not_there_says_who_should_have_made_it() -> None:
    scene = Scene()
    scene.cluster(NOT)
    machine_set = scene.deployment(1)
    scene.machine("a", machine_set, ("Ready", "False", "NotReady"), host=None)
    (cause,) = why(scene).causes
    assert cause.headline == "Machine a names SimulatedMachine a in .spec.infrastructureRef, which does not exist"
    assert "MachineSet demo-workers-x made it together with Machine a" in cause.remedy
    unserved = frozenset({("infrastructure.cluster.x-k8s.io", "SimulatedMachine")})
    (cause,) = why(scene, unserved=unserved).causes
    assert cause.headline.startswith("Nobody serves the kind SimulatedMachine of infrastructure.cluster.x-k8s.io")


def test_a_cluster_that_is_well_has_no_cause() -> None:
    scene = Scene()
    scene.cluster()
    scene.machine("a", scene.deployment(1))
    found = why(scene)
    assert (found.well, found.causes) == (True, ())
    assert found.summary == "Nothing is wrong: Cluster default/demo is available"
    assert found.since == START
    assert "1 of 1 machines are ready." in found.facts


def test_a_part_that_is_not_well_is_told_of_a_cluster_that_says_it_is_available() -> None:
    scene = Scene()
    scene.cluster()
    scene.machine("a", scene.deployment(2), ("Ready", "False", "NotReady"), host=("Ready", "False", "BootFailed", "no"))
    found = why(scene)
    assert found.summary == "Not all is well, though Cluster default/demo is available"
    assert found.causes[0].deepest.kind == "SimulatedMachine"


def test_news_that_have_not_come_through_are_told_only_if_there_is_nothing_else() -> None:
    scene = Scene()
    scene.cluster(("Available", "False", "NotAvailable"), ("InfrastructureReady", "False", "NotReady"))
    soon = timedelta(seconds=5)
    (cause,) = why(scene, after=soon).causes
    assert cause.late
    assert cause.weight is Weight.WORKING
    (cause,) = why(scene).causes
    assert cause.weight is Weight.UNKNOWN, "after an hour it is no matter of a moment any more"
    assert "Start the controllers" in cause.remedy
    scene.machine("a", scene.deployment(1), ("Ready", "False", "NotReady"), host=("Ready", "False", "BootFailed", "no"))
    assert [each.deepest.kind for each in why(scene, after=soon).causes] == ["SimulatedMachine"]


def test_machines_that_cannot_be_made_are_told_although_others_are_on_their_way() -> None:
    scene = Scene()
    scene.cluster(NOT)
    blocked = "Scaling up from 3 to 4 replicas is blocked because BoatTemplate does not exist"
    deployment = scene.add(
        "MachineDeployment",
        "demo-workers",
        ("Available", "False", "NotAvailable"),
        ("RollingOut", "True", "RollingOut", "Rolling out 3 machines"),
        ("ScalingUp", "True", "ScalingUp", blocked),
        version=CORE,
        spec={
            "clusterName": "demo",
            "replicas": 4,
            "template": {"spec": {"infrastructureRef": reference("BoatTemplate", "demo-boats")}},
        },
    )
    machine_set = scene.add("MachineSet", "demo-workers-x", version=CORE, owner=deployment, spec={"replicas": 3})
    scene.machine("a", machine_set, ("Ready", "True", "Ready"), ("UpToDate", "False", "NotUpToDate", "* old"))
    first, second = why(scene).causes
    named = blocked.replace("BoatTemplate", "BoatTemplate demo-boats")
    assert first.headline == f"MachineDeployment demo-workers: {named}"
    assert (first.weight, second.weight) == (Weight.HELD, Weight.WORKING)


def test_machines_that_an_upgrade_has_not_reached_are_to_be_replaced() -> None:
    scene = Scene()
    scene.cluster(("Available", "True", "Available"))
    deployment = scene.add(
        "MachineDeployment",
        "demo-workers",
        ("Available", "True", "Available"),
        ("MachinesUpToDate", "False", "NotUpToDate", "", 7),
        version=CORE,
        spec={"clusterName": "demo", "replicas": 2},
        status={"replicas": 2, "availableReplicas": 2, "upToDateReplicas": 0},
    )
    machine_set = scene.add("MachineSet", "demo-workers-x", version=CORE, owner=deployment, spec={"replicas": 2})
    old = ("UpToDate", "False", "NotUpToDate", "* Version v1.36.3, v1.37.1 required")
    scene.machine("a", machine_set, ("Ready", "True", "Ready"), old)
    (cause,) = (each for each in why(scene).causes if each.deepest.kind == "Machine")
    assert cause.headline == "Machine a is to be replaced: Version v1.36.3, v1.37.1 required"
    scene.machine("b", machine_set, ("Ready", "True", "Ready"), old)
    (cause,) = (each for each in why(scene).causes if each.deepest.kind == "Machine")
    assert cause.headline == "2 Machines (a, b) are to be replaced: Version v1.36.3, v1.37.1 required"
    assert cause.steps[1].sentence == "MachineDeployment demo-workers has 0 of 2 machines up to date"


def test_a_machine_whose_host_went_off_while_it_was_made_says_what_to_do() -> None:
    scene = Scene()
    scene.cluster(NOT)
    off = "Host pve3 is off since 2026-03-01 12:00:00 UTC. The machine goes on when the host is back."
    machine = scene.add(
        "ProxmoxMachine",
        "a",
        ("VirtualMachineProvisioned", "False", "WaitingForProxmox", off),
        ("VirtualMachineHealthy", "Unknown", "HostUnreachable", off),
    )
    (cause,) = why(scene, machine.kind, "a").causes
    assert cause.remedy.startswith("Bring the host back.")
    nobody = ("VirtualMachineProvisioned", "False", "WaitingForProxmox", "no endpoint answers")
    machine = scene.add("ProxmoxMachine", "b", nobody)
    assert "`nagaya proxmox check`" in why(scene, machine.kind, "b").causes[0].remedy


@pytest.mark.parametrize(("minutes", "weight"), [(5, Weight.WORKING), (15, Weight.UNKNOWN)])
def test_what_cannot_be_looked_at_any_more_is_not_on_its_way(minutes: int, weight: Weight) -> None:
    scene = Scene()
    scene.cluster(NOT)
    unseen = ("EtcdMemberHealthy", "Unknown", "InspectionFailed", "Failed to connect to etcd")
    scene.machine("a", None, ("Ready", "Unknown", "ReadyUnknown"), unseen, status={"nodeRef": {"name": "a"}})
    (cause,) = why(scene, "Machine", "a", timedelta(minutes=minutes)).causes
    assert (cause.headline, cause.weight) == ("Machine a: Failed to connect to etcd", weight)


def test_what_is_paused_comes_first_and_its_parts_are_not_called_forgotten() -> None:
    scene = Scene()
    scene.cluster(NOT, spec={"paused": True})
    scene.deployment(1)
    found = why(scene)
    assert found.causes[0].headline.startswith("Cluster demo is paused (spec.paused is true)")
    part = why(scene, "MachineDeployment", "demo-workers").causes[0]
    assert part.steps[0].sentence == "MachineDeployment demo-workers is left alone"
    scene = Scene()
    changed(scene, scene.cluster(NOT), annotations={PAUSED: ""})
    assert PAUSED in why(scene).causes[0].remedy


def test_a_deletion_leads_to_what_holds_it() -> None:
    scene = Scene()
    scene.cluster(deleting=5)
    machine_set = scene.deployment(1)
    for each in [each for each in scene.objects if each.kind in ("MachineDeployment", "MachineSet")]:
        changed(scene, each, deletionTimestamp="2026-03-01T12:00:06Z")
    message = "Drain not completed yet: * Pod a/b: cannot evict pod as it would violate the pod's disruption budget."
    scene.machine("a", machine_set, ("Deleting", "True", "DrainingNode", message, 7), deleting=6)
    found = why(scene)
    assert found.summary == "Cluster default/demo is being deleted"
    cause = found.causes[0]
    assert [each.kind for each in cause.steps] == ["Cluster", "MachineDeployment", "Machine"]
    assert cause.weight is Weight.HELD
    assert "PodDisruptionBudget" in cause.remedy
    assert "example.com/finalizer (not known here)" in " ".join(cause.evidence)


def test_a_connection_that_is_deleted_says_which_clusters_hold_it_and_that_there_is_no_way_back() -> None:
    scene = Scene()
    scene.cluster()
    told = "The connection stays until what needs it to clean up is gone: ProxmoxCluster default/shop."
    connection = scene.add("ProxmoxConnection", "lab", ("Ready", "False", "Deleting", told, 7), deleting=6)
    changed(scene, connection, finalizers=[FINALIZER])
    (cause,) = why(scene, "ProxmoxConnection", "lab").causes
    assert cause.weight is Weight.HELD
    assert "clean up is gone: ProxmoxCluster default/shop" in cause.headline
    assert cause.remedy.startswith("A deletion cannot be taken back, and clusters still need the connection: ")
    assert "`nagaya proxmox connect` makes it anew" in cause.remedy


def test_programs_that_are_missing_are_told_with_the_command_for_that_version() -> None:
    scene = Scene()
    plane = reference("HostedControlPlane", "demo", "controlplane.cluster.x-k8s.io")
    scene.cluster(NOT, spec={"controlPlaneRef": plane})
    said = "kube-apiserver (kubernetes v1.35.9) cannot be had: no source has it."
    told = (("Available", "False", "NotAvailable", said), ("APIServerReady", "False", "BinariesMissing", said))
    version = "controlplane.cluster.x-k8s.io/v1alpha1"
    scene.add("HostedControlPlane", "demo", *told, version=version, spec={"version": "v1.35.9"})
    cause = why(scene).causes[0]
    assert [each.kind for each in cause.steps] == ["Cluster", "HostedControlPlane"]
    assert cause.weight is Weight.HELD
    assert "cannot be had" in cause.headline
    assert "`nagaya kubernetes install --version v1.35.9 --only control-plane`" in cause.remedy


def test_a_hook_is_named_that_holds_a_machine() -> None:
    scene = Scene()
    scene.cluster()
    hook = f"{PRE_DRAIN_DELETE_HOOK_PREFIX}/snapshot"
    machine = scene.machine("a", None, ("Deleting", "True", "WaitingForPreDrainHook", "hooks", 7), deleting=6)
    changed(scene, machine, annotations={hook: "me"})
    (cause,) = why(scene, "Machine", "a").causes
    assert cause.headline == f"Machine a is held by the annotation {hook}"


def test_an_object_that_nobody_looks_after_is_told_with_what_is_known_of_the_controllers() -> None:
    scene = Scene()
    scene.cluster()
    other = scene.add("SimulatedCluster", "other", owner=next(e for e in scene.objects if e.kind == "Cluster"))
    scene.objects.remove(other)
    scene.objects.append(Untyped({**other.raw, "status": {}}))
    picture = scene.picture()
    subject = picture.named("SimulatedCluster", "other")
    assert subject is not None
    unknown = explain(Surroundings(picture, START + LONG), subject).causes[0]
    assert unknown.weight is Weight.UNKNOWN
    assert "Nobody seems to look after SimulatedCluster other" in unknown.headline
    gone = Lead("default/nagaya-controllers", "host_1", START, 15)
    held = explain(Surroundings(picture, START + LONG, (gone,)), subject).causes[0]
    assert held.weight is Weight.HELD
    assert held.headline.startswith("Nagaya's controllers do not run: host_1 held the lease")
    runs = Lead("kube-system/nagaya-up", "process 1")
    assert explain(Surroundings(picture, START + LONG, (runs,)), subject).causes[0].weight is Weight.UNKNOWN
    new = explain(Surroundings(picture, START + timedelta(seconds=5)), subject).causes[0]
    assert (new.weight, new.late) == (Weight.WORKING, True)


def test_other_peoples_objects_are_seen_through_the_contract() -> None:
    scene = Scene()
    boat = reference("BoatCluster", "demo", "boats.example.com")
    scene.add("Cluster", "demo", NOT, version=CORE, labels={}, spec={"infrastructureRef": boat})
    version = "boats.example.com/v1"
    scene.add("BoatCluster", "demo", ("Ready", "False", "NoHarbour", "the harbour is closed"), version=version)
    (cause,) = why(scene).causes
    assert cause.headline == "BoatCluster demo: the harbour is closed"
    scene.objects.pop()
    scene.add("BoatCluster", "demo", version=version, status={"failureMessage": "it sank", "failureReason": "Leak"})
    assert why(scene).causes[0].headline == "BoatCluster demo: it sank"
    scene.objects.pop()
    scene.add("BoatCluster", "demo", version=version, status={"initialization": {"provisioned": False}})
    (cause,) = why(scene).causes
    assert cause.weight is Weight.UNKNOWN
    assert cause.headline == "BoatCluster demo is not ready, and does not say why"
    assert "kubectl describe boatcluster.boats.example.com demo -n default" in cause.remedy


def test_a_document_has_everything() -> None:
    document = why(broken("a")).document()
    assert document["well"] is False
    (cause,) = document["causes"]
    assert (cause["weight"], cause["cause"]) == ("failed", "ProxmoxMachine a: VM of a cannot be made.")
    assert cause["chain"][-1]["reason"] == "CloningFailed"
    assert cause["chain"][-1]["since"] == "2026-03-01T12:00:20Z"
