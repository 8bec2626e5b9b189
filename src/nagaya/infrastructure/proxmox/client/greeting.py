"""Who answers at an address: the certificate that is shown there, before anything is sent.

For those who must tell whom they do not trust, and by what it could be recognised.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import ssl
from typing import Final

import aiohttp

from nagaya.address_policy import POLICY
from nagaya.infrastructure.proxmox.client.endpoint import Endpoint
from nagaya.infrastructure.proxmox.client.trust import Trust, context
from nagaya.sockets import connected

TIMEOUT: Final = 10.0  # seconds
_ERRNO: Final = re.compile(r"\[Errno (\d+)\]")
"""How an error of several addresses names those of each."""


async def greeted(endpoint: Endpoint, trust: Trust) -> bytes:
    """The certificate in DER, if TLS comes about. Raises OSError, also for TLS, and TimeoutError."""
    async with asyncio.timeout(TIMEOUT):
        made = await connected(endpoint.host, endpoint.port, POLICY.check)
        _, writer = await asyncio.open_connection(sock=made, ssl=context(trust), server_hostname=endpoint.host)
    try:
        secured = writer.get_extra_info("ssl_object")
        assert isinstance(secured, ssl.SSLObject)
        raw = secured.getpeercert(binary_form=True)
        assert raw is not None
        return raw
    finally:
        writer.transport.abort()


def cause(error: BaseException) -> str:
    """Why a connection did not come about, in the words of the system: Python's own name addresses and calls."""
    inner = getattr(error, "os_error", None) or getattr(error, "certificate_error", None) or error
    if isinstance(inner, aiohttp.ClientResponseError):
        return "what it sent is not HTTP, or has headers that are too long"  # the error repeats them
    said = getattr(inner, "verify_message", "")
    if said:
        return str(said)
    if isinstance(inner, ssl.SSLError):
        return f"no TLS comes about ({(inner.reason or 'no reason given').lower().replace('_', ' ')})"
    numbers = [inner.errno] if isinstance(inner, ConnectionError) and inner.errno else _ERRNO.findall(str(inner))
    if numbers:
        return ", ".join(dict.fromkeys(os.strerror(int(each)) for each in numbers))
    return getattr(inner, "strerror", "") or str(inner) or type(inner).__name__


def fingerprint_of(certificate: bytes) -> str:
    """The SHA-256 fingerprint of a certificate in DER: pairs of digits with colons between, as PVE writes it."""
    return hashlib.sha256(certificate).digest().hex(":").upper()
