"""AdmissionReviews: the question to a webhook, and how its answer is read.

`v1` holds a webhook to the rules (the uid and kind of the answer, a patch only where one is allowed); `v1beta1` never
did, and still does not.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from nagaya.apiserver.admission.rules import Shown
from nagaya.apiserver.builtins.decode import DecodeError, normalise
from nagaya.apiserver.builtins.facts import struct_of
from nagaya.apiserver.custom.conversion import WebhookFailure
from nagaya.apiserver.meta import gostring
from nagaya.apiserver.meta.gvk import GroupVersion, GroupVersionKind, GroupVersionResource
from nagaya.apiserver.meta.status import ApiError, JsonObject

if TYPE_CHECKING:
    from nagaya.apiserver.admission.attributes import Attributes

_GROUP: Final = "admission.k8s.io"
_TYPES: Final = "admission/v1"  # those of v1beta1 are the same
_KNOWN: Final = ("v1", "v1beta1")
_OTHERS: Final = tuple(f"{_GROUP}/{version}" for version in _KNOWN)


def review_version(accepted: Sequence[str]) -> str:
    """The version in which a webhook is asked: the first it accepts that is known. Raises WebhookFailure."""
    for version in accepted:
        if version in _KNOWN:
            return version
    raise WebhookFailure("webhook does not accept known AdmissionReview versions (v1, v1beta1)")


def request(write: Attributes, form: Shown) -> JsonObject:
    """The AdmissionRequest without its uid and the objects, as expressions see it too."""
    resource = write.resource.gvr
    made: JsonObject = {"kind": _kind(form.kind), "resource": _resource(form.resource.gvr)}
    if write.subresource:
        made["subResource"] = write.subresource
    made["requestKind"], made["requestResource"] = _kind(write.kind), _resource(resource)
    if write.subresource:
        made["requestSubResource"] = write.subresource
    if write.name:
        made["name"] = write.name
    if write.namespace:
        made["namespace"] = write.namespace
    made["operation"] = str(write.operation)
    made["userInfo"] = write.user.as_info()
    made["dryRun"] = write.dry_run
    made["options"] = write.options
    return made


def review(version: str, uid: str, asked: JsonObject, new: JsonObject | None, old: JsonObject | None) -> JsonObject:
    """The AdmissionReview to send."""
    return {
        "kind": "AdmissionReview",
        "apiVersion": f"{_GROUP}/{version}",
        "request": {"uid": uid, **asked, "object": new, "oldObject": old},
    }


@dataclass(slots=True)
class Answer:
    """What a webhook says."""

    allowed: bool
    patch: bytes = b""
    patch_type: str = ""
    result: JsonObject | None = None
    warnings: list[str] = field(default_factory=list)
    audit_annotations: dict[str, str] = field(default_factory=dict)


def read(answer: JsonObject, version: str, uid: str, *, mutating: bool) -> Answer:
    """Read and check an answer. Raises WebhookFailure."""
    other = answer.get("apiVersion") or ""
    if other in _OTHERS and other != f"{_GROUP}/{version}" and answer.get("kind") == "AdmissionReview":
        given = other.partition("/")[2]
        raise WebhookFailure(
            "failed to call webhook: "
            f"converting ({given}.AdmissionReview) to ({version}.AdmissionReview): unknown conversion"
        )
    given = {member: answer[member] for member in ("kind", "apiVersion", "response") if member in answer}
    try:
        response = normalise(struct_of(f"{_TYPES}.AdmissionReview"), given, strict=False)[0].get("response")
    except DecodeError as error:
        raise WebhookFailure(f"failed to call webhook: {error}") from None
    if response is None:
        raise _invalid("webhook response was absent")
    patch = base64.b64decode(response.get("patch") or "")
    kind = response.get("patchType")
    if version == "v1":
        _check(answer, response, uid)
        if mutating:
            _check_patch(patch, kind)
        elif patch:
            raise _invalid("validating webhook may not return response.patch")
        elif kind is not None:
            raise _invalid("validating webhook may not return response.patchType")
    else:
        kind = "JSONPatch" if patch else ""
    return Answer(
        allowed=response.get("allowed") is True,
        patch=patch if mutating else b"",
        patch_type=kind or "",
        result=response.get("status"),
        warnings=response.get("warnings") or [],
        audit_annotations=response.get("auditAnnotations") or {},
    )


def _check(answer: JsonObject, response: JsonObject, uid: str) -> None:
    given = response.get("uid") or ""
    if given != uid:
        raise _invalid(f"expected response.uid={gostring.quote(uid)}, got {gostring.quote(given)}")
    version, kind = answer.get("apiVersion") or "", answer.get("kind") or ""
    expected = GroupVersionKind(_GROUP, "v1", "AdmissionReview")
    found = GroupVersionKind(*GroupVersion.parse(version), kind) if version.count("/") < 2 else version
    if found != expected:
        raise _invalid(f"expected webhook response of {expected}, got {found}")


def _check_patch(patch: bytes, kind: str | None) -> None:
    if patch and kind is None:
        raise _invalid("webhook returned response.patch but not response.patchType")
    if not patch and kind is not None:
        raise _invalid("webhook returned response.patchType but not response.patch")
    if kind == "":
        raise _invalid('webhook returned invalid response.patchType of ""')


def _invalid(why: str) -> WebhookFailure:
    return WebhookFailure(f"received invalid webhook response: {why}")


def refusal(webhook: str, result: JsonObject | None) -> ApiError:
    """A webhook's no, with its code, reason and details, and always recognisable as a webhook's."""
    result = result or {}
    code = result.get("code") or 0
    denied = f"admission webhook {gostring.quote(webhook)} denied the request"
    message, reason = result.get("message") or "", result.get("reason") or ""
    said = f"{denied}: {message or reason}" if message or reason else f"{denied} without explanation"
    return ApiError(code if 400 <= code < 600 else 400, reason, said, result.get("details"))


def _kind(kind: GroupVersionKind) -> JsonObject:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _resource(resource: GroupVersionResource) -> JsonObject:
    return {"group": resource.group, "version": resource.version, "resource": resource.resource}
