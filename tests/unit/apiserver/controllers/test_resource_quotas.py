"""What a quota says is used."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from support.in_process import Api

SPACE = "/api/v1/namespaces/default"


async def quota(api: Api, hard: dict[str, str], name: str = "q", **spec: Any) -> None:
    await api.create(f"{SPACE}/resourcequotas", {"metadata": {"name": name}, "spec": {"hard": hard, **spec}})


async def used(api: Api, name: str = "q") -> dict[str, str]:
    status = (await api.must(f"{SPACE}/resourcequotas/{name}"))["status"]
    found: dict[str, str] = status["used"]
    assert status["hard"].keys() >= found.keys()
    return found


def pod(name: str, cpu: str = "", limit: str = "", **spec: Any) -> dict[str, Any]:
    resources: dict[str, Any] = {}
    if cpu:
        resources["requests"] = {"cpu": cpu}
    if limit:
        resources["limits"] = {"cpu": limit}
    container = {"name": "c", "image": "i", "resources": resources}
    return {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}


async def test_objects_are_counted_as_they_come_and_go(api: Api) -> None:
    before = api.server.store.count("configmaps", "default/")
    await quota(api, {"configmaps": "10", "count/configmaps": "10", "count/leases.coordination.k8s.io": "3"})
    await api.config_map("one")
    await api.config_map("two")
    await api.config_map("elsewhere", namespace="kube-public")
    await api.create("/apis/coordination.k8s.io/v1/namespaces/default/leases", {"metadata": {"name": "l"}})
    count = str(before + 2)
    expected = {"configmaps": count, "count/configmaps": count, "count/leases.coordination.k8s.io": "1"}
    assert await used(api) == expected
    await api.delete(f"{SPACE}/configmaps/one")
    assert (await used(api))["configmaps"] == str(before + 1)
    assert await api.quiet()


async def test_pods_use_what_they_ask_for_while_they_run(api: Api) -> None:
    await quota(api, {"pods": "9", "count/pods": "9", "requests.cpu": "4", "cpu": "4", "limits.cpu": "8"})
    await api.create(f"{SPACE}/pods", pod("a", "500m", "1"))
    await api.create(f"{SPACE}/pods", pod("b", "250m", "1"))
    expected = {"pods": "2", "count/pods": "2", "requests.cpu": "750m", "cpu": "750m", "limits.cpu": "2"}
    assert await used(api) == expected
    done = {"status": {"phase": "Succeeded"}}
    code, answer = await api.ask("PATCH", f"{SPACE}/pods/a/status", done, kind="application/merge-patch+json")
    assert code == 200, answer
    await api.server.settled()
    assert await used(api) == {
        "pods": "1",
        "count/pods": "2",
        "requests.cpu": "250m",
        "cpu": "250m",
        "limits.cpu": "1",
    }


async def test_a_quota_with_scopes_is_about_the_pods_in_them(api: Api) -> None:
    for name, scopes in {
        "best": ["BestEffort"],
        "better": ["NotBestEffort"],
        "ending": ["Terminating"],
        "lasting": ["NotTerminating"],
    }.items():
        await quota(api, {"pods": "9"}, name, scopes=scopes)
    await api.create(f"{SPACE}/pods", pod("a"))
    await api.create(f"{SPACE}/pods", pod("b", "1", activeDeadlineSeconds=60))
    await api.create(f"{SPACE}/pods", pod("c", "1"))
    counts = {name: (await used(api, name))["pods"] for name in ("best", "better", "ending", "lasting")}
    assert counts == {"best": "1", "better": "2", "ending": "1", "lasting": "2"}


@pytest.mark.parametrize(
    ("kind", "more", "expected"),
    [
        ("ClusterIP", {}, ("0", "0")),
        ("NodePort", {}, ("2", "0")),
        ("LoadBalancer", {}, ("2", "1")),
        ("LoadBalancer", {"allocateLoadBalancerNodePorts": False}, ("0", "1")),
    ],
)
async def test_services_use_ports_and_balancers_by_their_type(
    api: Api, kind: str, more: dict[str, Any], expected: tuple[str, str]
) -> None:
    await quota(api, {"services": "9", "services.nodeports": "9", "services.loadbalancers": "9"})
    before = int((await used(api))["services"])  # the server's own
    ports = [{"name": "a", "port": 80}, {"name": "b", "port": 81}]
    body = {"metadata": {"name": "s"}, "spec": {"type": kind, "ports": ports, **more}}
    await api.create(f"{SPACE}/services", body)
    found = await used(api)
    assert found["services"] == str(before + 1)
    assert (found["services.nodeports"], found["services.loadbalancers"]) == expected


async def test_claims_use_storage_also_by_class(api: Api) -> None:
    by_class = "fast.storageclass.storage.k8s.io/requests.storage"
    await quota(api, {"persistentvolumeclaims": "9", "requests.storage": "100Gi", by_class: "50Gi"})
    for name, more in (("a", {"storageClassName": "fast"}), ("b", {"storageClassName": "slow"})):
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}, **more}
        await api.create(f"{SPACE}/persistentvolumeclaims", {"metadata": {"name": name}, "spec": spec})
    assert await used(api) == {"persistentvolumeclaims": "2", "requests.storage": "20Gi", by_class: "10Gi"}


async def test_a_changed_limit_shows_in_the_status(api: Api) -> None:
    await quota(api, {"configmaps": "10"})
    await api.merge(f"{SPACE}/resourcequotas/q", {"spec": {"hard": {"configmaps": "20", "secrets": "5"}}})
    status = (await api.must(f"{SPACE}/resourcequotas/q"))["status"]
    assert status["hard"] == {"configmaps": "20", "secrets": "5"}
    assert status["used"].keys() == {"configmaps", "secrets"}


async def test_a_pod_that_should_be_gone_by_now_is_not_counted(api: Api) -> None:
    await quota(api, {"pods": "9"})
    body = pod("a", nodeName="n1", terminationGracePeriodSeconds=30)
    await api.create(f"{SPACE}/pods", body)
    await api.ask("DELETE", f"{SPACE}/pods/a")
    await api.server.settled()
    assert await used(api) == {"pods": "1"}
    api.clock.passed = timedelta(minutes=2)
    await api.config_map("a-reason-to-look")
    assert await used(api) == {"pods": "0"}


async def test_claims_use_devices_by_class(api: Api) -> None:
    gold, silver = (f"{each}.deviceclass.resource.k8s.io/devices" for each in ("gold", "silver"))
    await quota(api, {gold: "40", silver: "40", "count/resourceclaims.resource.k8s.io": "2"})
    assert await used(api) == {gold: "0", silver: "0", "count/resourceclaims.resource.k8s.io": "0"}

    def exactly(name: str, **more: Any) -> dict[str, Any]:
        return {"name": name, "exactly": {"deviceClassName": "gold", **more}}

    either = [
        {"name": "some", "deviceClassName": "silver", "count": 3},
        {"name": "all", "deviceClassName": "silver", "allocationMode": "All"},
        {"name": "one", "deviceClassName": "gold"},
    ]
    requests = [exactly("two", count=2), exactly("one"), {"name": "either", "firstAvailable": either}]
    claims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
    await api.create(claims, {"metadata": {"name": "c"}, "spec": {"devices": {"requests": requests}}})
    assert await used(api) == {gold: "4", silver: "32", "count/resourceclaims.resource.k8s.io": "1"}
    more = {"metadata": {"name": "d"}, "spec": {"devices": {"requests": [exactly("many", count=37)]}}}
    code, refused = await api.ask("POST", claims, more)
    assert code == 403
    assert f"exceeded quota: q, requested: {gold}=37, used: {gold}=4, limited: {gold}=40" in refused["message"]
    await api.delete(f"{claims}/c")
    assert (await used(api))[gold] == "0"


async def test_a_claim_comes_under_a_quota_when_its_status_says_so(api: Api) -> None:
    scope = {"scopeName": "VolumeAttributesClass", "operator": "In", "values": ["gold"]}
    await quota(api, {"persistentvolumeclaims": "1"}, scopeSelector={"matchExpressions": [scope]})
    for name in ("a", "b"):
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}}
        await api.create(f"{SPACE}/persistentvolumeclaims", {"metadata": {"name": name}, "spec": spec})
    assert await used(api) == {"persistentvolumeclaims": "0"}
    status = {"status": {"currentVolumeAttributesClassName": "gold"}}
    await api.merge(f"{SPACE}/persistentvolumeclaims/a/status", status)
    assert await used(api) == {"persistentvolumeclaims": "1"}
    path = f"{SPACE}/persistentvolumeclaims/b/status"
    code, refused = await api.ask("PATCH", path, status, kind="application/merge-patch+json")
    assert (code, refused["reason"]) == (403, "Forbidden")
