"""What happens to nodes and their pods when machines fail, and when they get well again."""

from __future__ import annotations

import pytest

from nagaya.simulators.tenant.settings import Fault, NodeSettings
from support.simulated_tenant import Make, deployment, is_ready, pod

PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"


@pytest.mark.parametrize("how", [Fault.KUBELET_DEAD, Fault.NETWORK_GONE])
async def test_a_silent_node_is_unknown_and_comes_back(make: Make, how: Fault) -> None:
    api = await make(1)
    await api.create(PODS, pod("a"))
    await api.wait(2)
    api.tenant.fail("n1", how)
    await api.wait(51)
    assert await api.ready("n1") == ("Unknown", "NodeStatusUnknown")
    assert not is_ready((await api.pods())["a"])
    api.tenant.recover("n1")
    await api.wait(1)
    assert await api.ready("n1") == ("True", "KubeletReady")
    assert await api.taints("n1") == set()
    assert is_ready((await api.pods())["a"])


async def test_a_short_silence_goes_unnoticed(make: Make) -> None:
    api = await make(1)
    revision = (await api.get(f"{NODES}/n1"))["metadata"]["resourceVersion"]
    api.tenant.fail("n1", Fault.NETWORK_GONE)
    await api.wait(30)
    api.tenant.recover("n1")
    await api.wait(60)
    assert (await api.get(f"{NODES}/n1"))["metadata"]["resourceVersion"] == revision


@pytest.mark.parametrize(
    ("how", "condition", "taint"),
    [
        (Fault.DISK_PRESSURE, "DiskPressure", "disk-pressure"),
        (Fault.MEMORY_PRESSURE, "MemoryPressure", "memory-pressure"),
        (Fault.PID_PRESSURE, "PIDPressure", "pid-pressure"),
    ],
)
async def test_pressure_is_reported_and_keeps_new_pods_away(make: Make, how: Fault, condition: str, taint: str) -> None:
    api = await make(1)
    api.tenant.fail("n1", how)
    await api.wait(1)
    conditions = (await api.get(f"{NODES}/n1"))["status"]["conditions"]
    assert {each["type"]: each["status"] for each in conditions}[condition] == "True"
    assert await api.ready("n1") == ("True", "KubeletReady")
    assert await api.taints("n1") == {f"node.kubernetes.io/{taint}:NoSchedule"}
    await api.create(PODS, pod("a"))
    await api.wait(5)
    assert await api.node_of("a") == ""
    api.tenant.recover("n1", how)
    await api.wait(5)
    assert is_ready((await api.pods())["a"])


async def test_a_dead_runtime_makes_the_node_not_ready_at_once(make: Make) -> None:
    api = await make(1)
    await api.create(PODS, pod("a"))
    await api.wait(2)
    api.tenant.fail("n1", Fault.RUNTIME_DOWN)
    await api.wait(1)
    assert await api.ready("n1") == ("False", "KubeletNotReady")
    assert "node.kubernetes.io/not-ready:NoExecute" in await api.taints("n1")
    assert not is_ready((await api.pods())["a"])
    api.tenant.recover("n1")
    await api.wait(1)
    assert is_ready((await api.pods())["a"])


async def test_pods_of_an_unreachable_node_are_deleted_after_five_minutes_and_replaced_elsewhere(make: Make) -> None:
    api = await make(2)
    await api.create("/apis/apps/v1/namespaces/default/deployments", deployment("web", 2))
    await api.wait(5)
    (lost,) = [name for name, found in (await api.pods()).items() if found["spec"]["nodeName"] == "n1"]
    await api.tenant.leave("n1")
    await api.wait(340)
    assert "deletionTimestamp" not in (await api.pods())[lost]["metadata"]
    await api.wait(20)
    pods = await api.pods()
    assert "deletionTimestamp" in pods[lost]["metadata"], "nobody can confirm that it has stopped"
    others = [found for name, found in pods.items() if name != lost]
    assert [found["spec"]["nodeName"] for found in others] == ["n2", "n2"]
    assert all(is_ready(found) for found in others)
    await api.delete(f"{NODES}/n1")
    await api.wait(30)
    assert lost in await api.pods()
    await api.wait(15)
    assert lost not in await api.pods()


async def test_a_pod_that_tolerates_nothing_goes_at_once(make: Make) -> None:
    api = await make(1)
    await api.create(PODS, pod("a"))
    await api.wait(2)
    await api.patch(f"{NODES}/n1", {"spec": {"taints": [{"key": "broken", "effect": "NoExecute"}]}})
    await api.wait(2)
    assert await api.pods() == {}


async def test_pods_being_deleted_wait_for_a_dead_kubelet(make: Make) -> None:
    api = await make(1)
    await api.create(PODS, pod("a"))
    await api.wait(2)
    api.tenant.fail("n1", Fault.KUBELET_DEAD)
    await api.delete(f"{PODS}/a")
    await api.wait(45)
    assert "a" in await api.pods()
    api.tenant.recover("n1")
    await api.wait(2)
    assert "a" not in await api.pods()


async def test_a_node_out_of_service_gives_its_terminating_pods_up(make: Make) -> None:
    api = await make(1)
    await api.create(PODS, pod("a"))
    await api.wait(2)
    await api.tenant.leave("n1")
    await api.wait(60)
    await api.delete(f"{PODS}/a")
    await api.wait(60)
    assert "a" in await api.pods()
    taints = (await api.get(f"{NODES}/n1"))["spec"]["taints"]
    taints.append({"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute", "value": "nodeshutdown"})
    await api.patch(f"{NODES}/n1", {"spec": {"taints": taints}})
    await api.wait(1)
    assert "a" not in await api.pods()


async def test_a_machine_that_left_can_join_again(make: Make) -> None:
    api = await make(1)
    await api.tenant.leave("n1")
    await api.wait(60)
    await api.tenant.join(NodeSettings("n1"))
    await api.wait(2)
    assert await api.ready("n1") == ("True", "KubeletReady")
    assert await api.taints("n1") == set()
