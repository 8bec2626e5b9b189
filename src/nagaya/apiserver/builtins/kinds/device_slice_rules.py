"""The rules for what a resource slice says about its devices."""

from __future__ import annotations

import re
from typing import Final

from nagaya.apiserver.builtins.kinds.core_goshape import invalid_shape, shape
from nagaya.apiserver.builtins.kinds.csi_node import driver_name_errors
from nagaya.apiserver.builtins.kinds.device_capacity import capacity_errors
from nagaya.apiserver.builtins.kinds.device_checks import (
    EFFECTS,
    binding_conditions,
    each,
    label,
    label_name,
    label_value,
    mapping,
    pool_name,
    qualified_name,
    unique,
)
from nagaya.apiserver.builtins.kinds.device_slice import LISTS
from nagaya.apiserver.builtins.kinds.ordered_strategy import immutable
from nagaya.apiserver.builtins.kinds.persistent_volume_validation import node_selector_errors
from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import (
    OMITTED,
    Cause,
    FieldError,
    Path,
    invalid,
    not_supported,
    required,
    too_long,
)
from nagaya.apiserver.meta.govalue import struct_json
from nagaya.apiserver.meta.status import JsonObject

_SPEC: Final = Path("spec")
_MOST_DEVICES: Final = 128
_MOST_ADVANCED_DEVICES: Final = 64
_MOST_COUNTER_SETS: Final = 8
_MOST_COUNTERS: Final = 32
_MOST_CONSUMPTIONS: Final = 2
_MOST_PROPERTIES: Final = 32
_MOST_VALUES: Final = 48
_MOST_TAINTS: Final = 16
_LONGEST_PROPERTY: Final = 63 + 1 + 32
_LONGEST_LABEL: Final = 63
_LONGEST_VALUE: Final = 64
_TRUE_OR_UNSET: Final = "must be either unset or set to true"
_PLACES: Final = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
_DEVICE_PLACES: Final = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true "
    "in the ResourceSlice spec"
)
_NUMBER: Final = r"(0|[1-9]\d*)"
_PRE: Final = r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_BUILD: Final = "[0-9a-zA-Z-]+"
_is_version = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_PRE}(\.{_PRE})*)?(\+{_BUILD}(\.{_BUILD})*)?", re.ASCII
).fullmatch
_ATTRIBUTE: Final = (
    "IntValue=int:p BoolValue=bool:p StringValue=string:p VersionValue=version:p IntValues=ints:p BoolValues=bools:p "
    "StringValues=strings:p VersionValues=versions:p"
)
_TERM: Final = "[Key=key:s Operator=operator:s Values=values:p]"


def errors(spec: JsonObject, old: JsonObject | None) -> list[FieldError]:
    """What is wrong with a slice's spec, which was `old` before."""
    found = driver_name_errors(spec["driver"], _SPEC.child("driver"))
    found += _pool(spec["pool"], _SPEC.child("pool"))
    if old is not None:
        found += immutable(_SPEC.child("pool", "name"), spec["pool"]["name"], old["pool"]["name"])
        found += immutable(_SPEC.child("driver"), spec["driver"], old["driver"])
        found += immutable(_SPEC.child("nodeName"), spec.get("nodeName"), old.get("nodeName"))
    found += _places(spec)
    devices: list[JsonObject] = spec.get("devices") or []
    if devices and spec.get("sharedCounters"):
        found.append(invalid(_SPEC, "", "only one of `sharedCounters` or `devices` is allowed"))
    known = {device["name"]: device for device in reversed((old or {}).get("devices") or ())}
    by_device = bool(spec.get("perDeviceNodeSelection"))
    found += unique(
        devices,
        _MOST_ADVANCED_DEVICES if any(map(_is_advanced, devices)) else _MOST_DEVICES,
        lambda device, where: _device(device, known.get(device["name"]), where, by_device),
        lambda device: device["name"],
        _SPEC.child("devices"),
    )
    found += unique(
        spec.get("sharedCounters") or (),
        _MOST_COUNTER_SETS,
        lambda counters, where: _counters(counters, "name", where),
        lambda counters: counters["name"],
        _SPEC.child("sharedCounters"),
    )
    return found


def _is_advanced(device: JsonObject) -> bool:
    attributes = (device.get("attributes") or {}).values()
    lists = any(member in attribute for attribute in attributes for member in LISTS)
    return lists or bool(device.get("taints") or device.get("consumesCounters"))


def _pool(pool: JsonObject, where: Path) -> list[FieldError]:
    found = pool_name(pool["name"], where.child("name"))
    if pool["resourceSliceCount"] <= 0:
        found.append(
            invalid(where.child("resourceSliceCount"), pool["resourceSliceCount"], "must be greater than zero")
        )
    if pool["generation"] < 0:
        detail = "must be greater than or equal to zero"
        found.append(invalid(where.child("generation"), pool["generation"], detail))
    return found


def _node_name(name: str, where: Path) -> list[FieldError]:
    return [invalid(where, name, problem) for problem in names.name_is_subdomain(name)]


def _flag(holder: JsonObject, member: str, where: Path) -> list[FieldError]:
    return [invalid(where.child(member), False, _TRUE_OR_UNSET)] if holder.get(member) is False else []


def _given(holder: JsonObject, *members: str) -> list[str]:
    """Which ways of naming nodes are in use, as messages show them."""
    return [f"`{member}`" for member in members if holder.get(member) not in (None, "", False)]


def _places(spec: JsonObject) -> list[FieldError]:
    found: list[FieldError] = []
    if (name := spec.get("nodeName")) is not None:
        place = _SPEC.child("nodeName")
        detail = "must be either unset or set to a non-empty string"
        found += _node_name(name, place) if name else [invalid(place, name, detail)]
    if (selector := spec.get("nodeSelector")) is not None:
        place = _SPEC.child("nodeSelector")
        found += node_selector_errors(selector, place, invalid_values_allowed=False)
        terms: list[JsonObject] = selector.get("nodeSelectorTerms") or []
        if len(terms) != 1:
            kind = shape(f"MatchExpressions=matchExpressions:{_TERM} MatchFields=matchFields:{_TERM}")
            shown = struct_json([kind.of(term) for term in terms] or None)
            detail = f"{shown}: must have exactly one node selector term"
            found.append(FieldError(Cause.INVALID, str(place.child("nodeSelectorTerms")), OMITTED, detail))
    found += _flag(spec, "allNodes", _SPEC) + _flag(spec, "perDeviceNodeSelection", _SPEC)
    given = _given(spec, "nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
    if not given:
        found.append(required(_SPEC, _PLACES))
    elif len(given) > 1:
        found.append(invalid(_SPEC, f"{{{', '.join(given)}}}", f"{_PLACES}, but multiple fields are set"))
    return found


def _counters(counters: JsonObject, member: str, where: Path) -> list[FieldError]:
    name, place = counters[member], where.child(member)
    found = label(name, place) if name else [required(place)]
    if not counters.get("counters"):
        return [*found, required(where.child("counters"))]
    # Any amount is fine.
    return found + mapping(
        counters["counters"], _MOST_COUNTERS, _LONGEST_LABEL, label, lambda _, __: [], where.child("counters")
    )


def _device(device: JsonObject, old: JsonObject | None, where: Path, by_device: bool) -> list[FieldError]:
    found = label(device["name"], where.child("name"))
    attributes, capacity = device.get("attributes") or {}, device.get("capacity") or {}
    if len(attributes) + len(capacity) > _MOST_PROPERTIES:
        detail = f"the total number of attributes and capacities must not exceed {_MOST_PROPERTIES}"
        found.append(invalid(where, len(attributes) + len(capacity), detail))
    values = sum(sum(len(each.get(member) or ()) for member in LISTS) or 1 for each in attributes.values())
    if values > _MOST_VALUES:
        detail = f"the total number of attribute values must not exceed {_MOST_VALUES}"
        found.append(invalid(where, values, detail))
    found += mapping(attributes, None, _LONGEST_PROPERTY, qualified_name, _attribute, where.child("attributes"))
    shared = bool(device.get("allowMultipleAllocations"))
    found += mapping(
        capacity,
        None,
        _LONGEST_PROPERTY,
        qualified_name,
        lambda amount, at: capacity_errors(amount, at, shared=shared),
        where.child("capacity"),
    )
    taints = device.get("taints") or []
    if old is None or (old.get("taints") or []) != taints:
        found += each(taints, _MOST_TAINTS, _taint, where.child("taints"))
    found += unique(
        device.get("consumesCounters") or (),
        _MOST_CONSUMPTIONS,
        lambda counters, at: _counters(counters, "counterSet", at),
        lambda counters: counters["counterSet"],
        where.child("consumesCounters"),
    )
    return found + _device_places(device, where, by_device) + binding_conditions(device, where)


def _device_places(device: JsonObject, where: Path, by_device: bool) -> list[FieldError]:
    if not by_device:
        if not any(device.get(member) is not None for member in ("nodeName", "nodeSelector", "allNodes")):
            return []
        what = "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection`"
        return [invalid(where, None, f"{what} is set to true in the ResourceSlice spec")]
    found: list[FieldError] = []
    if (name := device.get("nodeName")) is not None:
        place = where.child("nodeName")
        found += _node_name(name, place) if name else [invalid(place, name, "must not be empty")]
    if (selector := device.get("nodeSelector")) is not None:
        found += node_selector_errors(selector, where.child("nodeSelector"), invalid_values_allowed=False)
    found += _flag(device, "allNodes", where)
    given = _given(device, "nodeName", "nodeSelector", "allNodes")
    if not given:
        found.append(required(where, _DEVICE_PLACES))
    elif len(given) > 1:
        found.append(invalid(where, f"{{{', '.join(given)}}}", _DEVICE_PLACES))
    return found


def _attribute(attribute: JsonObject, where: Path) -> list[FieldError]:
    found: list[FieldError] = []
    for member, value in _texts(attribute, "string", "strings"):
        found += _text(value, where.child(member) if isinstance(member, str) else where.child("strings").index(member))
    for member, value in _texts(attribute, "version", "versions"):
        place = where.child(member) if isinstance(member, str) else where.child("versions").index(member)
        if not _is_version(value):
            found.append(invalid(place, value, "must be a string compatible with semver.org spec 2.0.0"))
        found += _text(value, place)
    if not attribute:
        found.append(invalid(where, "", "exactly one value must be specified"))
    elif len(attribute) > 1:
        found.append(invalid_shape(where, shape(_ATTRIBUTE), attribute, "exactly one value must be specified"))
    return found


def _texts(attribute: JsonObject, one: str, several: str) -> list[tuple[str | int, str]]:
    single: list[tuple[str | int, str]] = [(one, attribute[one])] if attribute.get(one) is not None else []
    return single + list(enumerate(attribute.get(several) or ()))


def _text(value: str, where: Path) -> list[FieldError]:
    return [too_long(where, _LONGEST_VALUE)] if names.size(value) > _LONGEST_VALUE else []


def _taint(taint: JsonObject, where: Path) -> list[FieldError]:
    found = label_name(taint["key"], where.child("key"))
    if value := taint.get("value"):
        found += label_value(value, where.child("value"))
    effect, place = taint["effect"], where.child("effect")
    if not effect:
        found.append(required(place))
    elif effect not in EFFECTS:
        found.append(not_supported(place, effect, EFFECTS))
    return found
