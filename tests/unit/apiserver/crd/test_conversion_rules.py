from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from nagaya.apiserver.crd import conversion_rules
from nagaya.apiserver.meta.field_errors import Path


def problems(client: dict[str, Any], **more: Any) -> list[str]:
    conversion = {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": client}}
    return [str(error) for error in conversion_rules.check(conversion, Path("c"), **more)]


def test_a_webhook_is_reached_by_url_or_by_service() -> None:
    assert problems({"url": "https://host/path"}) == []
    assert problems({"service": {"name": "a", "namespace": "b", "path": "/convert", "port": 8443}}) == []
    assert problems({}) == ["c.webhookClientConfig: Required value: exactly one of url or service is required"]


def test_a_review_version_that_nobody_speaks_may_stay_but_not_come() -> None:
    webhook = {"conversionReviewVersions": ["v9"], "clientConfig": {"url": "https://host"}}
    conversion = {"strategy": "Webhook", "webhook": webhook}
    assert list(conversion_rules.check(conversion, Path("c"), known_review_version=False)) == []
    assert [str(error) for error in conversion_rules.check(conversion, Path("c"))] == [
        'c.conversionReviewVersions: Invalid value: ["v9"]: must include at least one of v1, v1beta1'
    ]
    assert not conversion_rules.has_known_review_version(conversion)
    assert conversion_rules.has_known_review_version(None)


def _certificate() -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ca")])
    start = datetime(2026, 1, 1, tzinfo=UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, start, start.replace(year=2027))
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def test_a_ca_bundle_must_hold_a_certificate() -> None:
    good = base64.b64encode(b"# our CA\n" + _certificate()).decode()
    assert conversion_rules.ca_problem(good) == ""
    junk = b"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
    assert conversion_rules.ca_problem(base64.b64encode(junk).decode()) == (
        "unable to load root certificates: failed to parse certificate: x509: malformed certificate"
    )
    assert conversion_rules.ca_problem("Zm9v") == (
        "unable to load root certificates: unable to parse bytes as PEM block"
    )
    client = {"url": "https://host", "caBundle": "Zm9v"}
    assert problems(client) == []
    assert len(problems(client, readable_ca=True)) == 1
