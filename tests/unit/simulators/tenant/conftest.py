"""Tenants on virtual time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from nagaya.apiserver.seed import Seed
from nagaya.apiserver.server import ApiServer
from nagaya.pki.authority import CertificateAuthority
from nagaya.simulators.tenant.settings import NodeSettings, TenantSettings
from nagaya.simulators.tenant.shared import Shared
from nagaya.simulators.tenant.tenant import Tenant
from nagaya.world import World
from support.simulated_tenant import Kubectl, Make
from support.virtual_time import LoopClock, VirtualLoop


def pytest_asyncio_loop_factories(config: pytest.Config, item: pytest.Item) -> Mapping[str, type[VirtualLoop]]:
    return {"virtual": VirtualLoop}


@pytest.fixture(scope="session")
def seed() -> Seed:
    """What every server holds, made once for all tests."""

    async def made() -> Seed:
        server = await ApiServer.start()
        await server.settled()
        seed = Seed(server.store)
        await server.stop()
        return seed

    return asyncio.run(made())


@pytest.fixture
async def make(seed: Seed) -> AsyncIterator[Make]:
    """Starts tenants with so many workers, Ready."""
    tenants = []
    world = World(LoopClock(), random.Random(7))
    authority = CertificateAuthority.create("kubernetes", world.clock)

    async def made(workers: int = 0, **settings: Any) -> Kubectl:
        shared = settings.setdefault("shared", Shared())
        shared.seed = seed
        tenant = await Tenant.start(TenantSettings("test", authority, listen=False, **settings), world)
        tenants.append(tenant)
        for number in range(1, workers + 1):
            await tenant.join(NodeSettings(f"n{number}", provider_id=f"simulated://n{number}"))
        api = Kubectl(tenant, world)
        await api.wait(2 if workers else 0)
        return api

    yield made
    for tenant in tenants:
        await tenant.stop()
