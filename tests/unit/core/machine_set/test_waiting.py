"""When a set does nothing, and what brings it back to work."""

from __future__ import annotations

from typing import Any

import pytest

from nagaya.api.cluster.machine import MACHINES
from nagaya.kube.patches import Merge
from unit.core.machine_set.plane import CONTROL_PLANES, HOST_TEMPLATES, SHOP, Plane, condition

pytestmark = pytest.mark.slow


async def test_a_paused_set_is_told_so_and_left_alone(plane: Plane) -> None:
    await plane.workers(1)
    await plane.idle()
    plane.writes.clear()
    await plane.change({"metadata": {"annotations": {"cluster.x-k8s.io/paused": ""}}, "spec": {"replicas": 3}})
    await plane.idle()
    assert plane.writes == ["PATCH machinesets/workers/status"]
    told = await condition(plane, "Paused")
    assert (told.status, told.message) == ("True", "MachineSet has the cluster.x-k8s.io/paused annotation")
    assert (await plane.machine_set()).status.replicas == 1
    await plane.change({"metadata": {"annotations": {"cluster.x-k8s.io/paused": None}}})
    await plane.idle()
    assert len(await plane.machines()) == 3
    assert (await condition(plane, "Paused")).status == "False"


async def test_machines_wait_for_a_control_plane_that_stands_still(plane: Plane) -> None:
    await plane.user.patch(CONTROL_PLANES, "tenants", SHOP, Merge({"status": {"version": None}}))
    await plane.workers(1)
    await plane.idle()
    told = await condition(plane, "ScalingUp")
    assert told.message == (
        "Scaling up from 0 to 1 replicas is blocked because:\n"
        '* TestControlPlane tenants/shop is provisioning ("ControlPlaneIsStable" preflight check failed)'
    )
    await plane.user.patch(CONTROL_PLANES, "tenants", SHOP, Merge({"status": {"version": "v1.36.3"}}))
    await plane.idle()
    assert len(await plane.machines()) == 1


async def test_machines_wait_for_a_template_that_is_not_there(plane: Plane) -> None:
    template: dict[str, Any] = dict((await plane.user.get(HOST_TEMPLATES, "tenants", "small")).raw)
    await plane.user.delete(HOST_TEMPLATES, "tenants", "small")
    await plane.workers(1)
    await plane.idle()
    told = await condition(plane, "ScalingUp")
    assert told.message == ("Scaling up from 0 to 1 replicas is blocked because:\n* TestMachineTemplate does not exist")
    assert (await plane.machine_set()).status.observed_generation is None
    template["metadata"] = {"name": "small", "namespace": "tenants"}
    await plane.user.create(HOST_TEMPLATES, template)
    await plane.idle()
    assert len(await plane.machines()) == 1


async def test_an_unhealthy_machine_is_told_of_its_deletion_and_deleted(plane: Plane) -> None:
    await plane.workers(2)
    await plane.idle()
    sick = (await plane.machines())[0].metadata.name
    conditions = [
        {
            "type": type,
            "status": "False",
            "reason": "X",
            "message": "",
            "lastTransitionTime": "2026-11-01T12:00:00Z",
        }
        for type in ("HealthCheckSucceeded", "OwnerRemediated")
    ]
    await plane.user.patch(
        MACHINES, "tenants", sick, Merge({"status": {"conditions": conditions}}), subresource="status"
    )
    await plane.idle()
    found = await plane.user.get(MACHINES, "tenants", sick)
    assert found.metadata.deleting
    told = {each.type: (each.reason, each.message) for each in found.status.conditions}
    assert told["OwnerRemediated"] == ("MachineDeleting", "Machine is deleting")
    assert told["HealthCheckSucceeded"] == ("X", "")
    assert (await condition(plane, "Remediating")).message == f"* Machine {sick}: Machine is deleting"
    healthy = conditions[0] | {"status": "True"}
    other = next(each.metadata.name for each in await plane.machines() if each.metadata.name != sick)
    await plane.user.patch(
        MACHINES, "tenants", other, Merge({"status": {"conditions": [healthy, conditions[1]]}}), subresource="status"
    )
    await plane.idle()
    left = (await plane.user.get(MACHINES, "tenants", other)).status.conditions
    assert [each.type for each in left] == ["HealthCheckSucceeded"]
