from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.pki import keys
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.certificates import CertificateSpec
from nagaya.pki.renewal import Cause, renewal, renewal_time
from nagaya.pki.usages import Usage


class Moment:
    """A clock that stands."""

    def __init__(self, date: datetime) -> None:
        self.date = date

    def now(self) -> datetime:
        return self.date

    def monotonic(self) -> float:
        return self.date.timestamp()


NOW = datetime(2026, 11, 1, 12, 0, 0, 5, tzinfo=UTC)
AUTHORITY = CertificateAuthority.create("kubernetes", Moment(NOW))
OTHER = CertificateAuthority.create("kubernetes", Moment(NOW))
KEY = keys.generate()
SPEC = CertificateSpec(
    "kube-apiserver", ("a", "b"), (Usage.SERVER_AUTH,), ("api.example", "kubernetes"), ("10.96.0.1", "fd00::1")
)
MADE = AUTHORITY.issue(SPEC, KEY.public_key(), Moment(NOW))


def due(
    spec: CertificateSpec = SPEC,
    *,
    authorities: tuple[CertificateAuthority, ...] = (AUTHORITY,),
    key: keys.PrivateKey | None = KEY,
    after: timedelta = timedelta(),
    share: float = 1 / 2,
) -> tuple[Cause, str] | None:
    trusted = [each.certificate for each in authorities]
    found = renewal(MADE, None if key is None else key.public_key(), spec, trusted, NOW + after, share)
    return None if found is None else (found.cause, found.sentence)


def test_what_is_as_it_shall_be_stays() -> None:
    assert due() is None
    assert due(key=None) is None
    assert due(replace(SPEC, ip_addresses=("fd00:0::1", "10.96.0.1"), dns_names=SPEC.dns_names[::-1])) is None


def test_half_of_a_life_is_enough_to_be_renewed_in_the_other_half() -> None:
    assert due(after=timedelta(days=182)) is None
    assert due(after=timedelta(days=183)) == (
        Cause.EXPIRY,
        "The certificate CN=kube-apiserver,O=b,O=a expires on 2027-11-01 at 12:00 UTC.",
    )
    assert due(after=timedelta(days=400)) == (
        Cause.EXPIRY,
        "The certificate CN=kube-apiserver,O=b,O=a expired on 2027-11-01 at 12:00 UTC.",
    )


@pytest.mark.parametrize(
    ("spec", "cause", "words"),
    [
        (replace(SPEC, common_name="x"), Cause.SUBJECT, "and shall be for CN=x,O=b,O=a"),
        (replace(SPEC, organizations=()), Cause.SUBJECT, "and shall be for CN=kube-apiserver."),
        (replace(SPEC, usages=(Usage.SERVER_AUTH, Usage.CLIENT_AUTH)), Cause.USAGES, "may not be used for all"),
        (replace(SPEC, dns_names=(*SPEC.dns_names, "new", "b.new")), Cause.NAMES, "is not valid for b.new, new."),
        (replace(SPEC, ip_addresses=("10.96.0.1",)), Cause.NAMES, "is valid for fd00::1, which it shall not be."),
    ],
)
def test_what_shall_say_something_else_is_renewed(spec: CertificateSpec, cause: Cause, words: str) -> None:
    found = due(spec)
    assert found is not None
    assert found[0] is cause
    assert words in found[1]


def test_another_authority_of_the_same_name_is_another_authority() -> None:
    found = due(authorities=(OTHER,))
    assert found is not None
    assert found[0] is Cause.AUTHORITY
    assert due(authorities=()) == (
        Cause.AUTHORITY,
        "The certificate CN=kube-apiserver,O=b,O=a is not from a trusted authority (none).",
    )


def test_while_two_authorities_are_trusted_certificates_of_both_are_good() -> None:
    assert due(authorities=(OTHER, AUTHORITY)) is None


def test_a_certificate_without_its_key_is_renewed() -> None:
    found = due(key=keys.generate())
    assert found is not None
    assert found[0] is Cause.KEY


def test_a_certificate_as_old_as_its_authority_has_the_life_that_is_asked_for() -> None:
    old = CertificateAuthority.create("kubernetes", Moment(NOW - timedelta(days=1000)))
    lifelong = old.issue(SPEC, KEY.public_key(), Moment(NOW - timedelta(days=1000)))
    spec = replace(SPEC, validity=timedelta(days=10))
    assert lifelong.not_valid_after_utc - lifelong.not_valid_before_utc > timedelta(days=365)
    moment = renewal_time(lifelong, old.certificate, spec, 1 / 2)
    assert moment == lifelong.not_valid_after_utc - timedelta(days=5)


def test_nothing_is_renewed_that_lasts_as_long_as_its_authority_already() -> None:
    late = Moment(NOW + timedelta(days=3600))
    last = AUTHORITY.issue(SPEC, KEY.public_key(), late)
    assert last.not_valid_after_utc == AUTHORITY.certificate.not_valid_after_utc
    assert renewal_time(last, AUTHORITY.certificate, SPEC) is None
    assert renewal(last, None, SPEC, [AUTHORITY.certificate], late.now() + timedelta(days=49)) is None


@given(
    st.floats(0, 3649),
    st.floats(1 / 24 / 3600, 4000),
    st.floats(0.01, 0.99),
    st.floats(0, 3649),
)
def test_a_renewed_certificate_needs_no_renewal_and_lasts_longer(
    made: float, validity: float, share: float, later: float
) -> None:
    spec = replace(SPEC, validity=timedelta(days=validity))
    first = Moment(NOW + timedelta(days=made))
    certificate = AUTHORITY.issue(spec, KEY.public_key(), first)
    trusted = [AUTHORITY.certificate]
    assert renewal(certificate, KEY.public_key(), spec, trusted, first.now(), share) is None
    second = Moment(NOW + timedelta(days=max(made, later)))
    if renewal(certificate, KEY.public_key(), spec, trusted, second.now(), share) is not None:
        renewed = AUTHORITY.issue(spec, KEY.public_key(), second)
        assert renewed.not_valid_after_utc > certificate.not_valid_after_utc
        assert renewal(renewed, KEY.public_key(), spec, trusted, second.now(), share) is None


def test_a_certificate_that_a_clock_ahead_issued_is_replaced_when_the_clock_is_right_again() -> None:
    ahead = NOW + timedelta(days=370)
    early = AUTHORITY.issue(SPEC, KEY.public_key(), Moment(ahead))
    found = renewal(early, KEY.public_key(), SPEC, [AUTHORITY.certificate], NOW)
    assert found is not None
    assert found.cause is Cause.CLOCK
    assert "is not valid before 2027-11-06" in found.sentence
    again = AUTHORITY.issue(SPEC, KEY.public_key(), Moment(NOW))
    assert renewal(again, KEY.public_key(), SPEC, [AUTHORITY.certificate], NOW) is None


def test_nothing_is_renewed_by_a_clock_that_is_behind_its_authority() -> None:
    for behind in (NOW - timedelta(days=3650), datetime(1970, 1, 1, tzinfo=UTC)):
        assert renewal(MADE, KEY.public_key(), SPEC, [AUTHORITY.certificate], behind) is None
        issued = AUTHORITY.issue(SPEC, KEY.public_key(), Moment(behind))
        assert issued.not_valid_before_utc == AUTHORITY.certificate.not_valid_before_utc
        assert renewal(issued, KEY.public_key(), SPEC, [AUTHORITY.certificate], behind) is None


def test_one_that_is_as_old_as_its_authority_is_good_whenever_it_is_issued() -> None:
    spec = replace(SPEC, since_authority=True)
    for jump in (-400, 0, 370, 2000):
        issued = AUTHORITY.issue(spec, KEY.public_key(), Moment(NOW + timedelta(days=jump)))
        assert issued.not_valid_before_utc == AUTHORITY.certificate.not_valid_before_utc
        if jump > 0:
            assert renewal(issued, KEY.public_key(), spec, [AUTHORITY.certificate], NOW) is None
