from __future__ import annotations

from nagaya.pki import keys
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.key_pair import KeyPair


def test_a_pair_does_not_show_its_key(authority: CertificateAuthority) -> None:
    pair = KeyPair.of(authority.certificate, authority.key)
    assert pair == KeyPair(authority.certificate_pem, authority.key_pem)
    assert "PRIVATE" not in repr(pair)
    assert "BEGIN CERTIFICATE" in repr(pair)


def test_service_accounts_have_both_halves_of_a_key() -> None:
    key = keys.generate()
    pair = KeyPair.of_service_accounts(key)
    assert pair.certificate.startswith(b"-----BEGIN PUBLIC KEY-----\n")
    assert keys.load_public(pair.certificate) == [keys.load(pair.key).public_key()]
