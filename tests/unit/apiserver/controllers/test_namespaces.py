"""How namespaces end."""

from __future__ import annotations

from typing import Any

from nagaya.apiserver.controllers.namespace_defaults import ROOT_CA
from support.in_process import Api

SPACE = "/api/v1/namespaces/lab"
MAPS = f"{SPACE}/configmaps"


async def make(api: Api, name: str = "lab") -> dict[str, Any]:
    return await api.create("/api/v1/namespaces", {"metadata": {"name": name}})


def conditions(namespace: dict[str, Any]) -> dict[str, tuple[str, str, str]]:
    found = namespace["status"]["conditions"]
    return {each["type"]: (each["status"], each["reason"], each["message"]) for each in found}


async def test_a_namespace_goes_with_everything_in_it(api: Api) -> None:
    await make(api)
    for number in range(5):
        await api.config_map(f"map-{number}", namespace="lab")
    await api.create(f"{SPACE}/secrets", {"metadata": {"name": "s"}})
    await api.config_map("other")
    gone = await api.delete(SPACE)
    assert gone["status"]["phase"] == "Terminating"
    assert await api.get(SPACE) is None
    assert not api.server.store.count("configmaps", "lab/")
    assert not api.server.store.count("secrets", "lab/")
    assert await api.get("/api/v1/namespaces/default/configmaps/other") is not None


async def test_a_namespace_waits_for_what_has_finalizers_and_says_so(api: Api) -> None:
    await make(api)
    await api.config_map("held", namespace="lab", finalizers=["example.com/wait"])
    await api.delete(SPACE)
    told = conditions(await api.must(SPACE))
    assert told["NamespaceDeletionDiscoveryFailure"] == (
        "False",
        "ResourcesDiscovered",
        "All resources successfully discovered",
    )
    assert told["NamespaceContentRemaining"] == (
        "True",
        "SomeResourcesRemain",
        "Some resources are remaining: configmaps. has 1 resource instances",
    )
    assert told["NamespaceFinalizersRemaining"] == (
        "True",
        "SomeFinalizersRemain",
        "Some content in the namespace has finalizers remaining: example.com/wait in 1 resource instances",
    )
    assert (await api.must(f"{MAPS}/held"))["metadata"]["deletionTimestamp"]
    assert await api.quiet()
    await api.merge(f"{MAPS}/held", {"metadata": {"finalizers": None}})
    assert await api.get(SPACE) is None


async def test_nothing_new_is_taken_in_by_a_namespace_that_goes(api: Api) -> None:
    await make(api)
    await api.config_map("held", namespace="lab", finalizers=["example.com/wait"])
    await api.delete(SPACE)
    code, refusal = await api.ask("POST", MAPS, {"metadata": {"name": "late"}})
    assert code == 403
    assert refusal["details"]["causes"][0]["reason"] == "NamespaceTerminating"


async def test_a_namespace_stays_while_another_has_a_finalizer_in_its_spec(api: Api) -> None:
    body = {"metadata": {"name": "lab"}, "spec": {"finalizers": ["kubernetes", "example.com/mine"]}}
    await api.create("/api/v1/namespaces", body)
    await api.config_map("map", namespace="lab")
    await api.delete(SPACE)
    left = await api.must(SPACE)
    assert left["spec"]["finalizers"] == ["example.com/mine"]
    assert await api.get(f"{MAPS}/map") is None
    assert await api.quiet()
    left["spec"] = {}
    code, _ = await api.ask("PUT", f"{SPACE}/finalize", left)
    assert code == 200
    await api.server.settled()
    assert await api.get(SPACE) is None


async def test_a_namespace_stays_while_it_has_a_finalizer_in_its_metadata(api: Api) -> None:
    await api.create("/api/v1/namespaces", {"metadata": {"name": "lab", "finalizers": ["example.com/wait"]}})
    await api.delete(SPACE)
    left = await api.must(SPACE)
    assert left["spec"] == {}
    assert left["metadata"]["finalizers"] == ["example.com/wait"]
    await api.merge(SPACE, {"metadata": {"finalizers": None}})
    assert await api.get(SPACE) is None


async def test_custom_objects_go_with_their_namespace(api: Api) -> None:
    definition = {
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
            ],
        },
    }
    await api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    await make(api)
    body = {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "w", "finalizers": ["example.com/wait"]},
    }
    await api.create("/apis/example.com/v1/namespaces/lab/widgets", body)
    await api.delete(SPACE)
    told = conditions(await api.must(SPACE))["NamespaceContentRemaining"]
    assert told[2] == "Some resources are remaining: widgets.example.com has 1 resource instances"
    await api.merge("/apis/example.com/v1/namespaces/lab/widgets/w", {"metadata": {"finalizers": None}})
    assert await api.get(SPACE) is None


async def test_pods_go_before_everything_else(api: Api) -> None:
    await make(api)
    await api.config_map("needed", namespace="lab")
    pod = {
        "metadata": {"name": "p", "finalizers": ["example.com/wait"]},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    await api.create(f"{SPACE}/pods", pod)
    await api.delete(SPACE)
    assert (await api.must(f"{SPACE}/pods/p"))["metadata"]["deletionTimestamp"]
    assert "deletionTimestamp" not in (await api.must(f"{MAPS}/needed"))["metadata"]
    await api.merge(f"{SPACE}/pods/p", {"metadata": {"finalizers": None}})
    await api.ask("DELETE", f"{SPACE}/pods/p", {"gracePeriodSeconds": 0})
    await api.server.settled()
    assert await api.get(SPACE) is None


async def test_every_namespace_has_its_account_and_the_certificate_to_trust(api: Api) -> None:
    await make(api)
    assert await api.get(f"{SPACE}/serviceaccounts/default") is not None
    trusted = await api.must(f"{MAPS}/{ROOT_CA}")
    assert trusted["data"] == {"ca.crt": api.server.identity.authority.certificate_pem.decode()}


async def test_what_every_namespace_has_comes_back_and_is_put_right(api: Api) -> None:
    await make(api)
    await api.delete(f"{SPACE}/serviceaccounts/default")
    assert await api.get(f"{SPACE}/serviceaccounts/default") is not None
    await api.merge(f"{MAPS}/{ROOT_CA}", {"data": {"ca.crt": "forged"}})
    assert "BEGIN CERTIFICATE" in (await api.must(f"{MAPS}/{ROOT_CA}"))["data"]["ca.crt"]
    await api.delete(f"{MAPS}/{ROOT_CA}")
    assert await api.get(f"{MAPS}/{ROOT_CA}") is not None
    assert await api.quiet()
