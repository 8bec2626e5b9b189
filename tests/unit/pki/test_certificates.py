from __future__ import annotations

import hashlib

import pytest

from nagaya.pki import certificates, keys
from nagaya.pki.authority import CertificateAuthority
from nagaya.world import Clock


def test_hosts_are_told_apart_and_kept_once() -> None:
    names, addresses = certificates.split_hosts(["b", "127.0.0.1", "a", "::1", "b", "127.0.0.1", "0:0:0:0:0:0:0:1"])
    assert names == ("b", "a")
    assert addresses == ("127.0.0.1", "::1")


def test_a_name_lists_organizations_before_the_common_name() -> None:
    assert certificates.subject_name("joe", ["x", "y"]).rfc4514_string() == "CN=joe,O=y,O=x"


def test_no_names_mean_no_extension() -> None:
    assert certificates.alternative_names((), ()) is None


def test_a_bundle_is_read_in_order(authority: CertificateAuthority, clock: Clock) -> None:
    other = CertificateAuthority.create("other", clock)
    bundle = certificates.to_pem(authority.certificate) + other.key_pem + certificates.to_pem(other.certificate)
    assert certificates.load(bundle) == [authority.certificate, other.certificate]


def test_no_certificate_is_an_error() -> None:
    with pytest.raises(ValueError, match="no certificate found"):
        certificates.load(b"hello")


def test_the_pin_is_the_digest_of_the_public_key(authority: CertificateAuthority) -> None:
    digest = hashlib.sha256(keys.public_to_der(authority.key.public_key())).hexdigest()
    assert certificates.public_key_pin(authority.certificate) == f"sha256:{digest}"
