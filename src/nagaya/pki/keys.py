"""Private keys: made, written and read.

The algorithms are the ones kubeadm offers, under kubeadm's names. ECDSA P-256 is our default: a key costs a fraction of
a millisecond, an RSA key up to seconds. Files hold the traditional forms (`EC PRIVATE KEY`, `RSA PRIVATE KEY`) that
kubeadm writes; reading takes PKCS#8 as well. Errors never quote what was read.

A key that is read is checked by arithmetic, not by testing its factors for being prime: that takes 90 ms for RSA-2048
and half a second for RSA-4096, during which no other thread runs. A key whose factors are not prime only signs what
nobody accepts.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from nagaya.pki import pem

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
PublicKey = ec.EllipticCurvePublicKey | rsa.RSAPublicKey


class KeyAlgorithm(StrEnum):
    """Which kind of key, and how strong."""

    ECDSA_P256 = "ECDSA-P256"
    ECDSA_P384 = "ECDSA-P384"
    RSA_2048 = "RSA-2048"
    RSA_3072 = "RSA-3072"
    RSA_4096 = "RSA-4096"


_CURVES: Final = {KeyAlgorithm.ECDSA_P256: ec.SECP256R1, KeyAlgorithm.ECDSA_P384: ec.SECP384R1}
RSA_BITS: Final = range(2048, 8192 + 1)
"""Accepted lengths of an RSA key. Shorter ones can be broken, and a signature with a longer one takes seconds."""
_RSA_BITS: Final = {KeyAlgorithm.RSA_2048: 2048, KeyAlgorithm.RSA_3072: 3072, KeyAlgorithm.RSA_4096: 4096}


def generate(algorithm: KeyAlgorithm = KeyAlgorithm.ECDSA_P256) -> PrivateKey:
    """A new key. RSA takes long enough to be done off the event loop."""
    curve = _CURVES.get(algorithm)
    if curve is not None:
        return ec.generate_private_key(curve())
    return rsa.generate_private_key(65537, _RSA_BITS[algorithm])


def to_pem(key: PrivateKey) -> bytes:
    """A private key as its file holds it."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )


def public_to_pem(key: PublicKey) -> bytes:
    """A public key as its file holds it (`PUBLIC KEY`)."""
    return key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


def public_to_der(key: PublicKey) -> bytes:
    """A public key's SubjectPublicKeyInfo, which is what key identifiers are digests of."""
    return key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)


def load(text: bytes) -> PrivateKey:
    """The private key in a PEM text. Raises ValueError if there is none, or one of another kind."""
    for block in pem.blocks(text):
        if block.label.endswith("PRIVATE KEY"):
            return _private(block)
    raise ValueError("no private key found: expected a PEM block EC PRIVATE KEY, RSA PRIVATE KEY or PRIVATE KEY")


def _private(block: pem.Block) -> PrivateKey:
    text = pem.encode(block.label, block.data)
    try:
        key = serialization.load_pem_private_key(text, None, unsafe_skip_rsa_key_validation=True)
        if isinstance(key, rsa.RSAPrivateKey) and not _fits(key.private_numbers()):
            raise ValueError("the numbers of the key do not belong together")
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise ValueError(f"the {block.label} block does not hold a readable, unencrypted private key") from None
    if not isinstance(key, (ec.EllipticCurvePrivateKey, rsa.RSAPrivateKey)):
        raise ValueError("the private key is neither ECDSA nor RSA")
    return key


def _fits(numbers: rsa.RSAPrivateNumbers) -> bool:
    """Whether all numbers of an RSA key follow from its factors."""
    p, q, d, public = numbers.p, numbers.q, numbers.d, numbers.public_numbers
    if min(p, q) < 3 or not p & q & public.e & 1 or p * q != public.n:
        return False
    if public.n.bit_length() > RSA_BITS[-1] or not 1 < public.e < public.n or not 1 < d < public.n:
        return False
    return (
        d * public.e % (p - 1) == 1
        and d * public.e % (q - 1) == 1
        and numbers.dmp1 == d % (p - 1)
        and numbers.dmq1 == d % (q - 1)
        and numbers.iqmp * q % p == 1
    )


def load_public(text: bytes) -> list[PublicKey]:
    """All keys of a PEM text that may verify signatures: public keys, and the public halves of private keys and
    certificates.

    Raises ValueError if there is none.
    """
    found: list[PublicKey] = []
    for block in pem.blocks(text):
        if block.label.endswith("PRIVATE KEY"):
            found.append(_private(block).public_key())
        elif block.label in ("PUBLIC KEY", "RSA PUBLIC KEY"):
            found.append(_public(block))
        elif block.label == pem.CERTIFICATE:
            from nagaya.pki import certificates

            found.append(checked_public(certificates.read(block.data).public_key()))
    if not found:
        raise ValueError("no public key found: expected a PEM block PUBLIC KEY, a private key or a certificate")
    return found


def _public(block: pem.Block) -> PublicKey:
    try:
        return checked_public(serialization.load_pem_public_key(pem.encode(block.label, block.data)))
    except (ValueError, UnsupportedAlgorithm):
        raise ValueError(f"the {block.label} block does not hold a readable ECDSA or RSA key") from None


def weakness(key: PublicKey) -> str:
    """Why a key must not be used for a cluster; empty if it may."""
    if isinstance(key, rsa.RSAPublicKey):
        fits = key.key_size in RSA_BITS
        return "" if fits else f"an RSA key of {key.key_size} bits, not of {RSA_BITS[0]} to {RSA_BITS[-1]}"
    if key.curve.name not in ("secp256r1", "secp384r1", "secp521r1"):
        return "an ECDSA key on another curve than P-256, P-384 or P-521"
    return ""


def checked_public(key: object) -> PublicKey:
    """The key itself if it is of a kind that is used here. Raises ValueError otherwise."""
    if not isinstance(key, (ec.EllipticCurvePublicKey, rsa.RSAPublicKey)):
        raise ValueError("the public key is neither ECDSA nor RSA")
    return key
