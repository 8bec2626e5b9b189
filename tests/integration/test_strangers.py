"""What clients without credentials, or without leave, can make the whole server do: on its port, byte by byte."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import ssl
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from nagaya.apiserver.authn.user import User
from nagaya.apiserver.selectors import fields, labels
from nagaya.apiserver.server import ApiServer, Config
from nagaya.apiserver.web import request as requests
from nagaya.apiserver.web.limits import Limits
from nagaya.apiserver.web.observer import ended
from support.waiting import eventually

MAPS = "/api/v1/namespaces/default/configmaps"
PATIENCE = 60.0

WITHOUT_CREDENTIALS = ""
WRONG = "Authorization: Bearer wrong\r\n"
TENANT = "Authorization: Bearer tenant\r\n"
ADMIN = "Authorization: Bearer admin\r\n"
JSON = "Content-Type: application/json\r\n"
LARGE = "Content-Length: 3000000\r\n"
WAITING = "Expect: 100-continue\r\n"
TOO_LARGE = "Content-Length: 4000000\r\n"

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def trusting() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def connect(url: str) -> Connection:
    host, _, port = url.removeprefix("https://").rpartition(":")
    return await asyncio.open_connection(host, int(port), ssl=trusting())


async def answer(reader: asyncio.StreamReader) -> tuple[int, str, bytes]:
    """Code, headers and body of one answer."""
    async with asyncio.timeout(PATIENCE):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = re.search(r"(?i)^content-length: (\d+)", head, re.MULTILINE)
        body = await reader.readexactly(int(length[1])) if length else b""
    return int(head.split()[1]), head, body


async def ask(url: str, method: str, target: str, headers: str, body: bytes = b"") -> tuple[int, str, bytes]:
    reader, writer = await connect(url)
    writer.write(f"{method} {target} HTTP/1.1\r\nHost: h\r\n{headers}\r\n".encode() + body)
    try:
        return await answer(reader)
    finally:
        writer.transport.abort()


def config(**given: Any) -> Config:
    tokens = {"admin": User("admin", groups=("system:masters",)), "tenant": User("tenant")}
    return Config(tokens=tokens, **given)


@contextlib.asynccontextmanager
async def serving(**given: Any) -> AsyncIterator[ApiServer]:
    server = await ApiServer.start(config(**given))
    await server.listen()
    try:
        yield server
    finally:
        await server.stop()


@pytest.fixture
async def url() -> AsyncIterator[str]:
    async with serving() as server:
        yield server.url


@pytest.mark.parametrize(
    ("method", "target", "headers", "code"),
    [
        ("POST", MAPS, WITHOUT_CREDENTIALS + JSON + LARGE, 403),
        ("POST", MAPS, WRONG + JSON + LARGE, 401),
        ("POST", MAPS, TENANT + JSON + LARGE, 403),
        ("POST", MAPS, TENANT + JSON + "Transfer-Encoding: chunked\r\n", 403),
        ("PATCH", f"{MAPS}/a", TENANT + JSON + LARGE, 403),
        ("DELETE", f"{MAPS}/a", TENANT + JSON + LARGE, 403),
        ("POST", "/nowhere", ADMIN + JSON + LARGE, 404),
        ("POST", "/api/v1/nothings", ADMIN + JSON + LARGE, 404),
        ("PUT", MAPS, ADMIN + JSON + LARGE, 405),
        ("POST", MAPS, ADMIN + JSON + TOO_LARGE, 413),
        ("POST", MAPS, ADMIN + "Content-Type: text/html\r\n" + LARGE, 415),
        ("PATCH", f"{MAPS}/a", ADMIN + JSON + LARGE, 415),
        ("POST", MAPS, ADMIN + JSON + "Accept: image/png\r\n" + LARGE, 406),
        ("GET", MAPS, ADMIN + LARGE, 200),
        ("GET", "/version", WITHOUT_CREDENTIALS + LARGE, 200),
    ],
)
@pytest.mark.parametrize("expects", ["", WAITING])
async def test_the_head_is_enough_for_a_refusal(
    url: str, method: str, target: str, headers: str, code: int, expects: str
) -> None:
    got, head, _ = await ask(url, method, target, headers + expects)
    assert got == code, "the answer comes although no byte of the body was sent, and without being asked to send it"
    assert "connection: close" in head.lower()


async def test_who_may_is_asked_for_the_body_and_nobody_else(url: str) -> None:
    body = json.dumps({"metadata": {"name": "one"}}).encode()
    reader, writer = await connect(url)
    head = f"POST {MAPS} HTTP/1.1\r\nHost: h\r\n{ADMIN}{JSON}{WAITING}Content-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode())
    assert await answer(reader) == (100, "HTTP/1.1 100 Continue\r\n\r\n", b"")
    writer.write(body)
    assert (await answer(reader))[0] == 201
    writer.close()


@pytest.mark.parametrize("credentials", [WITHOUT_CREDENTIALS, TENANT])
@pytest.mark.parametrize("name", ["labelSelector", "fieldSelector", "pretty", "timeout", "x"])
async def test_nothing_of_a_long_query_is_parsed_for_who_is_refused(
    url: str, monkeypatch: pytest.MonkeyPatch, credentials: str, name: str
) -> None:
    read: list[int] = []

    def count(module: Any, function: str) -> None:
        real = getattr(module, function)
        monkeypatch.setattr(
            module, function, lambda text, *rest, **more: (read.append(len(text)), real(text, *rest, **more))[1]
        )

    for module, function in ((labels, "parse"), (fields, "parse"), (requests, "parse_qsl"), (requests, "unquote_plus")):
        count(module, function)
    value = {"labelSelector": "a%3Db,", "fieldSelector": "a%3Db,", "timeout": "1h"}.get(name, "%41%42")
    code, _, _ = await ask(url, "GET", f"{MAPS}?{name}={value * (900_000 // len(value))}", credentials)
    assert code == 403
    assert sum(read) < 10_000


async def test_a_query_has_a_limited_number_of_parameters(url: str) -> None:
    code, _, body = await ask(url, "GET", f"{MAPS}?{'a&' * 10_001}", ADMIN)
    assert code == 400
    assert b"more than 10000 query parameters" in body


async def test_a_long_selector_of_who_may_list_is_served(url: str) -> None:
    code, _, body = await ask(
        url, "GET", f"{MAPS}?labelSelector=a+in+({','.join(f'v{i}' for i in range(2_000))})", ADMIN
    )
    assert (code, json.loads(body)["items"]) == (200, [])


@pytest.mark.parametrize("header", ["Impersonate-Group: g", "Impersonate-Extra-x: v", "Accept: a/b", "X-Y: z"])
async def test_thousands_of_headers_are_refused(url: str, header: str) -> None:
    code, _, _ = await ask(url, "GET", MAPS, f"{ADMIN}Impersonate-User: u\r\n" + f"{header}\r\n" * 43_000)
    assert code == 431


async def test_a_token_of_absurd_length_is_not_looked_at(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from nagaya.apiserver.authn import static_tokens

    hashed: list[int] = []
    real = static_tokens.digest
    monkeypatch.setattr(static_tokens, "digest", lambda token: (hashed.append(len(token)), real(token))[1])
    assert (await ask(url, "GET", MAPS, f"Authorization: Bearer {'a.' * 400_000}\r\n"))[0] == 401
    assert not hashed
    assert (await ask(url, "GET", MAPS, ADMIN))[0] == 200
    assert hashed


async def test_long_headers_are_neither_parsed_nor_remembered(url: str) -> None:
    from nagaya.apiserver.web import negotiation

    for number in range(3):
        accept = f"a/b{number}," * 2_000
        code, _, body = await ask(url, "GET", MAPS, f"{ADMIN}Accept: {accept}\r\nAudit-Id: {'x' * 10_000}\r\n")
        assert (code, json.loads(body)["reason"]) == (406, "NotAcceptable")
        assert (await ask(url, "GET", MAPS, f"Accept: {accept}\r\n"))[0] == 403
    for cache in (negotiation._clauses, negotiation._choose, negotiation._names_one):
        assert cache.cache_info().currsize <= 64


async def test_an_upgrade_that_is_declined_ends_the_connection(url: str) -> None:
    reader, writer = await connect(url)
    asked = "GET /version HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    writer.write((asked * 1000).encode())
    assert (await answer(reader))[0] == 200
    async with asyncio.timeout(PATIENCE):
        assert await reader.read() == b""
    writer.close()


async def test_a_watcher_gets_large_objects_in_pieces() -> None:
    async with serving() as server:
        size, count = 300_000, 8
        for number in range(count):
            body = json.dumps({"metadata": {"name": f"m{number}"}, "data": {"text": "x" * size}}).encode()
            assert (await ask(server.url, "POST", MAPS, f"{ADMIN}{JSON}Content-Length: {len(body)}\r\n", body))[
                0
            ] == 201
        for since in (
            "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
            "resourceVersion=1",
        ):
            sent = {"Authorization": "Bearer admin"}
            response = await server.handle(requests.Request.make("GET", f"{MAPS}?watch=1&{since}", headers=sent))
            assert response.stream is not None
            pieces, names = [], set[str]()
            async for piece in response.stream:
                pieces.append(len(piece))
                names |= set(re.findall(r'"name":"(m\d)"', piece.decode()))
                if len(names) == count:
                    break
            await ended(response.stream)
            assert max(pieces) < 2 * size


async def test_the_administrator_is_served_during_a_flood_of_connections() -> None:
    async with serving(limits=Limits(unauthenticated=50, per_address=40)) as server:
        mine, writer = await connect(server.url)
        get = f"GET {MAPS} HTTP/1.1\r\nHost: h\r\n{ADMIN}\r\n".encode()
        writer.write(get)
        assert (await answer(mine))[0] == 200
        host, _, port = server.url.removeprefix("https://").rpartition(":")
        flood: list[Connection] = []
        for number in range(200):
            flood.append(await (connect(server.url) if number % 4 == 0 else asyncio.open_connection(host, int(port))))
            if number % 10 == 0:
                writer.write(get)
                assert (await answer(mine))[0] == 200, "who was there before stays"
                assert (await ask(server.url, "GET", MAPS, ADMIN))[0] == 200, "who comes meanwhile gets in"
        assert server._listener is not None
        assert server._listener.gate.strangers <= 40
        for _, each in flood:
            each.transport.abort()
        writer.close()


_SERVER = """
import asyncio
from nagaya.apiserver.server import ApiServer, Config

async def serve():
    server = await ApiServer.start(Config())
    print(await server.listen(), flush=True)
    await asyncio.Event().wait()

asyncio.run(serve())
"""


def _resident(pid: int, what: str) -> int:
    """KiB of a process."""
    found = re.search(rf"{what}:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1])


@pytest.mark.slow
@pytest.mark.long("waits for the memory of a process to be given back, which happens seconds after a burst")
async def test_memory_for_strangers_is_bounded_and_given_back() -> None:
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", _SERVER, stdout=asyncio.subprocess.PIPE)
    try:
        assert process.stdout is not None
        url = (await process.stdout.readline()).decode().strip()
        before = _resident(process.pid, "VmRSS")
        connections = []
        for _ in range(200):
            with contextlib.suppress(ConnectionError, TimeoutError):
                _, writer = await connect(url)
                connections.append(writer)
                writer.write(f"POST {MAPS} HTTP/1.1\r\nHost: h\r\n{JSON}{LARGE}\r\n".encode() + b"x" * 2_999_999)
                async with asyncio.timeout(0.05):
                    await writer.drain()
        most = _resident(process.pid, "VmHWM") - before
        assert most < 200 * 3_000 / 2, "KiB; all bodies together are twice that"
        for writer in connections:
            writer.transport.abort()
        enough = max(most / 2, 20_000)
        await eventually(lambda: _resident(process.pid, "VmRSS") - before < enough, limit=PATIENCE)
    finally:
        process.kill()
        await process.wait()
