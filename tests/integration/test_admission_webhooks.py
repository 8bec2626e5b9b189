"""Webhooks as controller-runtime serves them: a real TLS server on loopback, and the API server in the same process."""

from __future__ import annotations

import asyncio
import base64
import datetime
import gzip
import ipaddress
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from nagaya.apiserver.authn.user import User
from nagaya.apiserver.server import ApiServer, Config
from nagaya.apiserver.web.request import Request

Json = dict[str, Any]
Answer = Callable[[Json], Json | web.Response | Awaitable[Json]]

REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


def _certificate(folder: Path) -> tuple[ssl.SSLContext, str]:
    """A serving certificate for loopback and for the service `hooks` in `default`, and the bundle that trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "webhook")])
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("hooks.default.svc")]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "cert.pem").write_bytes(pem + private)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "cert.pem")
    return context, base64.b64encode(pem).decode()


class Hooks:
    """A webhook server: answers by path, and remembers what it was asked."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {"allow": allowed}
        self.asked: list[tuple[str, Json]] = []
        self.bundle = ""
        self.port = 0

    async def serve(self, request: web.Request) -> web.Response:
        review = await request.json()
        self.asked.append((request.path_qs, review))
        made = self.answers[request.path.strip("/")](review)
        answer = await made if isinstance(made, Awaitable) else made
        return answer if isinstance(answer, web.Response) else web.json_response(answer)

    def hook(self, path: str, **more: Any) -> Json:
        """A webhook of this server for all writes of ConfigMaps."""
        rule = {"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
        return {
            "name": "hook.example.com",
            "clientConfig": {"url": f"https://127.0.0.1:{self.port}/{path}", "caBundle": self.bundle},
            "rules": [rule],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "timeoutSeconds": 5,
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}},
            **more,
        }


def allowed(review: Json, **more: Any) -> Json:
    response = {"uid": review["request"]["uid"], "allowed": True, **more}
    return {"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response}


def denied(**status: Any) -> Answer:
    return lambda review: allowed(review, allowed=False, **({"status": status} if status else {}))


def patched(*operations: Json) -> Answer:
    patch = base64.b64encode(json.dumps(operations).encode()).decode()
    return lambda review: allowed(review, patchType="JSONPatch", patch=patch)


class Client:
    """Talks to the API server as an administrator."""

    def __init__(self, server: ApiServer) -> None:
        self.server = server
        self.warnings: list[str] = []

    async def __call__(self, method: str, path: str, body: Json | None = None, kind: str = "application/json") -> Json:
        headers = {"Authorization": "Bearer admin", "Content-Type": kind, "User-Agent": "test/1"}
        data = b"" if body is None else json.dumps(body).encode()
        response = await self.server.handle(Request.make(method, path, data, headers))
        self.warnings = [value for name, value in response.headers if name == "Warning"]
        answer: Json = json.loads(response.body)
        return answer

    async def configure(self, sort: str, *hooks: Json, name: str = "test") -> None:
        kind = f"{sort.capitalize()}WebhookConfiguration"
        body = {"metadata": {"name": name}, "webhooks": list(hooks)}
        made = await self("POST", f"{REGISTRATION}/{sort}webhookconfigurations", body)
        assert made["kind"] == kind, made

    async def create(self, name: str = "a", **data: str) -> Json:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data or {"x": "1"}}
        return await self("POST", CONFIG_MAPS, body)


@pytest.fixture
async def hooks(tmp_path: Path) -> AsyncIterator[Hooks]:
    made = Hooks()
    context, made.bundle = _certificate(tmp_path)
    app = web.Application()
    app.router.add_post("/{path:.*}", made.serve)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    made.port = runner.addresses[0][1]
    yield made
    await runner.cleanup()


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    server = await ApiServer.start(Config(tokens={"admin": User("admin", "1", ("system:masters",))}))
    await server.settled()
    yield Client(server)
    await server.stop()


async def test_a_review_tells_everything_about_a_write(client: Client, hooks: Hooks) -> None:
    await client.configure("validating", hooks.hook("allow"))
    created = await client.create()
    path, review = hooks.asked[0]
    request = review["request"]
    assert path == "/allow?timeout=5s"
    assert (review["apiVersion"], review["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    assert request["kind"] == request["requestKind"] == {"group": "", "version": "v1", "kind": "ConfigMap"}
    assert (request["operation"], request["name"], request["namespace"]) == ("CREATE", "a", "default")
    assert request["userInfo"] == {
        "username": "admin",
        "uid": "1",
        "groups": ["system:masters", "system:authenticated"],
    }
    assert request["object"]["metadata"]["uid"] == created["metadata"]["uid"]
    assert request["oldObject"] is None
    assert request["dryRun"] is False
    assert request["options"]["kind"] == "CreateOptions"


async def test_a_deletion_is_shown_with_the_old_object_only(client: Client, hooks: Hooks) -> None:
    await client.create()
    await client.configure("validating", hooks.hook("allow"))
    await client("DELETE", f"{CONFIG_MAPS}/a")
    request = hooks.asked[0][1]["request"]
    assert request["operation"] == "DELETE"
    assert request["object"] is None
    assert request["oldObject"]["kind"] == "ConfigMap"
    assert request["options"]["kind"] == "DeleteOptions"


@pytest.mark.parametrize(
    ("status", "code", "reason", "message"),
    [
        ({}, 400, None, "denied the request without explanation"),
        ({"reason": "Because"}, 400, "Because", "denied the request: Because"),
        ({"message": "no", "code": 200, "status": "Success"}, 400, None, "denied the request: no"),
        ({"message": "no", "code": 403, "reason": "Forbidden"}, 403, "Forbidden", "denied the request: no"),
    ],
)
async def test_a_refusal_is_told_with_its_code_and_reason(
    client: Client, hooks: Hooks, status: Json, code: int, reason: str | None, message: str
) -> None:
    hooks.answers["deny"] = denied(**status)
    await client.configure("validating", hooks.hook("deny"))
    refused = await client.create()
    assert refused["message"] == f'admission webhook "hook.example.com" {message}'
    assert (refused["code"], refused.get("reason")) == (code, reason)
    assert refused["status"] == "Failure"


async def test_a_patch_is_applied_and_its_result_stored(client: Client, hooks: Hooks) -> None:
    hooks.answers["patch"] = patched(
        {"op": "add", "path": "/data/y", "value": "2"}, {"op": "add", "path": "/unknown", "value": 1}
    )
    await client.configure("mutating", hooks.hook("patch"))
    created = await client.create()
    assert created["data"] == {"x": "1", "y": "2"}
    assert "unknown" not in created


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        ({"op": "remove", "path": "/data/none"}, "error in remove for path"),
        ({"op": "test", "path": "/data/x", "value": "9"}, "testing value /data/x failed: test failed"),
        ({"op": "add", "path": "/data/y", "value": 5}, "json: cannot unmarshal number"),
    ],
)
async def test_a_patch_that_cannot_be_applied_fails_the_write(
    client: Client, hooks: Hooks, operation: Json, message: str
) -> None:
    hooks.answers["patch"] = patched(operation)
    await client.configure("mutating", hooks.hook("patch"))
    failed = await client.create()
    assert (failed["code"], failed["reason"]) == (500, "InternalError")
    assert message in failed["message"]


async def test_mutating_webhooks_are_asked_in_the_order_of_their_configurations(client: Client, hooks: Hooks) -> None:
    def seen(review: Json) -> Json:
        keys = ",".join(sorted(review["request"]["object"]["data"]))
        answer: Any = patched({"op": "add", "path": "/data/seen", "value": keys})(review)
        return dict(answer)

    hooks.answers["seen"] = seen
    hooks.answers["add"] = patched({"op": "add", "path": "/data/added", "value": "1"})
    await client.configure("mutating", hooks.hook("seen"), name="b")
    await client.configure("mutating", hooks.hook("add"), name="a")
    assert (await client.create())["data"] == {"x": "1", "added": "1", "seen": "added,x"}


async def test_a_webhook_that_wants_it_is_asked_again_after_later_changes(client: Client, hooks: Hooks) -> None:
    hooks.answers["add"] = patched({"op": "add", "path": "/data/added", "value": "1"})
    again = hooks.hook("allow", name="first.example.com", reinvocationPolicy="IfNeeded")
    await client.configure("mutating", again, hooks.hook("add"))
    await client.create()
    assert [path.partition("?")[0] for path, _ in hooks.asked] == ["/allow", "/add", "/allow"]
    assert hooks.asked[2][1]["request"]["object"]["data"]["added"] == "1"


async def test_validating_webhooks_are_asked_at_the_same_time(client: Client, hooks: Hooks) -> None:
    both = asyncio.Barrier(2)

    async def together(review: Json) -> Json:
        await asyncio.wait_for(both.wait(), 25)
        return allowed(review, warnings=["asked"])

    hooks.answers["together"] = together
    one, other = (hooks.hook("together", name=f"{each}.example.com", timeoutSeconds=30) for each in ("one", "other"))
    await client.configure("validating", one, other)
    assert (await client.create())["kind"] == "ConfigMap"
    assert client.warnings == ['299 - "asked"']


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda _: web.Response(status=500, text="boom"), 'an error on the server ("boom") has prevented'),
        (lambda _: web.Response(status=404, text="?"), "the server could not find the requested resource"),
        (lambda _: {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}, "webhook response was absent"),
        (lambda _: {"response": {"allowed": True}}, "expected response.uid="),
        (lambda review: {"response": {"uid": review["request"]["uid"]}}, "got /, Kind="),
        (lambda review: allowed(review, patch="W10=", patchType="JSONPatch"), "may not return response.patch"),
    ],
)
async def test_a_wrong_answer_fails_the_write_or_is_ignored(
    client: Client, hooks: Hooks, answer: Answer, message: str
) -> None:
    hooks.answers["wrong"] = answer
    await client.configure("validating", hooks.hook("wrong"))
    failed = await client.create()
    assert failed["message"].startswith('Internal error occurred: failed calling webhook "hook.example.com": ')
    assert message in failed["message"]
    await client("DELETE", f"{REGISTRATION}/validatingwebhookconfigurations/test")
    await client.configure("validating", hooks.hook("wrong", failurePolicy="Ignore"))
    assert (await client.create())["kind"] == "ConfigMap"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            lambda _: web.Response(body=gzip.compress(b" " * (64 << 20)), headers={"Content-Encoding": "gzip"}),
            "the answer is more than 100 times as large as it was sent",
        ),
        (lambda _: web.Response(body=b" " * (9 << 20)), "the answer has more than 8 MiB"),
        (lambda _: web.Response(status=403, text="x" * 100_000), "(100000 characters in all)"),
        (lambda _: web.Response(body=b"[" * 100_000, content_type="application/json"), "json parse error"),
        (lambda _: web.Response(status=302, headers={"Location": "https://127.0.0.1:1/"}), "status code 302"),
    ],
)
async def test_a_hostile_answer_is_bounded_and_fails_the_write(
    client: Client, hooks: Hooks, answer: Answer, message: str
) -> None:
    hooks.answers["hostile"] = answer
    await client.configure("validating", hooks.hook("hostile"))
    failed = await client.create()
    assert message in failed["message"]
    assert len(failed["message"]) < 10_000


async def test_connection_failures_are_told_in_the_words_of_a_go_client(client: Client, hooks: Hooks) -> None:
    nobody = {"url": "https://127.0.0.1:1/x", "caBundle": hooks.bundle}
    await client.configure("validating", hooks.hook("x", clientConfig=nobody))
    failed = await client.create()
    assert failed["message"] == (
        'Internal error occurred: failed calling webhook "hook.example.com": failed to call webhook: '
        'Post "https://127.0.0.1:1/x?timeout=5s": dial tcp 127.0.0.1:1: connect: connection refused'
    )
    await client("DELETE", f"{REGISTRATION}/validatingwebhookconfigurations/test")
    stranger = {"url": f"https://127.0.0.1:{hooks.port}/allow"}
    await client.configure("validating", hooks.hook("x", clientConfig=stranger))
    failed = await client.create()
    assert failed["message"].endswith(
        "tls: failed to verify certificate: x509: certificate signed by unknown authority"
    )


async def test_a_slow_webhook_runs_into_its_timeout(client: Client, hooks: Hooks) -> None:
    told = asyncio.Event()

    async def slow(review: Json) -> Json:
        await told.wait()
        return allowed(review)

    hooks.answers["slow"] = slow
    await client.configure("validating", hooks.hook("slow", timeoutSeconds=1))
    refused = await client.create()
    told.set()
    assert refused["message"].endswith('/slow?timeout=1s": context deadline exceeded')


async def test_a_service_without_anyone_behind_it_fails_the_write(client: Client, hooks: Hooks) -> None:
    reference = {"service": {"name": "hooks", "namespace": "default", "path": "/allow"}, "caBundle": hooks.bundle}
    await client.configure("validating", hooks.hook("", clientConfig=reference))
    url = "https://hooks.default.svc:443/allow?timeout=5s"
    assert (await client.create())["message"].endswith(f'Post "{url}": service "hooks" not found')
    service = {"metadata": {"name": "hooks"}, "spec": {"ports": [{"name": "https", "port": 443}]}}
    await client("POST", "/api/v1/namespaces/default/services", service)
    assert (await client.create())["message"].endswith('no endpoints available for service "hooks"')


async def test_selectors_and_conditions_say_whom_a_webhook_is_for(client: Client, hooks: Hooks) -> None:
    hooks.answers["deny"] = denied()
    meant = {"matchLabels": {"meant": "yes"}}
    condition = {"name": "two", "expression": "object.data.x == '2'"}
    await client.configure(
        "validating",
        hooks.hook("deny", name="labels.example.com", objectSelector=meant),
        hooks.hook("deny", name="condition.example.com", matchConditions=[condition]),
        hooks.hook("deny", name="elsewhere.example.com", namespaceSelector={"matchLabels": {"not": "here"}}),
    )
    assert (await client.create("a"))["kind"] == "ConfigMap"
    assert "condition.example.com" in (await client.create("b", x="2"))["message"]
    body = {"metadata": {"name": "c", "labels": {"meant": "yes"}}, "data": {"x": "1"}}
    assert "labels.example.com" in (await client("POST", CONFIG_MAPS, body))["message"]


async def test_a_rule_for_another_version_gets_the_object_in_that_version(client: Client, hooks: Hooks) -> None:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}}}
    version = {"served": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    definition = {
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "names": names,
            "scope": "Namespaced",
            "versions": [{"name": "v1", "storage": True, **version}, {"name": "v2", "storage": False, **version}],
        },
    }
    await client("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    await client.server.settled()
    hooks.answers["patch"] = patched({"op": "add", "path": "/spec/a", "value": "hook"})
    rule = {"operations": ["*"], "apiGroups": ["example.com"], "apiVersions": ["v1"], "resources": ["things"]}
    await client.configure("mutating", hooks.hook("patch", rules=[rule]))
    thing = {"apiVersion": "example.com/v2", "kind": "Thing", "metadata": {"name": "t"}, "spec": {}}
    created = await client("POST", "/apis/example.com/v2/namespaces/default/things", thing)
    request = hooks.asked[0][1]["request"]
    assert request["kind"]["version"] == request["resource"]["version"] == "v1"
    assert request["requestKind"]["version"] == "v2"
    assert request["object"]["apiVersion"] == "example.com/v1"
    assert (created["apiVersion"], created["spec"]) == ("example.com/v2", {"a": "hook"})


async def test_webhook_configurations_are_never_shown_to_webhooks(client: Client, hooks: Hooks) -> None:
    everything = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}
    hooks.answers["deny"] = denied()
    await client.configure("validating", hooks.hook("deny", rules=[everything], namespaceSelector={}))
    assert (await client.create())["code"] == 400
    gone = await client("DELETE", f"{REGISTRATION}/validatingwebhookconfigurations/test")
    assert gone["status"] == "Success"
    assert (await client.create())["kind"] == "ConfigMap"


async def test_a_dry_run_is_shown_as_one(client: Client, hooks: Hooks) -> None:
    await client.configure("validating", hooks.hook("allow", sideEffects="NoneOnDryRun"))
    body = {"metadata": {"name": "a"}}
    await client("POST", f"{CONFIG_MAPS}?dryRun=All", body)
    request = hooks.asked[0][1]["request"]
    assert request["dryRun"] is True
    assert request["options"]["dryRun"] == ["All"]
