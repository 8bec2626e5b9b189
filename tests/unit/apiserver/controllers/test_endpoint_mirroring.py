"""Slices made from Endpoints that users write."""

from __future__ import annotations

from typing import Any

import pytest

from support.in_process import Api

SPACE = "/api/v1/namespaces/default"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"


async def mirrored(api: Api) -> list[dict[str, Any]]:
    found = await api.must(f"{SLICES}?labelSelector=kubernetes.io/service-name=db")
    items: list[dict[str, Any]] = found["items"]
    return items


async def service(api: Api, **spec: Any) -> None:
    await api.create(f"{SPACE}/services", {"metadata": {"name": "db"}, "spec": {"ports": [{"port": 80}], **spec}})


async def endpoints(api: Api, *ips: str, **metadata: Any) -> dict[str, Any]:
    subset = {"addresses": [{"ip": each} for each in ips], "ports": [{"port": 80}]}
    return await api.create(f"{SPACE}/endpoints", {"metadata": {"name": "db", **metadata}, "subsets": [subset]})


async def test_endpoints_are_mirrored_through_their_life(api: Api) -> None:
    await service(api)
    made = await endpoints(api, "10.1.2.3")
    (found,) = await mirrored(api)
    assert found["endpoints"] == [{"addresses": ["10.1.2.3"], "conditions": {"ready": True}}]
    assert found["ports"] == [{"name": "", "port": 80, "protocol": "TCP"}]
    assert found["metadata"]["ownerReferences"][0]["uid"] == made["metadata"]["uid"]
    label = "endpointslice.kubernetes.io/managed-by"
    assert found["metadata"]["labels"][label] == "endpointslicemirroring-controller.k8s.io"
    await api.merge(
        f"{SPACE}/endpoints/db", {"subsets": [{"addresses": [{"ip": "10.2.3.4"}], "ports": [{"port": 80}]}]}
    )
    (changed,) = await mirrored(api)
    assert changed["metadata"]["name"] == found["metadata"]["name"]
    assert changed["endpoints"][0]["addresses"] == ["10.2.3.4"]
    assert await api.quiet()
    await api.delete(f"{SPACE}/endpoints/db")
    assert await mirrored(api) == []


async def test_each_family_has_a_slice(api: Api) -> None:
    await service(api)
    await endpoints(api, "10.1.2.3", "fd00::1")
    assert {each["addressType"]: each["endpoints"][0]["addresses"] for each in await mirrored(api)} == {
        "IPv4": ["10.1.2.3"],
        "IPv6": ["fd00::1"],
    }


async def test_endpoints_wait_for_their_service(api: Api) -> None:
    await endpoints(api, "10.1.2.3")
    assert await mirrored(api) == []
    await service(api)
    assert len(await mirrored(api)) == 1


async def test_labels_and_annotations_are_copied_but_not_those_of_tools(api: Api) -> None:
    await service(api)
    annotations = {"note": "n", "kubectl.kubernetes.io/last-applied-configuration": "{}"}
    await endpoints(api, "10.1.2.3", labels={"a": "b"}, annotations=annotations)
    (found,) = await mirrored(api)
    assert found["metadata"]["labels"]["a"] == "b"
    assert found["metadata"]["annotations"] == {"note": "n"}


@pytest.mark.parametrize(
    "metadata",
    [
        {"labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}},
        {"annotations": {"control-plane.alpha.kubernetes.io/leader": "{}"}},
    ],
)
async def test_endpoints_that_say_so_are_not_mirrored(api: Api, metadata: dict[str, Any]) -> None:
    await service(api)
    await endpoints(api, "10.1.2.3", **metadata)
    assert await mirrored(api) == []


async def test_a_service_that_begins_to_choose_pods_has_only_its_own_slices(api: Api) -> None:
    await service(api)
    await endpoints(api, "10.1.2.3")
    await api.merge(f"{SPACE}/services/db", {"spec": {"selector": {"app": "db"}}})
    (found,) = await mirrored(api)
    assert not found["endpoints"]
