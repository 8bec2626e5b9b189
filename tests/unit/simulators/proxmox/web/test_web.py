from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from nagaya.simulators.proxmox.emulator import Emulator
from nagaya.simulators.proxmox.layouts.lab import SECRETS, lab
from nagaya.simulators.proxmox.pace import Pace
from nagaya.simulators.proxmox.state.node import Unreachable
from nagaya.simulators.proxmox.web.web import Web, served
from nagaya.world import World

GRANTED = f"Authorization: PVEAPIToken=root@pam!full={SECRETS['root@pam!full']}\r\n"
LIMIT = 60.0


@asynccontextmanager
async def hosts(idle: float = 60.0) -> AsyncIterator[Web]:
    """The lab on ports of this machine, with refusals that come at once."""
    emulator = Emulator(World(), lab(), Pace(refused_login=0.0, idle_connection=idle))
    try:
        async with served(emulator) as web:
            yield web
    finally:
        await emulator.close()


def port(web: Web, node: str = "pve1") -> int:
    return int(web.endpoints[node].rpartition(":")[2])


@asynccontextmanager
async def connection(
    web: Web, node: str = "pve1", *, plain: bool = False
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """To a host, whose certificate is verified by the authority of the cluster."""
    context = ssl.create_default_context(cadata=web.authority.certificate_pem.decode())
    async with asyncio.timeout(LIMIT):
        reader, writer = await asyncio.open_connection("127.0.0.1", port(web, node), ssl=None if plain else context)
        try:
            yield reader, writer
        finally:
            writer.close()


async def head(reader: asyncio.StreamReader) -> str:
    return (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")


async def ended(reader: asyncio.StreamReader) -> bool:
    """Whether the other side ends the connection, in one way or another, without another word."""
    try:
        return await reader.read() == b""
    except ConnectionError:
        return True


async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: str) -> tuple[str, bytes]:
    """Send a request, get head and body of the answer."""
    writer.write(request.encode())
    found = await head(reader)
    _, length, rest = found.partition("Content-Length: ")
    return found, await reader.readexactly(int(rest.partition("\r\n")[0])) if length else b""


async def test_several_requests_go_over_one_connection_until_one_fails() -> None:
    async with hosts() as web, connection(web) as (reader, writer):
        for _ in range(3):
            found, body = await exchange(reader, writer, f"GET /api2/json/version HTTP/1.1\r\n{GRANTED}\r\n")
            assert found.startswith("HTTP/1.1 200 OK\r\n")
            assert b'"version":"9.2.11"' in body
            assert "Connection: Keep-Alive" in found
        found, _ = await exchange(reader, writer, f"GET /api2/json/foo HTTP/1.1\r\n{GRANTED}\r\n")
        assert found.startswith("HTTP/1.1 501 Method 'GET /foo' not implemented\r\n")
        assert "Connection: close" in found
        assert await reader.read() == b""


async def test_a_body_is_read_to_its_length() -> None:
    async with hosts() as web, connection(web) as (reader, writer):
        form = "poolid=made"
        head = f"POST /api2/json/pools HTTP/1.1\r\n{GRANTED}Content-Length: {len(form)}\r\n"
        found, body = await exchange(reader, writer, f"{head}\r\n{form}")
        assert found.startswith("HTTP/1.1 200")
        assert body == b'{"data":null}'
        assert "made" in web.emulator.datacenter.pools


async def test_a_body_that_is_too_long_is_not_even_read() -> None:
    async with hosts() as web, connection(web) as (reader, writer):
        writer.write(f"POST /api2/json/pools HTTP/1.1\r\n{GRANTED}Content-Length: 900000\r\n\r\n".encode())
        writer.write(b"x" * 600_000)
        assert (await head(reader)).startswith("HTTP/1.1 501 for data too large\r\n")


async def test_an_answer_without_a_body_ends_with_the_connection() -> None:
    async with hosts() as web, connection(web) as (reader, writer):
        writer.write(b"GET /api2/json/version HTTP/1.1\r\n\r\n")
        found = (await reader.read()).decode()
        assert found.startswith("HTTP/1.1 401 No ticket\r\n")
        assert found.endswith("\r\n\r\n")


async def test_what_is_no_request_is_a_bad_one() -> None:
    async with hosts() as web, connection(web) as (reader, writer):
        writer.write(b"what\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 400 bad request\r\n")


async def test_who_speaks_plain_http_is_sent_to_https() -> None:
    async with hosts() as web, connection(web, plain=True) as (reader, writer):
        writer.write(b"GET /api2/json/version?a=1 HTTP/1.1\r\nHost: 127.0.0.1:8006\r\n\r\n")
        found = (await reader.read()).decode()
        assert found.startswith("HTTP/1.1 301 Moved Permanently\r\n")
        assert found.endswith("\r\n\r\nMoved Permanently")
        assert "Location: https://127.0.0.1:8006/api2/json/version?a=1\r\n" in found


async def test_plain_http_without_end_is_not_kept() -> None:
    async with hosts() as web, connection(web, plain=True) as (reader, writer):
        writer.write(b"GET / HTTP/1.1\r\nX: " + b"x" * 100_000)
        assert await ended(reader)


async def test_a_host_that_could_not_accept_a_connection_accepts_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nagaya.simulators.proxmox.web.listener._AGAIN", 0.0)
    loop = asyncio.get_running_loop()
    accept, failures = loop.sock_accept, [OSError(errno.EMFILE, "Too many open files")]

    async def fail(sock: socket.socket) -> tuple[socket.socket, object]:
        if failures:
            raise failures.pop()
        return await accept(sock)

    monkeypatch.setattr(loop, "sock_accept", fail)
    async with hosts() as web, connection(web) as (reader, writer):
        found, _ = await exchange(reader, writer, f"GET /api2/json/version HTTP/1.1\r\n{GRANTED}\r\n")
        assert found.startswith("HTTP/1.1 200 OK\r\n")
    assert not failures


async def test_a_host_shows_the_certificate_whose_fingerprint_it_tells() -> None:
    async with hosts() as web, connection(web) as (_, writer):
        shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        told = web.certificates["pve1"].fingerprint
        assert ssl.PEM_cert_to_DER_cert(web.certificates["pve1"].pair.certificate.decode()) == shown
        assert web.emulator.datacenter.nodes["pve1"].fingerprint == told
        assert len(told) == 95


async def test_a_host_that_is_off_refuses_and_one_that_dies_hangs_up() -> None:
    async with hosts() as web:
        with pytest.raises(ConnectionRefusedError):
            async with connection(web, "pve2"):
                pass
        node = web.emulator.datacenter.nodes["pve1"]
        async with connection(web) as (reader, writer):
            await exchange(reader, writer, f"GET /api2/json/version HTTP/1.1\r\n{GRANTED}\r\n")
            node.online = False
            web.emulator.power_changed(node)
            assert await ended(reader)
        with pytest.raises(ConnectionRefusedError):
            async with connection(web):
                pass
        node.online = True
        web.emulator.power_changed(node)
        async with connection(web) as (reader, writer):
            found, _ = await exchange(reader, writer, f"GET /api2/json/version HTTP/1.1\r\n{GRANTED}\r\n")
            assert found.startswith("HTTP/1.1 200 OK")


async def test_a_silent_host_takes_connections_and_says_nothing() -> None:
    async with hosts() as web:
        node = web.emulator.datacenter.nodes["pve1"]
        node.online, node.unreachable = False, Unreachable.SILENT
        web.emulator.power_changed(node)
        async with connection(web, plain=True) as (reader, writer):
            writer.write(b"GET / HTTP/1.1\r\n\r\n")
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(reader.read(), 0.2)


async def test_a_connection_on_which_nothing_happens_is_ended() -> None:
    async with hosts(idle=0.1) as web, connection(web, plain=True) as (reader, _):
        assert await ended(reader)


async def test_a_hundred_clients_are_served_at_once() -> None:
    async with hosts() as web:

        async def ask() -> bool:
            async with connection(web) as (reader, writer):
                found, _ = await exchange(reader, writer, f"GET /api2/json/version HTTP/1.1\r\n{GRANTED}\r\n")
                return found.startswith("HTTP/1.1 200 OK")

        assert all(await asyncio.gather(*(ask() for _ in range(100))))
