"""Who answers at an address, seen before anything is sent there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from nagaya.infrastructure.proxmox.client import Trust, endpoint, fingerprint
from nagaya.infrastructure.proxmox.connection.establishing.certificate import NoCertificate, shown
from nagaya.simulators.proxmox.emulator import Emulator, Proceed
from nagaya.simulators.proxmox.layouts.demo import demo
from nagaya.simulators.proxmox.request import Answer, Request
from nagaya.simulators.proxmox.web.web import Web, served
from nagaya.world import World


@pytest.fixture
async def web() -> AsyncIterator[Web]:
    world = World()
    emulator = Emulator(world, demo(world, hosts=1))

    async def unasked(request: Request, _: Proceed) -> Answer:
        raise AssertionError(f"somebody asks for {request.path}")

    emulator.around.append(unasked)
    async with served(emulator) as made:
        yield made
    await emulator.close()


async def test_a_certificate_is_judged_by_whom_is_trusted(web: Web) -> None:
    host, own = endpoint(web.endpoints["pve1"]), web.certificates["pve1"].fingerprint
    unknown = await shown(host)
    assert unknown.fingerprint == own
    assert unknown.distrust
    assert "pve1" in unknown.subject
    assert unknown.ends > datetime.now(UTC)
    for trust in (
        Trust(authority=web.authority.certificate_pem.decode()),
        Trust(fingerprints=(fingerprint(own),)),
        Trust(insecure=True),
    ):
        assert (await shown(host, trust)).distrust == ""
    assert "another" in (await shown(host, Trust(fingerprints=("ab" * 32,)))).distrust


async def test_where_nobody_answers_is_said(web: Web) -> None:
    with pytest.raises(NoCertificate, match=r"https://127.0.0.1:1 cannot be reached: Connection refused\. See whether"):
        await shown(endpoint("127.0.0.1:1"))
    with pytest.raises(NoCertificate, match=r"cannot be reached: .*\. Check the name"):
        await shown(endpoint("nowhere.invalid"))


async def test_what_speaks_no_tls_is_told_from_what_is_off() -> None:
    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(NoCertificate, match=r"no TLS comes about .*\. Something else listens there"):
            await shown(endpoint(f"127.0.0.1:{port}"))
