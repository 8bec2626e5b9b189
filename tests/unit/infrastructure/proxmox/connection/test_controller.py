"""The controller at work on a management API in memory: what it records as events."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from nagaya.api.kind import Kind
from nagaya.api.proxmox.proxmox_connection import PROXMOX_CONNECTIONS
from nagaya.infrastructure.proxmox.connection.connections import Connections
from nagaya.infrastructure.proxmox.connection.controller import controller
from nagaya.infrastructure.proxmox.connection.secrets import CREDENTIALS
from nagaya.kube.contract_kinds import ContractKinds
from nagaya.kube.key import Key
from nagaya.kube.manager import Manager
from nagaya.kube.recorder import EVENTS, Recorder
from nagaya.kube.remote import Remotes
from nagaya.kube.runtime import Runtime
from support.kube import FakeServer
from support.virtual_run import run, virtual_world

PVE = Key("default", "pve")


@dataclass(slots=True)
class Office:
    """A management API, and the controller."""

    server: FakeServer
    manager: Manager
    recorder: Recorder

    async def look(self) -> None:
        """Have the controller look once more, and its events sent."""
        self.manager.controllers[0].look_at([PVE])
        await self.manager.idle()
        await self.recorder.flush()

    def events(self) -> list[dict[str, Any]]:
        """All events that were sent, the oldest first. One that was recorded again has a series."""
        return [event for (collection, *_), event in self.server.objects.items() if collection == path(EVENTS)]


def path(kind: Kind[Any]) -> str:
    """The collection that the server keeps a kind in."""
    return kind.path().strip("/")


@asynccontextmanager
async def office() -> AsyncIterator[Office]:
    world, server = virtual_world(), FakeServer()
    client = server.client(world)
    manager = Manager(client, world)
    cache, recorder, remotes = manager.cache, Recorder(client, world), Remotes(lambda _: server, world)
    rt = Runtime(client, cache, ContractKinds(cache), remotes, recorder, world)
    manager.add(controller(rt, Connections(client, cache, world)))
    await manager.start()
    try:
        yield Office(server, manager, recorder)
    finally:
        await manager.stop()
        await remotes.close()


def test_why_a_connection_is_not_ready_is_one_event_until_the_reason_changes() -> None:
    async def main() -> None:
        async with office() as here:
            here.server.put(path(PROXMOX_CONNECTIONS), *PVE, spec={"credentialsRef": {"name": "token"}})
            for _ in range(3):
                await here.look()
            (event,) = here.events()
            assert (event["type"], event["reason"], event["regarding"]["name"]) == ("Warning", "NotReady", "pve")
            assert event["note"].startswith("Secret default/token does not exist")
            assert "series" not in event
            here.server.put(path(CREDENTIALS), "default", "token", data={})
            for _ in range(3):
                await here.look()
            first, second = here.events()
            assert first == event
            assert second["note"].startswith("Secret default/token cannot be used")
            assert "series" not in second

    run(main())
