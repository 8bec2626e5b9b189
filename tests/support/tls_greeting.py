"""The first message of TLS, as a client sends it."""

from __future__ import annotations

import ssl
from contextlib import suppress


def hello(*protocols: str, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> bytes:
    """What Python's TLS says first if it offers these protocols."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.maximum_version = version
    if protocols:
        context.set_alpn_protocols(list(protocols))
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    talk = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
    with suppress(ssl.SSLWantReadError):
        talk.do_handshake()
    return outgoing.read()
