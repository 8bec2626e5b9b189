"""What a set says about machines that exist: it reaches them, it goes again, and what others say survives."""

from __future__ import annotations

from typing import Any

import pytest

from nagaya.api.cluster.machine import MACHINES
from nagaya.api.kind import Kind
from nagaya.kube.patches import Merge
from unit.core.machine_set.plane import CONFIGS, HOSTS, Plane

pytestmark = pytest.mark.slow

KINDS: tuple[Kind[Any], ...] = (MACHINES, HOSTS, CONFIGS)
USERS = Merge({"metadata": {"labels": {"mine": "yes"}, "annotations": {"note": "hello"}}})


def template(**metadata: dict[str, str | None]) -> dict[str, object]:
    return {"spec": {"template": {"metadata": metadata}}}


async def test_labels_reach_machines_and_their_objects(plane: Plane) -> None:
    await plane.workers(1)
    await plane.idle()
    await plane.take_over()
    await plane.change(template(labels={"tier": "gold"}, annotations={"owner": "web"}))
    await plane.idle()
    for kind in KINDS:
        (found,) = (await plane.user.list(kind, "tenants")).items
        assert found.metadata.labels["tier"] == "gold", kind
        assert found.metadata.annotations["owner"] == "web", kind


@pytest.mark.parametrize("restarted", [False, True])
async def test_a_label_that_is_taken_back_goes_and_others_stay(plane: Plane, restarted: bool) -> None:
    await plane.workers(1, labels={"tier": "gold"})
    await plane.idle()
    await plane.take_over()
    (machine,) = await plane.machines()
    for kind in KINDS:
        await plane.user.patch(kind, "tenants", machine.metadata.name, USERS)
    if restarted:
        await plane.stop()
    await plane.change(template(labels={"tier": None}))
    if restarted:
        await plane.start()
    await plane.idle()
    for kind in KINDS:
        found = await plane.user.get(kind, "tenants", machine.metadata.name)
        labels = found.metadata.labels
        assert "tier" not in labels, kind
        assert labels["mine"] == "yes", kind
        assert labels["cluster.x-k8s.io/set-name"] == "workers", kind
    (host,) = await plane.hosts()
    assert host.metadata.labels["from"] == "template"
    assert host.metadata.annotations["cluster.x-k8s.io/cloned-from-name"] == "small"
    assert host.at("spec", "size") == 3


async def test_labels_change_again_and_again(plane: Plane) -> None:
    await plane.workers(1)
    await plane.idle()
    await plane.take_over()
    for value in ("gold", "silver", None):
        await plane.change(template(labels={"tier": value}))
        await plane.idle()
        (host,) = await plane.hosts()
        assert host.metadata.labels.get("tier") == value


async def test_time_limits_gates_and_taints_follow_the_set(plane: Plane) -> None:
    await plane.workers(1)
    await plane.idle()
    spec = {
        "deletion": {"nodeDrainTimeoutSeconds": 60},
        "minReadySeconds": 5,
        "readinessGates": [{"conditionType": "Fit"}],
        "taints": [{"key": "gpu", "effect": "NoSchedule", "propagation": "Always"}],
    }
    await plane.change({"spec": {"template": {"spec": spec}}})
    await plane.idle()
    (machine,) = await plane.machines()
    assert machine.spec.deletion.node_drain_timeout_seconds == 60
    assert machine.spec.min_ready_seconds == 5
    assert [each.condition_type for each in machine.spec.readiness_gates] == ["Fit"]
    assert [each.key for each in machine.spec.taints] == ["gpu"]
    await plane.change({"spec": {"template": {"spec": dict.fromkeys(spec)}}})
    await plane.idle()
    (machine,) = await plane.machines()
    assert machine.spec.taints == ()
    assert machine.spec.readiness_gates == ()
    assert machine.spec.deletion.node_drain_timeout_seconds is None


async def test_a_new_version_does_not_change_machines_that_exist(plane: Plane) -> None:
    await plane.workers(1)
    await plane.idle()
    await plane.change({"spec": {"template": {"spec": {"version": "v1.36.4", "failureDomain": "b"}}}})
    await plane.idle()
    (machine,) = await plane.machines()
    assert (machine.spec.version, machine.spec.failure_domain) == ("v1.36.3", "")


async def test_a_machine_that_is_being_deleted_still_follows_time_limits_alone(plane: Plane) -> None:
    await plane.workers(1)
    await plane.idle()
    (machine,) = await plane.machines()
    await plane.user.delete(MACHINES, "tenants", machine.metadata.name)
    await plane.idle()
    patch = {"deletion": {"nodeDrainTimeoutSeconds": 60}}
    await plane.change({"spec": {"template": {"metadata": {"labels": {"tier": "gold"}}, "spec": patch}}})
    await plane.idle()
    (machine,) = await plane.machines()
    assert machine.spec.deletion.node_drain_timeout_seconds == 60
    assert "tier" not in machine.metadata.labels


async def test_what_somebody_changes_on_a_machine_is_put_right(plane: Plane) -> None:
    await plane.workers(1, labels={"tier": "gold"})
    await plane.idle()
    (machine,) = await plane.machines()
    change = Merge({"metadata": {"labels": {"tier": "lead", "cluster.x-k8s.io/set-name": None}}})
    await plane.user.patch(MACHINES, "tenants", machine.metadata.name, change)
    await plane.idle()
    (machine,) = await plane.machines()
    assert machine.metadata.labels["tier"] == "gold"
    assert machine.metadata.labels["cluster.x-k8s.io/set-name"] == "workers"
