"""Rules that the kinds of dynamic resource allocation share: names, lists, selectors, configuration."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final, TypeVar

import orjson

from nagaya.apiserver.builtins.kinds.csi_node import driver_name_errors
from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import (
    FieldError,
    Path,
    duplicate,
    invalid,
    not_supported,
    repeated,
    required,
    too_long,
    too_many,
)
from nagaya.apiserver.meta.status import JsonObject

T = TypeVar("T")
Check = Callable[[T, Path], list[FieldError]]

MOST_REQUESTS: Final = 32
MOST_CONFIGURATIONS: Final = 32
MOST_SELECTORS: Final = 32
EFFECTS: Final = ("NoExecute", "NoSchedule", "None")
_LONGEST_POOL: Final = 253
_LONGEST_IDENTIFIER: Final = 32
_LARGEST_PARAMETERS: Final = 10 * 1024
_HIDDEN: Final = "<value omitted>"
_SHORTEST_SHOWN: Final = 16
_is_uuid = re.compile(
    r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}|[0-9a-fA-F]{32}"
).fullmatch


def each(items: Sequence[T], most: int | None, check: Check[T], where: Path) -> list[FieldError]:
    """A list of limited length whose items are checked one by one."""
    if most is not None and len(items) > most:
        return [too_many(where, len(items), most)]
    return [error for position, item in enumerate(items) for error in check(item, where.index(position))]


def unique(
    items: Sequence[T],
    most: int | None,
    check: Check[T],
    key: Callable[[T], Hashable],
    where: Path,
    show: Callable[[Any], Any] = lambda key: key,
) -> list[FieldError]:
    """The same, and no two items may have the same key."""
    errors = each(items, most, check, where)
    if most is not None and len(items) > most:
        return errors
    seen: set[Hashable] = set()
    for position, item in enumerate(items):
        if (found := key(item)) in seen:
            errors.append(duplicate(where.index(position), show(found)))
        seen.add(found)
    return errors


def mapping(
    items: Mapping[str, T], most: int | None, longest: int, key: Check[str], check: Check[T], where: Path
) -> list[FieldError]:
    """A map of limited size. Keys that are too long are shown without their middle."""
    if most is not None and len(items) > most:
        return [too_many(where, len(items), most)]
    return [
        error
        for name, item in items.items()
        for error in (*key(name, where), *check(item, where.key(_shortened(name, longest))))
    ]


def _shortened(text: str, longest: int) -> str:
    longest = max(longest, _SHORTEST_SHOWN)
    if len(text) <= longest:
        return text
    rest = longest - 3
    return f"{text[: (rest + 1) // 2]}...{text[len(text) - rest // 2 :]}"


def label(name: str, where: Path) -> list[FieldError]:
    """The names of devices, requests and counters."""
    return [invalid(where, name, problem) for problem in names.dns_label(name)]


def label_name(name: str, where: Path) -> list[FieldError]:
    """A name with an optional domain."""
    return [invalid(where, name, problem) for problem in names.qualified_name(name)]


def label_value(value: str, where: Path) -> list[FieldError]:
    """What a label can hold."""
    return [invalid(where, value, problem) for problem in names.label_value(value)]


def pool_name(name: str, where: Path) -> list[FieldError]:
    """Subdomains with slashes between them."""
    if not name:
        return [required(where)]
    errors = [too_long(where, _LONGEST_POOL)] if names.size(name) > _LONGEST_POOL else []
    return errors + [invalid(where, part, problem) for part in name.split("/") for problem in names.dns_subdomain(part)]


def uid(text: str, where: Path) -> list[FieldError]:
    """A UUID in the usual form."""
    plain = text[9:] if len(text) == 45 else text[1:-1] if len(text) == 38 else text
    problem = ""
    if len(text) not in (32, 36, 38, 45):
        problem = f"invalid UUID length: {names.size(text)}"
    elif len(text) == 45 and text[:9].lower() != "urn:uuid:":
        problem = f'invalid urn prefix: "{text[:9]}"'
    elif len(text) == 38 and (text[0], text[-1]) != ("{", "}"):
        problem = "invalid bracketed UUID format"
    elif not _is_uuid(plain):
        problem = "invalid UUID format"
    if problem:
        return [invalid(where, text, f"error validating uid: {problem}")]
    if len(text) == 36 and text == text.lower():
        return []
    form = "`xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters"
    return [invalid(where, text, f"uid must be in RFC 4122 normalized form, {form}")]


def qualified_name(name: str, where: Path) -> list[FieldError]:
    """An identifier, with the domain of a driver before it or not. More than one slash goes unchecked."""
    parts = name.split("/")
    if len(parts) == 1:
        return _identifier(name, where)
    if len(parts) > 2:
        return []
    domain, identifier = parts
    errors = driver_name_errors(domain, where) if domain else [invalid(where, "", "the domain must not be empty")]
    if not identifier:
        return [*errors, invalid(where, "", "the name must not be empty")]
    return errors + _identifier(identifier, where)


def fully_qualified_name(name: str, where: Path) -> list[FieldError]:
    """The same, with a domain."""
    errors = qualified_name(name, where)
    if "/" not in name:
        detail = "a fully qualified name must be a domain and a name separated by a slash"
        errors.append(invalid(where, name, detail))
    return errors


def _identifier(text: str, where: Path) -> list[FieldError]:
    errors = [too_long(where, _LONGEST_IDENTIFIER)] if names.size(text) > _LONGEST_IDENTIFIER else []
    return errors + [invalid(where, text, problem) for problem in names.c_identifier(text)]


def configuration(config: JsonObject, where: Path, *, stored: bool = False) -> list[FieldError]:
    """What a driver is told, which only the driver understands."""
    opaque, place = config.get("opaque"), where.child("opaque")
    if opaque is None:
        return [required(place)]
    driver = driver_name_errors(opaque["driver"], place.child("driver"))
    return driver + raw_object(opaque.get("parameters"), place.child("parameters"), limited=not stored)


def raw_object(value: Any, where: Path, *, limited: bool = True) -> list[FieldError]:
    """A JSON object of limited size."""
    if value is None:
        return [required(where)]
    if limited and len(orjson.dumps(value)) > _LARGEST_PARAMETERS:
        return [too_long(where, _LARGEST_PARAMETERS)]
    return [] if isinstance(value, dict) else [invalid(where, _HIDDEN, "must be a valid JSON object")]


def toleration(given: JsonObject, where: Path) -> list[FieldError]:
    """A taint of devices that a request puts up with."""
    key, operator, value = given.get("key") or "", given.get("operator") or "", given.get("value") or ""
    errors = label_name(key, where.child("key")) if key else []
    if operator == "Exists":
        if value:
            errors.append(invalid(where.child("value"), value, "must be empty for operator `Exists`"))
    elif operator == "Equal":
        errors += label_value(value, where.child("value"))
    else:
        errors.append(not_supported(where.child("operator"), operator, ("Equal", "Exists")))
    effect = given.get("effect") or ""
    if effect and effect not in EFFECTS:
        errors.append(not_supported(where.child("effect"), effect, EFFECTS))
    return errors


def binding_conditions(given: JsonObject, where: Path) -> list[FieldError]:
    """What has to be true of a device before a pod may use it, and what says that it never will be."""
    wanted: list[str] = given.get("bindingConditions") or []
    failed: list[str] = given.get("bindingFailureConditions") or []
    first, second = where.child("bindingConditions"), where.child("bindingFailureConditions")
    errors = each(wanted, 4, label_name, first) + each(failed, 4, label_name, second)
    errors += [duplicate(first.index(position), name) for position, name in repeated(wanted)]
    again, known = dict(repeated(failed)), set(wanted)
    for position, name in enumerate(failed):
        if position in again:
            errors.append(duplicate(second.index(position), name))
        if name in known:
            detail = "bindingFailureConditions must not overlap with bindingConditions"
            errors.append(invalid(second.index(position), name, detail))
    if failed and not wanted:
        detail = "bindingConditions are required to use bindingFailureConditions"
        errors.append(invalid(first, None, detail))
    if wanted and not failed:
        detail = "bindingFailureConditions are required to use bindingConditions"
        errors.append(invalid(second, None, detail))
    return errors
