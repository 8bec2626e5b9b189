"""Who answers at an address: the certificate that is shown there, before anything is sent.

For those who must tell whom they do not trust, and by what it could be recognised.
"""

from __future__ import annotations

import asyncio
import hashlib
import ssl
from typing import Final

from nagaya.infrastructure.proxmox.client.endpoint import Endpoint
from nagaya.infrastructure.proxmox.client.trust import Trust, context

TIMEOUT: Final = 10.0  # seconds


async def greeted(endpoint: Endpoint, trust: Trust) -> bytes:
    """The certificate in DER, if TLS comes about. Raises OSError, also for TLS, and TimeoutError."""
    async with asyncio.timeout(TIMEOUT):
        _, writer = await asyncio.open_connection(
            endpoint.host, endpoint.port, ssl=context(trust), server_hostname=endpoint.host
        )
    try:
        secured = writer.get_extra_info("ssl_object")
        assert isinstance(secured, ssl.SSLObject)
        raw = secured.getpeercert(binary_form=True)
        assert raw is not None
        return raw
    finally:
        writer.transport.abort()


def fingerprint_of(certificate: bytes) -> str:
    """The SHA-256 fingerprint of a certificate in DER: pairs of digits with colons between, as PVE writes it."""
    return hashlib.sha256(certificate).digest().hex(":").upper()
