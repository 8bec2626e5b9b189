"""No request costs more than in proportion to its size, so that no client can stall the server."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any, NamedTuple

import pytest

from nagaya.apiserver.authn.user import User
from nagaya.apiserver.server import ApiServer, Config
from nagaya.apiserver.storage import Record
from nagaya.apiserver.web.request import Request
from nagaya.world import World
from support.cpu import MOST, cpu_seconds, growth
from support.good_objects import ALL_OTHERS
from support.in_process import ADMIN, Api, MovingClock, owner

JSON = "application/json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
PATCHED = "/apis/apps/v1/namespaces/default/deployments/patched"
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
SIGNED = {**ALL_OTHERS[REQUESTS]["spec"], "signerName": "a.b/c"}
POD = "/api/v1/namespaces/default/pods/pod"
CUSTOM = "/apis/example.com/v1/namespaces/default/things"
SERVICE = {"ports": [{"port": 80}]}
_SET = {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}
_DEEP_DEFAULT = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "b": {
                "type": "array",
                "default": [{}] * 50,
                "items": {"type": "object", "properties": {"c": {"type": "string", "default": "c" * 1000}}},
            }
        },
    },
}


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    clock = MovingClock()
    users = {
        "admin": ADMIN,
        "nobody": User("nobody", groups=("system:authenticated",)),
        "editor": User("editor", groups=("system:authenticated",)),
    }
    server = await ApiServer.start(Config(tokens=users), World(clock=clock))
    found = Api(server, clock)
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "editor"}
    binding = {"metadata": {"name": "editor"}, "roleRef": role, "subjects": [subject]}
    await found.create("/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings", binding)
    await found.create("/api/v1/namespaces/default/services", {"metadata": {"name": "mirrored"}, "spec": SERVICE})
    await found.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition())
    yield found
    await server.stop()


def definition() -> dict[str, Any]:
    """A kind whose values are checked against many alternatives, and whose items have large defaults."""
    alternatives = [{"pattern": f"^x{number}$"} for number in range(50)]
    properties = {
        "any": {"type": "array", "items": {"type": "string", "anyOf": alternatives}},
        "filled": {
            "type": "array",
            "items": {"type": "object", "properties": {"a": {"type": "string", "default": "a" * 10_000}}},
        },
        "deep": _DEEP_DEFAULT,
        "set": _SET,
        "text": {"type": "string"},
        "numbers": {
            "type": "object",
            "additionalProperties": {"type": "object", "additionalProperties": {"type": "integer"}},
        },
        "named": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"type": "string"}, "set": _SET},
            },
        },
    }
    schema = {"openAPIV3Schema": {"type": "object", "properties": properties}}
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    return {"metadata": {"name": "things.example.com"}, "spec": spec}


class Attack(NamedTuple):
    """A request of some size."""

    method: str
    path: str
    body: Any = None
    user: str = "admin"
    kind: str = JSON


def _custom(**members: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"generateName": "x"}, **members}


def _pod(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"generateName": "x"}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def _config_map(**metadata: Any) -> Attack:
    return Attack("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"generateName": "x", **metadata}})


def _projected(files: list[str]) -> Attack:
    sources = [{"secret": {"name": f"s{at}", "items": [{"key": "k", "path": path}]}} for at, path in enumerate(files)]
    volumes = [{"name": "v", "projected": {"sources": sources}}]
    return Attack("POST", "/api/v1/namespaces/default/pods", _pod(volumes=volumes))


def _role(size: int, user: str, **rule: Any) -> Attack:
    values = {member: [f"{member}{at}" for at in range(size)] for member in ("verbs", "resources", "apiGroups")}
    body = {"metadata": {"generateName": "x"}, "rules": [{**values, **rule}]}
    return Attack("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", body, user)


def _request(usages: list[str]) -> Attack:
    spec = {"request": "LS0t", "signerName": "a.b/c", "usages": usages}
    path = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    return Attack("POST", path, {"metadata": {"generateName": "x"}, "spec": spec})


def _containers(names: list[str], **more: Any) -> dict[str, Any]:
    containers = [{"name": name, "image": "j"} for name in names]
    return _deployment({"containers": containers, **more})


def _deployment(spec: dict[str, Any]) -> dict[str, Any]:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": spec}
    return {"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}}


def _directed(size: int) -> Attack:
    directives = [{"name": f"n{at}", "$patch": "delete"} for at in range(size // 2)]
    added = [{"name": f"m{at}", "image": "i"} for at in range(size)]
    order = [{"name": f"m{at}"} for at in range(size)]
    spec = {"containers": [*directives, *added], "$setElementOrder/containers": order}
    return Attack("PATCH", PATCHED, _deployment(spec), kind=STRATEGIC)


def _managed(size: int) -> list[dict[str, Any]]:
    return [
        {
            "manager": f"m{at}",
            "operation": "Update",
            "apiVersion": "v1",
            "time": "2026-01-01T00:00:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {f"f:k{at}": {}}},
        }
        for at in range(size)
    ]


def _owners(size: int, *, same: bool = False, **more: Any) -> list[dict[str, Any]]:
    owners = [{"apiVersion": "v1", "kind": "A", "name": "a", "uid": "u" if same else f"u{at}"} for at in range(size)]
    return [{**owner, **more} for owner in owners]


def _ports(size: int) -> Attack:
    ports = [{"containerPort": 80, "hostPort": at + 1, "hostIP": f"10.0.0.{at % 250}"} for at in range(size)]
    return Attack(
        "POST", "/api/v1/namespaces/default/pods", _pod(containers=[{"name": "c", "image": "i", "ports": ports}])
    )


def _selected(selector: str) -> Attack:
    return Attack("GET", f"/api/v1/configmaps?{selector}")


def _key_pair(lines: int) -> Attack:
    pem = base64.b64encode(b"-----BEGIN a:b-----\n" * lines).decode()
    body = {"metadata": {"generateName": "x"}, "type": "kubernetes.io/tls", "data": {"tls.crt": pem, "tls.key": pem}}
    return Attack("POST", "/api/v1/namespaces/default/secrets", body)


def _conditions(size: int) -> Attack:
    conditions = [{"type": f"T{at}", "status": "True"} for at in range(size)]
    body = {"metadata": {"name": "signed"}, "spec": SIGNED, "status": {"conditions": conditions}}
    return Attack("PUT", f"{REQUESTS}/signed/status", body)


def _rules(size: int, rule: str) -> Attack:
    """A definition whose objects are held to many rules."""
    rules = [{"rule": f"self.a {rule} {at}"} for at in range(size)]
    checked = {"type": "object", "properties": {"a": {"type": "integer"}}, "x-kubernetes-validations": rules}
    found = definition()
    found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"] = {"spec": checked}
    return Attack("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", found)


def _changed_pod(size: int) -> Attack:
    """Of a pod only images may change, and few other things: the refusal shows the difference."""
    containers = [{"name": f"c{at}", "image": "i", "args": ["a"]} for at in range(size)]
    return Attack("PUT", POD, {"metadata": {"name": "pod"}, "spec": {"containers": containers}})


def _below_long_name(size: int) -> Attack:
    """A wrong value has an error that names its path."""
    return Attack("POST", CUSTOM, _custom(numbers={"x" * 8 * size: {f"k{at}": "1" for at in range(size)}}))


def _unknown_below_long_name(size: int) -> Attack:
    body = _custom(numbers={"x" * 8 * size: {f"k{at}": {"a": 1} for at in range(size)}})
    return Attack("POST", f"{CUSTOM}?fieldValidation=Strict", body)


def _below_long_key(size: int) -> Attack:
    """An item of a list is told from others by its name, which is a part of paths then."""
    item = {"name": "x" * 8 * size, "set": ["a"] * size}
    body = {**_custom(named=[item]), "metadata": {"name": "x"}}
    return Attack("PATCH", f"{CUSTOM}/x?fieldManager=a", body, kind=APPLY)


def _given_twice(size: int) -> Attack:
    members = ",".join(f'"{at // 2}":1' for at in range(size))
    body = f'{{"metadata":{{"name":"x"}},"data":{{"{"x" * 8 * size}":{{{members}}}}}}}'
    return Attack("POST", "/api/v1/namespaces/default/configmaps", body.encode())


def _given_again(size: int) -> Attack:
    maps = ",".join(f'"metadata":{{"annotations":{{"{at}":""}}}}' for at in range(size))
    return Attack("POST", "/api/v1/namespaces/default/configmaps", f"{{{maps}}}".encode())


def _endpoints(size: int) -> Attack:
    addresses = [{"ip": f"10.0.{at >> 8}.{at & 255}"} for at in range(size)]
    ports = [{"name": f"p{at}", "port": at + 1} for at in range(size)]
    subsets = [{"addresses": addresses, "ports": ports}]
    return Attack(
        "POST", "/api/v1/namespaces/default/endpoints", {"metadata": {"name": "mirrored"}, "subsets": subsets}
    )


def _scopes(size: int) -> Attack:
    expressions = [{"scopeName": "BestEffort", "operator": "Exists"} for _ in range(size)]
    spec = {"hard": {"services": "1"}, "scopeSelector": {"matchExpressions": expressions}}
    return Attack("POST", "/api/v1/namespaces/default/resourcequotas", {"metadata": {"name": "x"}, "spec": spec})


def _spread(size: int) -> Attack:
    constraints = [
        {"maxSkew": 1, "topologyKey": f"k{at}", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
        for at in range(size)
    ]
    return Attack("POST", "/api/v1/namespaces/default/pods", _pod(topologySpreadConstraints=constraints))


ATTACKS: dict[str, tuple[int, Callable[[int], Attack]]] = {
    "a long path below /openapi": (20_000, lambda n: Attack("GET", "/openapi/" + "a/" * n, user="nobody")),
    "a long path below /openapi/v3": (20_000, lambda n: Attack("GET", "/openapi/v3/" + "a/" * n, user="nobody")),
    "owner references": (2000, lambda n: _config_map(ownerReferences=_owners(n))),
    "the same owner reference": (2000, lambda n: _config_map(ownerReferences=_owners(n, same=True))),
    "owner references that all control": (2000, lambda n: _config_map(ownerReferences=_owners(n, controller=True))),
    "managed fields": (1000, lambda n: _config_map(managedFields=_managed(n))),
    "a role of verbs, resources and groups": (40, lambda n: _role(n, "editor")),
    "a role of what the user has": (
        200,
        lambda n: _role(n, "editor", resources=["pods"] * n, apiGroups=[""] * n, verbs=["get"] * n),
    ),
    "a role of names": (100, lambda n: _role(n, "editor", resourceNames=[f"n{at}" for at in range(n)])),
    "usages that are repeated": (1000, lambda n: _request(["client auth"] * n)),
    "usages that do not exist": (1000, lambda n: _request([f"u{at}" for at in range(n)])),
    "projected files": (500, lambda n: _projected([f"p{at}" for at in range(n)])),
    "projected files in each other": (500, lambda n: _projected(["a/" * (at % 50) + "a" for at in range(n)])),
    "host ports": (1000, _ports),
    "blocks of a key pair that look like headers": (2000, _key_pair),
    "addresses with ports": (1000, _endpoints),
    "a pod that must not change": (100, _changed_pod),
    "conditions of a request": (1000, _conditions),
    "rules of a definition": (800, lambda n: _rules(n, ">")),
    "rules of a definition that are none": (800, lambda n: _rules(n, "isnt")),
    "wrong values below a long name": (1500, _below_long_name),
    "unknown fields below a long name": (1500, _unknown_below_long_name),
    "values below a long key": (1500, _below_long_key),
    "fields given twice below a long name": (12000, _given_twice),
    "maps given again": (8000, _given_again),
    "scopes of a quota": (500, _scopes),
    "spread constraints": (500, _spread),
    "a strategic merge of other items": (
        350,
        lambda n: Attack("PATCH", PATCHED, _containers([f"m{at}" for at in range(n)]), kind=STRATEGIC),
    ),
    "a strategic merge of the same items backwards": (
        350,
        lambda n: Attack("PATCH", PATCHED, _containers([f"n{at}" for at in reversed(range(n))]), kind=STRATEGIC),
    ),
    "a strategic merge that deletes": (350, _directed),
    "a value with many alternatives": (500, lambda n: Attack("POST", CUSTOM, _custom(any=["q"] * n))),
    "labels that must not be": (2000, lambda n: _selected("labelSelector=" + ",".join(f"!k{i}" for i in range(n)))),
    "values that a label must not have": (
        1500,
        lambda n: _selected("labelSelector=" + ",".join(f"a!=k{i}" for i in range(n))),
    ),
    "names that must not be": (
        500,
        lambda n: _selected("fieldSelector=" + ",".join(f"metadata.name!=k{i}" for i in range(n))),
    ),
}


@pytest.mark.parametrize("name", ATTACKS)
async def test_cost_grows_no_faster_than_the_request(api: Api, name: str) -> None:
    size, attack = ATTACKS[name]

    async def cost(size: int) -> float:
        asked = attack(size)
        if asked.path == PATCHED:
            await prepare(api, size)
        if asked.path.endswith("/signed/status"):
            await api.ask("DELETE", f"{REQUESTS}/signed")
            await api.create(REQUESTS, {"metadata": {"name": "signed"}, "spec": SIGNED})
            await api.server.handle(ask(asked))
        if asked.path == POD:
            await api.ask("DELETE", f"{POD}?gracePeriodSeconds=0")
            containers = [{"name": f"c{at}", "image": "i"} for at in range(size)]
            await api.create(POD.rpartition("/")[0], {"metadata": {"name": "pod"}, "spec": {"containers": containers}})
        await api.ask("DELETE", "/api/v1/namespaces/default/endpoints/mirrored")
        request = ask(asked)

        async def go() -> None:
            response = await api.server.handle(request)
            assert b"the server failed on this request" not in response.body
            await api.server.settled()

        return await cpu_seconds(go)

    factor = await growth(cost, size)

    assert factor <= MOST, f"four times the size costs {factor:.0f} times as much"


async def prepare(api: Api, size: int) -> None:
    """A deployment with so many containers."""
    await api.ask("DELETE", PATCHED)
    body = {"metadata": {"name": "patched"}, **_containers([f"n{at}" for at in range(size)])}
    await api.create(PATCHED.rpartition("/")[0], body)


def ask(attack: Attack) -> Request:
    headers = {"Authorization": f"Bearer {attack.user}", "Content-Type": attack.kind}
    body = attack.body if isinstance(attack.body, bytes) else b""
    if attack.body and not body:
        body = json.dumps(attack.body).encode()
    return Request.make(attack.method, attack.path, body, headers)


async def test_a_long_selector_costs_no_more_for_each_object(api: Api) -> None:
    """A list compares every object with the selector, so it must not go through all of it each time."""
    for number in range(30):
        await api.config_map(f"c{number}", labels={"a": "b"})
    selectors = [
        "labelSelector=" + ",".join(f"!k{at}" for at in range(4000)),
        "labelSelector=a notin (" + ",".join(f"k{at}" for at in range(4000)) + ")",
        "labelSelector=" + ",".join(f"a!=k{at}" for at in range(4000)),
        "fieldSelector=" + ",".join(f"metadata.name!=k{at}" for at in range(2500)),
    ]
    for selector in selectors:

        async def cost(namespace: str, selector: str = selector) -> float:
            path = f"/api/v1/namespaces/{namespace}/configmaps?{selector}"
            return min([await cpu_seconds(lambda: api.ask("GET", path)) for _ in range(2)])

        assert await cost("default") < 3 * await cost("none") + 0.05, selector[:30]


async def test_an_owner_is_read_once_however_often_it_is_named(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = await api.config_map("owner")
    uids = [(await api.config_map(f"c{at}"))["metadata"]["uid"] for at in range(20)]
    owners = [{**owner(mine), "uid": uid} for uid in [mine["metadata"]["uid"], *uids]]
    read: list[str] = []
    original = Record.object
    monkeypatch.setattr(Record, "object", lambda record: read.append(record.key) or original(record))

    await api.config_map("owned", owners=owners)

    assert 0 < read.count("default/owner") < 5


async def test_an_object_is_not_stored_if_its_defaults_make_it_too_large(api: Api) -> None:
    for members in ({"filled": [{}] * 20_000}, {"deep": [{}] * 1000}, {"filled": [{}] * 160}):
        code, answer = await api.ask("POST", CUSTOM, _custom(**members))

        assert (code, answer["reason"]) == (413, "RequestEntityTooLarge")
        assert "etcdserver: request is too large" in answer["message"]

    code, _ = await api.ask("POST", CUSTOM, _custom(filled=[{}] * 100))
    assert code == 201


async def test_a_body_of_very_many_items_is_refused_before_they_get_defaults(api: Api) -> None:
    """Each empty container gets 150 bytes of defaults and a dozen errors."""

    def pod(count: int) -> bytes:
        containers = b",".join([b"{}"] * count)
        return b'{"metadata":{"name":"x"},"spec":{"containers":[' + containers + b"]}}"

    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    answers = []
    for items in (600_000, 250_000, 50_000):
        request = Request.make("POST", "/api/v1/namespaces/default/pods", pod(items), {"Authorization": "Bearer admin"})
        sys.setprofile(count)
        try:
            response = await api.server.handle(request)
        finally:
            sys.setprofile(None)
        answers.append((response.status, calls < 20_000))
        calls = 0

    assert answers == [(413, True), (413, True), (413, False)]
    many = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": "{[" * 150_000}}
    for kind in (JSON, APPLY):
        method, path = ("POST", "") if kind == JSON else ("PATCH", "/y?fieldManager=a")
        body = many if kind == JSON else {**many, "metadata": {"name": "y"}}
        code, answer = await api.ask(method, f"/api/v1/namespaces/default/configmaps{path}", body, kind=kind)
        assert code == 201, answer


async def test_an_object_has_at_most_one_and_a_half_mebibytes_whoever_changes_it(api: Api) -> None:
    def custom(size: int) -> dict[str, Any]:
        return {"apiVersion": "example.com/v1", "kind": "Thing", "text": "x" * size}

    def config_map(size: int) -> dict[str, Any]:
        owners = [{**_owners(1, name="x" * 1000)[0], "uid": f"u{at}"} for at in range(size // 1070)]
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"ownerReferences": owners}}

    small, large = 1_300_000, 1_600_000
    for path, sized in ((CUSTOM, custom), ("/api/v1/namespaces/default/configmaps", config_map)):

        def named(size: int, sized: Callable[[int], dict[str, Any]] = sized, **metadata: Any) -> dict[str, Any]:
            body = sized(size)
            return {**body, "metadata": {"name": "big", **body.get("metadata", {}), **metadata}}

        made = await api.create(path, named(small))
        version = made["metadata"]["resourceVersion"]
        refused = [
            await api.ask("POST", path, named(large, name="other")),
            await api.ask("PUT", f"{path}/big", named(large, resourceVersion=version)),
            await api.ask("PATCH", f"{path}/big", named(large), kind="application/merge-patch+json"),
            await api.ask("PATCH", f"{path}/big?fieldManager=a&force=true", named(large), kind=APPLY),
            await api.ask("PATCH", f"{path}/new?fieldManager=a", named(large, name="new"), kind=APPLY),
        ]

        assert [(code, answer["reason"]) for code, answer in refused] == [(413, "RequestEntityTooLarge")] * 5
        assert (await api.must(f"{path}/big"))["metadata"]["resourceVersion"] == version
        assert await api.get(f"{path}/new") is None


async def test_an_object_of_the_greatest_size_can_be_deleted(api: Api) -> None:
    """The mark of deletion makes it larger than the limit."""
    metadata = {"name": "full", "finalizers": ["example.com/stay"]}
    path = f"{CUSTOM}/full"
    made = await api.create(CUSTOM, {**_custom(text="x"), "metadata": metadata})
    room = 3 * 512 * 1024 - len(json.dumps(made, separators=(",", ":")))
    code, _ = await api.ask("PATCH", path, {"text": "x" * (room + 20)}, kind="application/merge-patch+json")
    assert code == 413
    await api.merge(path, {"text": "x" * (room - 20)})

    await api.delete(path)
    assert (await api.must(path))["metadata"]["deletionTimestamp"]
    await api.merge(path, {"metadata": {"finalizers": []}})
    assert await api.get(path) is None


async def test_an_answer_lists_errors_only_up_to_a_size(api: Api) -> None:
    response = await api.server.handle(ask(_request([f"u{at}" for at in range(8000)])))

    assert response.status == 422
    assert len(response.body) < 4 * 1024 * 1024
    assert b"further errors are not shown" in response.body
