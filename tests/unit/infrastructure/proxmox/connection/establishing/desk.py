"""Where connections are made without a management API that checks what it is given: an emulated data center, and a
management API in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from nagaya.infrastructure.proxmox.client import Token, Trust
from nagaya.infrastructure.proxmox.connection.establishing.management import Management
from nagaya.infrastructure.proxmox.connection.establishing.plan import Asked
from nagaya.simulators.proxmox.emulator import Emulator
from nagaya.simulators.proxmox.layouts.demo import demo
from nagaya.simulators.proxmox.state.access import Token as KnownToken
from nagaya.simulators.proxmox.state.access import User
from support.establishing import HOSTS, NAME, NAMESPACE, SCOPE, Office
from support.kube import FakeServer
from support.virtual_run import virtual_world

USER = "nagaya@pve"
TOKEN = Token(f"{USER}!hand", "00000000-1111-2222-3333-444444444444")
"""One that somebody made by hand. It may do everything."""
ASKED = Asked(HOSTS, Trust(insecure=True), SCOPE, user=USER)


@asynccontextmanager
async def desk() -> AsyncIterator[Office]:
    """An office whose data center has the token."""
    world, server = virtual_world(), FakeServer()
    datacenter = demo(world)
    access = datacenter.access
    access.users[USER] = User(tokens={"hand": KnownToken(TOKEN.secret, privilege_separation=False)})
    access.acl["/", "user", USER, "Administrator"] = True
    emulator, client = Emulator(world, datacenter), server.client(world)
    try:
        yield Office(world, emulator, client, lambda _: server)
    finally:
        await client.close()
        await emulator.close()


def management_of(office: Office) -> Management:
    """The management API's part of a connection of which nothing is stored yet."""
    return Management(office.client, NAMESPACE, NAME)
