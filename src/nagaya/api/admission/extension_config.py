"""Admission of ExtensionConfigs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from nagaya.api.admission.content import Content, at, mapping, number, put_if_missing, text
from nagaya.api.admission.field_error import FieldError, forbidden, invalid, required
from nagaya.api.admission.golang import quote
from nagaya.api.admission.machine_checks import selector_or_error
from nagaya.api.admission.names import dns_subdomain

DEFAULT_PORT: Final = 443
_CLIENT: Final = "spec.clientConfig"
_SERVICE: Final = f"{_CLIENT}.service"

_RFC1123: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_RFC1035: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_BAD_RFC1123: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    f"an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_RFC1123}')"
)
_BAD_RFC1035: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    f"and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '{_RFC1035}')"
)


def default(new: Content, _: Content | None) -> Content:
    """All namespaces, and the port of HTTPS."""
    new = put_if_missing(new, {}, "spec", "namespaceSelector")
    if mapping(new, "spec", "clientConfig", "service"):
        new = put_if_missing(new, DEFAULT_PORT, "spec", "clientConfig", "service", "port")
    return new


def validate(new: Content, _: Content | None) -> list[FieldError]:
    """What is wrong with an ExtensionConfig."""
    return list(_validate(new))


def _validate(new: Content) -> Iterator[FieldError]:
    name = text(new, "metadata", "name")
    if problems := _rfc1123_label(name):
        detail = f"ExtensionConfig name should be a valid DNS1123 label name: [{' '.join(problems)}]"
        yield invalid("metadata.name", name, detail)
    client = mapping(new, "spec", "clientConfig")
    url, service = text(client, "url"), mapping(client, "service")
    if not url and not service:
        yield required(_CLIENT, "either url or service must be defined")
    if url and service:
        yield forbidden(_CLIENT, "only one of url or service can be defined")
    if url:
        yield from _url(url)
    if service:
        yield from _service(service)
    if at(new, "spec", "namespaceSelector") is None:
        yield required("spec.namespaceSelector", "must be defined")
    _, wrong = selector_or_error(mapping(new, "spec", "namespaceSelector"), "spec.namespaceSelector")
    yield from wrong


def _url(url: str) -> Iterator[FieldError]:
    if problem := _uri_problem(url):
        yield invalid(f"{_CLIENT}.url", url, f"must be a valid URL, e.g. https://example.com: {problem}")
    elif urlsplit(url).scheme != "https":
        detail = "'https' is the only allowed URL scheme, e.g. https://example.com"
        yield invalid(f"{_CLIENT}.url", url, detail)


def _service(service: Content) -> Iterator[FieldError]:
    for field, check in (("name", _rfc1035_label), ("namespace", _rfc1123_label)):
        value = text(service, field)
        if not value:
            yield required(f"{_SERVICE}.{field}", "must not be empty")
        yield from (invalid(f"{_SERVICE}.{field}", value, problem) for problem in check(value))
    path = text(service, "path")
    if path and (problem := _uri_problem(path)):
        yield invalid(f"{_SERVICE}.path", path, f"must be a valid URL path e.g. /path/to/hook: {problem}")
    if path and not path.startswith("/"):
        yield invalid(f"{_SERVICE}.path", path, 'must start with "/" to be a valid URL path')
    port = number(service, "port")
    if port is not None and not 1 <= port <= 65535:
        yield invalid(f"{_SERVICE}.port", port, "must be between 1 and 65535, inclusive")


def _rfc1123_label(value: str) -> list[str]:
    problems = _too_long(value)
    if not re.fullmatch(_RFC1123, value):
        problems.append(_BAD_RFC1123 if dns_subdomain(value) else "must not contain dots")
    return problems


def _rfc1035_label(value: str) -> list[str]:
    return _too_long(value) + ([] if re.fullmatch(_RFC1035, value) else [_BAD_RFC1035])


def _too_long(value: str) -> list[str]:
    return ["must be no more than 63 bytes"] if len(value.encode()) > 63 else []


def _uri_problem(text_: str) -> str:
    """What Go would say about a text that is neither an absolute path nor a URL."""
    try:
        parts = urlsplit(text_)
    except ValueError as error:
        return f"parse {quote(text_)}: {error}"
    known = text_.startswith("/") or (parts.scheme and (parts.netloc or parts.path.startswith("/")))
    return "" if known and text_.isprintable() else f"parse {quote(text_)}: invalid URI for request"
