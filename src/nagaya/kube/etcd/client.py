"""A client of one etcd member, over one connection.

Nothing is tried again and nothing reconnects: whoever asks looks at the world first. A client that has lost its
connection says so in every call; `broken` tells it in advance.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, Self
from urllib.parse import urlsplit

from nagaya.kube import tls
from nagaya.kube.credentials import Proof
from nagaya.kube.etcd.auth import Auth
from nagaya.kube.etcd.caller import CALL_TIMEOUT, Caller
from nagaya.kube.etcd.channel import KEEPALIVE, SILENCE, Channel
from nagaya.kube.etcd.cluster import Cluster
from nagaya.kube.etcd.errors import ConnectionLost
from nagaya.kube.etcd.kv import Kv
from nagaya.kube.etcd.leases import Leases
from nagaya.kube.etcd.maintenance import Maintenance
from nagaya.kube.etcd.watch import Watch
from nagaya.kube.streams.stream import Stream, StreamBroken
from nagaya.kube.streams.tcp import TcpStream
from nagaya.kube.streams.tls import TlsStream, explain
from nagaya.wire.etcd.watch import FilterType, WatchCreateRequest

DIAL_TIMEOUT: Final = 10.0  # seconds until calls can be made
CLIENT_PORT: Final = 2379


def client_tls(
    authority: bytes, certificate: bytes | None = None, key: bytes | None = None, *, check_name: bool
) -> ssl.SSLContext:
    """TLS to members whose certificates are of this authority, all PEM.

    Without `check_name` any server with a certificate of the authority will do, as for members behind a port-forward:
    they are reached by the name of their pod, for which no certificate is made. Raises ValueError.
    """
    pair = None if certificate is None or key is None else (certificate, key)
    try:
        context = tls.context_for(Proof(authority=authority, pair=pair), insecure=False)
    except ValueError as error:
        raise ValueError(
            "etcd's authority or the client certificate cannot be used: they must be PEM, the key unencrypted and "
            "belong to the certificate"
        ) from error
    context.check_hostname = check_name
    context.set_alpn_protocols(["h2"])
    return context


class EtcdClient:
    """One member. Owns its connection."""

    def __init__(self, channel: Channel, *, timeout: float = CALL_TIMEOUT) -> None:
        """`timeout` is for each call, in seconds."""
        self._channel = channel
        self._caller = Caller(channel, timeout)
        self.cluster = Cluster(self._caller)
        self.maintenance = Maintenance(self._caller)
        self.kv = Kv(self._caller)
        self.leases = Leases(self._caller)
        self.auth = Auth(self._caller)

    @classmethod
    async def over(
        cls,
        stream: Stream,
        context: ssl.SSLContext | None,
        server_name: str,
        *,
        timeout: float = CALL_TIMEOUT,
        keepalive: float = KEEPALIVE,
        silence: float = SILENCE,
    ) -> Self:
        """A client over a stream, which becomes its own; without a context it is not encrypted. Takes as long as it is
        given. Raises ConnectionLost."""
        try:
            if context is not None:
                secured = await TlsStream.open(stream, context, server_name)
                if secured.protocol not in ("h2", None):
                    raise StreamBroken("the server does not speak HTTP/2")
                stream = secured
        except BaseException as error:
            await stream.close()
            if isinstance(error, (OSError, StreamBroken)):
                why = explain(error) if isinstance(error, ssl.SSLError) else str(error)
                raise ConnectionLost("connect", why, sent=False) from error
            raise
        scheme = "http" if context is None else "https"
        channel = Channel(stream, server_name, scheme=scheme, keepalive=keepalive, silence=silence)
        return cls(channel, timeout=timeout)

    @classmethod
    async def connect(
        cls,
        endpoint: str,
        context: ssl.SSLContext | None = None,
        *,
        timeout: float = CALL_TIMEOUT,
        dial_timeout: float = DIAL_TIMEOUT,
    ) -> Self:
        """A client of an endpoint on the network, `https://host:port` with a context or `http://host:port` without.
        Raises ConnectionLost, and ValueError for anything else."""
        url = urlsplit(endpoint)
        host = url.hostname
        if not host or url.scheme != ("http" if context is None else "https"):
            raise ValueError("an endpoint of etcd is https://host:port with TLS, http://host:port without")
        try:
            async with asyncio.timeout(dial_timeout):
                stream = await TcpStream.connect(host, url.port or CLIENT_PORT)
                return await cls.over(stream, context, host, timeout=timeout)
        except TimeoutError as error:
            why = f"{endpoint} took no connection within {dial_timeout:g} s"
            raise ConnectionLost("connect", why, sent=False) from error
        except OSError as error:
            why = f"{endpoint} cannot be reached: {error.strerror or error}"
            raise ConnectionLost("connect", why, sent=False) from error

    @property
    def broken(self) -> str | None:
        """Why the connection is of no use any more, if so."""
        return self._channel.failure

    @asynccontextmanager
    async def watch(
        self,
        key: bytes,
        range_end: bytes = b"",
        *,
        start_revision: int = 0,
        prev_kv: bool = False,
        progress_notify: bool = False,
        filters: tuple[FilterType, ...] = (),
    ) -> AsyncIterator[Watch]:
        """Changes of a key, or of all up to an end, from a revision on; 0: from now on."""
        request = WatchCreateRequest(
            key=key,
            range_end=range_end,
            start_revision=start_revision,
            progress_notify=progress_notify,
            filters=filters,
            prev_kv=prev_kv,
        )
        async with Watch(self._caller, request) as watch:
            yield watch

    async def close(self) -> None:
        """Let go of the connection. Calls under way fail."""
        await self._channel.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
