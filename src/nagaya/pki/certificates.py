"""Certificates: what one shall say, and what one says."""

from __future__ import annotations

import hashlib
import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import NameOID

from nagaya.pki import pem
from nagaya.pki.usages import Usage

# Clocks differ between machines: a certificate that is valid from this very second is refused by whoever is a little
# behind.
BACKDATE: Final = timedelta(minutes=5)
PAST: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""A moment before any at which this program runs. An authority that is made by a wrong clock is valid from then on."""
AUTHORITY_VALIDITY: Final = timedelta(days=3650)
LEAF_VALIDITY: Final = timedelta(days=365)
LARGEST: Final = 128 << 10
"""Bytes of a PEM text from a user."""
MOST: Final = 64
"""Certificates in it."""
_REMEMBERED: Final = 16 << 10
"""Bytes of a PEM text whose certificates are kept: users choose how long theirs is."""


@dataclass(frozen=True, slots=True)
class CertificateSpec:
    """What a leaf certificate shall say. Whether key encipherment belongs to it is decided by the kind of its key."""

    common_name: str
    organizations: tuple[str, ...] = ()
    usages: tuple[Usage, ...] = (Usage.CLIENT_AUTH,)
    dns_names: tuple[str, ...] = ()
    ip_addresses: tuple[str, ...] = ()
    validity: timedelta = LEAF_VALIDITY
    since_authority: bool = False
    """Whether it is as old as its authority, as kubeadm has it: a certificate that was issued by a clock that was ahead
    is good all the same when the clock is right again."""


def split_hosts(hosts: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Host names and IP addresses told apart, each once, in the order given."""
    names: dict[str, None] = {}
    addresses: dict[str, None] = {}
    for host in hosts:
        try:
            addresses[str(ipaddress.ip_address(host))] = None
        except ValueError:
            names[host] = None
    return tuple(names), tuple(addresses)


def subject_name(common_name: str, organizations: Iterable[str] = ()) -> x509.Name:
    """A distinguished name with its parts in the order in which Go's encoder puts them."""
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in organizations]
    if common_name:
        parts.append(x509.NameAttribute(NameOID.COMMON_NAME, common_name))
    return x509.Name(parts)


def alternative_names(dns_names: Iterable[str], ip_addresses: Iterable[str]) -> x509.SubjectAlternativeName | None:
    """The extension that lists the names a server is reached by; None if there are none."""
    names: list[x509.GeneralName] = [x509.DNSName(name) for name in dns_names]
    names += [x509.IPAddress(ipaddress.ip_address(address)) for address in ip_addresses]
    return x509.SubjectAlternativeName(names) if names else None


def to_pem(certificate: x509.Certificate) -> bytes:
    """A certificate as its file holds it."""
    return certificate.public_bytes(Encoding.PEM)


def load(text: bytes) -> list[x509.Certificate]:
    """All certificates of a PEM text, in order. Raises ValueError if there is none."""
    return [*(_loaded(text) if len(text) <= _REMEMBERED else _loaded.__wrapped__(text))]


def reencoded(text: bytes) -> bytes:
    """The certificates of a PEM text and nothing else of it. Raises ValueError if there is none, or if there are too
    many.

    What users provide becomes a file of a program only like this: a text that means something else to another reader,
    such as a kubeconfig in front of a certificate, does not get there.
    """
    if len(text) > LARGEST:
        raise ValueError(f"it has more than {LARGEST >> 10} KiB")
    found = _loaded.__wrapped__(text)  # texts of users are not kept
    if len(found) > MOST:
        raise ValueError(f"it has {len(found)} certificates, and at most {MOST} are accepted")
    return b"".join(map(to_pem, found))


def read(der: bytes) -> x509.Certificate:
    """One certificate. Raises ValueError also if its key or its extensions cannot be read."""
    try:
        found = x509.load_der_x509_certificate(der)
        found.public_key()
        _ = found.extensions
    except (
        UnsupportedAlgorithm,
        x509.InvalidVersion,
        x509.DuplicateExtension,
        x509.UnsupportedGeneralNameType,
    ) as error:
        raise ValueError(f"the certificate cannot be read ({error})") from None
    return found


@lru_cache(maxsize=1024)  # controllers look at the same ones at every turn; they never change, and are no secret
def _loaded(text: bytes) -> tuple[x509.Certificate, ...]:
    blocks = (each.data for each in pem.blocks(text) if each.label == pem.CERTIFICATE)
    found = tuple(map(read, blocks))
    if not found:
        raise ValueError("no certificate found: expected a PEM block CERTIFICATE")
    return found


def public_key_pin(certificate: x509.Certificate) -> str:
    """The digest by which `kubeadm join --discovery-token-ca-cert-hash` recognises an authority."""
    spki = certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return f"sha256:{hashlib.sha256(spki).hexdigest()}"
