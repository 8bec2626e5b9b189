from __future__ import annotations

import base64
from typing import Any

import pytest

from nagaya.apiserver.authn.user import User
from nagaya.apiserver.authz import signing_requests
from nagaya.apiserver.authz.signing_requests import Part
from nagaya.pki import keys, requests
from nagaya.pki.certificates import CertificateSpec
from nagaya.pki.requests import CertificateRequest
from support.subtest_cases import subtest_cases

CLIENT = ["digital signature", "client auth"]
SERVING = ["digital signature", "server auth"]


def parsed(
    name: str = "system:node:n", groups: tuple[str, ...] = ("system:nodes",), **names: Any
) -> CertificateRequest:
    return requests.parse(requests.create(CertificateSpec(name, groups, **names), keys.generate()))


def test_an_object_carries_a_request() -> None:
    text = requests.create(CertificateSpec("joe"), keys.generate())
    obj = {"spec": {"request": base64.b64encode(text).decode()}}
    assert signing_requests.parse(obj).common_name == "joe"
    for broken in ({}, {"spec": {"request": "not base64!"}}):
        with pytest.raises(ValueError, match="PEM block type must be CERTIFICATE REQUEST"):
            signing_requests.parse(broken)


@subtest_cases(
    ("request_", "usages", "problem"),
    [
        (parsed(), CLIENT, ""),
        (parsed(), [*CLIENT, "key encipherment"], ""),
        (parsed(), SERVING, "usages did not match [client auth digital signature key encipherment]"),
        (parsed(groups=("x",)), CLIENT, "subject organization is not system:nodes"),
        (parsed(groups=("system:nodes", "x")), CLIENT, "subject organization is not system:nodes"),
        (parsed(dns_names=("a",)), CLIENT, "DNS subjectAltNames are not allowed"),
        (parsed(ip_addresses=("1.2.3.4",)), CLIENT, "IP subjectAltNames are not allowed"),
        (parsed("joe"), CLIENT, "subject common name does not begin with system:node:"),
    ],
)
def test_a_kubelets_client_request_is_recognised(request_: CertificateRequest, usages: list[str], problem: str) -> None:
    assert signing_requests.kubelet_client_problem(request_, usages) == problem


@pytest.mark.parametrize(
    ("request_", "usages", "problem"),
    [
        (parsed(dns_names=("a",)), SERVING, ""),
        (parsed(ip_addresses=("1.2.3.4",)), [*SERVING, "key encipherment"], ""),
        (parsed(), SERVING, "DNS or IP subjectAltName is required"),
        (parsed(groups=()), SERVING, "subject organization is not system:nodes"),
        (parsed("joe", dns_names=("a",)), SERVING, "subject common name does not begin with system:node:"),
        (parsed(dns_names=("a",)), CLIENT, "usages did not match [digital signature key encipherment server auth]"),
    ],
)
def test_a_kubelets_serving_request_is_recognised(
    request_: CertificateRequest, usages: list[str], problem: str
) -> None:
    assert signing_requests.kubelet_serving_problem(request_, usages) == problem


def test_the_server_writes_down_who_asks() -> None:
    obj = {
        "spec": {"request": "x", "username": "faked", "groups": ["faked"], "uid": "faked", "extra": {"a": ["b"]}},
        "status": {"certificate": "x"},
    }
    signing_requests.prepare_create(obj, User("bob", "1", ("dev",)))
    assert obj == {"spec": {"request": "x", "username": "bob", "uid": "1", "groups": ["dev"]}, "status": {}}


def condition(kind: str, **members: str) -> dict[str, str]:
    return {"type": kind, "status": "True", **members}


OLD = {
    "spec": {"signerName": "a.b/c"},
    "status": {"certificate": "old", "conditions": [condition("Approved", reason="r", lastTransitionTime="T0")]},
}


def updated(part: Part, status: dict[str, Any]) -> dict[str, Any]:
    new: dict[str, Any] = {"spec": {"signerName": "other"}, "status": status}
    signing_requests.prepare_update(new, OLD, part, "NOW")
    assert new["spec"] == OLD["spec"]
    result: dict[str, Any] = new["status"]
    return result


def test_the_main_door_changes_neither_spec_nor_status() -> None:
    assert updated(Part.MAIN, {"certificate": "new"}) == OLD["status"]


def test_the_approval_door_changes_conditions_only() -> None:
    status = updated(Part.APPROVAL, {"certificate": "new", "conditions": [condition("Denied")]})
    assert status == {
        "certificate": "old",
        "conditions": [condition("Denied", lastUpdateTime="NOW", lastTransitionTime="NOW")],
    }


def test_the_status_door_keeps_decisions_as_they_were() -> None:
    given = [condition("Failed"), condition("Approved", reason="changed")]
    status = updated(Part.STATUS, {"certificate": "new", "conditions": given})
    assert status["certificate"] == "new"
    failed, approved = status["conditions"]
    assert failed == condition("Failed", lastUpdateTime="NOW", lastTransitionTime="NOW")
    assert approved["reason"] == "r"
    assert approved["lastTransitionTime"] == "T0"


def test_a_condition_that_stays_keeps_its_date() -> None:
    (approved,) = updated(Part.APPROVAL, {"conditions": [condition("Approved", reason="again")]})["conditions"]
    assert approved == condition("Approved", reason="again", lastUpdateTime="NOW", lastTransitionTime="T0")


def test_what_was_there_before_is_not_changed() -> None:
    before = OLD["status"]["conditions"][0].copy()
    updated(Part.STATUS, {"conditions": [condition("Approved")]})
    assert OLD["status"]["conditions"] == [before]


def test_no_conditions_are_no_list() -> None:
    assert updated(Part.APPROVAL, {}) == {"certificate": "old"}
