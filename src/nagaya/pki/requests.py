"""Certificate signing requests: how a key asks for a certificate, and what such a request says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from nagaya.pki import certificates, keys, pem
from nagaya.pki.certificates import CertificateSpec
from nagaya.pki.keys import PrivateKey, PublicKey

_WRONG_BLOCK: Final = "PEM block type must be CERTIFICATE REQUEST"


@dataclass(frozen=True, slots=True)
class CertificateRequest:
    """What a request says of the one who asks. Its signature has to be checked before any of it is believed."""

    subject: x509.Name
    public_key: PublicKey
    alternative_names: x509.SubjectAlternativeName | None
    is_signature_valid: bool

    @property
    def common_name(self) -> str:
        """The subject's common name; the last one if there are several."""
        found = self.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        return str(found[-1].value) if found else ""

    @property
    def organizations(self) -> list[str]:
        """The subject's organizations, in order."""
        return [str(each.value) for each in self.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]

    def names_of(self, kind: type[x509.GeneralName]) -> list[x509.GeneralName]:
        """The alternative names of one kind, such as `x509.DNSName`."""
        return [name for name in self.alternative_names or () if isinstance(name, kind)]

    @property
    def signature_problem(self) -> str:
        """What is said of a request with a wrong signature; nothing if it is right."""
        if self.is_signature_valid:
            return ""
        elliptic = isinstance(self.public_key, ec.EllipticCurvePublicKey)
        return "x509: ECDSA verification failure" if elliptic else "crypto/rsa: verification error"


def parse(text: bytes) -> CertificateRequest:
    """The request in a PEM text. Raises ValueError, with the API server's words where it has any, if it is
    unreadable."""
    block = next(pem.blocks(text), None)
    if block is None or block.label != pem.CERTIFICATE_REQUEST:
        raise ValueError(_WRONG_BLOCK)
    try:
        request = x509.load_der_x509_csr(block.data)
        extensions = request.extensions
        public_key = keys.checked_public(request.public_key())
    except ValueError:
        raise ValueError("asn1: structure error: malformed certificate request") from None
    try:
        names = extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        names = None
    return CertificateRequest(request.subject, public_key, names, request.is_signature_valid)


def create(spec: CertificateSpec, key: PrivateKey) -> bytes:
    """A signing request, as PEM, for the subject and names of a spec. Usages and validity are not part of a request."""
    subject = certificates.subject_name(spec.common_name, spec.organizations)
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject)
    names = certificates.alternative_names(spec.dns_names, spec.ip_addresses)
    if names is not None:
        builder = builder.add_extension(names, critical=False)
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)
