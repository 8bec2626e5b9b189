"""Formats that names and other texts can be held against: `format.dns1123Label().validate(x)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from nagaya.apiserver.cel.declarations import Function, function, overload
from nagaya.apiserver.cel.values import NONE, Opaque, Optional
from nagaya.apiserver.crd import formats, urls
from nagaya.apiserver.meta import names


class NamedFormat(Opaque):
    """A format: what says why a text does not have it."""

    __slots__ = ("complaints", "name")

    type_name = "kubernetes.NamedFormat"

    def __init__(self, name: str, complaints: Callable[[str], list[str]]) -> None:
        self.name = name
        self.complaints = complaints

    def equals(self, other: Any) -> bool:
        """Whether it is the same format."""
        return bool(self.name == other.name)


def _prefix(check: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """The check of a text to which something will be appended: a dash at its end does not matter."""

    def masked(text: str) -> list[str]:
        return check(text[:-2] + "a" if len(text) > 1 and text.endswith("-") else text)

    return masked


def _schema_format(name: str, complaint: str) -> Callable[[str], list[str]]:
    check = formats.check_for(name)
    assert check is not None
    return lambda text: [] if check(text) else [complaint]


def _uri(text: str) -> list[str]:
    try:
        urls.parse_request(text)
    except ValueError as error:
        return [str(error)]
    return []


_FORMATS: Final = {
    "dns1123Label": names.dns_label,
    "dns1123Subdomain": names.dns_subdomain,
    "dns1035Label": names.dns1035_label,
    "qualifiedName": names.qualified_name,
    "dns1123LabelPrefix": _prefix(names.dns_label),
    "dns1123SubdomainPrefix": _prefix(names.dns_subdomain),
    "dns1035LabelPrefix": _prefix(names.dns1035_label),
    "labelValue": names.label_value,
    "uri": _uri,
    "uuid": _schema_format("uuid", "does not match the UUID format"),
    "byte": _schema_format("byte", "invalid base64"),
    "date": _schema_format("date", "invalid date"),
    "datetime": _schema_format("datetime", "invalid datetime"),
}
_VALUES: Final = {name: NamedFormat(name, complaints) for name, complaints in _FORMATS.items()}


def _named(name: str) -> Optional:
    found = _VALUES.get(name)
    return NONE if found is None else Optional(found)


def _validate(named: NamedFormat, text: str) -> Optional:
    found = named.complaints(text)
    return Optional(found) if found else NONE


def _constant(name: str) -> Function:
    value = _VALUES[name]
    return function(f"format.{name}", overload("() -> kubernetes.NamedFormat", lambda: value))


FUNCTIONS: Final = (
    function("validate", overload("kubernetes.NamedFormat.(string) -> optional(list(string))", _validate)),
    function("format.named", overload("(string) -> optional(kubernetes.NamedFormat)", _named)),
    *map(_constant, _VALUES),
)
