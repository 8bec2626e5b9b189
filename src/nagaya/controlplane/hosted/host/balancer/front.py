"""All API servers of a tenant, as the file says, and who of them gets the next connection."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import ssl

from . import backend as backends
from .backend import Address, Backend
from .passage import Passage, Side

HELD = 10.0
"""Seconds for which a connection waits for an API server that is ready, and the program at its end for connections."""
STATUS = ".status"
"""What the name of the file is followed by to name the one that tells how far those are that leave."""


class Balancer:
    """All API servers of a tenant."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._stamp: tuple[int, int] | None = None
        self._told: bytes | None = None
        self._backends: dict[Address, tuple[Backend, asyncio.Task[None]]] = {}
        self._gone: set[Backend] = set()
        self._turn = asyncio.Event()
        self._open = 0
        self._left = asyncio.Event()
        self._leaving: list[Address] = []

    async def follow(self) -> None:
        """Read the file whenever it changes, for ever. One that cannot be read changes nothing."""
        while True:
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                found = os.stat(self._file)
                stamp = (found.st_ino, found.st_mtime_ns)
                if stamp != self._stamp:
                    self._take()
                    self._stamp = stamp
            with contextlib.suppress(OSError):
                self._tell()
            await asyncio.sleep(backends.PROBE_INTERVAL)

    def _take(self) -> None:
        with open(self._file, "rb") as file:
            content = json.load(file)
        addresses = [(str(host), int(port)) for host, port in content["backends"]]
        self._leaving = [(str(host), int(port)) for host, port in content.get("leaving", ())]
        context = ssl.create_default_context(cafile=content["authority"])
        context.check_hostname = False  # it is recognised by its authority: no client knows this address
        for address in [each for each in self._backends if each not in addresses]:
            gone, task = self._backends.pop(address)
            task.cancel()
            gone.hang_up()
            gone.tell(False)
            gone.leave(True)
            self._gone.add(gone)
        for address in addresses:
            if address not in self._backends:
                new = Backend(address, self._turn.set)
                self._backends[address] = new, asyncio.create_task(new.watch(context))
            self._backends[address][0].leave(address in self._leaving)

    def _tell(self) -> None:
        """Say how many connections those still have that shall have none."""
        self._gone = {each for each in self._gone if each.passages}
        found = {address: each.remaining for address, (each, _) in self._backends.items() if address in self._leaving}
        told = json.dumps({"leaving": [[*address, count] for address, count in found.items()]}).encode()
        if told == self._told:
            return
        path = self._file + STATUS
        descriptor = os.open(f"{path}.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "wb") as file:
            file.write(told)
        os.replace(f"{path}.new", path)
        self._told = told

    async def some_ready(self) -> None:
        """Wait until there is somebody to pass connections on to: before, they may be served by who listens now."""
        while not self._candidates():
            self._turn.clear()
            await self._turn.wait()

    def entered(self) -> None:
        """A client has connected."""
        self._open += 1

    def left(self) -> None:
        """A client has gone."""
        self._open -= 1
        self._left.set()

    async def empty(self) -> None:
        """Wait until there is no connection any more."""
        while self._open:
            self._left.clear()
            await self._left.wait()

    def leave(self) -> None:
        """End all connections, each when it can be."""
        for each in [*self._gone, *(each for each, _ in self._backends.values())]:
            each.leave(True)

    def close(self) -> None:
        """Ask nobody any more."""
        for each, task in self._backends.values():
            task.cancel()
            each.hang_up()
        self._backends.clear()

    async def connect(self, side: Side) -> None:
        """Find somebody for a client. Nothing of what it sent has been read yet, so trying another does no harm."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + HELD
        while not side.closed:
            candidates = self._candidates()
            if not candidates:
                self._turn.clear()
                try:
                    async with asyncio.timeout_at(deadline):
                        await self._turn.wait()
                except TimeoutError:
                    break
                continue
            chosen = min(candidates, key=lambda each: len(each.passages))
            try:
                _, server = await loop.create_connection(Side, *chosen.address)
            except OSError:
                chosen.tell(False)
                continue
            Passage(chosen, side, server).begin()
            return
        side.close()

    def _candidates(self) -> list[Backend]:
        """Those that are ready; of these, one that leaves only if there is nobody else."""
        ready = [each for each, _ in self._backends.values() if each.ready]
        return [each for each in ready if not each.leaving] or ready


class Client(Side):
    """The connection of a client, for which somebody is found."""

    def __init__(self, balancer: Balancer) -> None:
        super().__init__()
        self._balancer = balancer
        self._finding: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._balancer.entered()
        self._finding = asyncio.create_task(self._balancer.connect(self))

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._balancer.left()
        if self._finding is not None:
            self._finding.cancel()
