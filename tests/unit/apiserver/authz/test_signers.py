from __future__ import annotations

import base64
from typing import Any

import pytest

from nagaya.apiserver.authn.user import User
from nagaya.apiserver.authz import signers
from nagaya.apiserver.authz.attributes import Attributes
from nagaya.apiserver.authz.authorizer import ALLOWED, NO_OPINION, Decision
from nagaya.pki import keys, requests
from nagaya.pki.certificates import CertificateSpec

BOB = User("bob")


class Granting:
    """Allows what is on a list of `verb resource[/part] name`."""

    def __init__(self, *granted: str) -> None:
        self.granted = granted

    def authorize(self, attributes: Attributes) -> Decision:
        assert attributes.group == "certificates.k8s.io"
        part = f"/{attributes.subresource}" if attributes.subresource else ""
        text = f"{attributes.verb} {attributes.resource}{part} {attributes.name}".strip()
        return ALLOWED if text in self.granted else NO_OPINION


def request(spec: CertificateSpec, signer: str, **more: Any) -> dict[str, Any]:
    text = base64.b64encode(requests.create(spec, keys.generate())).decode()
    return {"metadata": {"name": "r"}, "spec": {"request": text, "signerName": signer, **more}}


@pytest.mark.parametrize("granted", ["approve signers example.com/one", "approve signers example.com/*"])
def test_a_right_is_on_a_signer_or_its_domain(granted: str) -> None:
    authorizer = Granting(granted)
    assert signers.may(authorizer, BOB, "approve", "example.com/one")
    assert not signers.may(authorizer, BOB, "sign", "example.com/one")
    assert not signers.may(authorizer, BOB, "approve", "example.org/one")


def test_approving_needs_the_right() -> None:
    old = {"spec": {"signerName": "example.com/one"}}
    assert signers.approval_problem(Granting("approve signers example.com/one"), BOB, old) == ""
    assert signers.approval_problem(Granting(), BOB, old) == (
        'user not permitted to approve requests with signerName "example.com/one"'
    )


def test_signing_needs_the_right_only_for_what_counts() -> None:
    old = {"spec": {"signerName": "example.com/one"}, "status": {"conditions": []}}
    same = {"spec": {"signerName": "example.com/one"}, "metadata": {"labels": {"a": "b"}}, "status": {}}
    assert signers.signing_problem(Granting(), BOB, same, old) == ""
    for status in ({"certificate": "eA=="}, {"conditions": [{"type": "Failed"}]}):
        new = {**old, "status": status}
        assert signers.signing_problem(Granting("sign signers example.com/*"), BOB, new, old) == ""
        assert signers.signing_problem(Granting(), BOB, new, old) == (
            'user not permitted to sign requests with signerName "example.com/one"'
        )


def test_nobody_asks_to_be_a_master() -> None:
    spec = CertificateSpec("x", ("dev", "system:masters"))
    assert signers.subject_problem(request(spec, signers.API_CLIENT)) == (
        "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed"
    )
    assert signers.subject_problem(request(spec, signers.KUBELET_SERVING)) == ""
    assert signers.subject_problem(request(CertificateSpec("x", ("dev",)), signers.API_CLIENT)) == ""
    assert signers.subject_problem({"spec": {"signerName": signers.API_CLIENT}}) == (
        "failed to parse CSR: PEM block type must be CERTIFICATE REQUEST"
    )


KUBELET = CertificateSpec("system:node:n1", ("system:nodes",))
USAGES = ["digital signature", "client auth"]


def test_a_joining_kubelet_is_approved_if_it_may() -> None:
    asked = request(KUBELET, signers.KUBELET_CLIENT, usages=USAGES, username="system:bootstrap:abc")
    may = Granting("create certificatesigningrequests/nodeclient")
    assert signers.automatic_approval(asked, may) == (
        "Auto approving kubelet client certificate after SubjectAccessReview."
    )
    assert signers.automatic_approval(asked, Granting()) == ""
    assert signers.automatic_approval(asked, Granting("create certificatesigningrequests/selfnodeclient")) == ""


def test_a_kubelet_renews_its_own_certificate() -> None:
    asked = request(KUBELET, signers.KUBELET_CLIENT, usages=USAGES, username="system:node:n1")
    may = Granting("create certificatesigningrequests/selfnodeclient")
    assert signers.automatic_approval(asked, may) == (
        "Auto approving self kubelet client certificate after SubjectAccessReview."
    )


@pytest.mark.parametrize(
    "asked",
    [
        request(KUBELET, signers.API_CLIENT, usages=USAGES),
        request(KUBELET, signers.KUBELET_CLIENT, usages=["server auth"]),
        request(CertificateSpec("joe", ("system:nodes",)), signers.KUBELET_CLIENT, usages=USAGES),
        {"spec": {"signerName": signers.KUBELET_CLIENT}},
    ],
)
def test_other_requests_need_a_person(asked: dict[str, Any]) -> None:
    assert signers.automatic_approval(asked, Granting("create certificatesigningrequests/nodeclient")) == ""
