"""Client certificates: the subject's common name is the user, its organizations are the groups.

The TLS layer has verified the chain when the connection was made. Connections live longer than certificates, so the
dates are checked again on every request, by the server's own clock. A server that takes certificates from a less
trustworthy source names the authorities it trusts, and the signature and the purpose are checked here too.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

from nagaya.apiserver.authn.facts import Identity, Refused, RequestFacts
from nagaya.apiserver.authn.user import CREDENTIAL_ID, User
from nagaya.world import Clock

_UID: Final = ObjectIdentifier("1.3.6.1.4.1.57683.2")
_REMEMBERED: Final = 1024


class _Known(NamedTuple):
    user: User | None
    start: datetime
    end: datetime


class ClientCertificates:
    """Reads users from certificates; what it has read it remembers, for a bounded number of certificates."""

    def __init__(self, clock: Clock, authorities: Sequence[x509.Certificate] | None = None) -> None:
        self._clock = clock
        self._authorities = None if authorities is None else tuple(authorities)
        self._known: OrderedDict[bytes, _Known] = OrderedDict()  # by the certificate itself, the latest used last

    async def authenticate(self, facts: RequestFacts) -> Identity | None:
        """The certificate's user; None without a certificate, or with one that has no common name."""
        if facts.peer_certificate is None:
            return None
        known = self._read(facts.peer_certificate)
        if known.user is None:
            return None
        now = self._clock.now()
        if not known.start <= now <= known.end:
            what = "not yet valid" if now < known.start else "expired"
            raise Refused(f"x509: certificate has expired or is not yet valid: the client certificate is {what}")
        # No audiences: a certificate is proof for whoever trusts its authority.
        return Identity(known.user)

    def _read(self, der: bytes) -> _Known:
        known = self._known.get(der)
        if known is None:
            certificate = _parsed(der)
            if self._authorities is not None:
                _check_trust(certificate, self._authorities)
            user = _user_of(certificate, hashlib.sha256(der).hexdigest())
            known = _Known(user, certificate.not_valid_before_utc, certificate.not_valid_after_utc)
            self._known[der] = known
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        else:
            self._known.move_to_end(der)
        return known


def _parsed(der: bytes) -> x509.Certificate:
    try:
        return x509.load_der_x509_certificate(der)
    except ValueError:
        raise Refused("x509: malformed certificate") from None


def _check_trust(certificate: x509.Certificate, authorities: Sequence[x509.Certificate]) -> None:
    for authority in authorities:
        try:
            certificate.verify_directly_issued_by(authority)
            break
        except (ValueError, TypeError, InvalidSignature):
            continue
    else:
        raise Refused("x509: certificate signed by unknown authority")
    try:
        purposes = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return
    if not {ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE} & set(purposes):
        raise Refused("x509: certificate specifies an incompatible key usage")


def _user_of(certificate: x509.Certificate, fingerprint: str) -> User | None:
    subject = certificate.subject
    names = [str(each.value) for each in subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    if not names or not names[-1]:
        return None
    uids = [str(each.value) for each in subject.get_attributes_for_oid(_UID)]
    if len(uids) > 1:
        raise Refused(f"expected 1 UID, but found multiple: [{' '.join(uids)}]")
    if uids and not uids[0]:
        raise Refused("UID cannot be an empty string")
    groups = tuple(str(each.value) for each in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME))
    extra = {CREDENTIAL_ID: (f"X509SHA256={fingerprint}",)}
    return User(names[-1], uids[0] if uids else "", groups, extra)
