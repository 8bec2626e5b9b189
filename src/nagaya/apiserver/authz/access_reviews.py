"""Reviews that ask what someone may do: SubjectAccessReview and its two relatives, and SelfSubjectRulesReview.

None of them is stored; the answer is the review itself with a status.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from nagaya.apiserver.authn.user import User
from nagaya.apiserver.authz.attributes import Attributes
from nagaya.apiserver.authz.authorizer import Authorizer, RuleResolver, Verdict
from nagaya.apiserver.authz.selector_attributes import read_fields, read_labels, validate_selectors
from nagaya.apiserver.meta import status
from nagaya.apiserver.meta.field_errors import FieldError, Path, invalid
from nagaya.apiserver.meta.gvk import GroupKind
from nagaya.apiserver.meta.status import JsonObject

_GROUP: Final = "authorization.k8s.io"
_SPEC: Final = Path("spec")


def review_access(body: JsonObject, authorizer: Authorizer) -> JsonObject:
    """Answer a SubjectAccessReview. Raises 422."""
    _check(_subject_errors(body) + _metadata_errors(body, "must be empty"))
    return _answer("SubjectAccessReview", body, _subject(body["spec"]), authorizer)


def review_local_access(body: JsonObject, namespace: str, authorizer: Authorizer) -> JsonObject:
    """Answer a LocalSubjectAccessReview sent to a namespace, which `metadata` has been given already. Raises 422 or
    400."""
    errors = _subject_errors(body) + _metadata_errors(body, "must be empty except for namespace", ("namespace",))
    spec = body.get("spec") or {}
    own = (body.get("metadata") or {}).get("namespace") or ""
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and (resource.get("namespace") or "") != own:
        where = _SPEC.child("resourceAttributes", "namespace")
        errors.append(invalid(where, resource.get("namespace") or "", "must match metadata.namespace"))
    if path is not None:
        where = _SPEC.child("nonResourceAttributes")
        errors.append(invalid(where, _shown(path), "disallowed on this kind of request"))
    _check(errors)
    if own != namespace:
        raise status.bad_request(f"spec.resourceAttributes.namespace must match namespace: {namespace}")
    return _answer("LocalSubjectAccessReview", body, _subject(spec), authorizer)


def review_own_access(body: JsonObject, user: User, authorizer: Authorizer) -> JsonObject:
    """Answer a SelfSubjectAccessReview. Raises 422."""
    _check(_attribute_errors(body) + _selector_errors(body) + _metadata_errors(body, "must be empty"))
    return _answer("SelfSubjectAccessReview", body, user, authorizer)


def review_own_rules(body: JsonObject, user: User, resolver: RuleResolver) -> JsonObject:
    """Answer a SelfSubjectRulesReview. Raises 400 without a namespace. What the request said is not part of the
    answer."""
    namespace = (body.get("spec") or {}).get("namespace") or ""
    if not namespace:
        raise status.bad_request("no namespace on request")
    rules = resolver.rules_for(user, namespace)
    answer: JsonObject = {
        "resourceRules": rules.resource_rules,
        "nonResourceRules": rules.non_resource_rules,
        "incomplete": rules.incomplete,
    }
    if rules.errors:
        answer["evaluationError"] = status.aggregate(rules.errors)
    return _review("SelfSubjectRulesReview", {}, {}, answer)


class _Question(NamedTuple):
    """What is asked, and what of it could not be understood."""

    attributes: Attributes
    problems: list[str]


def _question(spec: JsonObject, user: User) -> _Question:
    asked = spec.get("resourceAttributes")
    if asked is None:
        path = spec.get("nonResourceAttributes") or {}
        verb, where = path.get("verb") or "", path.get("path") or ""
        return _Question(Attributes(user, verb, path=where, is_resource=False), [])
    fields, labels = read_fields(asked.get("fieldSelector")), read_labels(asked.get("labelSelector"))
    attributes = Attributes(
        user,
        asked.get("verb") or "",
        asked.get("group") or "",
        asked.get("version") or "*",
        asked.get("resource") or "",
        asked.get("subresource") or "",
        asked.get("name") or "",
        asked.get("namespace") or "",
        fields=fields.requirements,
        labels=labels.requirements,
    )
    problems = []
    for title, found in (("fieldSelector", fields), ("labelSelector", labels)):
        if found.failed:
            how = "partially ignored" if found.requirements else "ignored"
            problems.append(f"spec.resourceAttributes.{title} {how} due to parse error")
    return _Question(attributes, problems)


def _answer(kind: str, body: JsonObject, user: User, authorizer: Authorizer) -> JsonObject:
    spec = body.get("spec") or {}
    question = _question(spec, user)
    decision = authorizer.authorize(question.attributes)
    answer: JsonObject = {"allowed": decision.allowed}
    if decision.verdict is Verdict.DENY:
        answer["denied"] = True
    if decision.reason:
        answer["reason"] = decision.reason
    if question.problems:
        answer["evaluationError"] = "; ".join(question.problems)
    return _review(kind, body.get("metadata") or {}, spec, answer)


def _review(kind: str, metadata: JsonObject, spec: JsonObject, answer: JsonObject) -> JsonObject:
    return {"kind": kind, "apiVersion": f"{_GROUP}/v1", "metadata": metadata, "spec": spec, "status": answer}


def _subject(spec: JsonObject) -> User:
    extra = {key: tuple(values or ()) for key, values in (spec.get("extra") or {}).items()}
    return User(spec.get("user") or "", spec.get("uid") or "", tuple(spec.get("groups") or ()), extra)


def _check(errors: list[FieldError]) -> None:
    if errors:
        # The kind is missing in the real server's answer too.
        raise status.invalid(GroupKind(_GROUP, ""), "", errors)


def _subject_errors(body: JsonObject) -> list[FieldError]:
    spec = body.get("spec") or {}
    errors = _attribute_errors(body)
    if not spec.get("user") and not spec.get("groups"):
        problem = "at least one of user or group must be specified"
        errors.append(invalid(_SPEC.child("user"), spec.get("user") or "", problem))
    return errors + _selector_errors(body)


def _attribute_errors(body: JsonObject) -> list[FieldError]:
    spec = body.get("spec") or {}
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and path is not None:
        where = _SPEC.child("nonResourceAttributes")
        return [invalid(where, _shown(path), "cannot be specified in combination with resourceAttributes")]
    if resource is None and path is None:
        problem = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        return [invalid(_SPEC.child("resourceAttributes"), None, problem)]
    return []


def _selector_errors(body: JsonObject) -> list[FieldError]:
    asked = (body.get("spec") or {}).get("resourceAttributes")
    return [] if asked is None else validate_selectors(asked, _SPEC.child("resourceAttributes"))


def _shown(path: JsonObject) -> Any:
    return {"Path": path.get("path") or "", "Verb": path.get("verb") or ""}


def _metadata_errors(body: JsonObject, problem: str, allowed: tuple[str, ...] = ()) -> list[FieldError]:
    metadata = body.get("metadata") or {}
    given = [key for key, value in metadata.items() if value and key not in (*allowed, "managedFields")]
    return [invalid("metadata", metadata, problem)] if given else []
