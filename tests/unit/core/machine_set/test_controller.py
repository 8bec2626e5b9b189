"""The controller against a server: what it makes, changes and deletes, and how little it writes for that."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.api.cluster.machine_set import MACHINE_SETS
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.kube.patches import Merge
from unit.core.machine_set.plane import HOST_TEMPLATES, SHOP, Plane, condition

QUOTAS = Kind("", "v1", "ResourceQuota", "resourcequotas", Untyped)
COUNT = "count/machines.cluster.x-k8s.io"

pytestmark = pytest.mark.slow


def kinds_written(plane: Plane) -> Counter[str]:
    """How many writes each resource got."""
    return Counter(each.split()[1].split("/")[0] for each in plane.writes)


async def finish(plane: Plane, machine: Machine) -> None:
    """Let a machine go that is being deleted, as the Machine controller does in the end."""
    await plane.user.patch(MACHINES, "tenants", machine.metadata.name, Merge({"metadata": {"finalizers": []}}))
    await plane.idle()


async def test_a_machine_costs_three_writes_and_the_set_one_status(plane: Plane) -> None:
    await plane.workers(3)
    await plane.idle()
    assert kinds_written(plane) == {
        "machinesets": 2,
        "testconfigtemplates": 1,
        "testmachinetemplates": 1,
        "testconfigs": 3,
        "testmachines": 3,
        "machines": 3,
    }
    names = {each.metadata.name for each in await plane.machines()}
    assert names == {each.metadata.name for each in await plane.hosts()}
    assert names == {each.metadata.name for each in await plane.configs()}
    status = (await plane.machine_set()).status
    assert (status.replicas, status.ready_replicas, status.observed_generation) == (3, 0, 2)
    assert status.selector == "cluster.x-k8s.io/cluster-name=shop,set=workers"


async def test_what_is_made_says_who_made_it_and_from_what(plane: Plane) -> None:
    machine_set = await plane.workers(1)
    await plane.idle()
    (machine,), (host,) = await plane.machines(), await plane.hosts()
    owner = machine.metadata.controller
    assert owner is not None
    assert owner.uid == machine_set.metadata.uid
    assert machine.metadata.labels["cluster.x-k8s.io/set-name"] == "workers"
    assert machine.metadata.finalizers == ("machine.cluster.x-k8s.io",)
    assert machine.spec.infrastructure_ref.name == machine.metadata.name
    assert [(each.kind, each.controller) for each in host.metadata.owner_references] == [("MachineSet", None)]
    assert host.metadata.annotations["cluster.x-k8s.io/cloned-from-name"] == "small"
    assert host.metadata.labels["from"] == "template"
    assert host.at("spec", "size") == 3


async def test_a_set_that_stands_alone_goes_with_its_cluster_and_so_do_its_templates(plane: Plane) -> None:
    await plane.workers(0)
    await plane.idle()
    machine_set = await plane.machine_set()
    assert [each.kind for each in machine_set.metadata.owner_references] == ["Cluster"]
    assert machine_set.metadata.finalizers == ("cluster.x-k8s.io/machineset",)
    template = await plane.user.get(HOST_TEMPLATES, "tenants", "small")
    assert [each.name for each in template.metadata.owner_references] == [SHOP]


async def test_a_set_that_is_in_order_is_not_written(plane: Plane) -> None:
    await plane.workers(2)
    await plane.idle()
    plane.writes.clear()
    await plane.look()
    assert plane.writes == []


async def test_scaling_writes_nothing_to_machines_that_stay(plane: Plane) -> None:
    await plane.workers(1)
    await plane.idle()
    plane.writes.clear()
    await plane.change({"spec": {"replicas": 2}})
    await plane.idle()
    assert kinds_written(plane) == {"testconfigs": 1, "testmachines": 1, "machines": 1, "machinesets": 1}


async def test_the_condition_names_the_quota_that_refuses_new_machines(plane: Plane) -> None:
    await plane.user.create(
        QUOTAS, Untyped({"metadata": {"name": "small", "namespace": "tenants"}, "spec": {"hard": {COUNT: "2"}}})
    )
    await plane.workers(4)
    await asyncio.sleep(60)
    told = await condition(plane, "ScalingUp")
    reason = f"exceeded quota: small, requested: {COUNT}=1, used: {COUNT}=2, limited: {COUNT}=2"
    assert (
        told.message == f"Scaling up from 2 to 4 replicas is blocked because:\n* the API refuses new objects: {reason}"
    )
    plane.writes.clear()
    await asyncio.sleep(300)
    assert not [write for write in plane.writes if "machinesets" in write]
    await plane.user.patch(QUOTAS, "tenants", "small", Merge({"spec": {"hard": {COUNT: "4"}}}))
    await asyncio.sleep(1200)
    assert len(await plane.machines()) == 4


async def test_machines_too_many_are_deleted_the_marked_one_first(plane: Plane) -> None:
    await plane.workers(3)
    await plane.idle()
    marked = (await plane.machines())[1].metadata.name
    mark = Merge({"metadata": {"annotations": {"cluster.x-k8s.io/delete-machine": "yes"}}})
    await plane.user.patch(MACHINES, "tenants", marked, mark)
    await plane.change({"spec": {"replicas": 2}})
    await plane.idle()
    assert [each.metadata.name for each in await plane.machines() if each.metadata.deleting] == [marked]
    told = await condition(plane, "ScalingDown")
    assert (told.status, told.message) == ("True", "Scaling down from 3 to 2 replicas")


async def test_a_machine_that_somebody_deletes_is_replaced_once_it_is_gone(plane: Plane) -> None:
    await plane.workers(2)
    await plane.idle()
    gone = (await plane.machines())[0]
    await plane.user.delete(MACHINES, "tenants", gone.metadata.name)
    await plane.idle()
    assert len(await plane.machines()) == 2
    await finish(plane, gone)
    names = [each.metadata.name for each in await plane.machines()]
    assert len(names) == 2
    assert gone.metadata.name not in names


async def test_a_set_goes_when_its_last_machine_has_gone(plane: Plane) -> None:
    await plane.workers(2)
    await plane.idle()
    await plane.take_over()
    await plane.user.delete(MACHINE_SETS, "tenants", "workers")
    await plane.idle()
    told = await condition(plane, "Deleting")
    assert (told.status, told.message) == ("True", "Deleting 2 Machines")
    for machine in await plane.machines():
        assert machine.metadata.deleting
        await finish(plane, machine)
    assert (await plane.user.list(MACHINE_SETS, "tenants")).items == []


async def test_an_orphan_that_the_selector_chooses_is_adopted(plane: Plane) -> None:
    await plane.workers(1)
    await plane.idle()
    machine = (await plane.machines())[0]
    await plane.user.patch(MACHINES, "tenants", machine.metadata.name, Merge({"metadata": {"ownerReferences": None}}))
    await plane.idle()
    (found,) = await plane.machines()
    assert found.metadata.controller is not None
    assert found.metadata.controller.name == "workers"
