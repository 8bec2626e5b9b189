"""Whatever clients send, they get a Status that says what is wrong with it, and the server goes on.

Requests go straight into the server, without a network, so that thousands fit into seconds; what only a network can carry
is at the end. "Wrong" is never answered with 5xx, never with a traceback in the log, never with time or memory that grows
out of proportion.
"""

from __future__ import annotations

import asyncio
import base64
import copy
import json
import logging
import os
import random
import socket
import ssl
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nagaya.apiserver.authn.user import User
from nagaya.apiserver.server import ApiServer, Config
from nagaya.apiserver.web.request import Request
from support.running_server import RunningServer

SLOWEST = 5.0  # seconds for the worst single request
MOST_GROWTH = 256 * 1024 * 1024  # bytes, for everything that one test sends
BODY_LIMIT = 3 * 1024 * 1024

bounded = settings(
    max_examples=150, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"

_SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "count": {"type": "integer", "maximum": 5},
                "name": {"type": "string", "pattern": "^(a+)+$", "maxLength": 100},
                "when": {"type": "string", "format": "date-time"},
                "either": {"x-kubernetes-int-or-string": True},
                "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                "items": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
                },
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            },
            "x-kubernetes-validations": [{"rule": "!has(self.count) || self.count >= 0"}],
        }
    },
}
DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.bad.example.com"},
    "spec": {
        "group": "bad.example.com",
        "scope": "Namespaced",
        "names": {"plural": "things", "kind": "Thing", "singular": "thing", "listKind": "ThingList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.count", "statusReplicasPath": ".status.count"},
                },
                "additionalPrinterColumns": [{"name": "Count", "type": "integer", "jsonPath": ".spec.count"}],
                "schema": {"openAPIV3Schema": _SCHEMA},
            }
        ],
    },
}
_POD = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}]},
}
_RULES = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
GOOD: dict[str, dict[str, Any]] = {
    "/api/v1/namespaces/default/configmaps": {"metadata": {"name": "x", "labels": {"a": "b"}}, "data": {"k": "v"}},
    "/api/v1/namespaces/default/secrets": {"metadata": {"name": "x"}, "data": {"k": "dg=="}, "type": "Opaque"},
    "/api/v1/namespaces/default/serviceaccounts": {"metadata": {"name": "x"}, "secrets": [{"name": "s"}]},
    "/api/v1/namespaces/default/serviceaccounts/default/token": {
        "spec": {"audiences": ["a"], "expirationSeconds": 3600}
    },
    "/api/v1/namespaces/default/events": {
        "metadata": {"name": "x"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "count": 1,
    },
    "/api/v1/namespaces/default/pods": {**_POD, "metadata": {"name": "x"}},
    "/api/v1/namespaces/default/services": {
        "metadata": {"name": "x"},
        "spec": {"ports": [{"port": 80, "targetPort": "http"}]},
    },
    "/api/v1/namespaces": {"metadata": {"name": "x"}, "spec": {"finalizers": ["kubernetes"]}},
    "/api/v1/nodes": {
        "metadata": {"name": "x"},
        "spec": {"podCIDR": "10.0.0.0/24", "taints": [{"key": "k", "effect": "NoSchedule"}]},
    },
    "/apis/apps/v1/namespaces/default/deployments": {
        "metadata": {"name": "x"},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": _POD},
    },
    "/apis/batch/v1/namespaces/default/cronjobs": {
        "metadata": {"name": "x"},
        "spec": {
            "schedule": "* * * * *",
            "jobTemplate": {"spec": {"template": {"spec": {**_POD["spec"], "restartPolicy": "Never"}}}},
        },
    },
    "/apis/coordination.k8s.io/v1/namespaces/default/leases": {
        "metadata": {"name": "x"},
        "spec": {"holderIdentity": "h", "leaseDurationSeconds": 5, "renewTime": "2026-01-01T00:00:00.000000Z"},
    },
    "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles": {"metadata": {"name": "x"}, "rules": _RULES},
    "/apis/rbac.authorization.k8s.io/v1/clusterroles": {
        "metadata": {"name": "x"},
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]},
        "rules": _RULES,
    },
    "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings": {
        "metadata": {"name": "x"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
        "subjects": [{"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"}],
    },
    "/apis/authorization.k8s.io/v1/subjectaccessreviews": {
        "spec": {"user": "u", "resourceAttributes": {"verb": "get", "resource": "pods"}}
    },
    "/apis/authentication.k8s.io/v1/tokenreviews": {"spec": {"token": "t"}},
    "/apis/networking.k8s.io/v1/namespaces/default/ingresses": {
        "metadata": {"name": "x"},
        "spec": {
            "rules": [
                {
                    "host": "a.b",
                    "http": {
                        "paths": [
                            {
                                "path": "/",
                                "pathType": "Prefix",
                                "backend": {"service": {"name": "s", "port": {"number": 80}}},
                            }
                        ]
                    },
                }
            ]
        },
    },
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations": {
        "metadata": {"name": "x"},
        "webhooks": [
            {
                "name": "a.b.c",
                "clientConfig": {"url": "https://127.0.0.1:1/"},
                "rules": [
                    {"apiGroups": ["none"], "apiVersions": ["*"], "resources": ["none"], "operations": ["CREATE"]}
                ],
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "matchConditions": [{"name": "m", "expression": "true"}],
            }
        ],
    },
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions": DEFINITION,
    "/apis/bad.example.com/v1/namespaces/default/things": {
        "apiVersion": "bad.example.com/v1",
        "kind": "Thing",
        "metadata": {"name": "x"},
        "spec": {
            "count": 1,
            "name": "a",
            "tags": ["a"],
            "items": [{"name": "n"}],
            "either": "5%",
            "free": {"a": [1, {}]},
        },
    },
}
OBJECTS = [
    "/api/v1/namespaces/default/configmaps/target",
    "/apis/apps/v1/namespaces/default/deployments/target",
    "/apis/bad.example.com/v1/namespaces/default/things/target",
    "/apis/bad.example.com/v1/namespaces/default/things/target/scale",
    "/apis/bad.example.com/v1/namespaces/default/things/target/status",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.bad.example.com",
]


class Subject:
    """A server that is asked bad things, and how it takes them."""

    def __init__(self, runner: asyncio.Runner, server: ApiServer) -> None:
        self._runner = runner
        self._server = server

    def ask(self, method: str, target: str, body: bytes = b"", **headers: str) -> tuple[int, Any]:
        """Send a request, hold the answer to the rules above, and return it."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        request = Request.make(method, target, body, {"Authorization": "Bearer admin", **named})
        began = time.monotonic()
        status, content = self._runner.run(self._answer(request))
        took = time.monotonic() - began
        assert took < SLOWEST, f"{method} {target[:200]} took {took:.1f} s"
        assert status < 500, f"{method} {target[:200]} {body[:300]!r}: {status} {content[:500]!r}"
        if status < 400:
            return status, content
        try:
            answer = json.loads(content)
        except ValueError:
            # Paths that lead nowhere and methods nobody has are answered in Go's plain words.
            assert status in (404, 405, 415, 406), f"{method} {target[:200]}: {status} {content[:300]!r}"
            return status, content
        assert answer["kind"] == "Status", answer
        assert answer["code"] == status, answer
        assert answer["status"] == "Failure", answer
        return status, answer

    async def _answer(self, request: Request) -> tuple[int, bytes]:
        response = await self._server.handle(request)
        content = response.body
        if response.stream is not None:
            # A watch: what it says at once is enough.
            try:
                async with asyncio.timeout(0.02):
                    async for chunk in response.stream:
                        content += chunk
            except TimeoutError:
                pass
        return response.status, content

    def works(self) -> None:
        """Ask something sensible."""
        assert self.ask("GET", "/api/v1/namespaces/default")[0] == 200
        assert self.ask("GET", "/readyz")[0] == 200


@pytest.fixture(scope="module")
def module_subject() -> Iterator[Subject]:
    with asyncio.Runner() as runner:
        server = runner.run(ApiServer.start(Config(tokens={"admin": User("admin", "1", ("system:masters",))})))
        subject = Subject(runner, server)
        for path, body in GOOD.items():
            status, answer = subject.ask("POST", path, json.dumps(body).encode(), Content_Type="application/json")
            assert status == 201, (path, answer)
            runner.run(server.settled())
        for path in OBJECTS[:3]:
            collection = path.rpartition("/")[0]
            named = {**GOOD[collection], "metadata": {"name": "target"}}
            made = subject.ask("POST", collection, json.dumps(named).encode(), Content_Type="application/json")
            assert made[0] == 201, made
        yield subject
        runner.run(server.stop())


@pytest.fixture
def subject(module_subject: Subject, caplog: pytest.LogCaptureFixture) -> Iterator[Subject]:
    """The server; afterwards it has to work still, without a traceback in its log, and not have grown too much."""
    before = resident(os.getpid())
    with caplog.at_level(logging.WARNING):
        yield module_subject
        module_subject.works()
        mistakes = [record.getMessage() for record in caplog.records if record.exc_info]
        assert not mistakes, mistakes
    grown = resident(os.getpid()) - before
    assert grown < MOST_GROWTH, f"memory grew by {grown / 2**20:.0f} MiB"


def resident(pid: int) -> int:
    """Bytes of memory that a process has."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


# --- what is sent

texts = st.text(max_size=12) | st.sampled_from(
    ["", "a", "-1", "..", "/", "a/b", "*", "\x00", "é", "x" * 300, "2026-01-01T00:00:00Z"]
)
numbers = st.integers(-3, 3) | st.sampled_from([2**31, 2**32, 2**63, 2**64, -(2**63) - 1, 10**30, 1.5, -0.0, 1e300])
scalars = st.none() | st.booleans() | numbers | texts
junk = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a JSON value."""
    yield path
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        yield from places(inner, (*path, key))


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """A value with something else in one place."""
    if not path:
        return new
    changed = copy.copy(value)
    changed[path[0]] = replaced(value[path[0]], path[1:], new)
    return changed


@st.composite
def damaged(draw: st.DrawFn) -> tuple[str, Any]:
    """A path to post to and an object that has something strange in one or two places."""
    path = draw(st.sampled_from(sorted(GOOD)))
    body = {**GOOD[path]}
    body["metadata"] = {**body.get("metadata", {}), "name": f"d{draw(st.integers(0, 9))}"}
    value: Any = body
    for _ in range(draw(st.integers(1, 2))):
        value = replaced(value, draw(st.sampled_from(list(places(value)))), draw(junk))
    return path, value


def encoded(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


# --- bodies


@settings(bounded, max_examples=600)
@given(
    what=damaged(),
    kind=st.sampled_from(["application/json", "application/yaml"]),
    query=st.sampled_from(["", "?fieldValidation=Strict", "?dryRun=All"]),
)
def test_objects_with_strange_values(subject: Subject, what: tuple[str, Any], kind: str, query: str) -> None:
    path, body = what
    subject.ask("POST", path + query, encoded(body), Content_Type=kind)


@settings(bounded, max_examples=300)
@given(what=damaged())
def test_replacements_with_strange_values(subject: Subject, what: tuple[str, Any]) -> None:
    path, body = what
    name = (
        body.get("metadata", {}).get("name")
        if isinstance(body, dict) and isinstance(body.get("metadata"), dict)
        else None
    )
    subject.ask("PUT", f"{path}/{quote(str(name or 'x'))}", encoded(body), Content_Type="application/json")


@settings(bounded, max_examples=400)
@given(
    path=st.sampled_from(sorted(GOOD)),
    seed=st.integers(0, 2**32),
    kind=st.sampled_from(
        ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "", "text/plain"]
    ),
)
def test_bodies_with_damaged_bytes(subject: Subject, path: str, seed: int, kind: str) -> None:
    subject.ask("POST", path, damage(json.dumps(GOOD[path]).encode(), seed), Content_Type=kind)


def damage(body: bytes, seed: int) -> bytes:
    """Change, remove or double some bytes."""
    dice = random.Random(seed)
    raw = bytearray(body)
    for _ in range(dice.randint(1, 6)):
        at = dice.randrange(len(raw) + 1)
        match dice.randrange(4):
            case 0:
                raw[at : at + 1] = bytes([dice.randrange(256)])
            case 1:
                del raw[at : at + dice.randint(1, 20)]
            case 2:
                raw[at:at] = raw[at : at + dice.randint(1, 20)]
            case _:
                raw[at:at] = dice.choice(
                    [b"\xff\xfe", b"\x00", b"\xed\xa0\x80", b"{", b"[", b'"', b"\\u", b"&a *a", b"- ", b"\n"]
                )
    return bytes(raw)


def protobuf_bodies() -> list[tuple[str, bytes]]:
    """Good bodies in protobuf, put together by hand, with the path to post them to."""

    def field(number: int, content: bytes) -> bytes:
        length, size = len(content), b""
        while length > 127:
            size += bytes([length & 127 | 128])
            length >>= 7
        return bytes([number << 3 | 2]) + size + bytes([length]) + content

    def wrapped(api_version: str, kind: str, raw: bytes) -> bytes:
        return b"k8s\x00" + field(1, field(1, api_version.encode()) + field(2, kind.encode())) + field(2, raw)

    meta = field(1, field(1, b"proto") + field(11, field(1, b"l") + field(2, b"v")))
    data = field(2, field(1, b"key") + field(2, b"value"))
    container = field(2, field(1, b"c") + field(2, b"image") + field(6, b"\x18\x50"))
    template = field(1, field(11, field(1, b"l") + field(2, b"v"))) + field(2, container)
    selector = field(1, field(1, b"l") + field(2, b"v"))
    spec = field(2, b"\x08\x02" + field(2, selector) + field(3, template))
    role = field(2, field(1, b"get") + field(2, b"") + field(3, b"pods"))
    return [
        ("/api/v1/namespaces/default/configmaps", wrapped("v1", "ConfigMap", meta + data)),
        ("/api/v1/namespaces/default/secrets", wrapped("v1", "Secret", meta + data)),
        ("/api/v1/namespaces/default/pods", wrapped("v1", "Pod", meta + field(2, container))),
        ("/apis/apps/v1/namespaces/default/deployments", wrapped("apps/v1", "Deployment", meta + spec)),
        (
            "/apis/rbac.authorization.k8s.io/v1/clusterroles",
            wrapped("rbac.authorization.k8s.io/v1", "ClusterRole", meta + role),
        ),
    ]


PROTOBUF = protobuf_bodies()


def test_the_protobuf_bodies_are_good(subject: Subject) -> None:
    for path, body in PROTOBUF:
        status, answer = subject.ask(
            "POST", f"{path}?dryRun=All", body, Content_Type="application/vnd.kubernetes.protobuf"
        )
        assert status == 201, (path, answer)


@settings(bounded, max_examples=500)
@given(which=st.integers(0, len(PROTOBUF) - 1), seed=st.integers(0, 2**32))
def test_damaged_protobuf(subject: Subject, which: int, seed: int) -> None:
    path, body = PROTOBUF[which]
    subject.ask("POST", path, damage(body, seed), Content_Type="application/vnd.kubernetes.protobuf")


# --- patches


@settings(bounded, max_examples=400)
@given(path=st.sampled_from(OBJECTS), kind=st.sampled_from([MERGE, STRATEGIC, APPLY]), patch=junk, data=st.data())
def test_strange_patches(subject: Subject, path: str, kind: str, patch: Any, data: st.DataObject) -> None:
    base = GOOD.get(path.rpartition("/")[0], {})
    if base and data.draw(st.booleans()):
        patch = replaced(base, data.draw(st.sampled_from(list(places(base)))), patch)
    query = data.draw(
        st.sampled_from(["", "?fieldManager=m&force=true", "?fieldManager=m", f"?fieldManager={'m' * 200}"])
    )
    subject.ask("PATCH", path + query, encoded(patch), Content_Type=kind)


pointers = st.sampled_from(
    [
        "",
        "/",
        "/data",
        "/data/k",
        "/data/-",
        "/spec/template/spec/containers/0",
        "/spec/items/-1",
        "/spec/items/1e3",
        "/~",
        "/~2",
        "a",
    ]
) | st.text("/~01a-", max_size=8)
operations = st.fixed_dictionaries(
    {},
    optional={
        "op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "nope"]) | scalars,
        "path": pointers | scalars,
        "from": pointers | scalars,
        "value": junk,
    },
)


@settings(bounded, max_examples=400)
@given(path=st.sampled_from(OBJECTS), patch=st.lists(operations | junk, max_size=3) | junk)
def test_strange_json_patches(subject: Subject, path: str, patch: Any) -> None:
    subject.ask("PATCH", path, encoded(patch), Content_Type=JSON_PATCH)


DIRECTIVES = [
    {"data": {"$patch": "replace"}},
    {"data": {"$patch": "nope"}},
    {"data": {"$patch": 5}},
    {"$patch": "delete"},
    {"$retainKeys": "x"},
    {"$retainKeys": [1, None]},
    {"spec": {"template": {"spec": {"containers": [{"$patch": "delete"}]}}}},
    {"spec": {"template": {"spec": {"containers": [{"name": None}]}}}},
    {"spec": {"template": {"spec": {"containers": [5, {"name": "c"}]}}}},
    {"spec": {"template": {"spec": {"$setElementOrder/containers": [{"name": "zz"}, {}]}}}},
    {"spec": {"template": {"spec": {"$setElementOrder/containers": "x"}}}},
    {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a", 1, {}]}},
    {"metadata": {"$deleteFromPrimitiveList/finalizers": {"a": 1}}},
    {"metadata": {"$setElementOrder/finalizers": [{}, []]}},
    {"metadata": {"ownerReferences": [{"$patch": "replace"}, {"$patch": "merge", "uid": "x"}]}},
]


@pytest.mark.parametrize("path", OBJECTS[:2])
@pytest.mark.parametrize("patch", DIRECTIVES, ids=json.dumps)
def test_directives_in_the_wrong_place(subject: Subject, path: str, patch: Any) -> None:
    subject.ask("PATCH", path, encoded(patch), Content_Type=STRATEGIC)


# --- URLs and headers

selector_text = st.text("ab=!,() \t\n\\inot<>.'\"%é\x00-/", max_size=24)


@settings(bounded, max_examples=400)
@given(
    path=st.sampled_from([*sorted(GOOD), *OBJECTS[:3]]),
    name=st.sampled_from(["labelSelector", "fieldSelector"]),
    value=selector_text,
    method=st.sampled_from(["GET", "DELETE"]),
)
def test_strange_selectors(subject: Subject, path: str, name: str, value: str, method: str) -> None:
    if method == "DELETE" and not value.strip():
        return  # would delete everything, and rightly
    subject.ask(method, f"{path}?{name}={quote(value, safe='')}&dryRun=All"[::1])


@settings(bounded, max_examples=400)
@given(
    path=st.sampled_from([*sorted(GOOD), *OBJECTS]),
    names=st.lists(
        st.sampled_from(
            [
                "limit",
                "continue",
                "resourceVersion",
                "resourceVersionMatch",
                "timeoutSeconds",
                "watch",
                "sendInitialEvents",
            ]
            + ["allowWatchBookmarks", "pretty", "includeObject", "dryRun", "fieldManager", "fieldValidation", "force"]
            + ["gracePeriodSeconds", "propagationPolicy", "orphanDependents", "timeout"]
        ),
        min_size=1,
        max_size=4,
    ),
    data=st.data(),
)
def test_strange_options(subject: Subject, path: str, names: list[str], data: st.DataObject) -> None:
    plausible = st.sampled_from(
        ["", "0", "1", "-1", "true", "Exact", "NotOlderThan", "99999999999999999999", "abc", "eyJ2Ijox", "1s"]
    )
    values = [data.draw(plausible | st.text(max_size=10)) for _ in names]
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in zip(names, values, strict=True))
    if "watch" not in names:
        query += "&watch=0"
    subject.ask("GET", f"{path}?{query}")


segments = st.sampled_from(
    [
        "api",
        "apis",
        "v1",
        "v2",
        "namespaces",
        "default",
        "configmaps",
        "apps",
        "x",
        "watch",
        "status",
        "scale",
        "token",
        "openapi",
    ]
    + ["v3", "proxy", "", ".", "..", "%2e%2e", "%00", "%ff", "%2f", "%25", "~", "metrics", "healthz", "logs", "\u00e9"]
)


@settings(bounded, max_examples=500)
@given(
    parts=st.lists(segments, max_size=8),
    method=st.sampled_from(["GET", "POST", "PUT", "PATCH", "HEAD", "OPTIONS", "TRACE", "CONNECT", "get", "FOO", ""]),
)
def test_strange_paths(subject: Subject, parts: list[str], method: str) -> None:
    subject.ask(method, "/" + "/".join(parts))


HEADERS = [
    "Accept", "Content-Type", "Authorization", "Impersonate-User", "Impersonate-Group", "Impersonate-Uid",
    "Impersonate-Extra-Scopes", "If-None-Match", "User-Agent", "Audit-Id", "Accept-Encoding", "X-Forwarded-For",
]  # fmt: skip
header_values = st.text(st.characters(min_codepoint=1, max_codepoint=255), max_size=30) | st.sampled_from(
    ["application/json;as=Table;v=v1;g=meta.k8s.io", "*/*;q=x", "application/*", ";;;", "application/json;as=;v=;g=", ",", "Bearer", "Bearer "]
    + ["Bearer a.b.c", "Bearer " + "x" * 5000, "Basic eA==", "application/json; charset=\"", "application/vnd.kubernetes.protobuf", "system:masters"]
    + ["application/json;stream=watch", "application/cbor", "Bearer " + ".".join(base64.b64encode(p).decode() for p in (b'{"alg":"none"}', b"{}", b""))]
)  # fmt: skip


@settings(bounded, max_examples=500)
@given(
    path=st.sampled_from(["/api/v1/namespaces/default/configmaps", "/apis", "/openapi/v2", "/version", OBJECTS[0]]),
    method=st.sampled_from(["GET", "POST", "PATCH"]),
    headers=st.dictionaries(st.sampled_from(HEADERS), header_values, max_size=3),
)
def test_strange_headers(subject: Subject, path: str, method: str, headers: Mapping[str, str]) -> None:
    subject.ask(method, path, b"{}", **{name.replace("-", "_"): value for name, value in headers.items()})


# --- bombs


def yaml_bomb(levels: int = 12, width: int = 10) -> bytes:
    """Aliases of aliases: small to send, huge to expand."""
    lines = ['a0: &a0 ["lol"]']
    for level in range(1, levels):
        lines.append(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * width)}]")
    return "\n".join(["apiVersion: v1", "kind: ConfigMap", "metadata: {name: bomb}", *lines]).encode()


def copy_bomb(times: int = 40) -> bytes:
    """Copies of a list into itself, each doubling it."""
    steps: list[dict[str, Any]] = [{"op": "add", "path": "/spec/free", "value": {"l": ["x" * 100] * 10}}]
    steps += [{"op": "copy", "from": "/spec/free/l", "path": "/spec/free/l/-"} for _ in range(times)]
    return json.dumps(steps).encode()


DEEP = 100_000
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
THINGS = "/apis/bad.example.com/v1/namespaces/default/things"
BOMBS: dict[str, tuple[str, str, bytes, str]] = {
    "billion laughs": ("POST", CONFIG_MAPS, yaml_bomb(), "application/yaml"),
    "billion laughs, applied": ("PATCH", f"{CONFIG_MAPS}/bomb?fieldManager=m", yaml_bomb(), APPLY),
    "billion laughs in merge keys": ("POST", CONFIG_MAPS, yaml_bomb().replace(b"[", b"{<<: [").replace(b"]", b"]}"), "application/yaml"),
    "an alias of itself": ("POST", CONFIG_MAPS, b"a: &a [*a]", "application/yaml"),
    "deep lists": ("POST", CONFIG_MAPS, b"[" * DEEP, "application/json"),
    "deep objects": ("POST", CONFIG_MAPS, b'{"a":' * DEEP + b"1" + b"}" * DEEP, "application/json"),
    "deep lists in YAML": ("POST", CONFIG_MAPS, b"[" * DEEP, "application/yaml"),
    "deep indentation": ("POST", CONFIG_MAPS, b"\n".join(b" " * n + b"a:" for n in range(2000)), "application/yaml"),
    "a deep merge patch": ("PATCH", f"{THINGS}/target", b'{"spec":{"free":' + b'{"a":' * 9000 + b"1" + b"}" * 9002, MERGE),
    "a deep strategic patch": ("PATCH", OBJECTS[1], b'{"spec":' + b'{"template":' * 9000 + b"1" + b"}" * 9001, STRATEGIC),
    "a deep applied object": ("PATCH", f"{THINGS}/target?fieldManager=m", b'{"apiVersion":"bad.example.com/v1","kind":"Thing","spec":{"free":' + b'{"a":' * 9000 + b"1" + b"}" * 9002, APPLY),
    "a deep free field": ("POST", THINGS, b'{"apiVersion":"bad.example.com/v1","kind":"Thing","metadata":{"name":"deep"},"spec":{"free":' + b'{"a":' * 9000 + b"1" + b"}" * 9002, "application/json"),
    "deep brackets in protobuf": ("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", b"k8s\x00" + b"\x12\x7f" * 60_000, "application/vnd.kubernetes.protobuf"),
    "a huge integer": ("POST", THINGS, b'{"apiVersion":"bad.example.com/v1","kind":"Thing","metadata":{"name":"huge"},"spec":{"count":' + b"9" * 100_000 + b"}}", "application/json"),
    "a huge integer in YAML": ("POST", THINGS, b"apiVersion: bad.example.com/v1\nkind: Thing\nmetadata: {name: huge}\nspec: {count: " + b"9" * 100_000 + b"}", "application/yaml"),
    "a huge exponent": ("POST", THINGS, b'{"apiVersion":"bad.example.com/v1","kind":"Thing","metadata":{"name":"huge"},"spec":{"count":1e999999}}', "application/json"),
    "sexagesimal YAML": ("POST", THINGS, b"apiVersion: bad.example.com/v1\nkind: Thing\nmetadata: {name: sexy}\nspec: {count: " + b"59:" * 30_000 + b"59}", "application/yaml"),
    "a quantity without end": ("POST", "/api/v1/namespaces/default/pods", json.dumps({"metadata": {"name": "q"}, "spec": {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "9" * 100_000 + "e999999"}}}]}}).encode(), "application/json"),
    "invalid UTF-8": ("POST", CONFIG_MAPS, b'{"metadata":{"name":"utf"},"data":{"k":"\xff\xfe"}}', "application/json"),
    "invalid UTF-8 in YAML": ("POST", CONFIG_MAPS, b"metadata: {name: utf}\ndata: {k: \xff\xfe}", "application/yaml"),
    "a lone surrogate": ("POST", CONFIG_MAPS, b'{"metadata":{"name":"lone"},"data":{"k":"\\ud800"}}', "application/json"),
    "UTF-16": ("POST", CONFIG_MAPS, '{"metadata":{"name":"wide"}}'.encode("utf-16"), "application/json"),
    "UTF-16 YAML": ("POST", CONFIG_MAPS, "metadata: {name: wide}".encode("utf-16"), "application/yaml"),
    "a body of blanks": ("POST", CONFIG_MAPS, b" " * BODY_LIMIT, "application/json"),
    "many keys": ("POST", CONFIG_MAPS, json.dumps({"metadata": {"name": "many"}, "data": {str(n): "" for n in range(150_000)}}).encode(), "application/json"),
    "the same key many times": ("POST", f"{CONFIG_MAPS}?fieldValidation=Warn", b'{"metadata":{"name":"same"},' + b",".join([b'"data":{}'] * 100_000) + b"}", "application/json"),
    "many unknown fields": ("POST", f"{CONFIG_MAPS}?fieldValidation=Strict", json.dumps({"metadata": {"name": "un"}, **{f"f{n}": 1 for n in range(50_000)}}).encode(), "application/json"),
    "many labels": ("POST", CONFIG_MAPS, json.dumps({"metadata": {"name": "labels", "labels": {f"bad key {n}": "" for n in range(20_000)}}}).encode(), "application/json"),
    "copies that double": ("PATCH", f"{THINGS}/target", copy_bomb(), JSON_PATCH),
    "many patch operations": ("PATCH", f"{THINGS}/target", json.dumps([{"op": "test", "path": "/kind", "value": "Thing"}] * 20_000).encode(), JSON_PATCH),
    "a set of many": ("POST", THINGS, json.dumps({"apiVersion": "bad.example.com/v1", "kind": "Thing", "metadata": {"name": "set"}, "spec": {"tags": ["a"] * 100_000}}).encode(), "application/json"),
    "a pattern's worst case": ("POST", THINGS, json.dumps({"apiVersion": "bad.example.com/v1", "kind": "Thing", "metadata": {"name": "re"}, "spec": {"name": "a" * 99 + "!"}}).encode(), "application/json"),
    "many errors in a list": ("POST", THINGS, json.dumps({"apiVersion": "bad.example.com/v1", "kind": "Thing", "metadata": {"name": "err"}, "spec": {"items": [{"nam": n} for n in range(30_000)]}}).encode(), "application/json"),
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_bombs(subject: Subject, name: str) -> None:
    method, target, body, kind = BOMBS[name]
    subject.ask(method, target, body, Content_Type=kind)


def test_selectors_of_great_length(subject: Subject) -> None:
    many = ",".join(f"key{n}=value" for n in range(20_000))
    subject.ask("GET", f"{CONFIG_MAPS}?labelSelector={quote(many)}")
    subject.ask("GET", f"{CONFIG_MAPS}?labelSelector={quote('a in (' + ','.join(map(str, range(20_000))) + ')')}")
    subject.ask("GET", f"{CONFIG_MAPS}?labelSelector={quote('(' * 20_000)}")
    subject.ask("GET", f"{CONFIG_MAPS}?fieldSelector={quote('metadata.name=' + 'x' * 100_000)}")


def schema_bomb(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


DEFINITIONS: dict[str, Any] = {
    "a deep schema": schema_bomb(2000),
    "a pattern that is none": {"type": "object", "properties": {"a": {"type": "string", "pattern": "(" * 1000}}},
    "a pattern with large counts": {
        "type": "object",
        "properties": {"a": {"type": "string", "pattern": "((a{1,500}){1,500}){1,500}"}},
    },
    "a rule that is no CEL": {"type": "object", "x-kubernetes-validations": [{"rule": "((((" * 1000}]},
    "a rule of great depth": {"type": "object", "x-kubernetes-validations": [{"rule": "(" * 300 + "true" + ")" * 300}]},
    "a rule that takes long": {
        "type": "object",
        "properties": {"l": {"type": "array", "items": {"type": "string"}}},
        "x-kubernetes-validations": [
            {"rule": "self.l.all(a, self.l.all(b, self.l.all(c, self.l.all(d, a + b + c + d != ''))))"}
        ],
    },
    "a default that does not fit": {"type": "object", "properties": {"a": {"type": "integer", "default": {"b": [1]}}}},
    "references": {"type": "object", "properties": {"a": {"$ref": "#/a"}}},
    "nonsense": {"type": 5, "properties": []},
}


@pytest.mark.parametrize("name", DEFINITIONS)
def test_definitions_that_are_bombs(subject: Subject, name: str) -> None:
    body = copy.deepcopy(DEFINITION)
    body["metadata"]["name"] = "bombs.bad.example.com"
    body["spec"]["names"] = {"plural": "bombs", "kind": "Bomb"}
    body["spec"]["versions"] = [
        {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": DEFINITIONS[name]}}
    ]
    status, answer = subject.ask(
        "POST",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        json.dumps(body).encode(),
        Content_Type="application/json",
    )
    if status == 201:
        subject.ask("DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/bombs.bad.example.com")


# --- over the network


RAW: dict[str, bytes] = {
    "no HTTP at all": b"\x16\x03\x01\x00\x00 hello\r\n\r\n",
    "a version from the future": b"GET / HTTP/9.9\r\nHost: x\r\n\r\n",
    "HTTP/2 without asking": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a header without end": b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 1_200_000,
    "a line without end": b"GET /" + b"a" * 1_200_000,
    "a NUL in a header": b"GET / HTTP/1.1\r\nHost: x\r\nX: a\x00b\r\n\r\n",
    "a negative length": b"POST /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
    "two lengths": b"POST /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 4\r\n\r\n{}{}",
    "a length and chunks": b"POST /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks that are none": b"POST /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "more than the body limit": b"POST /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n{}",
    "chunks beyond the limit": b"POST /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    + (b"40000\r\n" + b" " * 0x40000 + b"\r\n") * 14
    + b"0\r\n\r\n",
    "a bad escape": b"GET /api/%zz HTTP/1.1\r\nHost: x\r\n\r\n",
    "bytes that are no UTF-8": b"GET /api/\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n",
    "an upgrade": b"GET /api HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n",
    "a compressed body": b"POST /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
}  # fmt: skip


@pytest.mark.parametrize("name", RAW)
def test_what_is_not_quite_http(running_server: RunningServer, name: str) -> None:
    before = resident(running_server.pid)
    answer = raw(running_server, RAW[name])
    assert not answer or 400 <= int(answer.split()[1]) < 500 or answer.startswith(b"HTTP/1.1 200"), answer[:300]
    assert b"Traceback" not in answer
    assert_well(running_server, before)


def test_many_connections_that_say_nothing(running_server: RunningServer) -> None:
    before = resident(running_server.pid)
    silent = [socket.create_connection(("127.0.0.1", running_server.port), timeout=5) for _ in range(200)]
    try:
        assert raw(running_server, b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").endswith(b"ok")
    finally:
        for each in silent:
            each.close()
    assert_well(running_server, before)


def test_bombs_over_the_network(running_server: RunningServer) -> None:
    before = resident(running_server.pid)
    for name in ("billion laughs", "deep objects", "a huge integer", "invalid UTF-8", "many keys"):
        method, target, body, kind = BOMBS[name]
        head = f"{method} {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
        answer = raw(running_server, head.encode() + body)
        assert answer.split()[1] in (b"400", b"404", b"413", b"422"), (name, answer[:300])
    assert_well(running_server, before)


def raw(server: RunningServer, data: bytes) -> bytes:
    """Send bytes as the administrator and return all that comes back before the server hangs up or says no more."""
    received = b""
    with (
        socket.create_connection(("127.0.0.1", server.port), timeout=5) as plain,
        server.ssl_context().wrap_socket(plain, server_hostname="127.0.0.1") as connection,
    ):
        try:
            connection.sendall(data)
            connection.settimeout(1.5)
            while part := connection.recv(65536):
                received += part
        except (TimeoutError, ConnectionError, ssl.SSLError):
            pass
    return received


def assert_well(server: RunningServer, before: int) -> None:
    """The server answers, has not grown out of proportion, and has logged no traceback."""
    assert raw(server, b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").endswith(b"ok")
    assert resident(server.pid) - before < MOST_GROWTH
    assert "Traceback" not in server.log
