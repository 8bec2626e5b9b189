"""A certificate and its private key as text, which is how files and Secrets hold them."""

from __future__ import annotations

from dataclasses import dataclass, field

from cryptography import x509

from nagaya.pki import certificates, keys
from nagaya.pki.keys import PrivateKey


@dataclass(frozen=True, slots=True)
class KeyPair:
    """Two PEM texts. For service accounts, the public key stands in the place of the certificate.

    `repr` does not show the key. An empty key is one that somebody else keeps.
    """

    certificate: bytes
    key: bytes = field(repr=False)

    @classmethod
    def of(cls, certificate: x509.Certificate, key: PrivateKey) -> KeyPair:
        """A certificate and its key."""
        return cls(certificates.to_pem(certificate), keys.to_pem(key))

    @classmethod
    def of_service_accounts(cls, key: PrivateKey) -> KeyPair:
        """The pair that service account tokens are signed and verified with: both halves of a key."""
        return cls(keys.public_to_pem(key.public_key()), keys.to_pem(key))
