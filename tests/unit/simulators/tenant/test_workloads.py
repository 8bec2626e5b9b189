"""Deployments, DaemonSets and StatefulSets keep their pods, through evictions and updates."""

from __future__ import annotations

from typing import Any

import pytest

from nagaya.simulators.tenant.settings import NodeSettings
from support.simulated_tenant import Kubectl, Make, deployment, is_ready

pytestmark = pytest.mark.slow

APPS = "/apis/apps/v1/namespaces/default"


async def images(api: Kubectl) -> list[str]:
    return sorted(found["spec"]["containers"][0]["image"] for found in (await api.pods()).values())


async def test_evicted_pods_of_a_deployment_come_back_elsewhere(make: Make) -> None:
    api = await make(2)
    await api.create(f"{APPS}/deployments", deployment("web", 2))
    await api.wait(3)
    assert sorted([found["spec"]["nodeName"] for found in (await api.pods()).values()]) == ["n1", "n2"]
    await api.patch("/api/v1/nodes/n1", {"spec": {"unschedulable": True}})
    (evicted,) = [name for name, found in (await api.pods()).items() if found["spec"]["nodeName"] == "n1"]
    assert (await api.evict("default", evicted))[0] == 201
    await api.wait(5)
    pods = await api.pods()
    assert evicted not in pods
    assert [found["spec"]["nodeName"] for found in pods.values()] == ["n2", "n2"]
    status = (await api.get(f"{APPS}/deployments/web"))["status"]
    assert (status["replicas"], status["readyReplicas"], status["availableReplicas"]) == (2, 2, 2)


async def test_a_rolling_update_never_goes_below_what_must_be_available(make: Make) -> None:
    api = await make(2)
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    await api.create(f"{APPS}/deployments", deployment("web", 3, strategy=rolling))
    await api.wait(5)
    await api.patch(f"{APPS}/deployments/web", deployment("web", 3, image="nginx", strategy=rolling))
    for _ in range(60):
        await api.wait(0.25)
        pods = [found for found in (await api.pods()).values() if "deletionTimestamp" not in found["metadata"]]
        assert sum(is_ready(found) for found in pods) >= 3
        assert len(pods) <= 4
    assert await images(api) == ["nginx"] * 3
    found = await api.get(f"{APPS}/deployments/web")
    assert found["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "2"
    conditions = {each["type"]: each["reason"] for each in found["status"]["conditions"]}
    assert conditions == {"Available": "MinimumReplicasAvailable", "Progressing": "NewReplicaSetAvailable"}


async def test_recreate_stops_all_before_it_starts_any(make: Make) -> None:
    api = await make(1)
    strategy = {"type": "Recreate"}
    await api.create(f"{APPS}/deployments", deployment("web", 2, strategy=strategy))
    await api.wait(3)
    await api.patch(f"{APPS}/deployments/web", deployment("web", 2, image="nginx", strategy=strategy))
    assert await images(api) == ["busybox"] * 2
    await api.wait(5)
    assert await images(api) == ["nginx"] * 2


async def test_scaling_gives_up_the_pods_that_matter_least(make: Make) -> None:
    api = await make(1)
    await api.create(f"{APPS}/deployments", deployment("web", 2))
    await api.wait(3)
    kept = set(await api.pods())
    await api.patch("/api/v1/nodes/n1", {"spec": {"unschedulable": True}})
    await api.patch(f"{APPS}/deployments/web", {"spec": {"replicas": 4}})
    assert len(await api.pods()) == 4
    await api.patch(f"{APPS}/deployments/web", {"spec": {"replicas": 2}})
    await api.wait(3)
    assert set(await api.pods()) == kept


async def test_a_deleted_deployment_takes_its_sets_and_pods_along(make: Make) -> None:
    api = await make(1)
    await api.create(f"{APPS}/deployments", deployment("web", 2))
    await api.wait(3)
    await api.delete(f"{APPS}/deployments/web", {"propagationPolicy": "Background"})
    await api.wait(5)
    assert await api.pods() == {}
    assert await api.items(f"{APPS}/replicasets") == []


def daemon_set(image: str = "busybox") -> dict[str, Any]:
    labels = {"app": "probe"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": image}]}}
    return {"metadata": {"name": "probe"}, "spec": {"selector": {"matchLabels": labels}, "template": template}}


async def test_a_daemon_runs_on_every_node_that_takes_it(make: Make) -> None:
    api = await make(2)
    await api.patch("/api/v1/nodes/n2", {"spec": {"unschedulable": True}})
    await api.create(f"{APPS}/daemonsets", daemon_set())
    await api.tenant.join(NodeSettings("cp1", control_plane=True))
    await api.tenant.join(NodeSettings("n3"))
    await api.wait(5)
    nodes = {found["spec"]["nodeName"] for found in (await api.pods()).values()}
    assert nodes == {"n1", "n2", "n3"}
    status = (await api.get(f"{APPS}/daemonsets/probe"))["status"]
    assert (status["desiredNumberScheduled"], status["numberReady"]) == (3, 3)
    await api.tenant.leave("n3")
    await api.delete("/api/v1/nodes/n3")
    await api.wait(60)
    assert {found["spec"]["nodeName"] for found in (await api.pods()).values()} == {"n1", "n2"}


async def test_daemons_are_updated_one_after_the_other(make: Make) -> None:
    api = await make(3)
    await api.create(f"{APPS}/daemonsets", daemon_set())
    await api.wait(3)
    await api.patch(f"{APPS}/daemonsets/probe", daemon_set("nginx"))
    for _ in range(40):
        await api.wait(0.25)
        assert sum(is_ready(found) for found in (await api.pods()).values()) >= 2
    assert await images(api) == ["nginx"] * 3
    assert (await api.get(f"{APPS}/daemonsets/probe"))["status"]["updatedNumberScheduled"] == 3


def stateful_set(replicas: int, image: str = "busybox") -> dict[str, Any]:
    labels = {"app": "db"}
    mounts = [{"name": "data", "mountPath": "/data"}]
    container = {"name": "c", "image": image, "volumeMounts": mounts}
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    return {
        "metadata": {"name": "db"},
        "spec": {
            "serviceName": "db",
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
            "volumeClaimTemplates": [claim],
        },
    }


async def test_a_stateful_set_starts_in_order_and_keeps_names_and_claims(make: Make) -> None:
    api = await make(2)
    await api.tenant.prepare()
    await api.create(f"{APPS}/statefulsets", stateful_set(2))
    assert set(await api.pods()) == {"db-0"}
    await api.wait(8)
    pods = await api.pods()
    assert set(pods) == {"db-0", "db-1"}
    assert all(is_ready(found) for found in pods.values())
    before = pods["db-0"]["metadata"]["uid"]
    claim = (await api.get("/api/v1/namespaces/default/persistentvolumeclaims/data-db-0"))["metadata"]["uid"]
    assert (await api.evict("default", "db-0"))[0] == 201
    await api.wait(8)
    again = (await api.pods())["db-0"]
    assert again["metadata"]["uid"] != before
    assert is_ready(again)
    found = await api.get("/api/v1/namespaces/default/persistentvolumeclaims/data-db-0")
    assert found["metadata"]["uid"] == claim


async def test_a_stateful_set_is_updated_from_the_last_and_shrinks_from_the_last(make: Make) -> None:
    api = await make(1)
    await api.tenant.prepare()
    await api.create(f"{APPS}/statefulsets", stateful_set(2))
    await api.wait(10)
    changed = stateful_set(2, "nginx")
    del changed["spec"]["volumeClaimTemplates"]
    await api.patch(f"{APPS}/statefulsets/db", changed)
    await api.wait(1.5)
    assert (await api.pods()).get("db-0", {})["spec"]["containers"][0]["image"] == "busybox"
    await api.wait(15)
    assert await images(api) == ["nginx"] * 2
    status = (await api.get(f"{APPS}/statefulsets/db"))["status"]
    assert status["currentRevision"] == status["updateRevision"]
    await api.patch(f"{APPS}/statefulsets/db", {"spec": {"replicas": 1}})
    await api.wait(5)
    assert set(await api.pods()) == {"db-0"}


async def test_a_job_runs_pods_until_enough_have_succeeded(make: Make) -> None:
    api = await make(1)
    template = {
        "metadata": {"annotations": {"simulated.nagaya.dev/run-for": "10"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox"}]},
    }
    spec = {"parallelism": 2, "completions": 3, "template": template}
    jobs = "/apis/batch/v1/namespaces/default/jobs"
    await api.create(jobs, {"metadata": {"name": "count"}, "spec": spec})
    await api.wait(5)
    status = (await api.get(f"{jobs}/count"))["status"]
    assert (status["active"], status["ready"]) == (2, 2)
    await api.wait(30)
    status = (await api.get(f"{jobs}/count"))["status"]
    assert status["succeeded"] == 3
    assert {each["type"] for each in status["conditions"]} == {"SuccessCriteriaMet", "Complete"}
    assert len(await api.pods()) == 3


async def test_a_job_replaces_evicted_pods_and_gives_up_after_too_many_failures(make: Make) -> None:
    api = await make(1)
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox"}]}
    jobs = "/apis/batch/v1/namespaces/default/jobs"
    await api.create(jobs, {"metadata": {"name": "work"}, "spec": {"backoffLimit": 0, "template": {"spec": pod}}})
    await api.wait(3)
    (first,) = await api.pods()
    assert (await api.evict("default", first))[0] == 201
    await api.wait(5)
    (second,) = await api.pods()
    assert second != first
    code, answer = await api.ask(
        "PATCH",
        f"/api/v1/namespaces/default/pods/{second}/status",
        {"status": {"phase": "Failed"}},
        "application/merge-patch+json",
    )
    assert code == 200, answer
    await api.wait(5)
    conditions = (await api.get(f"{jobs}/work"))["status"]["conditions"]
    assert {each["type"]: each["reason"] for each in conditions}["Failed"] == "BackoffLimitExceeded"
