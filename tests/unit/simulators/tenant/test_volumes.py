"""Volumes: claims are bound, volumes follow their pods from node to node, and what is in use stays."""

from __future__ import annotations

from typing import Any

import pytest

from support.simulated_tenant import Kubectl, Make, is_ready, pod

pytestmark = pytest.mark.slow

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
PODS = "/api/v1/namespaces/default/pods"
ATTACHMENTS = "/apis/storage.k8s.io/v1/volumeattachments"
VOLUMES = "/api/v1/persistentvolumes"


def claim(name: str) -> dict[str, Any]:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {"metadata": {"name": name}, "spec": spec}


def with_volume(name: str, **spec: Any) -> dict[str, Any]:
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    return pod(name, volumes=[volume], **spec)


async def attached(api: Kubectl, node: str) -> list[str]:
    status = (await api.get(f"/api/v1/nodes/{node}"))["status"]
    return [each["name"] for each in status.get("volumesAttached", ())]


async def test_a_pod_starts_when_its_volume_is_attached_to_its_node(make: Make) -> None:
    api = await make(1)
    await api.tenant.prepare()
    await api.create(CLAIMS, claim("data"))
    await api.create(PODS, with_volume("a"))
    await api.wait(0.2)
    assert await api.items(ATTACHMENTS) == []
    await api.wait(5)
    assert is_ready((await api.pods())["a"])
    bound = await api.get(f"{CLAIMS}/data")
    assert bound["status"]["phase"] == "Bound"
    volume = bound["spec"]["volumeName"]
    assert (await api.get(f"{VOLUMES}/{volume}"))["status"]["phase"] == "Bound"
    (attachment,) = await api.items(ATTACHMENTS)
    assert attachment["status"]["attached"] is True
    assert attachment["spec"]["source"] == {"persistentVolumeName": volume}
    assert await attached(api, "n1") == [f"kubernetes.io/csi/simulated.nagaya.dev^{volume}"]


async def test_a_volume_is_detached_when_its_last_pod_is_gone(make: Make) -> None:
    api = await make(1)
    await api.tenant.prepare()
    await api.create(CLAIMS, claim("data"))
    await api.create(PODS, with_volume("a", metadata={"annotations": {"simulated.nagaya.dev/stop-after": "10"}}))
    await api.wait(5)
    await api.delete(f"{PODS}/a")
    await api.wait(5)
    assert len(await attached(api, "n1")) == 1, "the pod still runs"
    await api.wait(10)
    assert await attached(api, "n1") == []
    assert await api.items(ATTACHMENTS) == []


async def test_a_node_that_is_gone_holds_on_to_volumes_until_it_is_deleted(make: Make) -> None:
    api = await make(2)
    await api.tenant.prepare()
    await api.create(CLAIMS, claim("data"))
    await api.create(PODS, with_volume("a", nodeName="n1"))
    await api.wait(5)
    await api.tenant.leave("n1")
    await api.wait(60)
    await api.delete(f"{PODS}/a", {"gracePeriodSeconds": 0})
    await api.wait(120)
    assert len(await api.items(ATTACHMENTS)) == 1
    await api.delete("/api/v1/nodes/n1")
    await api.wait(1)
    assert await api.items(ATTACHMENTS) == []


async def test_volumes_of_a_node_that_is_gone_are_taken_from_it_after_six_minutes(make: Make) -> None:
    api = await make(1)
    await api.tenant.prepare()
    await api.create(CLAIMS, claim("data"))
    await api.create(PODS, with_volume("a"))
    await api.wait(5)
    await api.tenant.leave("n1")
    await api.wait(60)
    await api.delete(f"{PODS}/a", {"gracePeriodSeconds": 0})
    await api.wait(350)
    assert len(await api.items(ATTACHMENTS)) == 1
    await api.wait(20)
    assert await api.items(ATTACHMENTS) == []
    assert await attached(api, "n1") == []


async def test_a_claim_stays_while_a_pod_uses_it_and_takes_its_volume_along(make: Make) -> None:
    api = await make(1)
    await api.tenant.prepare()
    await api.create(CLAIMS, claim("data"))
    await api.create(PODS, with_volume("a"))
    await api.wait(5)
    await api.delete(f"{CLAIMS}/data")
    await api.wait(30)
    assert "deletionTimestamp" in (await api.get(f"{CLAIMS}/data"))["metadata"]
    await api.delete(f"{PODS}/a")
    await api.wait(5)
    assert not await api.exists(f"{CLAIMS}/data")
    assert await api.items(VOLUMES) == []


async def test_a_claim_of_an_unknown_class_waits_and_so_does_its_pod(make: Make) -> None:
    api = await make(1)
    waiting = claim("data")
    waiting["spec"]["storageClassName"] = "elsewhere"
    await api.create(CLAIMS, waiting)
    await api.create(PODS, with_volume("a"))
    await api.wait(60)
    assert (await api.get(f"{CLAIMS}/data"))["status"]["phase"] == "Pending"
    assert (await api.pods())["a"]["status"]["phase"] == "Pending"
    volume = {
        "metadata": {"name": "by-hand"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"},
            "csi": {"driver": "elsewhere", "volumeHandle": "1"},
            "claimRef": {"namespace": "default", "name": "data"},
            "storageClassName": "elsewhere",
        },
    }
    await api.create(VOLUMES, volume)
    await api.wait(5)
    assert is_ready((await api.pods())["a"])


async def test_a_new_claim_of_an_old_name_gets_a_new_volume(make: Make) -> None:
    api = await make(1)
    await api.tenant.prepare()
    await api.create(CLAIMS, claim("data"))
    await api.wait(2)
    old = (await api.get(f"{CLAIMS}/data"))["spec"]["volumeName"]
    await api.patch(f"{VOLUMES}/{old}", {"spec": {"persistentVolumeReclaimPolicy": "Retain"}})
    await api.delete(f"{CLAIMS}/data")
    await api.wait(2)
    assert (await api.get(f"{VOLUMES}/{old}"))["status"]["phase"] == "Released"
    await api.create(CLAIMS, claim("data"))
    await api.wait(2)
    found = await api.get(f"{CLAIMS}/data")
    assert found["status"]["phase"] == "Bound"
    assert found["spec"]["volumeName"] != old


async def test_a_volume_whose_driver_lets_go_late_leaves_the_node_then(make: Make) -> None:
    api = await make(1)
    await api.tenant.prepare()
    await api.create(CLAIMS, claim("data"))
    await api.create(PODS, with_volume("a"))
    await api.wait(5)
    (attachment,) = await api.items(ATTACHMENTS)
    path = f"{ATTACHMENTS}/{attachment['metadata']['name']}"
    await api.patch(path, {"metadata": {"finalizers": ["external-attacher/csi-example-com"]}})
    await api.delete(f"{PODS}/a")
    await api.wait(10)
    assert len(await attached(api, "n1")) == 1, "the driver has not let go of it"
    await api.patch(path, {"metadata": {"finalizers": None}})
    await api.wait(1)
    assert await attached(api, "n1") == []
