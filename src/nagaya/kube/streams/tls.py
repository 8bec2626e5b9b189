"""TLS over any stream, as the client.

The library encrypts in memory and knows no sockets, so it does not matter what the bytes travel over: TCP, a proxy's
tunnel, or a port of a pod. What always holds: records leave in the order in which they were made, however reading and
writing overlap.
"""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from typing import Self

from nagaya.kube.streams.stream import CHUNK, Stream, StreamBroken


class TlsStream:
    """An encrypted stream over another one, which it owns."""

    def __init__(self, under: Stream, context: ssl.SSLContext, server_name: str | None) -> None:
        self._under = under
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=server_name)
        self._sending = asyncio.Lock()

    @classmethod
    async def open(cls, under: Stream, context: ssl.SSLContext, server_name: str | None) -> Self:
        """Shake hands. Raises ssl.SSLError if the peer cannot be trusted or does not trust us, and StreamBroken. In
        both cases the stream under it is still the caller's."""
        made = cls(under, context, server_name)
        while True:
            try:
                made._tls.do_handshake()
            except ssl.SSLWantReadError:
                await made._flush()
                await made._fill()
            except ssl.SSLError:
                with suppress(StreamBroken):
                    await made._flush()  # the alert that tells the peer why
                raise
            else:
                await made._flush()
                return made

    @property
    def protocol(self) -> str | None:
        """What was agreed to be spoken over it (ALPN)."""
        return self._tls.selected_alpn_protocol()

    async def read(self, limit: int = CHUNK) -> bytes:
        """Bytes, as soon as there are some; none at the end."""
        while True:
            try:
                data = self._tls.read(limit)
            except ssl.SSLWantReadError:
                await self._flush()
                await self._fill()
            except ssl.SSLZeroReturnError:
                return b""
            except ssl.SSLError as error:
                raise _broken(error) from error
            else:
                return data

    async def write(self, data: bytes) -> None:
        """Send bytes."""
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[self._tls.write(rest[:CHUNK]) :]
            except ssl.SSLError as error:
                raise _broken(error) from error
            await self._flush()

    async def write_eof(self) -> None:
        """Say that nothing more comes. TLS peers may take that as the end of both directions."""
        with suppress(ssl.SSLError):  # that the peer has not said so yet
            self._tls.unwrap()
        await self._flush()

    async def close(self) -> None:
        """Close this stream and the one under it."""
        await self._under.close()

    async def _fill(self) -> None:
        data = await self._under.read(CHUNK)
        if not data:
            shaking_hands = self._tls.version() is None
            raise StreamBroken(f"the peer hung up {'during the TLS handshake' if shaking_hands else 'within TLS'}")
        self._incoming.write(data)

    async def _flush(self) -> None:
        async with self._sending:
            while data := self._outgoing.read():
                await self._under.write(data)


def _broken(error: ssl.SSLError) -> StreamBroken:
    return StreamBroken(f"TLS failed: {explain(error)}")


def explain(error: ssl.SSLError) -> str:
    """What went wrong, in the library's words without its file names."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate of the peer is not trusted: {error.verify_message}"
    return (error.reason or str(error)).lower().replace("_", " ")
