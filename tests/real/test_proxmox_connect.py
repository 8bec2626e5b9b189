"""Connections made against a real API server: what it is asked beforehand, and what it then has."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from nagaya.cli.plane import install
from nagaya.infrastructure.proxmox.connection.establishing.management import Management, NotManaged
from nagaya.kube import kubeconfig
from nagaya.kube.client import Client
from nagaya.kube.connection import Connection
from nagaya.kube.http import HttpTransport
from nagaya.simulators.proxmox.emulator import Emulator
from nagaya.simulators.proxmox.layouts.demo import demo
from nagaya.world import World
from support.establishing import NAME, NAMESPACE, Life, Office
from support.real import RealControlPlane, installed_binaries

pytestmark = pytest.mark.long("waits for real Kubernetes programs, which take seconds to start and to converge")


@pytest.fixture(scope="module")
def real() -> Iterator[RealControlPlane]:
    with RealControlPlane(installed_binaries()) as plane:
        yield plane


@pytest.fixture
async def office(real: RealControlPlane) -> AsyncIterator[Office]:
    world = World()
    connection: Connection = kubeconfig.load(real.kubeconfig)

    def reach(_: Life) -> HttpTransport:
        return HttpTransport(connection, world=world)

    emulator = Emulator(world, demo(world))
    client = Client(reach(Life()), world=world, field_manager="test")
    yield Office(world, emulator, client, reach)
    await client.close()
    await emulator.close()


async def test_a_connection_is_made_found_again_and_rotated(office: Office) -> None:
    with pytest.raises(NotManaged, match="does not have the kind ProxmoxConnection"):
        await office.make()
    assert office.tokens() == []
    await install(office.client, ["infrastructure-proxmox"])
    with pytest.raises(NotManaged, match="kubectl create namespace nowhere"):
        await Management(office.client, "nowhere", NAME).read()

    _, first = await office.make()
    again, _ = await office.make()
    assert again.nothing
    _, second = await office.make(rotate=True)
    assert office.tokens() == [second.token]
    assert first.token != second.token

    management = Management(office.client, NAMESPACE, NAME)
    stored = await management.read()
    assert stored.secret is not None
    assert (stored.token, stored.making, stored.leaving) == (second.token, "", ())
    assert [each.kind for each in stored.secret.metadata.owner_references] == ["ProxmoxConnection"]
    assert await management.ready(0.2) is None
