"""Who answers at an address: the certificate that is shown there, and whether this system trusts it.

Looked at before any password is sent: whoever asks for one must be known first.
"""

from __future__ import annotations

import asyncio
import hashlib
import ssl
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from cryptography import x509

from nagaya.infrastructure.proxmox.client import Endpoint, Trust
from nagaya.infrastructure.proxmox.client.trust import context

TIMEOUT: Final = 10.0  # seconds


class NoCertificate(Exception):
    """Nobody shows one. The text is a sentence."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """What a host shows."""

    fingerprint: str
    """SHA-256, in pairs of digits with colons between, as PVE writes it."""
    subject: str
    issuer: str
    ends: datetime
    distrust: str = ""
    """Why it is not trusted; empty if it is."""


async def shown(endpoint: Endpoint, trust: Trust | None = None) -> Certificate:
    """The certificate of a host, judged by whom is trusted: the authorities of this system unless told otherwise."""
    judged = trust or Trust()
    try:
        raw = await _greeted(endpoint, Trust(insecure=True))
    except (OSError, TimeoutError) as error:  # ssl.SSLError is an OSError
        raise NoCertificate(f"{endpoint} cannot be reached: {_why(error)}.") from error
    distrust = ""
    digest = hashlib.sha256(raw).hexdigest()
    if judged.fingerprints:
        distrust = "" if digest in judged.fingerprints else "its fingerprint is another than the one that was given"
    elif not judged.insecure:
        try:
            await _greeted(endpoint, judged)
        except (OSError, TimeoutError) as error:
            distrust = _why(error)
    found = x509.load_der_x509_certificate(raw)
    pairs = ":".join(digest[place : place + 2] for place in range(0, len(digest), 2)).upper()
    subject, issuer = found.subject.rfc4514_string(), found.issuer.rfc4514_string()
    return Certificate(pairs, subject, issuer, found.not_valid_after_utc, distrust)


async def _greeted(endpoint: Endpoint, trust: Trust) -> bytes:
    """The certificate in DER, if TLS comes about."""
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


def _why(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {TIMEOUT:.0f} s"
    said = getattr(error, "verify_message", "") or getattr(error, "strerror", "") or str(error)
    return said or type(error).__name__
