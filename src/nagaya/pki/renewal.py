"""When a certificate shall be replaced, and why: one sentence for each reason.

A certificate is compared with what it shall say (`CertificateSpec`), with the authorities that are trusted, and with
its key. What always holds: a certificate that has just been issued for the same spec needs no renewal, and nothing is
renewed that would not last longer afterwards, so nobody renews in circles while an authority runs out.

Trust may be in several authorities while one takes over from another: a certificate of any of them is good. To have
all of them issued anew by the new one, only that is passed.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

from nagaya.pki import certificates
from nagaya.pki.certificates import CertificateSpec
from nagaya.pki.keys import PublicKey
from nagaya.pki.usages import extended_key_usage

SHARE: Final = 1 / 3
"""How much of its life is left when a certificate is renewed: of a year four months, which is time to mend what keeps
it from being renewed."""


class Cause(StrEnum):
    """Why a certificate is replaced."""

    EXPIRY = "Expiry"
    CLOCK = "Clock"
    AUTHORITY = "Authority"
    KEY = "Key"
    SUBJECT = "Subject"
    USAGES = "Usages"
    NAMES = "Names"


@dataclass(frozen=True, slots=True)
class Renewal:
    """That a certificate shall be replaced."""

    cause: Cause
    sentence: str


def renewal(
    certificate: x509.Certificate,
    key: PublicKey | None,
    spec: CertificateSpec,
    authorities: Sequence[x509.Certificate],
    now: datetime,
    share: float = SHARE,
) -> Renewal | None:
    """Why a certificate shall be replaced now; None if it is as it shall be.

    `key` is the public half of the private key that goes with it, or None if that does not matter here.
    """
    subject = certificate.subject.rfc4514_string()
    issuer = issuer_of(certificate, authorities)
    if issuer is None:
        trusted = ", ".join(each.subject.rfc4514_string() for each in authorities) or "none"
        return Renewal(Cause.AUTHORITY, f"The certificate {subject} is not from a trusted authority ({trusted}).")
    if key is not None and certificate.public_key() != key:
        return Renewal(Cause.KEY, f"The certificate {subject} does not belong to its private key.")
    wanted = certificates.subject_name(spec.common_name, spec.organizations)
    if _parts(certificate.subject) != _parts(wanted):
        return Renewal(Cause.SUBJECT, f"The certificate is for {subject} and shall be for {wanted.rfc4514_string()}.")
    try:
        purposes, difference = _purposes_of(certificate), _difference(certificate, spec)
    except ValueError:
        return Renewal(Cause.USAGES, f"The certificate {subject} has extensions that cannot be read.")
    if not set(extended_key_usage(spec.usages) or ()) <= purposes:
        return Renewal(Cause.USAGES, f"The certificate {subject} may not be used for all that it shall be used for.")
    if difference:
        return Renewal(Cause.NAMES, f"The certificate {subject} {difference}.")
    start = certificate.not_valid_before_utc
    if issuer.not_valid_before_utc <= now < start:
        # Issued by a clock that was ahead: one from now on is good at once.
        return Renewal(Cause.CLOCK, f"The certificate {subject} is not valid before {start:%Y-%m-%d at %H:%M} UTC.")
    due = renewal_time(certificate, issuer, spec, share)
    if due is not None and now >= due and _end(issuer, spec, now) > certificate.not_valid_after_utc:
        end = certificate.not_valid_after_utc
        verb = "expires" if now < end else "expired"
        return Renewal(Cause.EXPIRY, f"The certificate {subject} {verb} on {end:%Y-%m-%d at %H:%M} UTC.")
    return None


def issuer_of(certificate: x509.Certificate, authorities: Sequence[x509.Certificate]) -> x509.Certificate | None:
    """Which of the authorities a certificate is from; None if it is from none of them."""
    return next((each for each in authorities if _issued(certificate, each)), None)


def renewal_time(
    certificate: x509.Certificate, issuer: x509.Certificate, spec: CertificateSpec, share: float = SHARE
) -> datetime | None:
    """When a certificate is to be renewed because of its age; None if a new one would not last longer.

    Its life is counted as what is asked for today at most: some certificates say that they are as old as the authority
    that they are from.
    """
    end = certificate.not_valid_after_utc
    if end >= issuer.not_valid_after_utc:
        return None
    life = min(end - certificate.not_valid_before_utc - certificates.BACKDATE, spec.validity)
    return end - max(life, timedelta()) * share


def _end(issuer: x509.Certificate, spec: CertificateSpec, now: datetime) -> datetime:
    return min(now.replace(microsecond=0) + spec.validity, issuer.not_valid_after_utc)


@lru_cache(maxsize=4096)
def _issued(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


def _parts(name: x509.Name) -> set[tuple[str, str | bytes]]:
    return {(each.oid.dotted_string, each.value) for each in name}


def _purposes_of(certificate: x509.Certificate) -> set[x509.ObjectIdentifier]:
    try:
        return set(certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)
    except x509.ExtensionNotFound:
        return set()


def _difference(certificate: x509.Certificate, spec: CertificateSpec) -> str:
    """Which names are missing or too many, as the rest of a sentence; nothing if they are right."""
    wanted = {*spec.dns_names, *(str(ipaddress.ip_address(each)) for each in spec.ip_addresses)}
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        present: set[str] = set()
    else:
        present = {*names.get_values_for_type(x509.DNSName), *map(str, names.get_values_for_type(x509.IPAddress))}
    missing, surplus = sorted(wanted - present), sorted(present - wanted)
    if missing:
        return f"is not valid for {', '.join(missing)}"
    return f"is valid for {', '.join(surplus)}, which it shall not be" if surplus else ""
