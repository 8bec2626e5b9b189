"""Whether a certificate and a private key belong together, in the words of Go's `tls.X509KeyPair`."""

from __future__ import annotations

import re
from binascii import a2b_base64
from collections.abc import Iterator
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_der_private_key

_BEGIN: Final = re.compile(rb"^-----BEGIN ([^\n]*)-----[ \t\r]*\n", re.MULTILINE)
_HEADERS: Final = re.compile(rb"(?:[^\n:]*+:[^\n]*+\n)*+")
_BODY: Final = re.compile(rb"([^-:]*+)-----END ([^\n]*)-----[ \t\r]*(?=\n|\Z)")
_LONGEST_CHECKED: Final = 2600  # bytes of a key of 4096 bits, whose primes take a fifth of a second to check
_CERTIFICATE: Final = "CERTIFICATE"
_KEYS: Final = (rsa.RSAPublicKey, ec.EllipticCurvePublicKey, ed25519.Ed25519PublicKey)


def problem(certificate: str, key: str) -> str:
    """What is wrong with a pair, each given as base64 of PEM. Empty if nothing is."""
    blocks = list(_blocks(a2b_base64(certificate)))
    certificates = [der for kind, der in blocks if kind == _CERTIFICATE]
    if not certificates:
        return _no_certificate([kind for kind, _ in blocks])
    skipped = []
    for kind, der in _blocks(a2b_base64(key)):
        if kind == "PRIVATE KEY" or kind.endswith(" PRIVATE KEY"):
            return _mismatch(certificates[0], der)
        skipped.append(kind)
    return _no_key(skipped)


def _blocks(data: bytes) -> Iterator[tuple[str, bytes]]:
    end = body_start = 0
    body: re.Match[bytes] | None = None
    for begin in _BEGIN.finditer(data):
        if begin.start() < end:
            continue
        if begin.end() > body_start:
            # What looks like the beginning of a block may be a header of the one before: both have the same body.
            headers = _HEADERS.match(data, begin.end())
            assert headers is not None
            body_start = headers.end()
            body = _BODY.match(data, body_start)
        if body is None or body[2] != begin[1]:
            continue
        end = body.end()
        try:
            yield begin[1].decode("utf-8", "replace"), a2b_base64(b"".join(body[1].split()), strict_mode=True)
        except ValueError:
            continue  # Go skips blocks that are no base64


def _no_certificate(skipped: list[str]) -> str:
    if not skipped:
        return "tls: failed to find any PEM data in certificate input"
    if len(skipped) == 1 and skipped[0].endswith("PRIVATE KEY"):
        return (
            "tls: failed to find certificate PEM data in certificate input, but did find a private key; "
            "PEM inputs may have been switched"
        )
    return (
        'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following '
        f"types: [{' '.join(skipped)}]"
    )


def _no_key(skipped: list[str]) -> str:
    if not skipped:
        return "tls: failed to find any PEM data in key input"
    if skipped == [_CERTIFICATE]:
        return "tls: found a certificate rather than a key in the PEM for the private key"
    return (
        'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of the '
        f"following types: [{' '.join(skipped)}]"
    )


def _mismatch(certificate: bytes, key: bytes) -> str:
    try:
        public = x509.load_der_x509_certificate(certificate).public_key()
    except (ValueError, UnsupportedAlgorithm):
        return "x509: malformed certificate"
    try:
        unchecked = len(key) > _LONGEST_CHECKED
        mine = load_der_private_key(key, None, unsafe_skip_rsa_key_validation=unchecked).public_key()
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return "tls: failed to parse private key"
    kind = next((each for each in _KEYS if isinstance(public, each)), None)
    if kind is None:
        return "tls: unknown public key algorithm"
    if not isinstance(mine, kind):
        return "tls: private key type does not match public key type"
    form = Encoding.DER, PublicFormat.SubjectPublicKeyInfo
    return (
        "" if mine.public_bytes(*form) == public.public_bytes(*form) else "tls: private key does not match public key"
    )
