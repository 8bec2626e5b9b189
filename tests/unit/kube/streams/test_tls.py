from __future__ import annotations

import asyncio
import ssl
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import pytest

from nagaya.kube.etcd.client import client_tls
from nagaya.kube.streams.stream import StreamBroken
from nagaya.kube.streams.tls import TlsStream
from support.pipes import PipeEnd, pipe
from support.real_certificates import Authority, Pair

AUTHORITY = Authority("etcd-ca")
SERVER = AUTHORITY.server("etcd", ("127.0.0.1", "node"))
CLIENT = AUTHORITY.client("root")


@dataclass
class TlsServer:
    """The far side: TLS in memory over a pipe, echoing."""

    under: PipeEnd
    tls: ssl.SSLObject
    incoming: ssl.MemoryBIO
    outgoing: ssl.MemoryBIO
    farewell: bool = True

    async def step(self) -> bool:
        if data := self.outgoing.read():
            await self.under.write(data)
        data = await self.under.read()
        self.incoming.write(data)
        return bool(data)

    async def serve(self) -> None:
        try:
            while True:
                try:
                    data = self.tls.read(65536)
                except ssl.SSLWantReadError:
                    if not await self.step():
                        return
                    continue
                if data in (b"bye", b""):
                    break
                self.tls.write(data)
            if self.farewell:
                with suppress(ssl.SSLWantReadError):
                    self.tls.unwrap()
        except (ssl.SSLError, StreamBroken):
            pass
        finally:
            if data := self.outgoing.read():
                await self.under.write(data)
            await self.under.close()


@asynccontextmanager
async def served(piece: int = 65536, pair: Pair = SERVER, *, farewell: bool = True) -> AsyncIterator[PipeEnd]:
    here, there = pipe(piece)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=AUTHORITY.pair.certificate.decode())
    context.set_alpn_protocols(["h2"])
    load(context, pair)
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = TlsServer(there, context.wrap_bio(incoming, outgoing, True), incoming, outgoing, farewell)
    task = asyncio.create_task(server.serve())
    try:
        yield here
    finally:
        await here.close()
        await task


def load(context: ssl.SSLContext, pair: Pair) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(pair.certificate + pair.key)
        file.flush()
        context.load_cert_chain(file.name)


def trust(*, check_name: bool = False) -> ssl.SSLContext:
    return client_tls(AUTHORITY.pair.certificate, CLIENT.certificate, CLIENT.key, check_name=check_name)


@pytest.mark.parametrize("piece", [1, 13, 65536])
async def test_bytes_come_back_however_the_records_are_cut(piece: int) -> None:
    async with served(piece) as under:
        stream = await TlsStream.open(under, trust(), "etcd-node")
        assert stream.protocol == "h2"
        await stream.write(b"hello")
        assert await stream.read(2) == b"he"
        assert await stream.read() == b"llo"


async def test_reading_and_writing_overlap_without_harm() -> None:
    async with served() as under, asyncio.timeout(20):
        stream = await TlsStream.open(under, trust(), "etcd-node")
        sent = bytes(range(256)) * 16 * 1024
        got = bytearray()

        async def read() -> None:
            while len(got) < len(sent):
                got.extend(await stream.read())

        async with asyncio.TaskGroup() as group:
            group.create_task(read())
            await stream.write(sent)
        assert got == sent


async def test_an_orderly_end_is_told_from_a_cut() -> None:
    async with served() as under:
        stream = await TlsStream.open(under, trust(), "etcd-node")
        await stream.write(b"bye")
        assert await stream.read() == b""
    async with served(farewell=False) as under:
        stream = await TlsStream.open(under, trust(), "etcd-node")
        await stream.write(b"bye")
        with pytest.raises(StreamBroken, match="hung up within TLS"):
            await stream.read()


async def test_ending_our_side_is_told_to_the_peer() -> None:
    async with served() as under:
        stream = await TlsStream.open(under, trust(), "etcd-node")
        await stream.write_eof()
        assert await stream.read() == b""


async def test_names_count_only_where_they_are_to() -> None:
    async with served() as under:
        await TlsStream.open(under, trust(check_name=True), "node")
    async with served() as under:
        with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
            await TlsStream.open(under, trust(check_name=True), "etcd-node")


async def test_certificates_of_other_authorities_are_refused_whatever_their_names() -> None:
    stranger = Authority("etcd-ca").server("etcd", ("etcd-node",))
    async with served(pair=stranger) as under:
        with pytest.raises(ssl.SSLCertVerificationError):
            await TlsStream.open(under, trust(), "etcd-node")


async def test_a_client_certificate_is_no_servers() -> None:
    async with served(pair=AUTHORITY.client("etcd-node")) as under:
        with pytest.raises(ssl.SSLCertVerificationError):
            await TlsStream.open(under, trust(), "etcd-node")


async def test_a_peer_that_hangs_up_or_does_not_speak_tls() -> None:
    here, there = pipe()
    await there.close()
    with pytest.raises(StreamBroken):
        await TlsStream.open(here, trust(), "etcd-node")
    here, there = pipe()
    await there.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    with pytest.raises(ssl.SSLError):
        await TlsStream.open(here, trust(), "etcd-node")


def test_certificates_of_no_use_are_refused_without_being_shown() -> None:
    for parts in (
        (b"nonsense", CLIENT.certificate, CLIENT.key),
        (AUTHORITY.pair.certificate, CLIENT.certificate, SERVER.key),
        (AUTHORITY.pair.certificate, CLIENT.certificate, b"nonsense"),
    ):
        with pytest.raises(ValueError, match="cannot be used") as caught:
            client_tls(*parts, check_name=False)
        assert "nonsense" not in str(caught.value)
