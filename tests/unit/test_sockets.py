"""What a client leaves behind when its HTTP library has forgotten a connection."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
import ssl
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from nagaya.pki import certificates, keys
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.certificates import CertificateSpec
from nagaya.pki.usages import Usage
from nagaya.sockets import Sockets
from nagaya.world import SystemClock


@pytest.fixture
def serving(tmp_path: Path) -> ssl.SSLContext:
    spec = CertificateSpec("server", (), (Usage.SERVER_AUTH,), (), ())
    certificate, key = CertificateAuthority.create("test", SystemClock()).issue_pair(spec, SystemClock())
    file = tmp_path / "server.pem"
    file.write_bytes(certificates.to_pem(certificate) + keys.to_pem(key))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(file)
    return context


def trusting() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


async def test_a_connection_that_waits_for_the_goodbye_of_the_other_side_is_ended(serving: ssl.SSLContext) -> None:
    loop, over = asyncio.get_running_loop(), asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.pause_reading()  # so that no goodbye is answered
        await over.wait()
        writer.transport.abort()

    async with await asyncio.start_server(silent, "127.0.0.1", 0, ssl=serving) as server:
        sockets = Sockets()
        made = sockets.make((socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ()))
        made.setblocking(False)
        await loop.sock_connect(made, server.sockets[0].getsockname())
        transport, _ = await loop.create_connection(asyncio.Protocol, sock=made, ssl=trusting(), server_hostname="x")
        transport.close()
        await asyncio.sleep(0)
        assert made.fileno() >= 0, "it waits"
        await sockets.end()
        assert made.fileno() == -1
        over.set()


async def test_each_socket_is_prepared_and_may_be_closed_by_whoever_uses_it() -> None:
    prepared: list[socket.socket] = []
    sockets = Sockets(prepared.append)
    made = sockets.make((socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ()))
    assert prepared == [made]
    made.close()
    await sockets.end()
    assert made.fileno() == -1


@pytest.mark.parametrize("is_closed", [True, False])
def test_closing_the_event_loop_of_a_test_aborts_only_connections_that_were_closed(
    serving: ssl.SSLContext, is_closed: bool
) -> None:
    def accept() -> ssl.SSLSocket:
        return serving.wrap_socket(listener.accept()[0], server_side=True)

    async def connect() -> socket.socket:
        made = socket.create_connection(listener.getsockname())
        transport, _ = await loop.create_connection(asyncio.Protocol, sock=made, ssl=trusting(), server_hostname="x")
        if is_closed:
            transport.close()  # the peer sends no close_notify
        return made

    loop = asyncio.new_event_loop()
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as pool:
        accepted = pool.submit(accept)
        made = loop.run_until_complete(connect())
        with accepted.result():
            loop.close()
            assert (made.fileno() == -1) is is_closed
    made.close()
    with pytest.warns(ResourceWarning) if not is_closed else contextlib.nullcontext():
        gc.collect()
