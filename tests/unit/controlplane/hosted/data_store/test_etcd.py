"""etcd as a data store, reached over TLS on loopback."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from nagaya.api.controlplane.data_store_conditions import DataStoreReason
from nagaya.controlplane.hosted.data_store.driver import Health
from nagaya.controlplane.hosted.data_store.etcd import EtcdDriver
from nagaya.kube.streams.tcp import TcpStream
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.certificates import CertificateSpec
from nagaya.pki.key_pair import KeyPair
from nagaya.pki.usages import Usage
from nagaya.wire.etcd.maintenance import StatusResponse
from nagaya.world import SystemClock, World
from support.grpc_server import GrpcServer

CLOCK = SystemClock()
AUTHORITY = CertificateAuthority.create("etcd-ca", CLOCK)
ROOT = KeyPair.of(*AUTHORITY.issue_pair(CertificateSpec("root"), CLOCK))


@asynccontextmanager
async def member(folder: Path, address: str) -> AsyncIterator[int]:
    """The port of a member that tells its version. Its certificate is for this address."""
    spec = CertificateSpec("etcd", usages=(Usage.SERVER_AUTH,), ip_addresses=(address,))
    pair = KeyPair.of(*AUTHORITY.issue_pair(spec, CLOCK))
    (folder / "pair").write_bytes(pair.certificate + pair.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "pair")
    context.set_alpn_protocols(["h2"])

    async def answer(server: GrpcServer, stream: int, path: str, message: bytes) -> None:
        await server.answer(stream, StatusResponse(version="3.4.0"))

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await GrpcServer(TcpStream(reader, writer, "client"), answer).serve()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    try:
        yield listener.sockets[0].getsockname()[1]
    finally:
        listener.close()


async def probed(port: int) -> Health:
    return await EtcdDriver([f"127.0.0.1:{port}"], AUTHORITY, ROOT, World()).probe()


async def test_a_member_is_asked_if_its_certificate_is_for_the_endpoint(tmp_path: Path) -> None:
    async with member(tmp_path, "127.0.0.1") as port:
        health = await probed(port)
    assert (health.reason, health.version) == (DataStoreReason.VERSION_TOO_OLD, "3.4.0")


async def test_a_member_is_not_asked_if_its_certificate_is_for_another_address(tmp_path: Path) -> None:
    async with member(tmp_path, "127.0.0.2") as port:
        health = await probed(port)
    assert health.reason == DataStoreReason.UNREACHABLE
    assert "IP address mismatch" in health.message
