"""What answers of webhooks mean."""

from __future__ import annotations

import pytest

from nagaya.apiserver.admission import reviews
from nagaya.apiserver.custom.conversion import WebhookFailure
from nagaya.apiserver.meta.status import JsonObject
from support.subtest_cases import subtest_cases


def _answer(version: str = "v1", **response: object) -> JsonObject:
    return {
        "apiVersion": f"admission.k8s.io/{version}",
        "kind": "AdmissionReview",
        "response": {"uid": "u", "allowed": True, **response},
    }


def test_the_first_known_review_version_is_used() -> None:
    assert reviews.review_version(["v9", "v1beta1", "v1"]) == "v1beta1"
    with pytest.raises(WebhookFailure, match="does not accept known AdmissionReview versions"):
        reviews.review_version(["v9"])


@subtest_cases(
    ("answer", "problem"),
    [
        ({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}, "webhook response was absent"),
        (_answer(uid="other"), 'expected response.uid="u", got "other"'),
        ({**_answer(), "kind": "Review"}, "got admission.k8s.io/v1, Kind=Review"),
        (_answer("v1beta1"), "unknown conversion"),
        (_answer(patch="W10="), "webhook returned response.patch but not response.patchType"),
        (_answer(patchType="JSONPatch"), "webhook returned response.patchType but not response.patch"),
        (_answer(patch="!"), "illegal base64 data"),
        (_answer(warnings="text"), "cannot unmarshal string"),
        (_answer(warnings=[5]), "cannot unmarshal number"),
        (_answer(allowed="true"), "cannot unmarshal string"),
        (_answer(allowed=False, status={"details": 5}), "cannot unmarshal number"),
        (_answer(allowed=False, status={"code": "403"}), "cannot unmarshal string"),
        (_answer(allowed=False, status={"message": []}), "cannot unmarshal array"),
        (_answer(auditAnnotations={"a": 5}), "cannot unmarshal number"),
        ({**_answer(), "kind": 5}, "cannot unmarshal number"),
        ({**_answer(), "apiVersion": "a/b/c"}, "expected webhook response of admission.k8s.io/v1"),
    ],
)
def test_an_answer_that_breaks_the_rules_is_a_failure(answer: JsonObject, problem: str) -> None:
    with pytest.raises(WebhookFailure) as caught:
        reviews.read(answer, "v1", "u", mutating=True)
    assert problem in str(caught.value)


def test_the_old_version_is_not_held_to_the_rules() -> None:
    answer = {"response": {"allowed": True, "patch": "W10="}}
    read = reviews.read(answer, "v1beta1", "u", mutating=True)
    assert (read.allowed, read.patch, read.patch_type) == (True, b"[]", "JSONPatch")


def test_a_refusal_never_looks_like_a_success() -> None:
    refused = reviews.refusal("a.b.c", {"code": 200, "status": "Success"})
    assert (refused.code, refused.message) == (400, 'admission webhook "a.b.c" denied the request without explanation')
    assert reviews.refusal("a.b.c", {"code": 2**31 - 1}).code == 400
