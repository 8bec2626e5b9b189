"""Whatever clients send, they get a Status that says what is wrong with it, and the server goes on.

Requests go straight into the server, without a network, so that thousands fit into seconds; what only a network can
carry is at the end. "Wrong" is never answered with a failure of the server, never with a traceback in the log, never
with time or memory that grows out of proportion.
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
from support.bad_bodies import APPLY, DEFINITION, GOOD, JSON_PATCH, MERGE, OBJECTS, PROTOBUF, PROTOBUF_BODIES, STRATEGIC
from support.bombs import BOMBS, CONFIG_MAPS, DEFINITIONS, RAW
from support.running_server import RunningServer

UNFORESEEN = b"the server failed on this request"
SLOWEST = 5.0  # seconds of work for the worst single request
PATIENCE, SILENCE = 120.0, 1.5  # seconds for an answer that is to come, and for one that may not come at all
MOST_GROWTH = 256 * 1024 * 1024  # bytes, for everything that one test sends

bounded = settings(max_examples=150, suppress_health_check=list(HealthCheck))


class Subject:
    """A server that is asked bad things, and how it takes them."""

    def __init__(self, runner: asyncio.Runner, server: ApiServer) -> None:
        self._runner = runner
        self._server = server
        self.kinds: dict[str, str] = {}

    def ask(self, method: str, target: str, body: bytes = b"", **headers: str) -> tuple[int, Any]:
        """Send a request, hold the answer to the rules above, and return it."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        request = Request.make(method, target, body, {"Authorization": "Bearer admin", **named})
        # Of this process, whatever else the machine has to do.
        began = time.process_time()
        status, content = self._runner.run(self._answer(request))
        took = time.process_time() - began
        assert took < SLOWEST, f"{method} {target[:200]} took {took:.1f} s"
        # The real server says 500 to some mistakes of its clients, and so do we: on purpose, not by accident.
        foreseen = status < 500 or (status == 500 and UNFORESEEN not in content)
        assert foreseen, f"{method} {target[:200]} {body[:300]!r}: {status} {content[:500]!r}"
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
            subject.kinds[path] = json.loads(answer)["kind"]
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


def parts_of(path: str) -> tuple[str, str]:
    """The apiVersion of a path, and the name that the object of `GOOD` has there."""
    _, root, *rest = path.split("/")
    version = rest[0] if root == "api" else f"{rest[0]}/{rest[1]}"
    return version, GOOD[path].get("metadata", {}).get("name", "x")


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
    kind=st.sampled_from(["application/json", "application/yaml", PROTOBUF, "", "text/plain"]),
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


def test_the_protobuf_bodies_are_good(subject: Subject) -> None:
    for path, body in PROTOBUF_BODIES:
        status, answer = subject.ask("POST", f"{path}?dryRun=All", body, Content_Type=PROTOBUF)
        assert status == 201, (path, answer)


@settings(bounded, max_examples=500)
@given(which=st.integers(0, len(PROTOBUF_BODIES) - 1), seed=st.integers(0, 2**32))
def test_damaged_protobuf(subject: Subject, which: int, seed: int) -> None:
    path, body = PROTOBUF_BODIES[which]
    subject.ask("POST", path, damage(body, seed), Content_Type=PROTOBUF)


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


@settings(bounded, max_examples=600)
@given(what=damaged(), force=st.booleans(), new=st.booleans(), data=st.data())
def test_strange_configurations_to_apply(
    subject: Subject, what: tuple[str, Any], force: bool, new: bool, data: st.DataObject
) -> None:
    path, body = what
    version, name = parts_of(path)
    kind = subject.kinds[path]
    if isinstance(body, dict):
        body = {"apiVersion": version, "kind": kind, **body}
        if isinstance(body.get("metadata"), dict):
            body["metadata"] = {**body["metadata"], "name": name}
    part = data.draw(st.sampled_from(["", "", "/status", "/scale"]))
    target = f"{path}/{'applied' if new else name}{part}?fieldManager=m&force={str(force).lower()}"
    subject.ask("PATCH", target, encoded(body), Content_Type=APPLY)


@pytest.mark.parametrize("path", sorted(GOOD))
def test_a_configuration_without_content_is_applied_or_refused(subject: Subject, path: str) -> None:
    version, name = parts_of(path)
    bare = {"apiVersion": version, "kind": subject.kinds[path]}
    for body in (bare, {**bare, "metadata": {"name": "bare"}}, {**bare, "metadata": None, "spec": None}):
        for target in ("bare", name):
            subject.ask("PATCH", f"{path}/{target}?fieldManager=bare&force=true", encoded(body), Content_Type=APPLY)
            subject.ask("POST", path, encoded(body), Content_Type="application/json")


LONG = "1" * 5000
NUMBERS: dict[str, tuple[str, str, tuple[Any, ...]]] = {
    "deletion cost": ("pods", "metadata annotations controller.kubernetes.io/pod-deletion-cost", (LONG, "-" + LONG)),
    "generation": ("daemonsets", "metadata annotations deprecated.daemonset.template.generation", (LONG, "--5")),
    "DaemonSet": ("daemonsets", "spec updateStrategy rollingUpdate maxUnavailable", (LONG, LONG + "%", "+-5")),
    "Deployment": ("deployments", "spec strategy rollingUpdate maxUnavailable", (LONG, LONG + "%", "+-5")),
    "budget": ("poddisruptionbudgets", "spec minAvailable", (LONG, LONG + "%", "0" * 5000 + "%")),
    "schedule": ("cronjobs", "spec schedule", (LONG + " * * * *", f"@every {LONG}h", f"@every 0.{LONG}h")),
    "grace period": ("pods", "spec terminationGracePeriodSeconds", (2**63 - 1, 2**62, 10**12, -(2**63))),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_that_no_type_can_hold(subject: Subject, name: str) -> None:
    resource, place, values = NUMBERS[name]
    path = next(path for path in sorted(GOOD) if path.endswith(f"/{resource}"))
    *steps, last = place.split()
    for number, value in enumerate(values):
        body: Any = copy.deepcopy(GOOD[path])
        body["metadata"] = {**body.get("metadata", {}), "name": f"long{number}"}
        if resource == "pods":
            body["spec"]["nodeName"] = "n"
        inner = body
        for step in steps:
            inner = inner.setdefault(step, {})
        inner[last] = value
        subject.ask("POST", path, encoded(body), Content_Type="application/json")
        for period in (2**62, None, 0):
            options = {"gracePeriodSeconds": period}
            subject.ask("DELETE", f"{path}/long{number}", encoded(options), Content_Type="application/json")
        assert subject.ask("GET", f"{path}/long{number}")[0] == 404


ACTIONS = {
    "binding": {"kind": "Binding", "apiVersion": "v1", "target": {"kind": "Node", "name": "x"}},
    "eviction": {"kind": "Eviction", "apiVersion": "policy/v1"},
    "resize": {"kind": "Pod", "apiVersion": "v1", "spec": GOOD["/api/v1/namespaces/default/pods"]["spec"]},
}


@settings(bounded, max_examples=100)
@given(action=st.sampled_from(sorted(ACTIONS)), data=st.data())
def test_strange_actions_on_pods_in_a_namespace_with_limits(subject: Subject, action: str, data: st.DataObject) -> None:
    body: Any = {**ACTIONS[action], "metadata": {"name": "x"}}
    if data.draw(st.booleans()):
        body = replaced(body, data.draw(st.sampled_from(list(places(body)))), data.draw(junk))
    method = "PUT" if action == "resize" else "POST"
    subject.ask(method, f"/api/v1/namespaces/default/pods/x/{action}", encoded(body), Content_Type="application/json")


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
    subject.ask(method, f"{path}?{name}={quote(value, safe='')}&dryRun=All")


OPTIONS = [
    "limit", "continue", "resourceVersion", "resourceVersionMatch", "timeoutSeconds", "watch", "sendInitialEvents",
    "allowWatchBookmarks", "pretty", "includeObject", "dryRun", "fieldManager", "fieldValidation", "force",
    "gracePeriodSeconds", "propagationPolicy", "orphanDependents", "timeout",
]  # fmt: skip


@settings(bounded, max_examples=400)
@given(
    path=st.sampled_from([*sorted(GOOD), *OBJECTS]),
    names=st.lists(st.sampled_from(OPTIONS), min_size=1, max_size=4),
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
        "api", "apis", "v1", "v2", "namespaces", "default", "configmaps", "apps", "x", "watch", "status", "scale",
        "token", "openapi", "v3", "proxy", "", ".", "..", "%2e%2e", "%00", "%ff", "%2f", "~", "metrics", "\u00e9",
    ]
)  # fmt: skip


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
UNSIGNED = ".".join(base64.b64encode(part).decode() for part in (b'{"alg":"none"}', b"{}", b""))
header_values = st.text(st.characters(min_codepoint=1, max_codepoint=255), max_size=30) | st.sampled_from(
    [
        "application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;as=;v=;g=", "application/json;stream=watch",
        "*/*;q=x", "application/*", ";;;", ",", 'application/json; charset="', PROTOBUF, "application/cbor",
        "Bearer", "Bearer ", "Bearer a.b.c", "Bearer " + "x" * 5000, f"Bearer {UNSIGNED}", "Basic eA==",
    ]
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


@pytest.mark.parametrize("name", DEFINITIONS)
def test_definitions_that_are_bombs(subject: Subject, name: str) -> None:
    body = copy.deepcopy(DEFINITION)
    body["metadata"]["name"] = "bombs.bad.example.com"
    body["spec"]["names"] = {"plural": "bombs", "kind": "Bomb"}
    body["spec"]["versions"] = [
        {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": DEFINITIONS[name]}}
    ]
    status, _ = subject.ask(
        "POST",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        json.dumps(body).encode(),
        Content_Type="application/json",
    )
    if status == 201:
        subject.ask("DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/bombs.bad.example.com")


# --- over the network


@pytest.mark.parametrize("name", RAW)
def test_what_is_not_quite_http(running_server: RunningServer, name: str) -> None:
    before = resident(running_server.pid)
    answer = raw(running_server, RAW[name], SILENCE)
    assert not answer or 400 <= int(answer.split()[1]) < 500 or answer.startswith(b"HTTP/1.1 200"), answer[:300]
    assert b"Traceback" not in answer
    assert_well(running_server, before)


def test_many_connections_that_say_nothing(running_server: RunningServer) -> None:
    before = resident(running_server.pid)
    silent = [socket.create_connection(("127.0.0.1", running_server.port), timeout=PATIENCE) for _ in range(200)]
    try:
        assert raw(running_server, b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").endswith(b"ok")
    finally:
        for each in silent:
            each.close()
    assert_well(running_server, before)


def test_bombs_over_the_network(running_server: RunningServer) -> None:
    before = resident(running_server.pid)
    for name in ("billion laughs", "deep objects", "UTF-16", "many labels"):
        method, target, body, kind = BOMBS[name]
        head = f"{method} {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: {kind}\r\n"
        answer = raw(running_server, f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        assert answer.split()[1] in (b"400", b"413", b"422"), (name, answer[:300])
    assert_well(running_server, before)


def raw(server: RunningServer, data: bytes, patience: float = PATIENCE) -> bytes:
    """Send bytes as the administrator and return all that comes back before the server hangs up, or says no more for
    some seconds."""
    received = b""
    with (
        socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as plain,
        server.ssl_context().wrap_socket(plain, server_hostname="127.0.0.1") as connection,
    ):
        try:
            connection.sendall(data)
            connection.settimeout(patience)
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
