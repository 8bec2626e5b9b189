"""What EndpointSlices say of the pods behind a Service."""

from __future__ import annotations

from typing import Any

import pytest

from support.in_process import Api

pytestmark = pytest.mark.slow

SPACE = "/api/v1/namespaces/default"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"


async def service(api: Api, name: str = "web", **spec: Any) -> dict[str, Any]:
    ports = [{"name": "http", "port": 80, "targetPort": "web"}, {"name": "admin", "port": 81, "targetPort": 9000}]
    body = {"metadata": {"name": name}, "spec": {"selector": {"app": "web"}, "ports": ports, **spec}}
    return await api.create(f"{SPACE}/services", body)


async def pod(api: Api, name: str, ip: str = "", *, ready: bool = True, port: int = 8080, **spec: Any) -> None:
    container = {"name": "c", "image": "i", "ports": [{"name": "web", "containerPort": port}]}
    labels = {"app": "web"}
    await api.create(
        f"{SPACE}/pods", {"metadata": {"name": name, "labels": labels}, "spec": {"containers": [container], **spec}}
    )
    if ip:
        conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
        status = {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}], "conditions": conditions}
        await api.merge(f"{SPACE}/pods/{name}/status", {"status": status})


async def slices(api: Api, service: str = "web") -> list[dict[str, Any]]:
    found = await api.must(f"{SLICES}?labelSelector=kubernetes.io/service-name={service}")
    items: list[dict[str, Any]] = found["items"]
    return items


async def test_a_service_that_no_pod_is_behind_has_an_empty_slice(api: Api) -> None:
    made = await service(api)
    (found,) = await slices(api)
    assert found["addressType"] == "IPv4"
    assert not found["endpoints"]
    assert not found["ports"]
    assert found["metadata"]["generateName"] == "web-"
    assert found["metadata"]["labels"] == {
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        "kubernetes.io/service-name": "web",
    }
    (owner,) = found["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("Service", made["metadata"]["uid"], True)
    assert await api.quiet()


async def test_slices_go_with_their_service(api: Api) -> None:
    await service(api)
    await api.delete(f"{SPACE}/services/web")
    assert await slices(api) == []


async def test_a_pod_is_listed_as_soon_as_it_has_an_address(api: Api) -> None:
    await service(api)
    await pod(api, "a")
    assert not (await slices(api))[0]["endpoints"]
    await pod(api, "b", "10.1.0.2", ready=False)
    (found,) = await slices(api)
    (endpoint,) = found["endpoints"]
    assert endpoint["addresses"] == ["10.1.0.2"]
    assert endpoint["conditions"] == {"ready": False, "serving": False, "terminating": False}
    assert endpoint["targetRef"]["name"] == "b"
    assert found["ports"] == [
        {"name": "http", "port": 8080, "protocol": "TCP"},
        {"name": "admin", "port": 9000, "protocol": "TCP"},
    ]
    assert await api.quiet()


async def test_pods_with_different_port_numbers_are_in_different_slices(api: Api) -> None:
    await service(api)
    await pod(api, "a", "10.1.0.1", port=8080)
    await pod(api, "b", "10.1.0.2", port=8081)
    found = {each["ports"][0]["port"]: each["endpoints"][0]["addresses"] for each in await slices(api)}
    assert found == {8080: ["10.1.0.1"], 8081: ["10.1.0.2"]}


async def test_a_slice_that_is_no_longer_needed_goes(api: Api) -> None:
    await service(api)
    await pod(api, "a", "10.1.0.1", port=8080)
    await pod(api, "b", "10.1.0.2", port=8081)
    await api.merge(f"{SPACE}/pods/b/status", {"status": {"phase": "Succeeded"}})
    (left,) = await slices(api)
    assert left["endpoints"][0]["addresses"] == ["10.1.0.1"]


async def test_a_pod_that_loses_its_label_is_not_behind_the_service_any_more(api: Api) -> None:
    await service(api)
    await pod(api, "a", "10.1.0.1")
    await api.merge(f"{SPACE}/pods/a", {"metadata": {"labels": {"app": "other"}}})
    assert not (await slices(api))[0]["endpoints"]


async def test_the_name_and_zone_of_a_node_are_told(api: Api) -> None:
    labels = {"topology.kubernetes.io/zone": "east"}
    await service(api)
    await pod(api, "a", "10.1.0.1", nodeName="n1")
    assert not (await slices(api))[0]["endpoints"]  # a pod on a node that does not exist is about to go
    await api.create("/api/v1/nodes", {"metadata": {"name": "n1", "labels": labels}})
    (endpoint,) = (await slices(api))[0]["endpoints"]
    assert (endpoint["nodeName"], endpoint["zone"]) == ("n1", "east")


async def test_a_headless_service_can_publish_pods_that_are_not_ready_under_their_names(api: Api) -> None:
    await service(api, "own", clusterIP="None", publishNotReadyAddresses=True, ports=None)
    await pod(api, "a", "10.1.0.1", ready=False, hostname="first", subdomain="own")
    (found,) = await slices(api, "own")
    assert found["metadata"]["labels"]["service.kubernetes.io/headless"] == ""
    (endpoint,) = found["endpoints"]
    assert endpoint["hostname"] == "first"
    assert endpoint["conditions"]["ready"] is True
    assert not found["ports"]


async def test_each_family_has_slices_of_its_own(api: Api) -> None:
    await service(api, ipFamilyPolicy="SingleStack", ipFamilies=["IPv4"])
    await pod(api, "a", "10.1.0.1")
    addresses = {"podIP": "fd00::1", "podIPs": [{"ip": "fd00::1"}]}
    await pod(api, "b", "10.1.0.2")
    await api.merge(f"{SPACE}/pods/b/status", {"status": addresses})
    (found,) = await slices(api)
    assert [each["addresses"] for each in found["endpoints"]] == [["10.1.0.1"]]


async def test_a_slice_that_somebody_deletes_or_changes_comes_back(api: Api) -> None:
    await service(api)
    await pod(api, "a", "10.1.0.1")
    (found,) = await slices(api)
    await api.merge(f"{SLICES}/{found['metadata']['name']}", {"endpoints": []})
    (mended,) = await slices(api)
    assert mended["endpoints"][0]["addresses"] == ["10.1.0.1"]
    await api.delete(f"{SLICES}/{found['metadata']['name']}")
    (again,) = await slices(api)
    assert again["endpoints"][0]["addresses"] == ["10.1.0.1"]


async def test_annotations_of_others_on_a_slice_are_kept(api: Api) -> None:
    await service(api)
    (found,) = await slices(api)
    await api.merge(f"{SLICES}/{found['metadata']['name']}", {"metadata": {"annotations": {"note": "mine"}}})
    await pod(api, "a", "10.1.0.1")
    (found,) = await slices(api)
    assert found["metadata"]["annotations"] == {"note": "mine"}
    assert found["endpoints"]


async def test_a_slice_that_a_quota_has_no_room_for_is_tried_again(api: Api) -> None:
    hard = {"count/endpointslices.discovery.k8s.io": "0"}
    await api.create(f"{SPACE}/resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": hard}})
    await service(api)
    assert await slices(api) == []
    failing = {each.name: each.failing for each in api.server._runner.figures()}
    assert failing["endpoint slices"] == 1


async def test_services_that_choose_no_pods_are_left_alone(api: Api) -> None:
    await service(api, selector=None)
    await service(api, "elsewhere", type="ExternalName", externalName="example.com", ports=None)
    assert await slices(api) == []
    assert await slices(api, "elsewhere") == []


async def test_more_endpoints_than_a_slice_may_hold_go_into_another(api: Api) -> None:
    from nagaya.apiserver.controllers import endpoint_slices
    from nagaya.apiserver.controllers.service_backends import Behind

    many = endpoint_slices.LARGEST + 1
    pods = [
        Behind(
            {
                "metadata": {"name": f"p{number}", "namespace": "default", "uid": str(number)},
                "spec": {"containers": []},
                "status": {"podIP": f"10.2.{number // 250}.{number % 250 + 1}"},
            },
            ready=True,
            terminating=False,
            zone="",
        )
        for number in range(many)
    ]
    made = {
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"a": "b"}, "clusterIP": "10.0.0.1"},
    }
    planned = endpoint_slices.planned(made, pods)
    assert [len(each["endpoints"]) for each in planned] == [endpoint_slices.LARGEST, 1]


async def test_a_namespace_that_goes_is_no_failure(api: Api) -> None:
    await api.create("/api/v1/namespaces", {"metadata": {"name": "going"}})
    held = {"name": "web", "finalizers": ["example.com/hold"]}
    path = "/api/v1/namespaces/going/services"
    await api.create(path, {"metadata": held, "spec": {"ports": [{"port": 80}]}})
    await api.delete("/api/v1/namespaces/going")
    endpoints = {"metadata": {"name": "late"}, "subsets": [{"addresses": [{"ip": "10.1.2.3"}]}]}
    code, refused = await api.ask("POST", "/api/v1/namespaces/going/endpoints", endpoints)
    assert (code, refused["details"]["causes"][0]["reason"]) == (403, "NamespaceTerminating")
    await api.merge(f"{path}/web", {"spec": {"selector": {"app": "web"}}})
    assert {each.name for each in api.server._runner.figures() if each.failing} <= {"namespace controller"}
