"""Whether a key belongs to a certificate."""

from datetime import datetime

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from nagaya.apiserver.builtins.kinds.secret_key_pair import problem
from nagaya.apiserver.meta.base64text import encode

Key = ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey
JUNK = b"-----BEGIN X-----\nAAAA\n-----END X-----\n"


def certificate(key: Key) -> bytes:
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "x")])
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, datetime(2024, 1, 1), datetime(2034, 1, 1))
    algorithm = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    return builder.sign(key, algorithm).public_bytes(Encoding.PEM)


def private(key: Key, form: PrivateFormat = PrivateFormat.PKCS8) -> bytes:
    return key.private_bytes(Encoding.PEM, form, NoEncryption())


def found(first: bytes, second: bytes) -> str:
    return problem(encode(first), encode(second))


def test_a_pair_is_fine_in_any_form() -> None:
    key, other = ec.generate_private_key(ec.SECP256R1()), ed25519.Ed25519PrivateKey.generate()
    assert found(certificate(key), private(key)) == ""
    assert found(JUNK + certificate(key), JUNK + private(key, PrivateFormat.TraditionalOpenSSL)) == ""
    assert found(certificate(other), private(other)) == ""


def test_a_key_of_another_certificate_is_noticed() -> None:
    key, other = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    assert found(certificate(key), private(other)) == "tls: private key does not match public key"
    ed = ed25519.Ed25519PrivateKey.generate()
    assert found(certificate(key), private(ed)) == "tls: private key type does not match public key type"


def test_what_is_missing_is_named() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    pair = certificate(key), private(key)
    assert found(b"", b"") == "tls: failed to find any PEM data in certificate input"
    assert found(pair[0], b"x") == "tls: failed to find any PEM data in key input"
    assert "PEM inputs may have been switched" in found(pair[1], pair[0])
    assert found(pair[0], pair[0]) == "tls: found a certificate rather than a key in the PEM for the private key"
    assert found(JUNK, b"").endswith("after skipping PEM blocks of the following types: [X]")
    assert found(pair[0], JUNK + JUNK).endswith("after skipping PEM blocks of the following types: [X X]")


def test_what_cannot_be_read_is_said() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    broken = b"-----BEGIN %s-----\nAAAA\n-----END %s-----\n"
    assert found(broken % (b"CERTIFICATE", b"CERTIFICATE"), private(key)) == "x509: malformed certificate"
    assert found(certificate(key), broken % (b"PRIVATE KEY", b"PRIVATE KEY")) == "tls: failed to parse private key"
