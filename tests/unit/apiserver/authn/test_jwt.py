from __future__ import annotations

import base64
from typing import Any

import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicNumbers
from hypothesis import given
from hypothesis import strategies as st

from nagaya.apiserver.authn import jwt
from nagaya.apiserver.authn.jwt import Signer, VerificationKeys
from nagaya.pki import keys
from nagaya.pki.keys import KeyAlgorithm, PrivateKey
from support.subtest_cases import subtest_cases

RSA = keys.generate(KeyAlgorithm.RSA_2048)
P256 = keys.generate()
P384 = keys.generate(KeyAlgorithm.ECDSA_P384)
P521 = ec.generate_private_key(ec.SECP521R1())
ALL = [(RSA, "RS256"), (P256, "ES256"), (P384, "ES384"), (P521, "ES512")]


def parsed(text: str) -> jwt.Token:
    token = jwt.parse(text)
    assert token is not None
    return token


@pytest.mark.parametrize(("key", "algorithm"), ALL)
def test_a_signed_token_is_recognised(key: PrivateKey, algorithm: str) -> None:
    signer = Signer(key)
    token = parsed(signer.sign({"b": 1, "a": ["x"]}))
    assert token.header == {"alg": algorithm, "kid": signer.key_id}
    assert token.claims == {"a": ["x"], "b": 1}
    assert jwt.is_signed_by(token, key.public_key())
    assert not jwt.is_signed_by(token, keys.generate().public_key())


@pytest.mark.parametrize(("key", "algorithm"), ALL)
def test_a_changed_token_is_not_recognised(key: PrivateKey, algorithm: str) -> None:
    token = parsed(Signer(key).sign({"sub": "bob"}))
    changed = token._replace(content=token.content.replace(b".", b"x.", 1))
    assert not jwt.is_signed_by(changed, key.public_key())
    assert not jwt.is_signed_by(token._replace(signature=token.signature[:-1]), key.public_key())


@pytest.mark.parametrize("algorithm", ["none", "HS256", "RS384", "ES256", ""])
def test_the_key_decides_on_the_algorithm(algorithm: str) -> None:
    token = parsed(Signer(RSA).sign({}))
    assert not jwt.is_signed_by(token._replace(header={"alg": algorithm}), RSA.public_key())


def test_critical_extensions_are_refused() -> None:
    token = parsed(Signer(P256).sign({}))
    assert not jwt.is_signed_by(token._replace(header={**token.header, "crit": ["x"]}), P256.public_key())


def test_claims_are_written_in_order_without_spaces() -> None:
    body = Signer(P256).sign({"z": 1, "a": {"y": 2, "b": 3}}).split(".")[1]
    assert jwt.decode(body) == b'{"a":{"b":3,"y":2},"z":1}'


@subtest_cases(
    "text", ["", "a", "a.b", "a.b.c.d", "!!.e30.e30", "e30.W10.e30", "W10.e30.e30", "e30.e30=.e30", "e30.eyI.e30"]
)
def test_other_texts_are_not_tokens(text: str) -> None:
    assert jwt.parse(text) is None


@given(st.text(max_size=40))
def test_no_text_makes_reading_fail(text: str) -> None:
    for candidate in (text, f"{text}.{text}.{text}"):
        token = jwt.parse(candidate)
        assert token is None or isinstance(token.claims, dict)


@given(st.binary())
def test_base64url_goes_both_ways(data: bytes) -> None:
    assert jwt.decode(jwt.encode(data)) == data


def test_keys_are_chosen_by_name() -> None:
    known = VerificationKeys([RSA.public_key(), P256.public_key()])
    assert known.candidates(jwt.key_id(P256.public_key())) == [P256.public_key()]
    assert known.candidates("") == [RSA.public_key(), P256.public_key()]
    assert known.candidates("other") == []
    assert known.algorithms == ["ES256", "RS256"]


def test_the_key_set_holds_what_others_need_to_verify() -> None:
    listed: dict[str, Any] = VerificationKeys([RSA.public_key(), P384.public_key()]).as_key_set()
    rsa, curve = listed["keys"]
    assert (rsa["kty"], rsa["alg"], rsa["use"], rsa["e"]) == ("RSA", "RS256", "sig", "AQAB")
    numbers = RSA.public_key().public_numbers()
    assert isinstance(numbers, RSAPublicNumbers)
    assert int.from_bytes(jwt.decode(rsa["n"])) == numbers.n
    assert (curve["kty"], curve["crv"], curve["alg"]) == ("EC", "P-384", "ES384")
    assert len(jwt.decode(curve["x"])) == len(jwt.decode(curve["y"])) == 48
    assert orjson.loads(orjson.dumps(listed)) == listed


def test_the_private_key_is_not_shown() -> None:
    assert base64.b64encode(keys.to_pem(P256))[:20].decode() not in repr(Signer(P256))
    assert repr(Signer(P256)).startswith("Signer(key_id=")


def test_an_unusual_curve_is_refused() -> None:
    with pytest.raises(ValueError, match="must be 256, 384, or 521"):
        Signer(ec.generate_private_key(ec.SECP256K1()))
