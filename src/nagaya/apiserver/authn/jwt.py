"""Signed tokens (JWT in compact form): signing, taking apart, verifying, and the public keys for others to verify with.

Only asymmetric algorithms exist here, and which one applies is decided by the key, never by the token. A token's text
and the keys stay out of every error.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature

from nagaya.apiserver.meta.status import JsonObject
from nagaya.pki import keys
from nagaya.pki.keys import PrivateKey, PublicKey

_PARTS: Final = 3


class _Curve(NamedTuple):
    algorithm: str
    name: str
    size: int  # bytes of each of the two numbers of a signature
    digest: hashes.HashAlgorithm


_CURVES: Final = {
    "secp256r1": _Curve("ES256", "P-256", 32, hashes.SHA256()),
    "secp384r1": _Curve("ES384", "P-384", 48, hashes.SHA384()),
    "secp521r1": _Curve("ES512", "P-521", 66, hashes.SHA512()),
}


def encode(data: bytes) -> str:
    """Base64 for URLs, without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode(text: str) -> bytes:
    """The bytes of an unpadded base64url text. Raises ValueError."""
    if "=" in text or "+" in text or "/" in text:
        raise ValueError("not base64url")
    try:
        return base64.b64decode(f"{text}{'=' * (-len(text) % 4)}", b"-_", validate=True)
    except binascii.Error:
        raise ValueError("not base64url") from None


def key_id(key: PublicKey) -> str:
    """The name of a key in tokens and key sets: a digest, so it does not reveal the key itself."""
    return encode(hashlib.sha256(keys.public_to_der(key)).digest())


def _curve(key: ec.EllipticCurvePublicKey | ec.EllipticCurvePrivateKey) -> _Curve:
    curve = _CURVES.get(key.curve.name)
    if curve is None:
        raise ValueError("unknown private key curve, must be 256, 384, or 521")
    return curve


def algorithm_of(key: PublicKey) -> str:
    """The algorithm of a key's signatures. Raises ValueError for a curve that has none."""
    return _curve(key).algorithm if isinstance(key, ec.EllipticCurvePublicKey) else "RS256"


class Signer:
    """Signs tokens with one private key. Its `repr` says which key, not what it is."""

    def __init__(self, key: PrivateKey) -> None:
        self._key = key
        self.public_key: PublicKey = key.public_key()
        self.key_id = key_id(self.public_key)
        header = {"alg": algorithm_of(self.public_key), "kid": self.key_id}
        self._header = encode(orjson.dumps(header))

    def __repr__(self) -> str:
        return f"Signer(key_id={self.key_id!r})"

    def sign(self, claims: JsonObject) -> str:
        """A token with these claims."""
        text = f"{self._header}.{encode(orjson.dumps(claims, option=orjson.OPT_SORT_KEYS))}"
        return f"{text}.{encode(self._signature(text.encode()))}"

    def _signature(self, content: bytes) -> bytes:
        key = self._key
        if isinstance(key, ec.EllipticCurvePrivateKey):
            curve = _curve(key)
            numbers = decode_dss_signature(key.sign(content, ec.ECDSA(curve.digest)))
            return b"".join(number.to_bytes(curve.size) for number in numbers)
        return key.sign(content, padding.PKCS1v15(), hashes.SHA256())


class Token(NamedTuple):
    """A token taken apart. Nothing in it may be believed before its signature is verified."""

    header: JsonObject
    claims: JsonObject
    content: bytes
    signature: bytes

    @property
    def key_id(self) -> str:
        """Which key it says it is signed with."""
        found = self.header.get("kid")
        return found if isinstance(found, str) else ""


def parse(text: str) -> Token | None:
    """Take a token apart; None if the text is not one."""
    parts = text.split(".")
    if len(parts) != _PARTS:
        return None
    try:
        header: Any = orjson.loads(decode(parts[0]))
        claims: Any = orjson.loads(decode(parts[1]))
        signature = decode(parts[2])
    except ValueError:
        return None
    if not isinstance(header, dict) or not isinstance(claims, dict):
        return None
    return Token(header, claims, f"{parts[0]}.{parts[1]}".encode(), signature)


class VerificationKeys:
    """The public keys whose signatures count, by their names."""

    def __init__(self, public_keys: Iterable[PublicKey]) -> None:
        self._by_id = {key_id(key): key for key in public_keys}

    def candidates(self, name: str) -> list[PublicKey]:
        """The keys a token may be signed with: the one it names, or all if it names none."""
        if not name:
            return list(self._by_id.values())
        key = self._by_id.get(name)
        return [] if key is None else [key]

    def as_key_set(self) -> JsonObject:
        """The JSON Web Key Set that others verify tokens with."""
        return {"keys": [_as_jwk(name, key) for name, key in self._by_id.items()]}

    @property
    def algorithms(self) -> list[str]:
        """The algorithms of all keys, sorted."""
        return sorted({algorithm_of(key) for key in self._by_id.values()})


def is_signed_by(token: Token, key: PublicKey) -> bool:
    """Whether a key's owner signed this token."""
    # A token with critical extensions asks to be refused by whoever does not know them, and none is known here.
    if token.header.get("alg") != algorithm_of(key) or "crit" in token.header:
        return False
    try:
        if isinstance(key, ec.EllipticCurvePublicKey):
            curve = _curve(key)
            if len(token.signature) != 2 * curve.size:
                return False
            numbers = (token.signature[: curve.size], token.signature[curve.size :])
            der = encode_dss_signature(*(int.from_bytes(number) for number in numbers))
            key.verify(der, token.content, ec.ECDSA(curve.digest))
        else:
            key.verify(token.signature, token.content, padding.PKCS1v15(), hashes.SHA256())
    except InvalidSignature:
        return False
    return True


def _as_jwk(name: str, key: PublicKey) -> JsonObject:
    shown: JsonObject = {"use": "sig", "kid": name, "alg": algorithm_of(key)}
    if isinstance(key, ec.EllipticCurvePublicKey):
        curve, point = _curve(key), key.public_numbers()
        shown |= {"kty": "EC", "crv": curve.name}
        return shown | {"x": encode(point.x.to_bytes(curve.size)), "y": encode(point.y.to_bytes(curve.size))}
    numbers = key.public_numbers()
    shown |= {"kty": "RSA", "n": encode(_minimal(numbers.n)), "e": encode(_minimal(numbers.e))}
    return shown


def _minimal(number: int) -> bytes:
    return number.to_bytes((number.bit_length() + 7) // 8)
