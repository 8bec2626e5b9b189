"""TLS over any stream, as the server; etcd demands client certificates, an API server takes them if there are any.

The library compares certificates with the machine's clock. A simulated cluster lives on the clock it was given, which
may be years ahead, so their dates are compared here.
"""

from __future__ import annotations

import asyncio
import ssl
import tempfile
from contextlib import suppress
from typing import Final

from cryptography import x509

from nagaya.apiserver.streams.byte_stream import CHUNK, ByteStream
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.key_pair import KeyPair
from nagaya.world import Clock

_NO_CHECK_TIME: Final = ssl.VerifyFlags(0x200000)  # OpenSSL's X509_V_FLAG_NO_CHECK_TIME


def server_tls(pair: KeyPair, demands: CertificateAuthority | None, protocol: str) -> ssl.SSLContext:
    """TLS of a server that shows a certificate, and demands one of an authority if that is given."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    with tempfile.NamedTemporaryFile() as file:  # the standard library takes certificates from files only
        file.write(pair.certificate + pair.key)
        file.flush()
        context.load_cert_chain(file.name)
    if demands is not None:
        context.load_verify_locations(cadata=demands.certificate_pem.decode())
        context.verify_mode = ssl.CERT_REQUIRED
        context.verify_flags |= _NO_CHECK_TIME
    context.set_alpn_protocols([protocol])
    return context


class TlsStream:
    """An encrypted stream over another one, which is the caller's."""

    def __init__(self, under: ByteStream, context: ssl.SSLContext) -> None:
        self._under = under
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._sending = asyncio.Lock()

    @classmethod
    async def open(cls, under: ByteStream, context: ssl.SSLContext, clock: Clock) -> TlsStream:
        """Shake hands. Raises ConnectionError if the client goes or cannot be trusted."""
        made = cls(under, context)
        while True:
            try:
                made._tls.do_handshake()
            except ssl.SSLWantReadError:
                await made._flush()
                if not await made._fill():
                    raise ConnectionResetError("the client hung up during the TLS handshake") from None
            except ssl.SSLError as error:
                with suppress(ConnectionError):
                    await made._flush()  # the alert that tells the client why
                raise ConnectionAbortedError(f"TLS failed: {error.reason or error}") from error
            else:
                break
        await made._flush()
        made._check_dates(clock)
        return made

    async def read(self, limit: int = CHUNK) -> bytes:
        """Bytes, as soon as there are some; none at the end."""
        while True:
            try:
                return self._tls.read(limit)
            except ssl.SSLWantReadError:
                await self._flush()
                if not await self._fill():
                    return b""
            except ssl.SSLZeroReturnError:
                return b""
            except ssl.SSLError as error:
                raise ConnectionAbortedError(f"TLS failed: {error.reason or error}") from error

    async def write(self, data: bytes) -> None:
        """Send bytes."""
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[self._tls.write(rest[:CHUNK]) :]
            except ssl.SSLError as error:
                raise ConnectionAbortedError(f"TLS failed: {error.reason or error}") from error
            await self._flush()

    async def write_eof(self) -> None:
        """Say that nothing more comes."""
        with suppress(ssl.SSLError):  # that the client has not said so yet
            self._tls.unwrap()
        await self._flush()

    async def close(self) -> None:
        """Close the stream under it."""
        await self._under.close()

    def _check_dates(self, clock: Clock) -> None:
        shown = self._tls.getpeercert(binary_form=True)
        if shown is None:
            return
        certificate = x509.load_der_x509_certificate(shown)
        if not certificate.not_valid_before_utc <= clock.now() <= certificate.not_valid_after_utc:
            raise ConnectionAbortedError("TLS failed: the client's certificate has expired or is not yet valid")

    async def _fill(self) -> bool:
        data = await self._under.read(CHUNK)
        self._incoming.write(data)
        return bool(data)

    async def _flush(self) -> None:
        async with self._sending:
            while data := self._outgoing.read():
                await self._under.write(data)
