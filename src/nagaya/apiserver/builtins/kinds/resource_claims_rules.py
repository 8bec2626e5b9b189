"""The rules for what a claim asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from nagaya.apiserver.builtins.kinds.device_checks import (
    MOST_CONFIGURATIONS,
    MOST_REQUESTS,
    configuration,
    each,
    fully_qualified_name,
    label,
    toleration,
    unique,
)
from nagaya.apiserver.builtins.kinds.device_selector import selectors
from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import FieldError, Path, forbidden, invalid, not_supported, required
from nagaya.apiserver.meta.object_meta import validate_annotations, validate_labels
from nagaya.apiserver.meta.status import JsonObject

RequestNames = Mapping[str, frozenset[str]]
"""The names of a claim's requests, and for each those of its alternatives."""

_MOST_CONSTRAINTS: Final = 32
_MOST_ALTERNATIVES: Final = 8
_ONE_OF: Final = "exactly one of `exactly` or `firstAvailable` is required"
_NOT_A_REQUEST: Final = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)


def request_names(claim: JsonObject) -> RequestNames:
    """What a claim's requests are called."""
    return {
        request["name"]: frozenset(each["name"] for each in request.get("firstAvailable") or ())
        for request in claim["devices"].get("requests") or ()
    }


def errors(claim: JsonObject, where: Path) -> list[FieldError]:
    """What is wrong with a claim."""
    devices, place = claim["devices"], where.child("devices")
    known = request_names(claim)
    return [
        *unique(
            devices.get("requests") or (), MOST_REQUESTS, _request, lambda each: each["name"], place.child("requests")
        ),
        *each(
            devices.get("constraints") or (),
            _MOST_CONSTRAINTS,
            lambda constraint, at: _constraint(constraint, at, known),
            place.child("constraints"),
        ),
        *each(
            devices.get("config") or (),
            MOST_CONFIGURATIONS,
            lambda config, at: _requests(config, at, known) + configuration(config, at),
            place.child("config"),
        ),
    ]


def template_errors(template: JsonObject, where: Path) -> list[FieldError]:
    """What is wrong with a template: claims get no more of its metadata than labels and annotations."""
    metadata, place = template.get("metadata") or {}, where.child("metadata")
    found = validate_annotations(metadata.get("annotations") or {}, place.child("annotations"))
    found += validate_labels(metadata.get("labels") or {}, place.child("labels"))
    found += [
        forbidden(place.child("uID" if member == "uid" else member), "cannot be set")
        for member, value in metadata.items()
        if member not in ("labels", "annotations") and value
    ]
    return found + errors(template["spec"], where.child("spec"))


def _request(request: JsonObject, where: Path) -> list[FieldError]:
    found = label(request["name"], where.child("name"))
    exactly, alternatives = request.get("exactly"), request.get("firstAvailable") or []
    if exactly is None and not alternatives:
        found.append(required(where, _ONE_OF))
    elif exactly is not None and alternatives:
        found.append(invalid(where, None, f"{_ONE_OF}, but multiple fields are set"))
    elif exactly is not None:
        found += _exactly(exactly, where.child("exactly"))
    else:
        place = where.child("firstAvailable")
        found += unique(alternatives, _MOST_ALTERNATIVES, _alternative, lambda each: each["name"], place)
    return found


def _alternative(request: JsonObject, where: Path) -> list[FieldError]:
    return label(request["name"], where.child("name")) + _exactly(request, where)


def _exactly(request: JsonObject, where: Path) -> list[FieldError]:
    name, place = request["deviceClassName"], where.child("deviceClassName")
    found = [invalid(place, name, problem) for problem in names.dns_subdomain(name)] if name else [required(place)]
    found += selectors(request.get("selectors") or [], where.child("selectors"))
    mode, count = request.get("allocationMode") or "", request.get("count") or 0
    if mode == "All":
        if count:
            detail = f"must not be specified when allocationMode is '{mode}'"
            found.append(invalid(where.child("count"), count, detail))
    elif mode == "ExactCount":
        if count <= 0:
            found.append(invalid(where.child("count"), count, "must be greater than zero"))
    else:
        found.append(not_supported(where.child("allocationMode"), mode, ("All", "ExactCount")))
    return found + each(request.get("tolerations") or (), None, toleration, where.child("tolerations"))


def _constraint(constraint: JsonObject, where: Path, known: RequestNames) -> list[FieldError]:
    found = _requests(constraint, where, known)
    for member in ("matchAttribute", "distinctAttribute"):
        if (name := constraint.get(member)) is not None:
            return found + fully_qualified_name(name, where.child(member))
    # The message speaks of several where there is none in the original too.
    detail = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
    return [*found, required(where, detail)]


def _requests(holder: JsonObject, where: Path, known: RequestNames) -> list[FieldError]:
    return unique(
        holder.get("requests") or (),
        MOST_REQUESTS,
        lambda name, at: request_reference(name, at, known),
        lambda name: name,
        where.child("requests"),
    )


def request_reference(name: str, where: Path, known: RequestNames) -> list[FieldError]:
    """What is wrong with a reference to a request, or to one of its alternatives."""
    parts = name.split("/")
    if len(parts) > 2:
        return [invalid(where, name, _NOT_A_REQUEST)]
    found = [error for part in parts for error in label(part, where)]
    if parts[0] not in known or (len(parts) == 2 and parts[1] not in known[parts[0]]):
        found.append(invalid(where, name, _NOT_A_REQUEST))
    return found


def allocated_requests(config: JsonObject, where: Path, known: RequestNames) -> list[FieldError]:
    """What is wrong with the requests that a configuration is for."""
    return _requests(config, where, known)
