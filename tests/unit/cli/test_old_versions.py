"""Definitions with an old version are written with care: whose they are, and what is stored in them, decides."""

from __future__ import annotations

import base64
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from nagaya.api.catalog import PARTS
from nagaya.api.conversion.proxmox.serving import old_version, without_conversion
from nagaya.api.crd import render
from nagaya.api.kind import Kind
from nagaya.api.proxmox.group import GROUP, OLD_VERSION
from nagaya.api.untyped import Untyped
from nagaya.apiserver.server import ApiServer, Config
from nagaya.cli.in_process import InProcessTransport
from nagaya.cli.management_api import serves
from nagaya.cli.old_versions import CRDS, OldVersions, Unconverted, bring_up_to_date
from nagaya.kube.client import Client
from nagaya.kube.errors import Conflict
from nagaya.kube.patches import Apply
from nagaya.pki.authority import CertificateAuthority
from nagaya.world import World

pytestmark = pytest.mark.slow

MACHINES = next(each for each in PARTS["infrastructure-proxmox"] if each.kind.kind == "ProxmoxMachine")
SIMULATED = PARTS["infrastructure-simulated"][0]
AUTHORITY = CertificateAuthority.create("gone", World().clock).certificate_pem
CONFIG = {"url": "https://127.0.0.1:9/convert", "caBundle": base64.b64encode(AUTHORITY).decode()}
LEFT = {"v1alpha1": False, "v1alpha2": True}


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    world = World()
    server = await ApiServer.start(Config(), world)
    yield Client(InProcessTransport(server), world=world, field_manager="nagaya")
    await server.stop()


def capmox() -> dict[str, Any]:
    """A definition that stores v1alpha1."""
    content = render(MACHINES)
    content["spec"]["versions"] = [{**old_version(MACHINES), "storage": True}]
    return content


async def put(client: Client, content: dict[str, Any], manager: str = "nagaya") -> None:
    await client.patch(CRDS, "", content["metadata"]["name"], Apply(content, manager))
    await serves(client, [MACHINES.kind], lambda _: None, convertible=[MACHINES.kind])


async def versions(client: Client) -> dict[str, bool]:
    found = await client.get(CRDS, "", str(MACHINES.kind))
    return {each["name"]: each["served"] for each in found.at("spec", "versions")}


async def test_what_has_no_old_version_is_left_to_others(client: Client) -> None:
    assert not await bring_up_to_date(client, MACHINES, force=False, converting=False)
    assert not await bring_up_to_date(client, SIMULATED, force=True, converting=True)
    await put(client, render(MACHINES))
    assert not await bring_up_to_date(client, MACHINES, force=False, converting=False)


async def test_who_converts_writes_it_later(client: Client) -> None:
    await put(client, capmox(), "clusterctl")
    assert await bring_up_to_date(client, MACHINES, force=False, converting=True)
    assert await versions(client) == {"v1alpha1": True}


async def test_what_is_known_but_not_served_stays_so(client: Client) -> None:
    outdated = without_conversion(MACHINES)
    outdated["spec"]["versions"][1]["deprecationWarning"] = "an older text"
    await put(client, outdated)
    assert await bring_up_to_date(client, MACHINES, force=False, converting=False)
    found = await client.get(CRDS, "", str(MACHINES.kind))
    assert await versions(client) == LEFT
    assert found.at("spec", "versions")[1]["deprecationWarning"] != "an older text"


async def test_what_is_somebody_elses_is_not_changed(client: Client) -> None:
    await put(client, capmox(), "clusterctl")
    with pytest.raises(Conflict):
        await bring_up_to_date(client, MACHINES, force=False, converting=False)


async def test_nothing_is_misread_even_by_force(client: Client) -> None:
    await put(client, capmox(), "clusterctl")
    with pytest.raises(Unconverted, match="Nobody can read them before Nagaya is started"):
        await bring_up_to_date(client, MACHINES, force=True, converting=False)
    assert await versions(client) == {"v1alpha1": True}


async def test_a_webhook_that_is_gone_is_no_longer_asked(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    await put(client, render(MACHINES))
    await OldVersions(client, [MACHINES]).serve(CONFIG)
    assert await versions(client) == {"v1alpha1": True, "v1alpha2": True}
    assert await bring_up_to_date(client, MACHINES, force=False, converting=False)
    assert await versions(client) == LEFT
    assert "Nobody converts ProxmoxMachine from v1alpha1 any more" in caplog.text


async def test_only_ones_own_webhook_is_withdrawn(client: Client) -> None:
    await put(client, render(MACHINES))
    served = OldVersions(client, [MACHINES])
    await served.serve(CONFIG)
    await served.withdraw("YW5vdGhlcg==")
    assert await versions(client) == {"v1alpha1": True, "v1alpha2": True}
    await served.withdraw(CONFIG["caBundle"])
    assert await versions(client) == LEFT


async def test_a_webhook_stays_while_objects_cannot_be_read_without_it(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    await put(client, capmox(), "clusterctl")
    old = Kind(GROUP, OLD_VERSION, "ProxmoxMachine", "proxmoxmachines", Untyped)
    await client.create(old, {"metadata": {"name": "one", "namespace": "default"}, "spec": {}})
    served = OldVersions(client, [MACHINES])
    with caplog.at_level(logging.ERROR):
        await served.serve(CONFIG)  # where nobody answers, so that nothing can be stored anew
        await served.withdraw(CONFIG["caBundle"])

    assert await versions(client) == {"v1alpha1": True, "v1alpha2": True}
    assert "ProxmoxMachine objects stay stored in v1alpha1" in caplog.text
    assert "has objects in v1alpha1 still" in caplog.text
