"""The whole server on its port, with clients that behave and clients that do not."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import logging
import os
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from nagaya.apiserver.authn.user import User
from nagaya.apiserver.server import ApiServer, Config

MAPS = "/api/v1/namespaces/default/configmaps"
TOKEN = {"Authorization": "Bearer secret"}


def trusting() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    tokens = {"secret": User("robot", groups=("system:masters",))}
    made = await ApiServer.start(Config(tokens=tokens))
    await made.listen()
    yield made
    await made.stop()


@pytest.fixture
async def session(server: ApiServer) -> AsyncIterator[aiohttp.ClientSession]:
    connector = aiohttp.TCPConnector(ssl=trusting())
    async with aiohttp.ClientSession(server.url, connector=connector, headers=TOKEN) as made:
        yield made


async def make(session: aiohttp.ClientSession, name: str, size: int = 0) -> None:
    body = {"metadata": {"name": name}, "data": {"text": "x" * size}}
    async with session.post(MAPS, json=body) as answer:
        assert answer.status == 201, await answer.text()


async def who(server: ApiServer, context: ssl.SSLContext, headers: dict[str, str]) -> str:
    async with (
        aiohttp.ClientSession(server.url, connector=aiohttp.TCPConnector(ssl=context), headers=headers) as session,
        session.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", json={}) as answer,
    ):
        found = await answer.json()
        name: str = found["status"]["userInfo"]["username"] if answer.status == 201 else found["reason"]
        return name


async def test_certificates_and_tokens_share_the_port(server: ApiServer, tmp_path: Path) -> None:
    pair = tmp_path / "pair.pem"
    pair.write_bytes(server.identity.admin_certificate + server.identity.admin_key)
    context = ssl.create_default_context(cadata=server.identity.authority.certificate_pem.decode())
    context.load_cert_chain(pair)
    assert await who(server, context, {}) == "nagaya-admin"
    assert await who(server, trusting(), TOKEN) == "robot"
    assert await who(server, trusting(), {}) == "Forbidden"
    assert await who(server, trusting(), {"Authorization": "Bearer wrong"}) == "Unauthorized"


async def test_an_answer_is_kept_within_limits(session: aiohttp.ClientSession) -> None:
    body = io.BytesIO(b"x" * 3_500_000)
    async with session.post(MAPS, data=body, headers={"Content-Type": "application/json"}) as answer:
        assert answer.status == 413
        refusal = await answer.json()
    assert refusal["kind"] == "Status"
    assert refusal["message"] == "Request entity too large: limit is 3145728"


async def misbehave(port: int, how: int) -> None:
    """One of several ways to be a bad client."""
    noise = os.urandom(64)
    hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
    requests = (
        b"\x00" * 99,
        b"GET / HTTP/1.1\r\n",
        b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99\r\n\r\nx",
        noise,
    )
    encrypted = how % 2 == 0
    sent = requests[how // 2 % len(requests)] if encrypted else (GET_PLAIN, hello, noise, b"")[how // 2 % 4]
    with contextlib.suppress(OSError, asyncio.IncompleteReadError):
        context = trusting() if encrypted else None
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
        writer.write(sent)
        if how % 3:
            await asyncio.sleep(0.05)
        writer.transport.abort()


GET_PLAIN = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"


async def test_bad_clients_are_of_no_consequence_to_good_ones(
    server: ApiServer, session: aiohttp.ClientSession, caplog: pytest.LogCaptureFixture
) -> None:
    port = int(server.url.rpartition(":")[2])
    with caplog.at_level(logging.INFO):
        bad = [asyncio.create_task(misbehave(port, how)) for how in range(120)]
        for number in range(40):
            await make(session, f"during-{number}")
        await asyncio.gather(*bad)
        await make(session, "after")
    told = [record for record in caplog.records if record.name != "asyncio" or record.levelno > logging.WARNING]
    assert not told


async def test_a_watcher_that_does_not_read_keeps_nobody_waiting(
    server: ApiServer, session: aiohttp.ClientSession
) -> None:
    port = int(server.url.rpartition(":")[2])
    _, lazy = await asyncio.open_connection("127.0.0.1", port, ssl=trusting(), limit=1)
    lazy.write(f"GET {MAPS}?watch=true HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer secret\r\n\r\n".encode())
    names: list[str] = []
    timeout = aiohttp.ClientTimeout(total=None)
    async with session.get(f"{MAPS}?watch=true", timeout=timeout, read_bufsize=2**22) as watch:

        async def read() -> None:
            async for line in watch.content:
                event: dict[str, Any] = json.loads(line)
                names.append(event["object"]["metadata"]["name"])
                if names[-1] == "last":
                    return

        reading = asyncio.create_task(read())
        for number in range(60):
            await make(session, f"big-{number}", 100_000)
        await make(session, "last")
        await asyncio.wait_for(reading, 120)
    assert [name for name in names if name.startswith("big-")] == [f"big-{number}" for number in range(60)]
    lazy.transport.abort()


async def test_stopping_ends_watches_as_if_they_were_complete(server: ApiServer) -> None:
    connector = aiohttp.TCPConnector(ssl=trusting())
    async with (
        aiohttp.ClientSession(server.url, connector=connector, headers=TOKEN) as session,
        session.get(f"{MAPS}?watch=true") as watch,
    ):
        assert json.loads(await watch.content.readline())["type"] == "ADDED"
        began = asyncio.get_running_loop().time()
        stopping = asyncio.create_task(server.stop())
        assert await watch.content.read() == b""  # raises ClientPayloadError for a stream that was cut off
        await stopping
        assert asyncio.get_running_loop().time() - began < 30
