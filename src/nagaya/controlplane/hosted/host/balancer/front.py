"""All API servers of a tenant as the file lists them, and the choice of the one that gets the next connection."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import resource
import ssl

from . import backend as backends
from .backend import Address, Backend
from .passage import Passage, Side

BACKLOG = 1024
MOST_FILES = 1 << 20
HELD = 10.0
"""Seconds for which a connection waits for a ready API server, and for which the program waits for connections at its
end."""
STATUS = ".status"
"""Suffix that makes the name of the status file out of that of the file."""
PROTOCOL = 3
"""Version of the two files. A balancer of another version, of an earlier Nagaya, is exchanged."""
_BLOCK = 4096
_DRAINING_INTERVAL = 0.1
"""Seconds between two looks at the file while an API server is leaving: HTTP/2 clients may be waiting."""


class Balancer:
    """All API servers of a tenant."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._stamp: tuple[int, int] | None = None
        self._status: bytes | None = None
        self._backends: dict[Address, tuple[Backend, asyncio.Task[None]]] = {}
        self._gone: set[Backend] = set()
        self._turn = asyncio.Event()
        self._open = 0
        self._clients: dict[str, dict[Client, None]] = {}
        """By address, in the order in which they came."""
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        files = soft if 0 <= soft < MOST_FILES else MOST_FILES
        self._most = files // 2 - min(BACKLOG, files // 4)  # each client takes two, and many may come at once
        self._left = asyncio.Event()
        self._generation = 0
        self._read_at = 0.0
        self._leaving: list[Address] = []
        self._to_close: set[Address] = set()
        self._has_read = False
        self.is_listening = False

    async def follow(self) -> None:
        """Read the file whenever it changes, for ever. An unreadable file changes nothing."""
        while True:
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                found = os.stat(self._file)
                stamp = (found.st_ino, found.st_mtime_ns)
                if stamp != self._stamp:
                    self._read()
                    self._stamp = stamp
            self._close_drained()
            with contextlib.suppress(OSError):
                self._write_status()
            # The host writes the file from another process, and nothing announces that.
            await asyncio.sleep(
                min(_DRAINING_INTERVAL, backends.PROBE_INTERVAL) if self._leaving else backends.PROBE_INTERVAL
            )

    def _read(self) -> None:
        with open(self._file, "rb") as file:
            content = json.load(file)
        generation = int(content.get("generation", 0))
        addresses = _addresses(content["backends"])
        leaving, to_close = _addresses(content.get("leaving", ())), set(_addresses(content.get("closed", ())))
        context = ssl.create_default_context(cafile=content["authority"])
        context.check_hostname = False  # the authority is enough: no client knows this address
        self._generation, self._leaving, self._to_close = generation, leaving, to_close
        self._read_at = asyncio.get_running_loop().time()
        for address in [known for known in self._backends if known not in addresses]:
            gone, task = self._backends.pop(address)
            task.cancel()
            gone.remove()
            self._gone.add(gone)
        for address in addresses:
            if address not in self._backends:
                new = Backend(address, self._turn.set)
                self._backends[address] = new, asyncio.create_task(new.watch(context))
            backend = self._backends[address][0]
            backend.mark(address in leaving)
            if backend.is_closed and address not in to_close:
                backend.reopen()
        if not self._has_read:
            self._has_read = True
            self._restore_closed()

    def _restore_closed(self) -> None:
        """Go on where an earlier process of this program ended: what it has confirmed still holds."""
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            with open(self._file + STATUS, "rb") as file:
                status = json.load(file)
            if status["observedGeneration"] == self._generation:
                for address in set(_addresses(status["closed"])) & self._to_close & self._backends.keys():
                    self._backends[address][0].close_to_clients()
                    self._to_close.discard(address)

    def _close_drained(self) -> None:
        """Close the API servers that can be. Each at most once per generation: whoever still wants it writes another
        one."""
        for address, (backend, _) in self._backends.items():
            if backend.has_been_closed_for_nothing:
                backend.reopen()
            elif address in self._to_close and not backend.remaining and self._can_be_spared(backend):
                self._to_close.discard(address)
                backend.close_to_clients()

    def _can_be_spared(self, backend: Backend) -> bool:
        """Whether clients find another API server. If none is ready, this one included, nothing gets worse."""
        known = [found for found, _ in self._backends.values()]
        if not all(other.was_probed_since(self._read_at) for other in known):
            return False
        if any(other.ready and not other.leaving for other in known if other is not backend):
            return self.is_listening
        return not any(other.ready for other in known)

    def _write_status(self) -> None:
        """Write how far leaving API servers are."""
        self._gone = {gone for gone in self._gone if gone.passages}
        if not self._has_read:
            return  # the status of an earlier process still holds
        leaving = [(address, self._backends[address][0]) for address in self._leaving if address in self._backends]
        status = {
            "observedGeneration": self._generation,
            "leaving": [[*address, backend.remaining] for address, backend in leaving],
            "closed": [[*address] for address, backend in leaving if backend.is_closed],
        }
        content = json.dumps(status).encode()
        if content == self._status:
            return
        # In its place: where the balancer has a user of its own it can make no file. Padded, so that one write replaces
        # all of it; what was read half-written is no status, and confirms nothing.
        padded = content + b" " * (-len(content) % _BLOCK)
        descriptor = os.open(self._file + STATUS, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.pwrite(descriptor, padded, 0)
            os.ftruncate(descriptor, len(padded))
        finally:
            os.close(descriptor)
        self._status = content

    async def some_ready(self) -> None:
        """Wait until an API server is ready: until then another process may listen at the port of the balancer."""
        while not self._candidates():
            self._turn.clear()
            await self._turn.wait()

    def entered(self, client: Client) -> None:
        """Add a client that has connected. If there are too many, the oldest of the address that has most must go."""
        self._clients.setdefault(client.address, {})[client] = None
        self._open += 1
        if self._open > self._most:
            largest = max(self._clients.values(), key=len)
            oldest = next(iter(largest))
            self.left(oldest)
            oldest.abort()

    def left(self, client: Client) -> None:
        """Remove a client that has gone. A second time has no effect."""
        others = self._clients.get(client.address, {})
        if client not in others:
            return
        del others[client]
        if not others:
            del self._clients[client.address]
        self._open -= 1
        self._left.set()

    async def empty(self) -> None:
        """Wait until no connection is left."""
        while self._open:
            self._left.clear()
            await self._left.wait()

    def leave(self) -> None:
        """End all connections, each as soon as it can be."""
        for backend in [*self._gone, *(backend for backend, _ in self._backends.values())]:
            backend.mark(True)

    def close(self) -> None:
        """Stop all probes."""
        for backend, task in self._backends.values():
            task.cancel()
            backend.hang_up()
        self._backends.clear()

    async def connect(self, side: Side) -> None:
        """Connect a client to an API server. Nothing that the client sent has been read yet, so another attempt does no
        harm."""
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
            chosen = min(candidates, key=lambda backend: len(backend.passages) + backend.connecting)
            chosen.connecting += 1
            try:
                _, server = await loop.create_connection(Side, *chosen.address)
                if chosen in self._candidates():
                    Passage(chosen, side, server).begin()
                    return
                server.close()
            except OSError:
                chosen.set_ready(False)
            finally:
                chosen.connecting -= 1
        side.close()

    def _candidates(self) -> list[Backend]:
        """Ready API servers. A leaving one is used only when no other is ready, a closed one never."""
        ready = [backend for backend, _ in self._backends.values() if backend.ready and not backend.is_closed]
        return [backend for backend in ready if not backend.leaving] or ready


def _addresses(listed: list[tuple[object, object]]) -> list[Address]:
    return [(str(host), int(str(port))) for host, port in listed]


class Client(Side):
    """The connection of a client, for which an API server is chosen."""

    def __init__(self, balancer: Balancer) -> None:
        super().__init__()
        self.address = ""
        self._balancer = balancer
        self._connecting: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.address = str((transport.get_extra_info("peername") or ("",))[0])
        self._connecting = asyncio.create_task(self._balancer.connect(self))
        self._balancer.entered(self)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._balancer.left(self)
        if self._connecting is not None:
            self._connecting.cancel()
