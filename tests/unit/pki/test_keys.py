from __future__ import annotations

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from nagaya.pki import certificates, keys, pem
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.keys import KeyAlgorithm


def test_the_default_is_an_elliptic_curve() -> None:
    key = keys.generate()
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    assert key.curve.name == "secp256r1"


def test_every_curve_and_size_can_be_had() -> None:
    stronger = keys.generate(KeyAlgorithm.ECDSA_P384)
    assert isinstance(stronger, ec.EllipticCurvePrivateKey)
    assert stronger.curve.name == "secp384r1"
    classic = keys.generate(KeyAlgorithm.RSA_2048)
    assert isinstance(classic, rsa.RSAPrivateKey)
    assert classic.key_size == 2048


@pytest.mark.parametrize(
    ("algorithm", "label"),
    [(KeyAlgorithm.ECDSA_P256, b"EC PRIVATE KEY"), (KeyAlgorithm.RSA_2048, b"RSA PRIVATE KEY")],
)
def test_keys_are_written_as_kubeadm_writes_them_and_read_back(algorithm: KeyAlgorithm, label: bytes) -> None:
    key = keys.generate(algorithm)
    text = keys.to_pem(key)
    assert text.startswith(b"-----BEGIN " + label)
    assert keys.load(text).private_numbers() == key.private_numbers()


def test_the_modern_form_is_read_too() -> None:
    key = keys.generate()
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    assert keys.load(text).private_numbers() == key.private_numbers()


def test_public_keys_come_from_keys_and_certificates(authority: CertificateAuthority) -> None:
    first, second = keys.generate(), keys.generate(KeyAlgorithm.ECDSA_P384)
    text = keys.public_to_pem(first.public_key()) + keys.to_pem(second) + certificates.to_pem(authority.certificate)
    assert keys.load_public(text) == [first.public_key(), second.public_key(), authority.key.public_key()]


@pytest.mark.parametrize("text", [b"", b"hello", b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"])
def test_no_private_key_is_an_error(text: bytes) -> None:
    with pytest.raises(ValueError, match="no private key found"):
        keys.load(text)


def test_an_error_does_not_quote_the_key() -> None:
    broken = b"-----BEGIN EC PRIVATE KEY-----\nc2VjcmV0c2VjcmV0\n-----END EC PRIVATE KEY-----\n"
    with pytest.raises(ValueError, match="readable, unencrypted private key") as failure:
        keys.load(broken)
    assert "c2VjcmV0" not in str(failure.value)
    assert failure.value.__cause__ is None


def test_encrypted_and_foreign_keys_are_refused() -> None:
    locked = keys.generate().private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"password"),
    )
    with pytest.raises(ValueError, match="unencrypted"):
        keys.load(locked)
    foreign = ed25519.Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    with pytest.raises(ValueError, match="neither ECDSA nor RSA"):
        keys.load(foreign)


@pytest.mark.parametrize("text", [b"", b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"])
def test_no_public_key_is_an_error(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"public key found|readable ECDSA or RSA key"):
        keys.load_public(text)


CLASSIC = keys.generate(KeyAlgorithm.RSA_2048)


@pytest.mark.parametrize("number", ["p", "q", "d", "dmp1", "dmq1", "iqmp"])
def test_an_rsa_key_whose_numbers_do_not_belong_together_is_refused(number: str) -> None:
    assert isinstance(CLASSIC, rsa.RSAPrivateKey)
    whole = CLASSIC.private_numbers()
    parts = {each: getattr(whole, each) for each in ("p", "q", "d", "dmp1", "dmq1", "iqmp")}
    public = whole.public_numbers
    sequence = [0, public.n, public.e, *({**parts, number: parts[number] + 2}[each] for each in _ORDER)]
    text = pem.encode("RSA PRIVATE KEY", _sequence(sequence))
    with pytest.raises(ValueError, match="does not hold a readable, unencrypted private key"):
        keys.load(text)
    right = pem.encode("RSA PRIVATE KEY", _sequence([0, public.n, public.e, *(parts[each] for each in _ORDER)]))
    assert keys.load(right).private_numbers() == whole


_ORDER = ("d", "p", "q", "dmp1", "dmq1", "iqmp")


def _sequence(numbers: list[int]) -> bytes:
    """Numbers as PKCS#1 has them."""
    return _tagged(0x30, b"".join(_tagged(0x02, each.to_bytes(each.bit_length() // 8 + 1, "big")) for each in numbers))


def _tagged(tag: int, content: bytes) -> bytes:
    size = len(content)
    if size < 128:
        return bytes([tag, size]) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + content
