"""Claims and volumes find each other."""

from __future__ import annotations

from typing import Any

from support.in_process import Api

SPACE = "/api/v1/namespaces/default"
CLAIMS = f"{SPACE}/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"


async def claim(api: Api, name: str = "c", **spec: Any) -> dict[str, Any]:
    wanted = {"accessModes": ["ReadWriteOnce"], "storageClassName": "", "resources": {"requests": {"storage": "1Gi"}}}
    return await api.create(CLAIMS, {"metadata": {"name": name}, "spec": {**wanted, **spec}})


async def volume(api: Api, name: str = "v", **spec: Any) -> dict[str, Any]:
    made = {"accessModes": ["ReadWriteOnce", "ReadOnlyMany"], "capacity": {"storage": "2Gi"}}
    body = {**made, "hostPath": {"path": "/data"}, **spec}
    return await api.create(VOLUMES, {"metadata": {"name": name}, "spec": body})


async def phases(api: Api) -> tuple[str, str]:
    one, other = await api.must(f"{VOLUMES}/v"), await api.must(f"{CLAIMS}/c")
    return one["status"]["phase"], other["status"]["phase"]


async def test_a_free_volume_is_available(api: Api) -> None:
    await volume(api)
    assert (await api.must(f"{VOLUMES}/v"))["status"]["phase"] == "Available"
    assert await api.quiet()


async def test_a_claim_and_a_volume_that_fit_are_bound(api: Api) -> None:
    await volume(api)
    made = await claim(api)
    bound, claimed = await api.must(f"{VOLUMES}/v"), await api.must(f"{CLAIMS}/c")
    reference = bound["spec"]["claimRef"]
    assert (reference["namespace"], reference["name"], reference["uid"]) == ("default", "c", made["metadata"]["uid"])
    assert bound["metadata"]["annotations"] == {"pv.kubernetes.io/bound-by-controller": "yes"}
    assert claimed["spec"]["volumeName"] == "v"
    assert claimed["metadata"]["annotations"] == {
        "pv.kubernetes.io/bind-completed": "yes",
        "pv.kubernetes.io/bound-by-controller": "yes",
    }
    assert claimed["status"] == {
        "phase": "Bound",
        "accessModes": ["ReadWriteOnce", "ReadOnlyMany"],
        "capacity": {"storage": "2Gi"},
    }
    assert await phases(api) == ("Bound", "Bound")
    assert await api.quiet()


async def test_a_claim_waits_for_its_volume(api: Api) -> None:
    await claim(api)
    assert (await api.must(f"{CLAIMS}/c"))["status"]["phase"] == "Pending"
    await volume(api)
    assert await phases(api) == ("Bound", "Bound")


async def test_a_volume_is_released_when_its_claim_goes_and_is_not_given_away(api: Api) -> None:
    await volume(api)
    await claim(api)
    await api.delete(f"{CLAIMS}/c")
    assert (await api.must(f"{VOLUMES}/v"))["status"]["phase"] == "Released"
    await claim(api)
    assert await phases(api) == ("Released", "Pending")


async def test_a_claim_that_lost_its_volume_says_so(api: Api) -> None:
    await volume(api)
    await claim(api)
    await api.delete(f"{VOLUMES}/v")
    await api.merge(f"{VOLUMES}/v/status", {"status": {"phase": "Failed"}})
    assert await api.get(f"{VOLUMES}/v") is None
    assert (await api.must(f"{CLAIMS}/c"))["status"]["phase"] == "Lost"


async def test_users_can_say_who_belongs_together(api: Api) -> None:
    await volume(api, "w", capacity={"storage": "1Gi"})
    await volume(api, claimRef={"namespace": "default", "name": "c"})
    assert (await api.must(f"{VOLUMES}/v"))["status"]["phase"] == "Available"
    await claim(api)
    assert await phases(api) == ("Bound", "Bound")
    await claim(api, "d", volumeName="w")
    assert (await api.must(f"{VOLUMES}/w"))["spec"]["claimRef"]["name"] == "d"


async def test_a_claim_of_a_class_that_waits_for_pods_is_bound_when_a_node_is_chosen(api: Api) -> None:
    made = {"metadata": {"name": "late"}, "provisioner": "example.com/p", "volumeBindingMode": "WaitForFirstConsumer"}
    await api.create("/apis/storage.k8s.io/v1/storageclasses", made)
    await volume(api, storageClassName="late")
    await claim(api, storageClassName="late")
    assert await phases(api) == ("Available", "Pending")
    await api.merge(f"{CLAIMS}/c", {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "n1"}}})
    assert await phases(api) == ("Bound", "Bound")


async def test_two_claims_never_get_the_same_volume(api: Api) -> None:
    await volume(api)
    for name in ("c", "d", "e"):
        await claim(api, name)
    found = [(await api.must(f"{CLAIMS}/{name}"))["status"]["phase"] for name in ("c", "d", "e")]
    assert sorted(found) == ["Bound", "Pending", "Pending"]
