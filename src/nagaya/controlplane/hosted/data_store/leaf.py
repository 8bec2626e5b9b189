"""Certificates that are used until it is time to renew them, and renewed with the key that they have.

The two are files that a program may read at any moment, one after the other. With the same key they fit together at
every moment of a renewal.
"""

from __future__ import annotations

from cryptography import x509

from nagaya.pki import certificates, keys
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.certificates import CertificateSpec
from nagaya.pki.key_pair import KeyPair
from nagaya.pki.keys import PrivateKey
from nagaya.pki.renewal import renewal
from nagaya.world import Clock


def valid(
    pair: KeyPair, spec: CertificateSpec, authority: CertificateAuthority, clock: Clock
) -> tuple[x509.Certificate, PrivateKey, str]:
    """A certificate that is as it shall be, its key, and why the certificate was renewed, if it was. Those of the pair
    if they can be used; a new key only without a usable one."""
    try:
        key = keys.load(pair.key)
    except ValueError:
        return *authority.issue_pair(spec, clock), ""
    try:
        certificate = certificates.load(pair.certificate)[0]
    except ValueError:
        return authority.issue(spec, key.public_key(), clock), key, ""
    why = renewal(certificate, key.public_key(), spec, [authority.certificate], clock.now())
    if why is None:
        return certificate, key, ""
    return authority.issue(spec, key.public_key(), clock), key, why.sentence


def valid_pair(pair: KeyPair, spec: CertificateSpec, authority: CertificateAuthority, clock: Clock) -> KeyPair:
    """The same as a pair. It is encoded again, because a tenant may be able to write where it was kept."""
    certificate, key, _ = valid(pair, spec, authority, clock)
    return KeyPair.of(certificate, key)
