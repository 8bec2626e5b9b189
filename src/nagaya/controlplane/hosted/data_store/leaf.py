"""Certificates that are used until it is time to renew them, and renewed with the key that they have.

The two are files that a program may read at any moment, one after the other. With the same key they fit together at
every moment of a renewal.
"""

from __future__ import annotations

from nagaya.pki import certificates, keys
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.certificates import CertificateSpec
from nagaya.pki.key_pair import KeyPair
from nagaya.pki.renewal import renewal
from nagaya.world import Clock


def valid_pair(pair: KeyPair, spec: CertificateSpec, authority: CertificateAuthority, clock: Clock) -> KeyPair:
    """The pair if it is as it shall be, else one with a new certificate; a new key only without a usable one. It is
    encoded again, because a tenant may be able to write where it was kept."""
    try:
        key = keys.load(pair.key)
    except ValueError:
        return KeyPair.of(*authority.issue_pair(spec, clock))
    try:
        certificate = certificates.load(pair.certificate)[0]
    except ValueError:
        return KeyPair.of(authority.issue(spec, key.public_key(), clock), key)
    if renewal(certificate, key.public_key(), spec, [authority.certificate], clock.now()) is None:
        return KeyPair.of(certificate, key)
    return KeyPair.of(authority.issue(spec, key.public_key(), clock), key)
