"""Claims, volumes and attribute classes stay as long as they are used."""

from __future__ import annotations

from typing import Any

from support.in_process import Api

SPACE = "/api/v1/namespaces/default"
CLAIM = f"{SPACE}/persistentvolumeclaims/c"
VOLUME = "/api/v1/persistentvolumes/v"
CLASSES = "/apis/storage.k8s.io/v1/volumeattributesclasses"


async def claim(api: Api, **spec: Any) -> None:
    wanted = {"accessModes": ["ReadWriteOnce"], "storageClassName": "", "resources": {"requests": {"storage": "1Gi"}}}
    await api.create(f"{SPACE}/persistentvolumeclaims", {"metadata": {"name": "c"}, "spec": {**wanted, **spec}})


async def volume(api: Api, **spec: Any) -> None:
    made = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/data"}}
    await api.create("/api/v1/persistentvolumes", {"metadata": {"name": "v"}, "spec": {**made, **spec}})


async def pod(api: Api, **spec: Any) -> None:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "c"}}]
    body = {"containers": [{"name": "c", "image": "i"}], "volumes": volumes, **spec}
    await api.create(f"{SPACE}/pods", {"metadata": {"name": "p"}, "spec": body})


async def test_what_nothing_uses_goes_at_once(api: Api) -> None:
    await claim(api)
    await volume(api, storageClassName="other")
    await api.create(CLASSES, {"metadata": {"name": "gold"}, "driverName": "example.com", "parameters": {"a": "b"}})
    assert (await api.must(CLAIM))["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    assert (await api.must(VOLUME))["metadata"]["finalizers"] == ["kubernetes.io/pv-protection"]
    assert (await api.must(f"{CLASSES}/gold"))["metadata"]["finalizers"] == ["kubernetes.io/vac-protection"]
    for path in (CLAIM, VOLUME, f"{CLASSES}/gold"):
        await api.delete(path)
        assert await api.get(path) is None


async def test_a_claim_stays_until_the_last_pod_on_a_node_that_uses_it_has_gone(api: Api) -> None:
    await claim(api)
    await pod(api, nodeName="n1")
    await api.delete(CLAIM)
    assert (await api.must(CLAIM))["metadata"]["deletionTimestamp"]
    code, answer = await api.ask("DELETE", f"{SPACE}/pods/p", {"gracePeriodSeconds": 0})
    assert code == 200, answer
    await api.server.settled()
    assert await api.get(CLAIM) is None


async def test_a_pod_that_is_on_no_node_does_not_hold_a_claim(api: Api) -> None:
    await claim(api)
    await pod(api)
    await api.delete(CLAIM)
    assert await api.get(CLAIM) is None


async def test_a_bound_volume_stays_until_its_claim_has_gone(api: Api) -> None:
    await volume(api)
    await claim(api)
    assert (await api.must(VOLUME))["status"]["phase"] == "Bound"
    await api.delete(VOLUME)
    assert await api.get(VOLUME) is not None
    await api.delete(CLAIM)
    assert await api.get(VOLUME) is None


async def test_an_attributes_class_stays_while_a_claim_has_it(api: Api) -> None:
    await api.create(CLASSES, {"metadata": {"name": "gold"}, "driverName": "example.com", "parameters": {"a": "b"}})
    await claim(api, volumeAttributesClassName="gold")
    await api.delete(f"{CLASSES}/gold")
    assert await api.get(f"{CLASSES}/gold") is not None
    await api.delete(CLAIM)
    assert await api.get(f"{CLASSES}/gold") is None


async def test_a_protection_that_somebody_takes_off_is_put_back(api: Api) -> None:
    await claim(api)
    await api.merge(CLAIM, {"metadata": {"finalizers": None}})
    assert (await api.must(CLAIM))["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    assert await api.quiet()
