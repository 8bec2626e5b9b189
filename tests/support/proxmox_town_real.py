"""A town whose management API is a real kube-apiserver, on the clock of the machine."""

from __future__ import annotations

import asyncio
import contextlib
import random
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace

from nagaya.api.catalog import PARTS
from nagaya.cli.plane import install
from nagaya.kube import kubeconfig
from nagaya.kube.client import Client
from nagaya.kube.http import HttpTransport
from nagaya.world import World
from support.lab import NAMESPACES
from support.proxmox_town import Town, assembled
from support.proxmox_town_manifests import Shop
from support.real import RealControlPlane

QUIET = 8.0
PATIENCE = 150.0
_CLOSING = 0.3  # seconds that connections take to say goodbye


@contextlib.asynccontextmanager
async def real_town(control_plane: RealControlPlane, shop: Shop) -> AsyncIterator[Town]:
    """A town in a namespace of its own, without controllers yet."""
    world = World(random=random.Random(1))
    connection = kubeconfig.load(control_plane.kubeconfig)
    shop = replace(shop, namespace=f"town-{uuid.uuid4().hex[:8]}")
    first = Client(HttpTransport(connection, world=world), world=world, field_manager="test")
    await install(first, [*PARTS])
    await first.create(NAMESPACES, {"metadata": {"name": shop.namespace}})
    await first.close()
    async with assembled(world, lambda: HttpTransport(connection, world=world), shop) as made:
        made.real, made.quiet, made.patience = True, QUIET, PATIENCE
        yield made
    await asyncio.sleep(_CLOSING)
