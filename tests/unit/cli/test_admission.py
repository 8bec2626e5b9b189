"""The webhook configurations that lead the API to the rules: there while they are served, and never those of others."""

from __future__ import annotations

import asyncio
import logging
import ssl
from typing import Any

import aiohttp
import pytest

from nagaya.api.catalog import PARTS
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.apiserver.server import ApiServer, Config
from nagaya.apiserver.web.limits import Limits
from nagaya.cli.admission import AdmissionServer
from nagaya.cli.in_process import InProcessTransport
from nagaya.kube.client import Client
from nagaya.kube.transport import NoAnswer
from nagaya.world import World
from support.kube import FakeServer
from support.virtual_run import run, virtual_world

pytestmark = pytest.mark.slow

CONFIGURATIONS = [
    Kind("admissionregistration.k8s.io", "v1", kind, f"{kind.lower()}s", Untyped, namespaced=False)
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
]


async def addresses(client: Client) -> set[str]:
    """Where the API calls."""
    found = [each for kind in CONFIGURATIONS for each in (await client.list(kind)).items]
    urls = [hook["clientConfig"]["url"] for each in found for hook in each.at("webhooks") or ()]
    return {url.rpartition("/")[0] for url in urls}


async def test_whoever_was_replaced_leaves_its_successor_alone() -> None:
    world = World()
    server = await ApiServer.start(Config(), world)
    client = Client(InProcessTransport(server), world=world, field_manager="test")
    first, second = (AdmissionServer(client, world, PARTS["core"]) for _ in range(2))
    try:
        before = await first.start("127.0.0.1", 0)
        assert await addresses(client) == {before}
        after = await second.start("127.0.0.1", 0)
        assert await addresses(client) == {after}
        await first.stop()
        assert await addresses(client) == {after}
        await second.stop()
        assert await addresses(client) == set()
    finally:
        await server.stop()


async def start_and_stop_without_api(part: str) -> None:
    """Serve the rules of a part while its API does not answer. On virtual time, because the client tries again."""
    world, server = virtual_world(), FakeServer()
    server.down = True
    rules = AdmissionServer(server.client(world), world, PARTS[part])
    with pytest.raises(NoAnswer):
        await rules.start("127.0.0.1", 0)
    await rules.stop()


def test_what_cannot_be_removed_is_named_with_the_remedy(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        run(start_and_stop_without_api("core"))
    assert "kubectl delete mutatingwebhookconfiguration nagaya" in caplog.text
    assert "kubectl delete validatingwebhookconfiguration nagaya" in caplog.text
    assert "the API goes on asking for conversion" not in caplog.text, "of what has no old version"


def test_an_old_version_whose_webhook_cannot_be_withdrawn_is_named_with_the_remedy(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.ERROR):
        run(start_and_stop_without_api("infrastructure-proxmox"))
    assert "the API goes on asking for conversion, in vain" in caplog.text
    assert "Start Nagaya again, with --admission or with --install-crds" in caplog.text


async def test_who_may_not_change_definitions_serves_the_rules_all_the_same(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    server = await ApiServer.start(Config(), world)
    admin = Client(InProcessTransport(server), world=world, field_manager="test")
    roles = Kind("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", Untyped, namespaced=False)
    bindings = Kind(
        "rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", Untyped, namespaced=False
    )
    rule = {"apiGroups": ["admissionregistration.k8s.io"], "resources": ["*"], "verbs": ["*"]}
    subject = {"kind": "User", "name": "limited", "apiGroup": "rbac.authorization.k8s.io"}
    role = {"kind": "ClusterRole", "name": "limited", "apiGroup": "rbac.authorization.k8s.io"}
    await admin.create(roles, {"metadata": {"name": "limited"}, "rules": [rule]})
    await admin.create(bindings, {"metadata": {"name": "limited"}, "subjects": [subject], "roleRef": role})
    limited = Client(InProcessTransport(server, "limited", ()), world=world, field_manager="test")
    rules = AdmissionServer(limited, world, PARTS["infrastructure-proxmox"])
    try:
        url = await rules.start("127.0.0.1", 0)
        assert await addresses(admin) == {url}
        assert "old versions are not served, because definitions may not be changed" in caplog.text
    finally:
        await rules.stop()
        await server.stop()


@pytest.mark.parametrize(
    ("path", "body", "code", "said"),
    [
        ("convert", {"request": {"uid": "u", "objects": []}}, 200, '"uid": "u"'),
        ("convert", {}, 400, "the body is no ConversionReview with a request"),
        ("validate", [], 400, "the body is no AdmissionReview with a request"),
        ("convert", "{", 400, "the body is not JSON"),
        ("default", "[" * 100_000, 400, "the body is not JSON"),
        ("elsewhere", {}, 404, "/validate"),
    ],
)
async def test_what_is_no_review_is_refused(path: str, body: Any, code: int, said: str) -> None:
    world = World()
    server = await ApiServer.start(Config(), world)
    client = Client(InProcessTransport(server), world=world, field_manager="test")
    rules = AdmissionServer(client, world, PARTS["core"])
    try:
        url = await rules.start("127.0.0.1", 0)
        unverified = ssl.create_default_context()
        unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE
        given = {"data": body} if isinstance(body, str) else {"json": body}
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{url}/{path}", ssl=unverified, **given) as answer,
        ):
            assert answer.status == code
            assert said in await answer.text()
    finally:
        await rules.stop()
        await server.stop()


async def test_reviews_that_do_not_come_take_little_and_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nagaya.cli.admission._REVIEW_SECONDS", 0.3)
    world = World()
    server = await ApiServer.start(Config(), world)
    client = Client(InProcessTransport(server), world=world, field_manager="test")
    rules = AdmissionServer(client, world, PARTS["core"])
    try:
        url = await rules.start("127.0.0.1", 0)
        port = int(url.rpartition(":")[2])
        unverified = ssl.create_default_context()
        unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE
        codes = []
        connections = []
        for _ in range(8):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=unverified)
            writer.write(b"POST /validate HTTP/1.1\r\nHost: h\r\nContent-Length: 8000000\r\n\r\n{")
            connections.append((reader, writer))
        for reader, writer in connections:
            codes.append((await reader.readline()).split()[1])
            writer.transport.abort()
        assert sorted(codes) == [b"408"] * 4 + [b"429"] * 4
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{url}/convert", ssl=unverified, json={"request": {"uid": "u", "objects": []}}) as answer,
        ):
            assert answer.status == 200, "what was held is free again"
    finally:
        await rules.stop()
        await server.stop()


async def test_connections_that_do_not_complete_their_handshake_displace_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("nagaya.cli.admission._LIMITS", Limits(unauthenticated=20, per_address=10))
    world = World()
    server = await ApiServer.start(Config(), world)
    client = Client(InProcessTransport(server), world=world, field_manager="test")
    rules = AdmissionServer(client, world, PARTS["core"])
    writers: list[asyncio.StreamWriter] = []
    try:
        url = await rules.start("127.0.0.1", 0)
        port = int(url.rpartition(":")[2])
        writers = [(await asyncio.open_connection("127.0.0.1", port))[1] for _ in range(60)]
        unverified = ssl.create_default_context()
        unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{url}/convert", ssl=unverified, json={"request": {"uid": "u", "objects": []}}) as answer,
        ):
            assert answer.status == 200
        assert rules._listener is not None
        assert rules._listener.gate.strangers <= 10
    finally:
        for writer in writers:
            writer.transport.abort()
        await rules.stop()
        await server.stop()
