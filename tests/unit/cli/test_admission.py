"""The webhook configurations that lead the API to the rules: there while they are served, and never those of others."""

from __future__ import annotations

import logging

import pytest

from nagaya.api.catalog import PARTS
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.apiserver.server import ApiServer, Config
from nagaya.cli.admission import AdmissionServer
from nagaya.cli.in_process import InProcessTransport
from nagaya.kube.client import Client
from nagaya.kube.transport import NoAnswer
from nagaya.world import World
from support.kube import FakeServer

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


async def test_what_cannot_be_removed_is_named_with_the_remedy(caplog: pytest.LogCaptureFixture) -> None:
    world, server = World(), FakeServer()
    server.down = True
    rules = AdmissionServer(server.client(world), world, PARTS["core"])
    with pytest.raises(NoAnswer):
        await rules.start("127.0.0.1", 0)
    with caplog.at_level(logging.ERROR):
        await rules.stop()
    assert "kubectl delete mutatingwebhookconfiguration nagaya" in caplog.text
    assert "kubectl delete validatingwebhookconfiguration nagaya" in caplog.text
