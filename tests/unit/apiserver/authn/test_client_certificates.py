from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID, ObjectIdentifier

from nagaya.apiserver.authn.client_certificates import ClientCertificates
from nagaya.apiserver.authn.facts import Refused, RequestFacts
from nagaya.pki import keys
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.certificates import CertificateSpec
from nagaya.pki.usages import Usage

UID = ObjectIdentifier("1.3.6.1.4.1.57683.2")


def der(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(Encoding.DER)


def issued(clock: Any, spec: CertificateSpec) -> tuple[CertificateAuthority, bytes]:
    authority = CertificateAuthority.create("ca", clock)
    return authority, der(authority.issue_pair(spec, clock)[0])


def with_uids(clock: Any, *uids: str) -> bytes:
    key = keys.generate()
    attributes = [x509.NameAttribute(NameOID.COMMON_NAME, "joe")]
    attributes += [x509.NameAttribute(UID, uid, _validate=False) for uid in uids]
    name = x509.Name(attributes)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1)
    builder = builder.not_valid_before(clock.now()).not_valid_after(clock.now() + timedelta(days=1))
    return der(builder.sign(key, hashes.SHA256()))


async def test_the_subject_is_the_user(clock: Any) -> None:
    _, certificate = issued(clock, CertificateSpec("joe", ("dev", "ops")))
    identity = await ClientCertificates(clock).authenticate(RequestFacts(peer_certificate=certificate))
    assert identity is not None
    user = identity.user
    assert (user.name, user.uid, user.groups) == ("joe", "", ("dev", "ops"))
    fingerprint = hashlib.sha256(certificate).hexdigest()
    assert user.extra == {"authentication.kubernetes.io/credential-id": (f"X509SHA256={fingerprint}",)}


async def test_without_a_certificate_or_a_name_there_is_no_user(clock: Any) -> None:
    reader = ClientCertificates(clock)
    assert await reader.authenticate(RequestFacts()) is None
    _, nameless = issued(clock, CertificateSpec("", ("dev",)))
    assert await reader.authenticate(RequestFacts(peer_certificate=nameless)) is None


async def test_a_certificate_that_expires_during_a_connection_ends_it(clock: Any) -> None:
    _, certificate = issued(clock, CertificateSpec("joe", validity=timedelta(hours=1)))
    reader = ClientCertificates(clock)
    facts = RequestFacts(peer_certificate=certificate)
    assert await reader.authenticate(facts) is not None
    clock.advance(hours=1, seconds=1)
    with pytest.raises(Refused, match="Unauthorized") as refusal:
        await reader.authenticate(facts)
    assert "has expired" in refusal.value.why


async def test_only_named_authorities_are_trusted(clock: Any) -> None:
    authority, certificate = issued(clock, CertificateSpec("joe"))
    facts = RequestFacts(peer_certificate=certificate)
    assert await ClientCertificates(clock, [authority.certificate]).authenticate(facts) is not None
    stranger = CertificateAuthority.create("ca", clock)
    with pytest.raises(Refused) as refusal:
        await ClientCertificates(clock, [stranger.certificate]).authenticate(facts)
    assert refusal.value.why == "x509: certificate signed by unknown authority"


async def test_a_serving_certificate_is_not_a_clients(clock: Any) -> None:
    authority, certificate = issued(clock, CertificateSpec("joe", usages=(Usage.SERVER_AUTH,)))
    with pytest.raises(Refused) as refusal:
        await ClientCertificates(clock, [authority.certificate]).authenticate(
            RequestFacts(peer_certificate=certificate)
        )
    assert refusal.value.why == "x509: certificate specifies an incompatible key usage"


async def test_garbage_is_refused(clock: Any) -> None:
    with pytest.raises(Refused):
        await ClientCertificates(clock).authenticate(RequestFacts(peer_certificate=b"garbage"))


async def test_the_subject_may_hold_a_uid(clock: Any) -> None:
    reader = ClientCertificates(clock)
    identity = await reader.authenticate(RequestFacts(peer_certificate=with_uids(clock, "u-1")))
    assert identity is not None
    assert identity.user.uid == "u-1"
    with pytest.raises(Refused) as refusal:
        await reader.authenticate(RequestFacts(peer_certificate=with_uids(clock, "a", "b")))
    assert refusal.value.why == "expected 1 UID, but found multiple: [a b]"


async def test_a_bounded_number_of_certificates_is_remembered(clock: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nagaya.apiserver.authn.client_certificates._REMEMBERED", 2)
    reader = ClientCertificates(clock)
    for name in ("a", "b", "c", "a"):
        _, certificate = issued(clock, CertificateSpec(name))
        identity = await reader.authenticate(RequestFacts(peer_certificate=certificate))
        assert identity is not None
        assert identity.user.name == name
    assert len(reader._known) == 2
