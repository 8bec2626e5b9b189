from __future__ import annotations

from datetime import datetime, timedelta
from ipaddress import ip_address
from typing import Protocol

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from nagaya.pki import certificates, keys, requests
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.certificates import CertificateSpec
from nagaya.pki.keys import KeyAlgorithm
from nagaya.pki.usages import Usage


class MovableClock(Protocol):
    def now(self) -> datetime: ...

    def monotonic(self) -> float: ...

    def advance(self, **by: float) -> None: ...


def second(clock: MovableClock) -> datetime:
    return clock.now().replace(microsecond=0)


def test_an_authority_signs_itself_for_ten_years_from_five_minutes_ago(
    authority: CertificateAuthority, clock: MovableClock
) -> None:
    certificate = authority.certificate
    certificate.verify_directly_issued_by(certificate)
    assert certificate.not_valid_before_utc == second(clock) - timedelta(minutes=5)
    assert certificate.not_valid_after_utc == second(clock) + timedelta(days=3650)
    assert certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert certificate.extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign


def test_an_authority_survives_being_written_and_read(authority: CertificateAuthority) -> None:
    read = CertificateAuthority.load(authority.certificate_pem, authority.key_pem)
    assert read.certificate == authority.certificate
    assert read.key.private_numbers() == authority.key.private_numbers()


def test_the_key_is_not_shown(authority: CertificateAuthority) -> None:
    assert repr(authority) == "CertificateAuthority('CN=test-ca')"


def test_a_key_of_another_certificate_is_refused(authority: CertificateAuthority) -> None:
    with pytest.raises(ValueError, match="do not belong together"):
        CertificateAuthority.load(authority.certificate_pem, keys.to_pem(keys.generate()))


def test_a_leaf_is_not_an_authority(authority: CertificateAuthority, clock: MovableClock) -> None:
    certificate, key = authority.issue_pair(CertificateSpec("joe"), clock)
    with pytest.raises(ValueError, match="CN=joe is not a certificate authority"):
        CertificateAuthority.load(certificates.to_pem(certificate), keys.to_pem(key))


def test_a_leaf_says_what_was_asked(authority: CertificateAuthority, clock: MovableClock) -> None:
    spec = CertificateSpec(
        "kube-apiserver",
        ("a", "b"),
        (Usage.SERVER_AUTH, Usage.CLIENT_AUTH),
        ("localhost", "kubernetes"),
        ("127.0.0.1", "::1"),
    )
    certificate, key = authority.issue_pair(spec, clock)
    certificate.verify_directly_issued_by(authority.certificate)
    assert certificate.public_key() == key.public_key()
    assert certificate.subject.rfc4514_string() == "CN=kube-apiserver,O=b,O=a"
    purposes = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(purposes) == [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost", "kubernetes"]
    assert names.get_values_for_type(x509.IPAddress) == [ip_address("127.0.0.1"), ip_address("::1")]
    assert not certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    usage = certificate.extensions.get_extension_for_class(x509.KeyUsage).value
    assert usage.digital_signature
    assert not usage.key_encipherment


def test_key_encipherment_goes_with_rsa(authority: CertificateAuthority, clock: MovableClock) -> None:
    certificate, _ = authority.issue_pair(CertificateSpec("x"), clock, keys.generate(KeyAlgorithm.RSA_2048))
    assert certificate.extensions.get_extension_for_class(x509.KeyUsage).value.key_encipherment


def test_a_lifetime_counts_from_now(authority: CertificateAuthority, clock: MovableClock) -> None:
    clock.advance(days=1)
    now = second(clock)
    certificate, _ = authority.issue_pair(CertificateSpec("x", validity=timedelta(days=2)), clock)
    assert certificate.not_valid_before_utc == now - timedelta(minutes=5)
    assert certificate.not_valid_after_utc == now + timedelta(days=2)


def test_long_certificates_that_were_requested_are_moved_back_short_ones_lengthened(
    authority: CertificateAuthority, clock: MovableClock
) -> None:
    clock.advance(days=1)
    now = second(clock)
    request = requests.parse(requests.create(CertificateSpec("x"), keys.generate()))
    long = authority.sign_request(request, ["client auth"], timedelta(days=2), clock)
    short = authority.sign_request(request, ["client auth"], timedelta(hours=1), clock)
    assert long.not_valid_before_utc == short.not_valid_before_utc == now - timedelta(minutes=5)
    assert long.not_valid_after_utc == now + timedelta(days=2) - timedelta(minutes=5)
    assert short.not_valid_after_utc == now + timedelta(hours=1)


def test_nothing_outlives_its_authority(authority: CertificateAuthority, clock: MovableClock) -> None:
    clock.advance(days=3600)
    certificate, _ = authority.issue_pair(CertificateSpec("x"), clock)
    assert certificate.not_valid_after_utc == authority.certificate.not_valid_after_utc
    clock.advance(days=100)
    with pytest.raises(ValueError, match="the signer has expired: NotAfter=2036-05-01"):
        authority.issue_pair(CertificateSpec("x"), clock)


def test_nothing_starts_before_its_authority(clock: MovableClock) -> None:
    authority = CertificateAuthority.create("x", clock)
    clock.advance(minutes=-2)
    certificate, _ = authority.issue_pair(CertificateSpec("x"), clock)
    assert certificate.not_valid_before_utc == authority.certificate.not_valid_before_utc


def test_serial_numbers_differ(authority: CertificateAuthority, clock: MovableClock) -> None:
    key = keys.generate()
    made = {authority.issue(CertificateSpec("x"), key.public_key(), clock).serial_number for _ in range(5)}
    assert len(made) == 5


def test_a_request_is_signed_with_the_usages_of_its_object(
    authority: CertificateAuthority, clock: MovableClock
) -> None:
    key = keys.generate()
    spec = CertificateSpec("system:node:a", ("system:nodes",), dns_names=("a",), ip_addresses=("10.0.0.1",))
    request = requests.parse(requests.create(spec, key))
    usages = ["digital signature", "server auth"]
    certificate = authority.sign_request(request, usages, timedelta(days=365), clock)
    assert certificate.public_key() == key.public_key()
    assert certificate.subject.rfc4514_string() == "CN=system:node:a,O=system:nodes"
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["a"]
    purposes = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(purposes) == [ExtendedKeyUsageOID.SERVER_AUTH]


def test_a_request_with_an_unknown_usage_is_not_signed(authority: CertificateAuthority, clock: MovableClock) -> None:
    request = requests.parse(requests.create(CertificateSpec("x"), keys.generate()))
    with pytest.raises(ValueError, match="unrecognized usage values: flying"):
        authority.sign_request(request, ["client auth", "flying"], timedelta(days=1), clock)


def test_a_request_with_a_wrong_signature_is_not_signed(authority: CertificateAuthority, clock: MovableClock) -> None:
    good = requests.parse(requests.create(CertificateSpec("x"), keys.generate()))
    forged = requests.CertificateRequest(good.subject, keys.generate().public_key(), None, False)
    with pytest.raises(ValueError, match="unable to verify certificate request signature"):
        authority.sign_request(forged, ["client auth"], timedelta(days=1), clock)
