from __future__ import annotations

import pytest
from cryptography import x509

from nagaya.pki import keys, pem, requests
from nagaya.pki.certificates import CertificateSpec
from nagaya.pki.keys import KeyAlgorithm


def test_a_request_says_who_asks() -> None:
    key = keys.generate()
    spec = CertificateSpec("joe", ("a", "b"), dns_names=("x.io",), ip_addresses=("::1",))
    request = requests.parse(requests.create(spec, key))
    assert request.is_signature_valid
    assert request.signature_problem == ""
    assert (request.common_name, request.organizations) == ("joe", ["a", "b"])
    assert request.public_key == key.public_key()
    assert request.names_of(x509.DNSName) == [x509.DNSName("x.io")]
    assert len(request.names_of(x509.IPAddress)) == 1
    assert request.names_of(x509.RFC822Name) == []


@pytest.mark.parametrize("text", [b"", b"hello", pem.encode("CERTIFICATE", b"x")])
def test_other_blocks_are_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match="PEM block type must be CERTIFICATE REQUEST"):
        requests.parse(text)


def test_garbage_is_refused() -> None:
    with pytest.raises(ValueError, match="malformed certificate request"):
        requests.parse(pem.encode(pem.CERTIFICATE_REQUEST, b"garbage"))


@pytest.mark.parametrize(
    ("algorithm", "problem"),
    [
        (KeyAlgorithm.ECDSA_P256, "x509: ECDSA verification failure"),
        (KeyAlgorithm.RSA_2048, "crypto/rsa: verification error"),
    ],
)
def test_a_changed_request_is_told_by_its_signature(algorithm: KeyAlgorithm, problem: str) -> None:
    text = requests.create(CertificateSpec("joe"), keys.generate(algorithm))
    data = bytearray(next(pem.blocks(text)).data)
    data[data.index(b"joe")] ^= 1
    request = requests.parse(pem.encode(pem.CERTIFICATE_REQUEST, bytes(data)))
    assert not request.is_signature_valid
    assert request.signature_problem == problem


def test_a_request_without_a_name_is_fine() -> None:
    request = requests.parse(requests.create(CertificateSpec(""), keys.generate()))
    assert (request.common_name, request.organizations, request.alternative_names) == ("", [], None)
