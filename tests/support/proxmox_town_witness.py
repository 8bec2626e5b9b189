"""Sees every condition that an object of the town ever has, however short it lasts, and every event: all that people
are told."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.kube.errors import ApiError
from support.lab import KINDS, Lab

WATCHED = ("ProxmoxConnection", "ProxmoxCluster", "ProxmoxMachine", "ProxmoxVirtualMachine", "Event")
EVENTS = Kind("events.k8s.io", "v1", "Event", "events", Untyped)


@dataclass(frozen=True, slots=True)
class Said:
    """What a condition said at some time."""

    kind: str
    name: str
    type: str
    status: str
    reason: str
    message: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.name} {self.type}={self.status} {self.reason}: {self.message}"


@dataclass(slots=True)
class Witness:
    """Remembers what was said."""

    lab: Lab
    said: dict[Said, None] = field(default_factory=dict)
    """In the order in which it was first said."""
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def start(self) -> None:
        """Look from now on."""
        self._tasks = [asyncio.create_task(self._follow(kind), name=f"witness of {kind}") for kind in WATCHED]

    def forget(self) -> None:
        """Begin anew."""
        self.said.clear()

    def heard(self, *words: str) -> list[Said]:
        """What was said of something bad with all of these words in it."""
        return [
            each
            for each in self.said
            if (each.status != "True" or each.type == "Deleting") and all(word in str(each) for word in words)
        ]

    async def stop(self) -> None:
        """Look no longer."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _follow(self, name: str) -> None:
        kind = EVENTS if name == "Event" else KINDS[name]
        client, namespace = self.lab.client, self.lab.namespace if kind.namespaced else ""
        while True:
            listing = await client.list(kind, namespace)
            for obj in listing.items:
                self._see(name, obj)
            position = listing.resource_version
            try:
                while True:
                    events = client.watch(kind, namespace, resource_version=position)
                    async with aclosing(events):
                        async for event in events:
                            position = event.resource_version
                            if event.object is not None:
                                self._see(name, event.object)
            except ApiError:
                await asyncio.sleep(1)  # the history is gone: another list helps

    def _see(self, kind: str, obj: Any) -> None:
        if kind == "Event":
            whose, note = str(obj.at("regarding", "name")), str(obj.at("note"))
            if str(obj.at("regarding", "kind")).startswith("Proxmox") and obj.at("type") == "Warning":
                self.said.setdefault(Said(kind, whose, "", "", str(obj.at("reason")), note))
            return
        if kind == "ProxmoxVirtualMachine":  # it has a sentence instead of conditions
            if obj.status.message:
                self.said.setdefault(Said(kind, obj.metadata.name, "", "", obj.status.phase, obj.status.message))
            return
        for each in obj.status.conditions:
            said = Said(kind, obj.metadata.name, each.type, each.status, each.reason, each.message)
            self.said.setdefault(said)
