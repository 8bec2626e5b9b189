"""What Endpoints say of the pods behind a Service."""

from __future__ import annotations

from typing import Any

from support.in_process import Api

SPACE = "/api/v1/namespaces/default"
ENDPOINTS = f"{SPACE}/endpoints"


async def service(api: Api, name: str = "web", **spec: Any) -> None:
    ports = [{"name": "http", "port": 80, "targetPort": 8080}]
    body = {
        "metadata": {"name": name, "labels": {"team": "a"}},
        "spec": {"selector": {"app": "web"}, "ports": ports, **spec},
    }
    await api.create(f"{SPACE}/services", body)


async def pod(api: Api, name: str, ip: str, *, ready: bool = True) -> None:
    container = {"name": "c", "image": "i"}
    labels = {"app": "web"}
    await api.create(
        f"{SPACE}/pods", {"metadata": {"name": name, "labels": labels}, "spec": {"containers": [container]}}
    )
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    status = {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}], "conditions": conditions}
    await api.merge(f"{SPACE}/pods/{name}/status", {"status": status})


async def test_a_service_that_no_pod_is_behind_has_empty_endpoints_with_its_labels(api: Api) -> None:
    await service(api)
    found = await api.must(f"{ENDPOINTS}/web")
    assert "subsets" not in found
    assert found["metadata"]["labels"] == {
        "team": "a",
        "endpoints.kubernetes.io/managed-by": "endpoint-controller",
    }
    assert await api.quiet()


async def test_pods_are_listed_by_whether_they_are_ready(api: Api) -> None:
    await service(api)
    await pod(api, "a", "10.1.0.1")
    await pod(api, "b", "10.1.0.2", ready=False)
    (subset,) = (await api.must(f"{ENDPOINTS}/web"))["subsets"]
    assert [each["ip"] for each in subset["addresses"]] == ["10.1.0.1"]
    assert [each["ip"] for each in subset["notReadyAddresses"]] == ["10.1.0.2"]
    assert subset["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}]
    assert await api.quiet()


async def test_endpoints_go_with_their_service_whoever_wrote_them(api: Api) -> None:
    await service(api)
    await service(api, "own", selector=None)
    await api.create(ENDPOINTS, {"metadata": {"name": "own"}, "subsets": [{"addresses": [{"ip": "10.1.2.3"}]}]})
    await api.delete(f"{SPACE}/services/web")
    await api.delete(f"{SPACE}/services/own")
    assert await api.get(f"{ENDPOINTS}/web") is None
    assert await api.get(f"{ENDPOINTS}/own") is None


async def test_endpoints_that_never_had_a_service_stay(api: Api) -> None:
    await api.create(ENDPOINTS, {"metadata": {"name": "lonely"}})
    assert await api.quiet()
    assert await api.get(f"{ENDPOINTS}/lonely") is not None


async def test_deleted_endpoints_come_back(api: Api) -> None:
    await service(api)
    await api.delete(f"{ENDPOINTS}/web")
    assert await api.get(f"{ENDPOINTS}/web") is not None


async def test_annotations_of_others_are_kept(api: Api) -> None:
    await service(api)
    await api.merge(f"{ENDPOINTS}/web", {"metadata": {"annotations": {"note": "mine"}}})
    await pod(api, "a", "10.1.0.1")
    found = await api.must(f"{ENDPOINTS}/web")
    assert found["metadata"]["annotations"] == {"note": "mine"}
    assert found["subsets"]


async def test_too_many_addresses_are_cut_and_that_is_said(api: Api) -> None:
    from nagaya.apiserver.controllers import endpoints
    from nagaya.apiserver.controllers.service_backends import Behind

    pods = [
        Behind(
            {
                "metadata": {"name": f"p{number}", "namespace": "default", "uid": str(number)},
                "spec": {"containers": []},
                "status": {"podIP": f"10.2.{number // 250}.{number % 250 + 1}"},
            },
            ready=number % 2 == 0,
            terminating=False,
            zone="",
        )
        for number in range(endpoints.LARGEST + 50)
    ]
    spec = {"selector": {"a": "b"}, "clusterIP": "None"}
    wanted = endpoints.planned({"metadata": {"name": "web", "namespace": "default"}, "spec": spec}, pods)
    (subset,) = wanted["subsets"]
    assert len(subset["addresses"]) == endpoints.LARGEST // 2 + 25
    assert len(subset["addresses"]) + len(subset["notReadyAddresses"]) == endpoints.LARGEST
    assert wanted["metadata"]["annotations"] == {"endpoints.kubernetes.io/over-capacity": "truncated"}
