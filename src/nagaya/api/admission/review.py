"""AdmissionReviews: how an API server asks for defaults and checks, and how it is answered.

Pure: whoever serves the webhook turns a body into the review, and the answer into a body.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from nagaya.api.admission.catalog import ADMISSION, Admission, Look
from nagaya.api.admission.content import Content, mapping, text
from nagaya.api.admission.field_error import FieldError, aggregate
from nagaya.api.admission.golang import quote
from nagaya.api.admission.refusal import Refusal

API_VERSION: Final = "admission.k8s.io/v1"


def mutate(review: Content) -> dict[str, Any]:
    """The answer of a mutating webhook: a JSON patch with the defaults, or a refusal."""
    return _answered(review, _defaulted)


def _defaulted(admission: Admission, request: Content) -> dict[str, Any]:
    new, old = _objects(request)
    try:
        defaulted = admission.default(new, old)
    except Refusal as refusal:
        return _denied(str(refusal), 403, "Forbidden")
    operations = list(_patch(new, defaulted, ""))
    if not operations:
        return {"allowed": True}
    patch = base64.b64encode(json.dumps(operations, separators=(",", ":")).encode()).decode()
    return {"allowed": True, "patchType": "JSONPatch", "patch": patch}


def needs(review: Content) -> tuple[str, ...]:
    """The resources, as `plural.group`, whose objects have to be known to answer a review."""
    request = mapping(review, "request")
    admission = _admission(request)
    if admission is None or not admission.needs:
        return ()
    new, old = _objects(request)
    changed = old is None or new.get("spec") != old.get("spec")
    return admission.needs if changed or text(request, "operation") == "DELETE" else ()


def scaled_object(review: Content) -> tuple[str, str, str] | None:
    """Resource (`plural.group`), namespace and name of the object whose Scale a review is about; None if it is not."""
    request = mapping(review, "request")
    if text(request, "subResource") != "scale" or _admission(request) is None:
        return None
    resource = mapping(request, "resource")
    return f"{text(resource, 'resource')}.{text(resource, 'group')}", text(request, "namespace"), text(request, "name")


def _nothing(_: str) -> Sequence[Content]:
    return ()


def validate(review: Content, look: Look = _nothing, scaled: Content | None = None) -> dict[str, Any]:
    """The answer of a validating webhook: allowed, or a Status that names every field that is wrong. `look` lists what
    `needs` asks for, `scaled` is what `scaled_object` asks for: None if it is gone, which the API says itself."""
    request = mapping(review, "request")
    admission = _admission(request)
    if admission is not None and admission.keeps is not None and text(request, "operation") == "DELETE":
        why = admission.keeps(mapping(request, "oldObject"), look)
        return _answer(request, _denied(why, 400, "BadRequest") if why else {"allowed": True})
    return _answered(review, lambda found, asked: _validated(found, asked, look, scaled))


def _validated(admission: Admission, request: Content, look: Look, scaled: Content | None) -> dict[str, Any]:
    new, old = _objects(request)
    if text(request, "subResource") == "scale":
        errors = [] if scaled is None else admission.scale(scaled, new)
    else:
        errors = admission.validate(new, old)
        if not errors and admission.beside is not None:
            errors = admission.beside(new, old, look)
    return {"allowed": False, "status": invalid(request, errors)} if errors else {"allowed": True}


def _answered(review: Content, judge: Callable[[Admission, Content], dict[str, Any]]) -> dict[str, Any]:
    """A review with the verdict on its request. Nothing is judged that is only deleted."""
    request = mapping(review, "request")
    admission = _admission(request)
    if admission is None:
        return _answer(request, _unknown(request))
    deleted = text(request, "operation") == "DELETE"
    return _answer(request, {"allowed": True} if deleted else judge(admission, request))


def invalid(request: Content, errors: Sequence[FieldError]) -> dict[str, Any]:
    """The Status for an object with wrong fields, as Kubernetes makes it."""
    group, kind = text(request, "kind", "group"), text(request, "kind", "kind")
    name = text(request, "object", "metadata", "name") or text(request, "name")
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f"{kind}.{group} {quote(name)} is invalid: {aggregate(errors)}",
        "reason": "Invalid",
        "details": {
            "name": name,
            "group": group,
            "kind": kind,
            "causes": [{"reason": each.reason, "message": each.body, "field": each.field} for each in errors],
        },
        "code": 422,
    }


def _admission(request: Content) -> Admission | None:
    resource = mapping(request, "resource")
    return ADMISSION.get(f"{text(resource, 'resource')}.{text(resource, 'group')}")


def _objects(request: Content) -> tuple[Content, Content | None]:
    old = request.get("oldObject")
    return mapping(request, "object"), old if isinstance(old, Mapping) else None


def _unknown(request: Content) -> dict[str, Any]:
    resource = mapping(request, "resource")
    asked = f"{text(resource, 'resource')}.{text(resource, 'group')}"
    message = f"there is no admission for {asked}. Remove it from the rules of the webhook configuration."
    return _denied(message, 400, "BadRequest")


def _denied(message: str, code: int, reason: str) -> dict[str, Any]:
    return {"allowed": False, "status": {"code": code, "reason": reason, "message": message}}


def _answer(request: Content, response: Mapping[str, Any]) -> dict[str, Any]:
    answer = {"uid": text(request, "uid"), **response}
    return {"apiVersion": API_VERSION, "kind": "AdmissionReview", "response": answer}


def _patch(old: Content, new: Content, path: str) -> Iterator[dict[str, Any]]:
    """The operations that make one object of the other."""
    for name in old.keys() - new.keys():
        yield {"op": "remove", "path": f"{path}/{_escaped(name)}"}
    for name, value in new.items():
        place = f"{path}/{_escaped(name)}"
        if name not in old:
            yield {"op": "add", "path": place, "value": value}
        elif isinstance(value, Mapping) and isinstance(old[name], Mapping):
            yield from _patch(old[name], value, place)
        elif old[name] != value:
            yield {"op": "replace", "path": place, "value": value}


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
