"""Who answers at an address: the certificate that is shown there, and whether this system trusts it.

Looked at before any password is sent: whoever asks for one must be known first.
"""

from __future__ import annotations

import socket
import ssl
from dataclasses import dataclass
from datetime import datetime

from cryptography import x509

from nagaya.infrastructure.proxmox.client import Endpoint, Trust, fingerprint
from nagaya.infrastructure.proxmox.client.greeting import TIMEOUT, cause, fingerprint_of, greeted


class NoCertificate(Exception):
    """Nobody shows one. The text says why, and what to do."""


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
        raise NoCertificate(f"{endpoint} cannot be reached: {_why(error)}. {_remedy(error)}") from error
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
    return cause(error)


def _remedy(error: BaseException) -> str:
    if isinstance(error, socket.gaierror):
        return "Check the name, or give the address of the host in its place."
    if isinstance(error, ssl.SSLError):
        return "Something else listens there: Proxmox VE does at port 8006."
    return "See whether the host is on, `systemctl status pveproxy` is well there, and this is its port."
