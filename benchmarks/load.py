"""A load generator: clients with a TLS connection each, in a process of their own, the same for every server.

It speaks just enough HTTP/1.1 to keep both cores for the server that is measured. One JSON document on standard input
says what to do; one on standard output tells how it went.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import uvloop

COLLECTION = "/api/v1/namespaces/default/configmaps"


@dataclass(slots=True)
class Load:
    """What to do, with whom."""

    do: str  # create, update, list, watch
    port: int
    ca: str
    pair: str
    clients: int = 1
    seconds: float = 5.0
    count: int = 0  # stop after so many in all, if not 0
    prefix: str = "c"
    query: str = ""


class Client:
    """One connection that is kept."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def connect(cls, load: Load, context: ssl.SSLContext) -> Client:
        """A new connection."""
        reader, writer = await asyncio.open_connection("127.0.0.1", load.port, ssl=context, limit=1 << 26)
        return cls(reader, writer)

    async def ask(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """A request and its whole answer."""
        status, length = await self.send(method, path, body)
        if length >= 0:
            return status, await self._reader.readexactly(length)
        return status, b"".join([chunk async for chunk in self.chunks()])

    async def send(self, method: str, path: str, body: bytes = b"") -> tuple[int, int]:
        """A request; returns the status and the length of the answer's body, -1 if it comes in chunks."""
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n"
        kind = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n" if body else ""
        self._writer.write(f"{head}{kind}\r\n".encode() + body)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        lower = answer.lower()
        at = lower.find(b"content-length:")
        length = -1 if at < 0 else int(lower[at + 15 : lower.index(b"\r\n", at)])
        return int(answer[9:12]), length

    async def chunks(self) -> AsyncIterator[bytes]:
        """The parts of an answer that comes in chunks."""
        while size := int(await self._reader.readuntil(b"\r\n"), 16):
            yield (await self._reader.readexactly(size + 2))[:-2]
        await self._reader.readexactly(2)

    def close(self) -> None:
        """Hang up."""
        self._writer.close()


def config_map(name: str, number: int) -> bytes:
    """A small object."""
    data = {"number": str(number), "text": "x" * 100}
    return json.dumps({"metadata": {"name": name, "labels": {"app": "benchmark"}}, "data": data}).encode()


def spread(values: list[float]) -> dict[str, float]:
    """How long things took, in milliseconds."""
    ordered = sorted(values)
    if not ordered:
        return {"p50": 0.0, "p99": 0.0}
    return {f"p{part}": ordered[min(len(ordered) - 1, len(ordered) * part // 100)] * 1000 for part in (50, 99)}


async def write(load: Load, context: ssl.SSLContext) -> dict[str, Any]:
    """Creates or updates by all clients at once."""
    clients = await asyncio.gather(*(Client.connect(load, context) for _ in range(load.clients)))
    took: list[float] = []
    done = 0
    began = time.perf_counter()

    async def work(number: int, client: Client) -> None:
        nonlocal done
        own = 0
        while time.perf_counter() - began < load.seconds and (not load.count or done < load.count):
            done += 1
            start = time.perf_counter()
            if load.do == "create":
                body = config_map(f"{load.prefix}-{number}-{own}", own)
                status, answer = await client.ask("POST", COLLECTION, body)
            else:
                name = f"{load.prefix}-{number}"
                status, answer = await client.ask("PUT", f"{COLLECTION}/{name}", config_map(name, own))
            if status not in (200, 201):
                raise RuntimeError(f"{load.do}: {status} {answer[:300]!r}")
            took.append(time.perf_counter() - start)
            own += 1

    if load.do == "update":
        for number, client in enumerate(clients):
            await client.ask("POST", COLLECTION, config_map(f"{load.prefix}-{number}", -1))
        began = time.perf_counter()
    await asyncio.gather(*(work(number, client) for number, client in enumerate(clients)))
    elapsed = time.perf_counter() - began
    for client in clients:
        client.close()
    return {"rate": len(took) / elapsed, "count": len(took), **spread(took)}


async def read_list(load: Load, context: ssl.SSLContext) -> dict[str, Any]:
    """The whole list, several times."""
    client = await Client.connect(load, context)
    took, items, size = [], 0, 0
    for _ in range(load.count):
        start = time.perf_counter()
        status, answer = await client.ask("GET", f"{COLLECTION}?{load.query}")
        took.append(time.perf_counter() - start)
        if status != 200:
            raise RuntimeError(f"list: {status} {answer[:300]!r}")
        items, size = len(json.loads(answer)["items"]), len(answer)
    client.close()
    return {"items": items, "bytes": size, **spread(took)}


async def watch(load: Load, context: ssl.SSLContext) -> dict[str, Any]:
    """One writer, many watchers: from sending the write to its event at each of them."""
    sent: dict[str, float] = {}
    took: list[float] = []
    connected = asyncio.Semaphore(50)
    waiting = load.clients
    ready, complete = asyncio.Event(), asyncio.Event()

    async def look() -> None:
        nonlocal waiting
        async with connected:
            client = await Client.connect(load, context)
            status, _ = await client.send("GET", f"{COLLECTION}?watch=1&labelSelector=app%3Dfan-out&timeoutSeconds=600")
        if status != 200:
            raise RuntimeError(f"watch: {status}")
        waiting -= 1
        if not waiting:
            ready.set()
        async for chunk in client.chunks():
            now = time.perf_counter()
            for line in chunk.splitlines():
                name = line.split(b'"name":"', 1)[1].split(b'"', 1)[0].decode()
                took.append(now - sent[name])
            if len(took) == load.clients * load.count:
                complete.set()

    watchers = [asyncio.ensure_future(look()) for _ in range(load.clients)]
    began = time.perf_counter()
    await asyncio.wait([asyncio.ensure_future(ready.wait()), *watchers], return_when=asyncio.FIRST_COMPLETED)
    connecting = time.perf_counter() - began
    writer = await Client.connect(load, context)
    began = time.perf_counter()
    for number in range(load.count):
        name = f"{load.prefix}-{number}"
        body = json.dumps({"metadata": {"name": name, "labels": {"app": "fan-out"}}}).encode()
        sent[name] = time.perf_counter()
        await writer.ask("POST", COLLECTION, body)
        await asyncio.sleep(load.seconds)
    await asyncio.wait_for(complete.wait(), 60)
    elapsed = time.perf_counter() - began
    for each in watchers:
        each.cancel()
    await asyncio.gather(*watchers, return_exceptions=True)
    return {"connecting": connecting, "events": len(took), "rate": len(took) / elapsed, **spread(took)}


async def main(load: Load) -> None:
    """Do it and print the result."""
    context = ssl.create_default_context(cafile=load.ca)
    context.load_cert_chain(load.pair)
    ways = {"create": write, "update": write, "list": read_list, "watch": watch}
    print(json.dumps(await ways[load.do](load, context)))


if __name__ == "__main__":
    uvloop.run(main(Load(**json.load(sys.stdin))))
