"""Admission of ProxmoxConnections."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from nagaya.api.admission.content import Content, mapping, text, texts
from nagaya.api.admission.field_error import FieldError, forbidden, invalid, required


def validate(new: Content, _: Content | None) -> list[FieldError]:
    """What is wrong with a ProxmoxConnection."""
    return list(_validate(mapping(new, "spec")))


def _validate(spec: Content) -> Iterator[FieldError]:
    for index, endpoint in enumerate(texts(spec, "endpoints")):
        yield from _check_endpoint(endpoint, f"spec.endpoints[{index}]")
    if not text(spec, "credentialsRef", "name"):
        yield required("spec.credentialsRef.name", "name the Secret that has the token, or user and password")


def _check_endpoint(endpoint: str, field: str) -> Iterator[FieldError]:
    problem = "is not where a host is, as https://pve1.example:8006 is"
    try:
        parts = urlsplit(endpoint if "://" in endpoint else f"https://{endpoint}")
        known = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        yield invalid(field, endpoint, problem)
        return
    if not known or parts.query or parts.fragment or any(each.isspace() for each in endpoint):
        yield invalid(field, endpoint, problem)
    elif parts.scheme != "https":
        yield invalid(field, endpoint, "must begin with https://: credentials are never sent in clear")
    elif parts.username is not None:
        yield forbidden(field, "has credentials in it, which everybody can read here: put them into the Secret")
