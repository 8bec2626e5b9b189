"""What admission is shown of a write through the scale subresource."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from nagaya.apiserver.server import ApiServer, Config
from nagaya.world import World
from support.in_process import ADMIN, Api, MovingClock

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
MERGE = "application/merge-patch+json"
SCALES = {
    "resourceRules": [
        {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["deployments/scale"]}
    ]
}


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    clock = MovingClock()
    server = await ApiServer.start(Config(tokens={"admin": ADMIN}), World(clock=clock))
    made = Api(server, clock)
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    await made.create(DEPLOYMENTS, {"metadata": {"name": "web"}, "spec": spec})
    yield made
    await server.stop()


async def policy(api: Api, sort: str, spec: dict[str, Any], **binding: Any) -> None:
    path = f"{REGISTRATION}/{sort}admissionpolic"
    await api.create(f"{path}ies", {"metadata": {"name": "rule"}, "spec": {"matchConstraints": SCALES, **spec}})
    await api.create(f"{path}ybindings", {"metadata": {"name": "use"}, "spec": {"policyName": "rule", **binding}})


async def scale(api: Api, replicas: int) -> tuple[int, dict[str, Any]]:
    return await api.ask("PATCH", f"{DEPLOYMENTS}/web/scale", {"spec": {"replicas": replicas}}, kind=MERGE)


async def test_policies_see_the_scale_and_what_it_was(api: Api) -> None:
    expression = (
        "object.kind == 'Scale' && object.apiVersion == 'autoscaling/v1' && !has(object.spec.template) && "
        "object.spec.replicas - oldObject.spec.replicas <= 2 && request.kind.kind == 'Scale'"
    )
    await policy(api, "validating", {"validations": [{"expression": expression}]}, validationActions=["Deny"])
    code, answer = await scale(api, 3)
    assert code == 200, answer
    code, answer = await scale(api, 9)
    assert code == 422
    assert (await api.must(f"{DEPLOYMENTS}/web"))["spec"]["replicas"] == 3


async def test_what_policies_make_of_the_scale_is_what_the_object_gets(api: Api) -> None:
    patch = '[JSONPatch{op: "replace", path: "/spec/replicas", value: object.spec.replicas + 1}]'
    mutation = {"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}
    await policy(api, "mutating", {"mutations": [mutation], "reinvocationPolicy": "Never"})
    code, answer = await scale(api, 4)
    assert (code, answer["spec"]["replicas"]) == (200, 5)
    found = await api.must(f"{DEPLOYMENTS}/web")
    assert found["spec"]["replicas"] == 5
    assert found["spec"]["template"]["spec"]["containers"][0]["name"] == "c"


async def test_an_apply_configuration_may_be_of_a_scale(api: Api) -> None:
    written = "Object{spec: Object.spec{replicas: 7}}"
    mutation = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": written}}
    await policy(api, "mutating", {"mutations": [mutation], "reinvocationPolicy": "Never"})
    code, answer = await scale(api, 4)
    assert (code, answer["spec"]["replicas"]) == (200, 7)


async def test_a_scale_is_the_same_for_every_version_of_its_object(api: Api) -> None:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"n": {"type": "integer"}}}}}
    scaled = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}
    version = {"served": True, "schema": {"openAPIV3Schema": schema}, "subresources": {"scale": scaled, "status": {}}}
    names = {"plural": "boats", "singular": "boat", "kind": "Boat", "listKind": "BoatList"}
    versions = [{"name": "v1", "storage": True, **version}, {"name": "v2", "storage": False, **version}]
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions}
    body = {"metadata": {"name": "boats.example.com"}, "spec": spec}
    await api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body)
    boats = "/apis/example.com/v2/namespaces/default/boats"
    await api.create(
        boats, {"apiVersion": "example.com/v2", "kind": "Boat", "metadata": {"name": "b"}, "spec": {"n": 1}}
    )
    rule = {"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["boats/scale"]}
    patch = '[JSONPatch{op: "replace", path: "/spec/replicas", value: oldObject.spec.replicas + 1}]'
    mutation = {"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}
    wanted = {
        "matchConstraints": {"resourceRules": [rule], "matchPolicy": "Equivalent"},
        "mutations": [mutation],
        "reinvocationPolicy": "Never",
    }
    await policy(api, "mutating", wanted)
    code, answer = await api.ask("PATCH", f"{boats}/b/scale", {"spec": {"replicas": 9}}, kind=MERGE)
    assert (code, answer["kind"], answer["spec"]["replicas"]) == (200, "Scale", 2), answer
    assert (await api.must(f"{boats}/b"))["spec"] == {"n": 2}
