from __future__ import annotations

from typing import Any

import pytest

from nagaya.apiserver.authn.user import User
from nagaya.apiserver.authz import access_reviews
from nagaya.apiserver.authz.attributes import Attributes
from nagaya.apiserver.authz.authorizer import NO_OPINION, Decision, Rules, Verdict
from nagaya.apiserver.meta.status import ApiError

PODS = {"verb": "list", "resource": "pods", "namespace": "default"}
PATH = {"path": "/x", "verb": "get"}


class Recorder:
    """Answers everything the same and remembers what was asked."""

    def __init__(self, decision: Decision = NO_OPINION) -> None:
        self.decision = decision

    def authorize(self, attributes: Attributes) -> Decision:
        self.asked = attributes
        return self.decision


def review(spec: dict[str, Any] | None, metadata: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"metadata": metadata or {}, **({} if spec is None else {"spec": spec})}


def ask(body: dict[str, Any], kind: str) -> dict[str, Any]:
    if kind == "Local":
        return access_reviews.review_local_access(body, "default", Recorder())
    if kind == "Self":
        return access_reviews.review_own_access(body, User("bob"), Recorder())
    return access_reviews.review_access(body, Recorder())


def errors(body: dict[str, Any], kind: str = "") -> list[str]:
    with pytest.raises(ApiError) as refusal:
        ask(body, kind)
    error = refusal.value
    assert error.message.startswith('.authorization.k8s.io "" is invalid: ')
    assert error.status["details"]["group"] == "authorization.k8s.io"
    return [f"{cause['field']}: {cause['message']}" for cause in error.status["details"]["causes"]]


def test_the_subject_of_the_review_is_asked_about() -> None:
    judge = Recorder(Decision(Verdict.ALLOW, "because"))
    spec = {"user": "x", "uid": "u", "groups": ["g"], "extra": {"k": ["v"]}, "resourceAttributes": PODS}
    answer = access_reviews.review_access(review(spec), judge)
    assert judge.asked.user == User("x", "u", ("g",), {"k": ("v",)})
    assert (judge.asked.verb, judge.asked.resource, judge.asked.namespace) == ("list", "pods", "default")
    assert judge.asked.version == "*"
    assert answer == {
        "kind": "SubjectAccessReview",
        "apiVersion": "authorization.k8s.io/v1",
        "metadata": {},
        "spec": spec,
        "status": {"allowed": True, "reason": "because"},
    }


def test_no_opinion_and_denial_differ() -> None:
    spec = {"user": "x", "nonResourceAttributes": PATH}
    judge = Recorder()
    assert access_reviews.review_access(review(spec), judge)["status"] == {"allowed": False}
    assert (judge.asked.is_resource, judge.asked.path, judge.asked.verb) == (False, "/x", "get")
    denied = access_reviews.review_access(review(spec), Recorder(Decision(Verdict.DENY, "no")))
    assert denied["status"] == {"allowed": False, "denied": True, "reason": "no"}


def test_one_can_ask_about_oneself() -> None:
    judge = Recorder()
    answer = access_reviews.review_own_access(review({"resourceAttributes": {}}), User("bob"), judge)
    assert judge.asked.user.name == "bob"
    assert answer["kind"] == "SelfSubjectAccessReview"


def test_exactly_one_question_is_asked() -> None:
    both = "spec.nonResourceAttributes: Invalid value: " + '{"Path":"/x","Verb":"get"}: '
    both += "cannot be specified in combination with resourceAttributes"
    none = "spec.resourceAttributes: Invalid value: null: "
    none += "exactly one of nonResourceAttributes or resourceAttributes must be specified"
    who = "spec.user: Invalid value: " + '"": at least one of user or group must be specified'
    assert errors(review({"user": "x", "resourceAttributes": PODS, "nonResourceAttributes": PATH})) == [both]
    assert errors(review({"resourceAttributes": PODS, "nonResourceAttributes": PATH}), "Self") == [both]
    assert errors(review({"user": "x"})) == [none]
    assert errors(review(None)) == [none, who]
    assert errors(review({}), "Self") == [none]
    assert errors(review({"resourceAttributes": PODS})) == [who]


def test_metadata_has_to_be_empty() -> None:
    spec = {"user": "x", "resourceAttributes": PODS}
    assert errors(review(spec, {"name": "foo"})) == ['metadata: Invalid value: {"name":"foo"}: must be empty']
    fine = review(spec, {"labels": {}, "managedFields": [{}]})
    assert access_reviews.review_access(fine, Recorder())["status"] == {"allowed": False}


def test_a_local_review_stays_in_its_namespace() -> None:
    here = {"namespace": "default"}
    spec = {"user": "x", "resourceAttributes": PODS}
    judge = Recorder()
    answer = access_reviews.review_local_access(review(spec, here), "default", judge)
    assert answer["kind"] == "LocalSubjectAccessReview"
    away = {"user": "x", "resourceAttributes": {**PODS, "namespace": "o"}}
    assert errors(review(away, here), "Local") == [
        'spec.resourceAttributes.namespace: Invalid value: "o": must match metadata.namespace'
    ]
    path = {"user": "x", "nonResourceAttributes": PATH}
    assert errors(review(path, {**here, "name": "z"}), "Local") == [
        'metadata: Invalid value: {"name":"z","namespace":"default"}: must be empty except for namespace',
        'spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":"get"}: disallowed on this kind of request',
    ]
    with pytest.raises(ApiError, match="must match namespace: there"):
        access_reviews.review_local_access(review(spec, here), "there", judge)


def selectors(fields: Any, labels: Any) -> dict[str, Any]:
    given = {"fieldSelector": fields, "labelSelector": labels}
    found = {key: value for key, value in given.items() if value is not None}
    return review({"user": "x", "resourceAttributes": {**PODS, **found}})


def test_selectors_are_part_of_the_question() -> None:
    judge = Recorder()
    listed = [{"key": "a", "operator": "In", "values": ["b", "c"]}, {"key": "d", "operator": "Exists"}]
    access_reviews.review_access(selectors({"rawSelector": "spec.nodeName=n1"}, {"requirements": listed}), judge)
    assert [tuple(each) for each in judge.asked.fields] == [("spec.nodeName", True, "n1")]
    assert [(each.key, each.values) for each in judge.asked.labels] == [("a", ("b", "c")), ("d", ())]
    listed = [{"key": "a", "operator": "NotIn", "values": ["b"]}]
    access_reviews.review_access(selectors({"requirements": listed}, {"rawSelector": "x=y"}), judge)
    assert [tuple(each) for each in judge.asked.fields] == [("a", False, "b")]
    assert [each.key for each in judge.asked.labels] == ["x"]


@pytest.mark.parametrize(
    ("fields", "labels", "error"),
    [
        (
            {"rawSelector": "a=b=c,,d"},
            {"rawSelector": "a in (b"},
            "spec.resourceAttributes.fieldSelector ignored due to parse error; "
            "spec.resourceAttributes.labelSelector ignored due to parse error",
        ),
        (
            {"requirements": [{"key": "k", "operator": "Exists"}, {"key": "z", "operator": "In", "values": ["q"]}]},
            {"requirements": [{"key": "k", "operator": "Zap"}, {"key": "ok", "operator": "Exists"}]},
            "spec.resourceAttributes.fieldSelector partially ignored due to parse error; "
            "spec.resourceAttributes.labelSelector partially ignored due to parse error",
        ),
        (
            {"requirements": [{"key": "k", "operator": "In", "values": ["a", "b"]}]},
            None,
            "spec.resourceAttributes.fieldSelector ignored due to parse error",
        ),
    ],
)
def test_what_cannot_be_understood_is_told(fields: Any, labels: Any, error: str) -> None:
    status = access_reviews.review_access(selectors(fields, labels), Recorder())["status"]
    assert status == {"allowed": False, "evaluationError": error}


def test_selectors_are_checked() -> None:
    where = "spec.resourceAttributes"
    both = {"rawSelector": "a=b", "requirements": [{"key": "a", "operator": "In", "values": ["x"]}]}
    assert errors(selectors({}, both)) == [
        f"{where}.fieldSelector.requirements: Required value: "
        f"when {where}.fieldSelector is specified, requirements or rawSelector is required",
        f'{where}.labelSelector.rawSelector: Invalid value: "a=b": may not specified at the same time as requirements',
    ]
    wrong = {
        "requirements": [
            {"key": "", "operator": ""},
            {"key": "b", "operator": "Exists", "values": ["x"]},
            {"key": "c", "operator": "In"},
        ]
    }
    assert errors(selectors(wrong, None)) == [
        f"{where}.fieldSelector.requirements[0].key: Required value: must be specified",
        f"{where}.fieldSelector.requirements[1].values: Forbidden: "
        "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        f"{where}.fieldSelector.requirements[2].values: Required value: "
        "must be specified when `operator` is 'In' or 'NotIn'",
    ]


class Lister:
    def __init__(self, rules: Rules) -> None:
        self.rules = rules

    def rules_for(self, user: User, namespace: str) -> Rules:
        self.asked = (user.name, namespace)
        return self.rules


def test_rules_are_listed() -> None:
    lister = Lister(Rules([{"verbs": ["get"]}], [], True, ("a", "b")))
    answer = access_reviews.review_own_rules(review({"namespace": "n"}, {"name": "x"}), User("bob"), lister)
    assert lister.asked == ("bob", "n")
    assert answer == {
        "kind": "SelfSubjectRulesReview",
        "apiVersion": "authorization.k8s.io/v1",
        "metadata": {},
        "spec": {},
        "status": {
            "resourceRules": [{"verbs": ["get"]}],
            "nonResourceRules": [],
            "incomplete": True,
            "evaluationError": "[a, b]",
        },
    }
    with pytest.raises(ApiError, match="no namespace on request"):
        access_reviews.review_own_rules(review({}), User("bob"), lister)
