"""Who answers at an address: the certificate that is shown there, and whether this system trusts it.

Looked at before any password is sent: whoever asks for one must be known first.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from cryptography import x509

from nagaya.infrastructure.proxmox.client import Endpoint, Trust, fingerprint
from nagaya.infrastructure.proxmox.client.greeting import TIMEOUT, fingerprint_of, greeted


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
        raw = await greeted(endpoint, Trust(insecure=True))
    except (OSError, TimeoutError) as error:  # ssl.SSLError is an OSError
        raise NoCertificate(f"{endpoint} cannot be reached: {_why(error)}.") from error
    distrust = ""
    own = fingerprint_of(raw)
    if judged.fingerprints:
        distrust = (
            "" if fingerprint(own) in judged.fingerprints else "its fingerprint is another than the one that was given"
        )
    elif not judged.insecure:
        try:
            await greeted(endpoint, judged)
        except (OSError, TimeoutError) as error:
            distrust = _why(error)
    found = x509.load_der_x509_certificate(raw)
    subject, issuer = found.subject.rfc4514_string(), found.issuer.rfc4514_string()
    return Certificate(own, subject, issuer, found.not_valid_after_utc, distrust)


def _why(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {TIMEOUT:.0f} s"
    said = getattr(error, "verify_message", "") or getattr(error, "strerror", "") or str(error)
    return said or type(error).__name__
