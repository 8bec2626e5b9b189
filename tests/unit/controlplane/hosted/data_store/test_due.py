from __future__ import annotations

from datetime import timedelta

import pytest

from nagaya.controlplane.hosted.data_store.due import AGAIN, due, renewed
from nagaya.controlplane.hosted.data_store.leaf import valid_pair
from nagaya.controlplane.hosted.data_store.tenant import Tenant
from nagaya.controlplane.hosted.data_store.tenant_store import EtcdTenantStore, KineTenantStore
from nagaya.pki import certificates
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.certificates import CertificateSpec
from nagaya.pki.key_pair import KeyPair
from support.in_process import MovingClock

TENANT = Tenant("355ba8b8-c8fd-40d6-92d6-8e90aaaf6302")
LIFE = CertificateSpec(TENANT.user).validity


def place(authority: CertificateAuthority, clock: MovingClock, pair: KeyPair | None = None) -> EtcdTenantStore:
    pair = valid_pair(pair or KeyPair(b"", b""), CertificateSpec(TENANT.user), authority, clock)
    return EtcdTenantStore(("https://127.0.0.1:2379",), TENANT.prefix, authority.certificate_pem, pair)


def test_who_comes_whenever_it_is_due_never_has_a_certificate_that_ends_soon() -> None:
    clock = MovingClock()
    authority = CertificateAuthority.create("etcd-ca", clock)
    found = first = place(authority, clock)
    replaced = 0
    while clock.passed < 2 * LIFE:
        moment = due(found, TENANT, clock.now())
        assert clock.now() < moment <= clock.now() + AGAIN
        clock.passed += moment - clock.now()
        before, found = found, place(authority, clock, found.client)
        replaced += found.client != before.client
        [end] = [each.not_valid_after_utc for each in certificates.load(found.client.certificate)]
        assert end - clock.now() > LIFE / 3 - timedelta(seconds=1)
    assert replaced == 3
    assert found.client.key == first.client.key


def test_what_has_no_certificate_is_made_sure_of_once_a_day() -> None:
    now = MovingClock().now()
    assert due(KineTenantStore("postgres://x"), TENANT, now) == now + AGAIN


def test_a_certificate_that_cannot_be_had_for_longer_is_not_asked_for_in_circles() -> None:
    clock = MovingClock()
    authority = CertificateAuthority.create("etcd-ca", clock, validity=timedelta(hours=2))
    found = place(authority, clock)
    clock.passed += timedelta(hours=1, minutes=59)
    assert due(found, TENANT, clock.now()) == clock.now() + AGAIN


@pytest.mark.parametrize("kept", [{}, {"password": b"x"}])
def test_a_first_certificate_replaces_none(kept: dict[str, bytes]) -> None:
    clock = MovingClock()
    assert renewed(kept, place(CertificateAuthority.create("etcd-ca", clock), clock)) == ""


def test_that_a_certificate_was_replaced_is_said_once() -> None:
    clock = MovingClock()
    authority = CertificateAuthority.create("etcd-ca", clock)
    old = place(authority, clock)
    clock.passed += LIFE * 3 / 4
    new = place(authority, clock, old.client)
    assert renewed(old.kept, new).startswith("The certificate for the data store is good until 2027-11-01")
    assert renewed(new.kept, new) == ""
    assert "could not be read" in renewed({"tls.crt": b"nonsense"}, new)
