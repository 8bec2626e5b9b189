"""Pods: where they go, how they run, how they stop."""

from __future__ import annotations

from typing import Any

import pytest

from nagaya.simulators.tenant.settings import NodeSettings
from support.simulated_tenant import Kubectl, Make, deployment, is_ready, pod

pytestmark = pytest.mark.slow

PODS = "/api/v1/namespaces/default/pods"


def scheduled(found: dict[str, Any]) -> dict[str, Any]:
    return next(each for each in found["status"]["conditions"] if each["type"] == "PodScheduled")


async def test_a_pod_is_bound_to_the_emptiest_node_and_runs(make: Make) -> None:
    api = await make(2)
    for name in ("a", "b"):
        await api.create(PODS, pod(name))
    assert {await api.node_of("a"), await api.node_of("b")} == {"n1", "n2"}
    assert (await api.pods())["a"]["status"]["phase"] == "Pending"
    await api.wait(1.1)
    found = (await api.pods())["a"]
    assert found["status"]["phase"] == "Running"
    assert is_ready(found)
    assert found["status"]["podIP"].startswith("10.128.")
    assert found["status"]["containerStatuses"][0]["containerID"].startswith("simulated://")


async def test_pods_with_a_node_need_no_scheduler(make: Make) -> None:
    api = await make(2)
    await api.patch("/api/v1/nodes/n2", {"spec": {"unschedulable": True}})
    await api.create(PODS, pod("a", nodeName="n2"))
    await api.wait(2)
    assert is_ready((await api.pods())["a"])


async def test_a_cordoned_node_gets_no_pods_until_it_is_uncordoned(make: Make) -> None:
    api = await make(1)
    await api.patch("/api/v1/nodes/n1", {"spec": {"unschedulable": True}})
    assert await api.taints("n1") == {"node.kubernetes.io/unschedulable:NoSchedule"}
    await api.create(PODS, pod("a"))
    await api.wait(5)
    assert scheduled((await api.pods())["a"])["reason"] == "Unschedulable"
    assert scheduled((await api.pods())["a"])["message"] == "0/1 nodes are available: 1 node(s) were unschedulable."
    await api.patch("/api/v1/nodes/n1", {"spec": {"unschedulable": None}})
    await api.wait(2)
    assert await api.taints("n1") == set()
    assert is_ready((await api.pods())["a"])


async def test_a_pod_waits_for_room_and_says_so(make: Make) -> None:
    api = await make(1)
    large: dict[str, Any] = {"requests": {"cpu": "3"}}
    containers = [{"name": "c", "image": "busybox", "resources": large}]
    await api.create(PODS, pod("a", containers=containers))
    await api.create(PODS, pod("b", containers=containers))
    await api.wait(2)
    assert scheduled((await api.pods())["b"])["message"] == "0/1 nodes are available: 1 Insufficient cpu."
    await api.tenant.join(NodeSettings("n2"))
    await api.wait(4)
    assert await api.node_of("b") == "n2"
    assert is_ready((await api.pods())["b"])


async def test_a_deletion_makes_room(make: Make) -> None:
    api = await make()
    await api.tenant.join(NodeSettings("n1", capacity={"cpu": "1", "memory": "1Gi", "pods": "1"}))
    await api.wait(2)
    await api.create(PODS, pod("a"))
    await api.create(PODS, pod("b"))
    await api.wait(2)
    assert scheduled((await api.pods())["b"])["message"] == "0/1 nodes are available: 1 Too many pods."
    await api.delete(f"{PODS}/a")
    await api.wait(5)
    assert is_ready((await api.pods())["b"])


async def test_without_nodes_a_pod_says_that_there_are_none(make: Make) -> None:
    api = await make()
    await api.create(PODS, pod("a"))
    assert scheduled((await api.pods())["a"])["message"] == "no nodes available to schedule pods"


async def test_another_scheduler_is_not_preempted(make: Make) -> None:
    api = await make(1)
    await api.create(PODS, pod("a", schedulerName="mine"))
    await api.wait(2)
    assert await api.node_of("a") == ""


@pytest.mark.parametrize(("takes", "grace", "gone_after"), [(None, 30, 1), ("12", 30, 12), ("60", 30, 30)])
async def test_a_pod_stops_in_its_time_and_never_later_than_its_grace_period(
    make: Make, takes: str | None, grace: int, gone_after: int
) -> None:
    api = await make(1)
    annotations = {"simulated.nagaya.dev/stop-after": takes} if takes else {}
    await api.create(PODS, pod("a", metadata={"annotations": annotations}, terminationGracePeriodSeconds=grace))
    await api.wait(3)
    await api.delete(f"{PODS}/a")
    if gone_after > 1:
        await api.wait(gone_after - 2)
        assert "deletionTimestamp" in (await api.pods())["a"]["metadata"]
    await api.wait(3)
    assert await api.pods() == {}


async def test_a_pod_that_may_end_succeeds_when_its_time_is_over(make: Make) -> None:
    api = await make(1)
    annotations = {"simulated.nagaya.dev/run-for": "20"}
    await api.create(PODS, pod("a", metadata={"annotations": annotations}, restartPolicy="Never"))
    await api.wait(15)
    assert (await api.pods())["a"]["status"]["phase"] == "Running"
    await api.wait(10)
    found = (await api.pods())["a"]
    assert found["status"]["phase"] == "Succeeded"
    assert found["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 0


def budget(app: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": app}, "spec": {"selector": {"matchLabels": {"app": app}}, **spec}}


async def budget_status(api: Kubectl, name: str) -> tuple[int, ...]:
    status = (await api.get(f"/apis/policy/v1/namespaces/default/poddisruptionbudgets/{name}"))["status"]
    return tuple(status[field] for field in ("expectedPods", "currentHealthy", "desiredHealthy", "disruptionsAllowed"))


async def test_evictions_obey_the_budget_and_the_refusal_tells_why(make: Make) -> None:
    api = await make(2)
    for name in ("a", "b"):
        await api.create(PODS, pod(name, metadata={"labels": {"app": "web"}}))
    await api.create("/apis/policy/v1/namespaces/default/poddisruptionbudgets", budget("web", minAvailable=1))
    await api.wait(2)
    assert await budget_status(api, "web") == (2, 2, 1, 1)
    code, _ = await api.evict("default", "a")
    assert code == 201
    code, refusal = await api.evict("default", "b")
    assert code == 429
    assert refusal["message"] == "Cannot evict pod as it would violate the pod's disruption budget."
    (cause,) = refusal["details"]["causes"]
    assert cause["reason"] == "DisruptionBudget"
    assert cause["message"] == "The disruption budget web needs 1 healthy pods and has 1 currently"
    await api.wait(5)
    assert set(await api.pods()) == {"b"}
    assert await budget_status(api, "web") == (1, 1, 1, 0)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"minAvailable": "50%"}, (3, 3, 2, 1)),
        ({"maxUnavailable": 1}, (3, 3, 2, 1)),
        ({"maxUnavailable": "34%"}, (3, 3, 1, 2)),
        ({"maxUnavailable": 0}, (3, 3, 3, 0)),
    ],
)
async def test_budgets_of_workloads_count_the_replicas_that_should_be(
    make: Make, spec: dict[str, Any], expected: tuple[int, ...]
) -> None:
    api = await make(1)
    await api.create("/apis/apps/v1/namespaces/default/deployments", deployment("web", 3))
    await api.create("/apis/policy/v1/namespaces/default/poddisruptionbudgets", budget("web", **spec))
    await api.wait(3)
    assert await budget_status(api, "web") == expected
