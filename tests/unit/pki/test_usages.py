from __future__ import annotations

from cryptography.x509.oid import ExtendedKeyUsageOID

from nagaya.pki.usages import Usage, extended_key_usage, key_usage


def test_plain_usages_become_bits() -> None:
    usage = key_usage([Usage.SIGNING, Usage.KEY_ENCIPHERMENT, Usage.CLIENT_AUTH])
    assert usage is not None
    assert usage.digital_signature
    assert usage.key_encipherment
    assert not usage.key_cert_sign


def test_extended_usages_become_a_list_without_repetition() -> None:
    usage = extended_key_usage([Usage.SMIME, Usage.EMAIL_PROTECTION, Usage.SERVER_AUTH, Usage.DIGITAL_SIGNATURE])
    assert usage is not None
    assert list(usage) == [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.EMAIL_PROTECTION]


def test_an_extension_without_content_is_left_out() -> None:
    assert key_usage([Usage.CLIENT_AUTH]) is None
    assert extended_key_usage([Usage.DIGITAL_SIGNATURE]) is None


def test_every_usage_can_be_encoded() -> None:
    for usage in Usage:
        assert key_usage([usage]) is not None or extended_key_usage([usage]) is not None


def test_encipher_only_needs_key_agreement() -> None:
    alone, together = key_usage([Usage.ENCIPHER_ONLY]), key_usage([Usage.ENCIPHER_ONLY, Usage.KEY_AGREEMENT])
    assert alone is not None
    assert not alone.key_agreement
    assert together is not None
    assert together.encipher_only
