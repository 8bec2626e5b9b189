"""What the demo makes: accepted by the management API, and nowhere but in its own namespace."""

from __future__ import annotations

import pytest

from nagaya.blueprints.applying import examine
from nagaya.blueprints.blueprint import blueprint
from nagaya.cli.demo.objects import NAMESPACE, DataCenterFacts, surroundings, wish
from nagaya.cli.in_process import InProcessTransport
from nagaya.kube.client import Client
from nagaya.world import World
from support.prepared import start_prepared

FACTS = DataCenterFacts(["https://127.0.0.1:8006"], "root@pam!demo", "a-secret", "-----BEGIN", "nagaya")


@pytest.mark.parametrize("real", [True, False])
async def test_the_management_api_takes_all_of_it(real: bool) -> None:
    world = World()
    server = await start_prepared(world)
    client = Client(InProcessTransport(server), world=world)
    try:
        namespace, *rest = surroundings(FACTS, real=real)
        for manifest in (namespace, *rest):
            (step,) = await examine(client, [manifest])
            metadata = manifest["metadata"]
            await client.create(step.kind, manifest)
            assert metadata.get("namespace", NAMESPACE) == NAMESPACE
        assert not any(each.exists for each in await examine(client, blueprint(wish(real=real))))
    finally:
        await client.close()
        await server.stop()


def test_what_is_in_no_namespace_is_the_namespace_and_the_data_store() -> None:
    outside = [each for real in (True, False) for each in surroundings(FACTS, real=real) if not _namespaced(each)]
    assert {(each["kind"], each["metadata"]["name"]) for each in outside} == {
        ("Namespace", "nagaya-demo"),
        ("DataStore", "nagaya-demo"),
    }


def test_secrets_are_not_shown() -> None:
    assert "a-secret" not in repr(FACTS)


def _namespaced(manifest: dict[str, object]) -> bool:
    metadata = manifest["metadata"]
    assert isinstance(metadata, dict)
    return "namespace" in metadata
