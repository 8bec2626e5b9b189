from __future__ import annotations

import asyncio

from aiohttp import web

from nagaya.wire.small_server import MOST, SmallServer
from support.waiting import eventually

GET = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"


async def test_strangers_displace_each_other_and_known_clients_are_served() -> None:
    async def fine(_: web.Request) -> web.Response:
        return web.Response(text="fine")

    application = web.Application()
    application.router.add_get("/", fine)
    server = SmallServer(application)
    port = await server.start("127.0.0.1", 0)
    writers = []
    try:
        for number in range(3 * MOST):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write((b"", b"GET / HT", GET)[number % 3])
            writers.append(writer)
            if number % 50 == 0:
                reader, known = await asyncio.open_connection("127.0.0.1", port)
                known.write(GET)
                async with asyncio.timeout(60):
                    assert (await reader.readuntil(b"fine")).startswith(b"HTTP/1.1 200")
                known.close()
        assert server._runner.server is not None
        connections = server._runner.server
        await eventually(lambda: len(connections.connections) <= MOST)
    finally:
        for writer in writers:
            writer.transport.abort()
        await server.stop()


async def test_connections_at_work_are_displaced_last() -> None:
    gate = asyncio.Event()
    begun = 0

    async def slow(_: web.Request) -> web.Response:
        nonlocal begun
        begun += 1
        await gate.wait()
        return web.Response(text="fine")

    application = web.Application()
    application.router.add_get("/", slow)
    server = SmallServer(application)
    port = await server.start("127.0.0.1", 0)
    reader, busy = await asyncio.open_connection("127.0.0.1", port)
    busy.write(GET)
    await eventually(lambda: begun == 1)
    writers = [(await asyncio.open_connection("127.0.0.1", port))[1] for _ in range(2 * MOST)]
    gate.set()
    async with asyncio.timeout(60):
        assert (await reader.readuntil(b"fine")).startswith(b"HTTP/1.1 200")
    for writer in (busy, *writers):
        writer.transport.abort()
    await server.stop()
