"""What is done for a simulated machine, from what is seen."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from nagaya.api.simulated.simulated_cluster import SIMULATED_CLUSTERS
from nagaya.api.simulated.simulated_machine import FINALIZER, SIMULATED_MACHINES
from nagaya.infrastructure.simulated.machine.node import node_settings
from nagaya.infrastructure.simulated.machine.plan import plan
from nagaya.infrastructure.simulated.machine.seen import Seen
from nagaya.kube.key import Key
from nagaya.simulators.tenant.settings import Fault
from support.builders import CLUSTER, NAMESPACE, NOW, date
from support.builders import cluster as cluster_draft
from support.builders import machine as machine_draft


def seen(*, metadata: dict[str, Any] | None = None, status: dict[str, Any] | None = None, **spec: Any) -> Seen:
    """A worker that could boot: everything that it waits for is there."""
    named = {"namespace": NAMESPACE, "name": "a", "uid": "0123456789", **(metadata or {})}
    host = SIMULATED_MACHINES.convert({"metadata": named, "spec": spec, "status": status or {}})
    ready = {"initialization": {"infrastructureProvisioned": True}}
    return Seen(
        host,
        machine_draft("a").having(spec={"bootstrap": {"dataSecretName": "d"}}).made(),
        Key(NAMESPACE, CLUSTER),
        cluster_draft().having(status=ready).made(),
        SIMULATED_CLUSTERS.convert({"metadata": {"name": "quay"}}),
        1.5,
        "172.16.0.1",
        announced=True,
        serving=True,
        joined=False,
        now=NOW,
    )


def booted(**spec: Any) -> Seen:
    return seen(status={"bootCompletionTime": date(NOW)}, **spec)


def deleting(since: float, **spec: Any) -> Seen:
    metadata = {"finalizers": [FINALIZER], "deletionTimestamp": date(NOW - timedelta(seconds=since))}
    return seen(metadata=metadata, status={"bootCompletionTime": date(NOW)}, **spec)


def test_a_boot_takes_as_long_as_was_drawn() -> None:
    made = plan(seen())
    assert made.hold
    assert not made.joins
    assert made.boot_completion == NOW + timedelta(seconds=1.5)
    assert made.again_after == 1.5


def test_a_machine_that_is_up_joins() -> None:
    made = plan(booted())
    assert made.provisioned
    assert made.joins
    assert not made.starts
    assert made.node.holds


def test_nothing_is_written_for_a_machine_from_a_template_that_has_no_machine_yet() -> None:
    owner = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineSet", "name": "s", "uid": "u"}
    assert plan(replace(seen(metadata={"ownerReferences": [owner]}), machine=None)).silent
    assert not plan(replace(seen(), machine=None)).silent


def test_a_machine_of_another_kind_of_cluster_says_that_it_cannot_join() -> None:
    made = plan(replace(seen(), infrastructure=None))
    assert made.ready.reason == "NotASimulatedCluster"
    assert not made.hold


@pytest.mark.parametrize(
    ("stage", "mode", "ready", "node", "provisioned"),
    [
        ("Provision", "Fail", "ProvisioningFailed", "NotBooted", False),
        ("Provision", "Hang", "Provisioning", "NotBooted", False),
        ("Boot", "Fail", "BootFailed", "NotBooted", True),
        ("Boot", "Hang", "Booting", "NotBooted", True),
        ("Join", "Fail", "Provisioned", "JoinFailed", True),
        ("Join", "Hang", "Provisioned", "JoinHangs", True),
    ],
)
def test_what_is_ordered_to_go_wrong_does(stage: str, mode: str, ready: str, node: str, provisioned: bool) -> None:
    made = plan(booted(faults=[{"stage": stage, "mode": mode}]))
    assert (made.ready.reason, made.node.reason, made.provisioned) == (ready, node, provisioned)
    assert not made.joins
    assert made.again_after is None


def test_a_running_machine_suffers_from_what_is_ordered_and_nothing_that_is_over() -> None:
    faults = [{"stage": "Boot", "mode": "Fail"}, {"stage": "Run", "mode": "DiskPressure"}]
    made = plan(replace(booted(faults=faults), joined=True))
    assert made.faults == {Fault.DISK_PRESSURE}
    assert made.ready.holds
    assert "DiskPressure" in made.node.message


def test_a_machine_is_there_until_its_time_is_over() -> None:
    assert plan(deleting(2, deletionSeconds=5)).again_after == 3
    assert plan(deleting(5, deletionSeconds=5)).release
    assert plan(deleting(1)).release
    assert not plan(deleting(0)).release


def test_a_deletion_can_be_made_to_fail() -> None:
    made = plan(deleting(100, faults=[{"stage": "Delete", "mode": "Fail"}]))
    assert made.ready.reason == "DeletionFailed"
    assert not made.release


def test_nodes_join_with_the_taints_of_their_role_and_their_own() -> None:
    worker = booted(nodeTaints=[{"key": "gpu", "effect": "NoSchedule"}])
    assert [each.key for each in node_settings(worker).registered_taints()] == [
        "node.cluster.x-k8s.io/uninitialized",
        "gpu",
    ]
    control_plane = replace(worker, machine=machine_draft("a").control_plane().made())
    assert [each.key for each in node_settings(control_plane).registered_taints()] == [
        "node-role.kubernetes.io/control-plane",
        "gpu",
    ]
