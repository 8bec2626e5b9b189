"""A certificate authority: a certificate, its private key, and the right to sign.

What it signs never outlives it and never starts before the authority itself, because clients check the whole chain.
Lifetimes are counted from now, and five minutes before now are added, as kubeadm does it. Signing requests are answered
as kube-controller-manager does it, which takes the five minutes out of what was asked for. Signing does not change the
authority, so one instance may be used from several threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa

from nagaya.pki import certificates, keys
from nagaya.pki.certificates import AUTHORITY_VALIDITY, BACKDATE, CertificateSpec
from nagaya.pki.keys import PrivateKey, PublicKey
from nagaya.pki.requests import CertificateRequest
from nagaya.pki.usages import Usage, extended_key_usage, key_usage
from nagaya.world import Clock

# Below this lifetime five minutes would be a noticeable part of what was asked for, so they are not taken out of it.
_SHORT: Final = timedelta(hours=8)
_DIGEST: Final = hashes.SHA256()


@dataclass(frozen=True, slots=True)
class CertificateAuthority:
    """One authority. `repr` does not show the key."""

    certificate: x509.Certificate
    key: PrivateKey

    @classmethod
    def create(
        cls,
        common_name: str,
        clock: Clock,
        key: PrivateKey | None = None,
        organizations: Sequence[str] = (),
        validity: timedelta = AUTHORITY_VALIDITY,
        around: datetime | None = None,
    ) -> CertificateAuthority:
        """A new self-signed authority, with a new ECDSA P-256 key unless one is given. It is valid at least from
        `around`, and for as long after it, whatever the clock says.
        """
        key = key or keys.generate()
        name = certificates.subject_name(common_name, organizations)
        now = clock.now().replace(microsecond=0)
        around = around or now
        usage = key_usage((Usage.DIGITAL_SIGNATURE, Usage.KEY_ENCIPHERMENT, Usage.CERT_SIGN))
        assert usage is not None
        builder = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(min(now - BACKDATE, around))
            .not_valid_after(max(now, around) + validity)
            .add_extension(usage, critical=True)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        )
        names = certificates.alternative_names([common_name], ())
        assert names is not None
        return cls(builder.add_extension(names, critical=False).sign(key, _DIGEST), key)

    @classmethod
    def load(cls, certificate_pem: bytes, key_pem: bytes) -> CertificateAuthority:
        """The authority of a pair of PEM texts; the first certificate counts.

        Raises ValueError if one of them is unreadable, if they do not belong together, or if the certificate is not an
        authority's.
        """
        certificate = certificates.load(certificate_pem)[0]
        key = keys.load(key_pem)
        if keys.checked_public(certificate.public_key()) != key.public_key():
            raise ValueError("the certificate and the private key do not belong together")
        try:
            constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
        except x509.ExtensionNotFound:
            constraints = None
        if constraints is None or not constraints.ca:
            raise ValueError(f"{certificate.subject.rfc4514_string()} is not a certificate authority")
        return cls(certificate, key)

    def __repr__(self) -> str:
        return f"CertificateAuthority({self.certificate.subject.rfc4514_string()!r})"

    @property
    def certificate_pem(self) -> bytes:
        """The certificate as its file holds it."""
        return certificates.to_pem(self.certificate)

    @property
    def key_pem(self) -> bytes:
        """The private key as its file holds it."""
        return keys.to_pem(self.key)

    def issue(self, spec: CertificateSpec, public_key: PublicKey, clock: Clock) -> x509.Certificate:
        """A leaf certificate for a key. Raises ValueError if the authority has expired."""
        usages = {Usage.DIGITAL_SIGNATURE, *spec.usages}
        if isinstance(public_key, rsa.RSAPublicKey):
            usages.add(Usage.KEY_ENCIPHERMENT)
        subject = certificates.subject_name(spec.common_name, spec.organizations)
        names = certificates.alternative_names(spec.dns_names, spec.ip_addresses)
        start, end = self._lifetime(spec.validity, clock.now())
        if spec.since_authority:
            start = self.certificate.not_valid_before_utc
        return self._sign(subject, public_key, names, usages, start, end)

    def issue_pair(
        self, spec: CertificateSpec, clock: Clock, key: PrivateKey | None = None
    ) -> tuple[x509.Certificate, PrivateKey]:
        """A leaf certificate and its key, a new ECDSA P-256 one unless given."""
        key = key or keys.generate()
        return self.issue(spec, key.public_key(), clock), key

    def sign_request(
        self, request: CertificateRequest, usages: Sequence[str], validity: timedelta, clock: Clock
    ) -> x509.Certificate:
        """The certificate that a signing request asks for, with the usages of the API object that carries it.

        Subject and alternative names are the request's; other extensions it asks for are ignored. Raises ValueError if
        the request's signature is wrong, a usage is unknown, or the authority has expired.
        """
        if not request.is_signature_valid:
            raise ValueError("unable to verify certificate request signature")
        known = set(Usage)
        unknown = [usage for usage in usages if usage not in known]
        if unknown:
            raise ValueError(f"unrecognized usage values: {', '.join(unknown)}")
        if validity >= _SHORT:
            validity -= BACKDATE
        start, end = self._lifetime(validity, clock.now())
        wanted = {Usage(usage) for usage in usages}
        return self._sign(request.subject, request.public_key, request.alternative_names, wanted, start, end)

    def _lifetime(self, validity: timedelta, now: datetime) -> tuple[datetime, datetime]:
        # By a clock that is behind the authority, it lasts from the authority's first day.
        now = max(now.replace(microsecond=0), self.certificate.not_valid_before_utc)
        limit = self.certificate.not_valid_after_utc
        if now >= limit:
            raise ValueError(f"the signer has expired: NotAfter={limit:%Y-%m-%dT%H:%M:%SZ}")
        start = max(now - BACKDATE, self.certificate.not_valid_before_utc)
        return start, min(now + validity, limit)

    def _sign(
        self,
        subject: x509.Name,
        public_key: PublicKey,
        names: x509.SubjectAlternativeName | None,
        usages: set[Usage],
        start: datetime,
        end: datetime,
    ) -> x509.Certificate:
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self.certificate.subject)
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(start)
            .not_valid_after(end)
        )
        plain, extended = key_usage(usages), extended_key_usage(usages)
        if plain is not None:
            builder = builder.add_extension(plain, critical=True)
        if extended is not None:
            builder = builder.add_extension(extended, critical=False)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(self._authority_key_identifier(), critical=False)
        if names is not None:
            builder = builder.add_extension(names, critical=not list(subject))
        return builder.sign(self.key, _DIGEST)

    def _authority_key_identifier(self) -> x509.AuthorityKeyIdentifier:
        try:
            own = self.certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
        except x509.ExtensionNotFound:
            return x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own)
