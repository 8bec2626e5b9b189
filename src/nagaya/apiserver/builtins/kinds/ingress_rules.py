"""The rules for what an ingress says: its backends, hosts, paths and certificates.

Ingresses from before a rule existed may keep breaking it, as long as they broke it before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from nagaya.apiserver.builtins.kinds.ingress import NOT_AN_ADDRESS
from nagaya.apiserver.meta import addresses, names
from nagaya.apiserver.meta.field_errors import FieldError, Path, invalid, not_supported, required
from nagaya.apiserver.meta.status import JsonObject

_SPEC: Final = Path("spec")
_PATH_TYPES: Final = ("Exact", "ImplementationSpecific", "Prefix")
_BAD_SEQUENCES: Final = ("//", "/./", "/../", "%2f", "%2F")
_BAD_SUFFIXES: Final = ("/..", "/.")


@dataclass(frozen=True, slots=True)
class _Leave:
    """Which rules the object broke before and may break again, and one that only counted in the past."""

    secret_names: bool = False
    wildcard_rules: bool = False
    services_start_with_letters: bool = False


def rules(spec: JsonObject, old: JsonObject | None) -> list[FieldError]:
    """What is wrong with an ingress's spec, which was `old` before."""
    leave = _leave(old) if old is not None else _Leave()
    backend, listed = spec.get("defaultBackend"), spec.get("rules") or []
    errors: list[FieldError] = []
    if not listed and backend is None:
        errors.append(invalid(_SPEC, None, "either `defaultBackend` or `rules` must be specified"))
    if backend is not None:
        errors += _backend(backend, _SPEC.child("defaultBackend"), leave)
    for position, rule in enumerate(listed):
        errors += _rule(rule, _SPEC.child("rules").index(position), leave)
    for position, certificate in enumerate(spec.get("tls") or ()):
        errors += _certificate(certificate, _SPEC.child("tls").index(position), leave)
    if (name := spec.get("ingressClassName")) is not None:
        where = _SPEC.child("ingressClassName")
        errors += [invalid(where, name, problem) for problem in names.name_is_subdomain(name)]
    return errors


def _leave(old: JsonObject) -> _Leave:
    secrets = any(_secret_name(each.get("secretName") or "") for each in old.get("tls") or ())
    past = _Leave(services_start_with_letters=True)
    wildcards = any(
        "*" in (rule.get("host") or "") and rule.get("http") is not None and _http(rule["http"], Path(), past)
        for rule in old.get("rules") or ()
    )
    return _Leave(secrets, wildcards)


def _secret_name(name: str) -> list[str]:
    return names.name_is_subdomain(name) if name else []


def _certificate(certificate: JsonObject, where: Path, leave: _Leave) -> list[FieldError]:
    errors: list[FieldError] = []
    for position, host in enumerate(certificate.get("hosts") or ()):
        errors += [invalid(where.child("hosts").index(position), host, problem) for problem in _host_name(host)]
    if not leave.secret_names:
        name = certificate.get("secretName") or ""
        errors += [invalid(where.child("secretName"), name, problem) for problem in _secret_name(name)]
    return errors


def _host_name(host: str) -> list[str]:
    return names.wildcard_subdomain(host) if "*" in host else names.dns_subdomain(host)


def _rule(rule: JsonObject, where: Path, leave: _Leave) -> list[FieldError]:
    errors: list[FieldError] = []
    host = rule.get("host") or ""
    if host:
        if addresses.parse_address(host) is not None:
            errors.append(invalid(where.child("host"), host, NOT_AN_ADDRESS))
        errors += [invalid(where.child("host"), host, problem) for problem in _host_name(host)]
    http = rule.get("http")
    if http is None or ("*" in host and leave.wildcard_rules):
        return errors
    return errors + _http(http, where.child("http"), leave)


def _http(http: JsonObject, where: Path, leave: _Leave) -> list[FieldError]:
    paths = http.get("paths") or []
    if not paths:
        return [required(where.child("paths"))]
    return [
        error
        for position, path in enumerate(paths)
        for error in _path(path, where.child("paths").index(position), leave)
    ]


def _path(path: JsonObject, where: Path, leave: _Leave) -> list[FieldError]:
    kind, text = path.get("pathType"), path.get("path") or ""
    place = where.child("path")
    errors: list[FieldError] = []
    if kind is None:
        return [required(where.child("pathType"), "pathType must be specified")]
    if kind not in _PATH_TYPES:
        errors.append(not_supported(where.child("pathType"), kind, _PATH_TYPES))
    elif (text or kind != "ImplementationSpecific") and not text.startswith("/"):
        errors.append(invalid(place, text, "must be an absolute path"))
    if kind in ("Exact", "Prefix"):
        errors += [invalid(place, text, f"must not contain '{each}'") for each in _BAD_SEQUENCES if each in text]
        errors += [invalid(place, text, f"cannot end with '{each}'") for each in _BAD_SUFFIXES if text.endswith(each)]
    return errors + _backend(path.get("backend") or {}, where.child("backend"), leave)


def _backend(backend: JsonObject, where: Path, leave: _Leave) -> list[FieldError]:
    resource, service = backend.get("resource"), backend.get("service")
    if resource is not None and service is not None:
        return [invalid(where, "", "cannot set both resource and service backends")]
    if resource is not None:
        return reference(resource, where.child("resource"))
    if service is None:
        return [invalid(where, "", "resource or service backend is required")]
    place, name = where.child("service", "name"), service.get("name") or ""
    check = names.dns1035_label if leave.services_start_with_letters else names.dns_label
    errors = [invalid(place, name, problem) for problem in check(name)] if name else [required(place)]
    return errors + _port(service.get("port") or {}, where)


def _port(port: JsonObject, where: Path) -> list[FieldError]:
    name, number = port.get("name") or "", port.get("number") or 0
    if name and number:
        return [invalid(where, "", "cannot set both port name & port number")]
    place = where.child("service", "port")
    if name:
        return [invalid(place.child("name"), name, problem) for problem in names.port_name(name)]
    if number:
        return [invalid(place.child("number"), number, problem) for problem in names.port_number(number)]
    return [required(where, "port name or number is required")]


def reference(to: JsonObject, where: Path) -> list[FieldError]:
    """What is wrong with a reference to an object of any kind."""
    errors: list[FieldError] = []
    if (group := to.get("apiGroup")) is not None:
        errors += [invalid(where.child("apiGroup"), group, problem) for problem in names.dns_subdomain(group)]
    for member in ("kind", "name"):
        errors += segment(to.get(member) or "", where.child(member))
    return errors


def segment(text: str, where: Path) -> list[FieldError]:
    """What is wrong with a text that has to be there and be fit for a URL."""
    if not text:
        return [required(where)]
    return [invalid(where, text, problem) for problem in names.path_segment(text)]
