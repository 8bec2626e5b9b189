"""By what a host is recognised: a certificate authority, the SHA-256 fingerprint of its certificate, or not at all.

Every PVE cluster signs the certificates of its hosts by an authority of its own (/etc/pve/pve-root-ca.pem). Hosts are
never trusted unseen unless that was asked for by name (`insecure`).
"""

from __future__ import annotations

import asyncio
import re
import ssl
from dataclasses import dataclass, field
from typing import Final

import aiohttp

_DIGEST: Final = re.compile(r"^[0-9a-f]{64}$")


class BadTrust(ValueError):
    """What should recognise the hosts cannot. The message is a sentence without content of the certificate."""


@dataclass(frozen=True, slots=True)
class Trust:
    """With nothing given, the authorities of this system count. Several fingerprints: one of each host."""

    authority: str | None = field(default=None, repr=False)
    """PEM."""
    fingerprints: tuple[str, ...] = ()
    insecure: bool = False

    @property
    def covers_other_hosts(self) -> bool:
        """Whether hosts of the cluster that nobody named can be recognised too."""
        return not self.fingerprints and (self.insecure or self.authority is not None)


def fingerprint(written: str) -> str:
    """A fingerprint in 64 hexadecimal digits, from the forms that PVE and openssl print. Raises BadTrust."""
    digits = written.strip().lower().removeprefix("sha256:").removeprefix("sha256 fingerprint=").replace(":", "")
    if not _DIGEST.match(digits):
        raise BadTrust(
            "the fingerprint is not SHA-256: 64 hexadecimal digits, with or without colons, as `pvenode cert info` "
            "prints them"
        )
    return digits


def context(trust: Trust) -> ssl.SSLContext:
    """How to connect by authority, or unverified. Raises BadTrust."""
    try:
        if trust.insecure and trust.authority is None:
            made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # reading the system's authorities takes 20 ms
        else:
            made = ssl.create_default_context(cadata=trust.authority)
    except (ssl.SSLError, ValueError) as error:
        raise BadTrust("the certificate authority cannot be read: it must be PEM (/etc/pve/pve-root-ca.pem)") from error
    # Newer Pythons refuse authorities that lack extensions which PVE's do not have.
    made.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if trust.insecure:
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
    return made


class OneOf(aiohttp.Fingerprint):
    """Recognises a host by any of several certificates, as each host of a cluster has its own."""

    def __init__(self, fingerprints: tuple[str, ...]) -> None:
        known = tuple(bytes.fromhex(fingerprint(each)) for each in fingerprints)
        super().__init__(known[0])
        self._each = tuple(aiohttp.Fingerprint(each) for each in known)

    def check(self, transport: asyncio.Transport) -> None:
        """Raise aiohttp.ServerFingerprintMismatch unless one of them is met."""
        for number, each in enumerate(self._each, 1):
            try:
                each.check(transport)
            except aiohttp.ServerFingerprintMismatch:
                if number == len(self._each):
                    raise
            else:
                return
