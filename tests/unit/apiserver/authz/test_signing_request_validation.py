from __future__ import annotations

import base64
from typing import Any

import pytest

from nagaya.apiserver.authz import signing_request_validation as validation
from nagaya.apiserver.authz.signing_requests import Part
from nagaya.apiserver.meta.field_errors import Path
from nagaya.pki import keys, pem, requests
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.certificates import CertificateSpec
from nagaya.world import SystemClock
from support.subtest_cases import subtest_cases

REQUEST = requests.create(CertificateSpec("joe"), keys.generate())
AUTHORITY = CertificateAuthority.create("x", SystemClock())


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def obj(status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    whole = {
        "request": encoded(REQUEST),
        "usages": ["client auth"],
        "signerName": "kubernetes.io/kube-apiserver-client",
        **spec,
    }
    return {"metadata": {"name": "r"}, "spec": whole, "status": status or {}}


def created(**spec: Any) -> list[str]:
    return [str(error) for error in validation.validate_create(obj(**spec))]


def test_a_good_request_is_good() -> None:
    assert created() == []
    assert created(expirationSeconds=600) == []


def test_the_request_has_to_be_one() -> None:
    text = encoded(b"hello")
    assert created(request=text) == [
        f'spec.request: Invalid value: "{text}": PEM block type must be CERTIFICATE REQUEST'
    ]


def test_the_request_has_to_be_signed_by_its_key() -> None:
    data = bytearray(next(pem.blocks(REQUEST)).data)
    data[data.index(b"joe")] ^= 1
    (error,) = created(request=encoded(pem.encode(pem.CERTIFICATE_REQUEST, bytes(data))))
    assert error.endswith(": x509: ECDSA verification failure")


def test_usages_are_known_and_named_once() -> None:
    assert created(usages=[]) == ["spec.usages: Required value"]
    first, second = created(usages=["foo", "client auth", "client auth"])
    assert first.startswith('spec.usages[0]: Unsupported value: "foo": supported values: "any", "cert sign", ')
    assert second == 'spec.usages[2]: Duplicate value: "client auth"'


def test_lifetimes_have_a_minimum() -> None:
    assert created(expirationSeconds=599) == [
        "spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)"
    ]


LABEL = "a lowercase RFC 1123 label must consist of"
SUBDOMAIN = "a lowercase RFC 1123 subdomain must consist of"


@pytest.mark.parametrize(
    ("signer", "problems"),
    [
        ("", ["Required value"]),
        (
            "foo",
            ["Invalid value: \"foo\": must be a fully qualified domain and path of the form 'example.com/signer-name'"],
        ),
        ("foo/bar", ['Invalid value: "foo": should be a domain with at least two segments separated by dots']),
        ("A.b/c", [f'Invalid value: "A.b": validating label "A": {LABEL}']),
        ("a.b/C", [f'Invalid value: "C": validating label "C": {SUBDOMAIN}']),
        ("a.b/c.d", []),
        (
            "kubernetes.io/legacy-unknown",
            ['Invalid value: "kubernetes.io/legacy-unknown": the legacy signerName is not allowed'],
        ),
    ],
)
def test_signers_have_names_in_a_domain(signer: str, problems: list[str]) -> None:
    errors = created(signerName=signer)
    assert len(errors) == len(problems)
    for error, problem in zip(errors, problems, strict=True):
        assert error.startswith(f"spec.signerName: {problem}")


def test_a_signers_name_is_not_endless() -> None:
    domain = ".".join(["a" * 60] * 5)
    errors = [str(error) for error in validation.signer_name_errors(Path("x"), f"{domain}/{domain}")]
    assert errors[0] == "x: Too long: may not be more than 253 bytes"
    long = f"a.io/{'.'.join(['b' * 60] * 10)}"
    assert [str(error) for error in validation.signer_name_errors(Path("x"), long)] == [
        "x: Too long: may not be more than 571 bytes"
    ]


def condition(kind: str, status: str = "True") -> dict[str, str]:
    return {"type": kind, "status": status}


def changed(new: dict[str, Any], old: dict[str, Any], part: Part) -> list[str]:
    return [str(error) for error in validation.validate_update(obj(new), obj(old), part)]


@subtest_cases(
    ("conditions", "problems"),
    [
        ([condition("Approved")], []),
        ([condition("Foo", "Unknown")], []),
        (
            [condition("Approved"), condition("Denied")],
            [
                'status.conditions: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive',
            ],
        ),
        (
            [condition("Approved", "False")],
            ['status.conditions[0].status: Unsupported value: "False": supported values: "True"'],
        ),
        (
            [condition("Foo", "Maybe")],
            ['status.conditions[0].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"'],
        ),
        ([condition("Foo", "")], ["status.conditions[0].status: Required value"]),
        ([condition("")], ["status.conditions[0].type: Required value"]),
        (
            [condition("Foo"), condition("Foo")],
            ['status.conditions[1].type: Duplicate value: "Foo"'],
        ),
    ],
)
def test_conditions_are_checked(conditions: list[dict[str, str]], problems: list[str]) -> None:
    assert changed({"conditions": conditions}, {}, Part.APPROVAL) == problems


def test_what_was_wrong_before_may_stay() -> None:
    both = {"conditions": [condition("Approved"), condition("Denied"), condition("Approved")]}
    assert changed(both, both, Part.APPROVAL) == []
    odd = obj(usages=["foo", "foo"], signerName="kubernetes.io/legacy-unknown")
    assert validation.validate_update(odd, odd, Part.MAIN) == []
    garbage = {"certificate": encoded(b"garbage")}
    assert changed(garbage, garbage, Part.STATUS) == []


def test_decisions_are_final() -> None:
    approved = {"conditions": [condition("Approved")]}
    assert changed({}, approved, Part.APPROVAL) == [
        'status.conditions: Forbidden: updates may not remove a condition of type "Approved"'
    ]
    assert changed(approved, {}, Part.STATUS) == [
        'status.conditions: Forbidden: updates may not add a condition of type "Approved"'
    ]
    reasoned = {"conditions": [{**condition("Approved"), "reason": "x"}]}
    assert changed(reasoned, approved, Part.STATUS) == [
        'status.conditions: Forbidden: updates may not modify a condition of type "Approved"'
    ]
    assert changed(reasoned, approved, Part.APPROVAL) == []
    assert changed({"conditions": [condition("Failed")]}, {}, Part.STATUS) == []


def test_a_certificate_is_set_once_and_through_its_door() -> None:
    issued = {"certificate": encoded(AUTHORITY.certificate_pem)}
    assert changed(issued, {}, Part.STATUS) == []
    assert changed(issued, {}, Part.APPROVAL) == [
        "status.certificate: Forbidden: updates may not set certificate content"
    ]
    other = {"certificate": encoded(CertificateAuthority.create("y", SystemClock()).certificate_pem)}
    assert changed(other, issued, Part.STATUS) == [
        "status.certificate: Forbidden: updates may not modify existing certificate content"
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"", ""),
        (AUTHORITY.certificate_pem, ""),
        (b"text\n" + AUTHORITY.certificate_pem * 2, ""),
        (b"zz", "must contain at least one CERTIFICATE PEM block"),
        (AUTHORITY.key_pem, 'only CERTIFICATE PEM blocks are allowed, found "EC PRIVATE KEY"'),
        (
            AUTHORITY.certificate_pem.replace(b"CERTIFICATE-----\n", b"CERTIFICATE-----\nA: b\n\n", 1),
            "no PEM block headers are permitted",
        ),
        (pem.encode(pem.CERTIFICATE, b"xx"), "x509: malformed certificate"),
    ],
)
def test_an_issued_certificate_is_one(text: bytes, problem: str) -> None:
    assert validation.certificate_problem(text) == problem
