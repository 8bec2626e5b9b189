"""LimitRanges: what a pod, container or claim may ask for, and gets if it asks for nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from nagaya.apiserver.builtins.kinds import core_resources
from nagaya.apiserver.builtins.kinds.core_strategy import CoreStrategy
from nagaya.apiserver.meta import names, quantity
from nagaya.apiserver.meta.field_errors import FieldError, Path, duplicate, forbidden, invalid, required
from nagaya.apiserver.meta.quantity import Quantity
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call

_LISTS: Final = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
_TYPES: Final = frozenset({"Pod", "Container", "PersistentVolumeClaim"})
_LIMITS: Final = Path("spec.limits")
_MOST_MILLI: Final = ((1 << 63) - 1) // 1000
_ONE: Final = Quantity(1)

Amounts = Mapping[str, str]
Parsed = Mapping[str, Quantity]
"""The amounts that one resource has in each of the lists."""


class LimitRangeStrategy(CoreStrategy):
    """LimitRange."""

    allow_create_on_update = True

    def default(self, obj: JsonObject) -> None:
        """What a container gets follows from what it may ask for."""
        for limit in obj["spec"].get("limits") or ():
            for name in _LISTS:
                core_resources.round_up(limit.get(name))
            if limit.get("type") == "Container":
                _default_container(limit)

    def prepare_create(self, obj: JsonObject, call: Call) -> None:
        """The one kind that needs no name."""
        if not obj["metadata"].get("name"):
            obj["metadata"]["name"] = call.backend.world.uid()

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """Every type once, known resources, and amounts that fit each other."""
        errors: list[FieldError] = []
        seen: set[str] = set()
        for position, limit in enumerate(obj["spec"].get("limits") or ()):
            where = _LIMITS.index(position)
            kind: str = limit.get("type") or ""
            errors += _type_errors(kind, where.child("type"))
            if kind in seen:
                errors.append(duplicate(where.child("type"), kind))
            seen.add(kind)
            errors += _limit_errors(kind, limit, where)
        return errors

    def validate_update(
        self, new: JsonObject, old: JsonObject, call: Call, found: Sequence[FieldError]
    ) -> list[FieldError]:
        """The rules for a new one."""
        return self.complete(new, found) + self.rules(new, old)


def _default_container(limit: JsonObject) -> None:
    most: Amounts = limit.get("max") or {}
    least: Amounts = limit.get("min") or {}
    given = {**most, **(limit.get("default") or {})}
    requested = {**least, **given, **(limit.get("defaultRequest") or {})}
    if given:
        limit["default"] = given
    if requested:
        limit["defaultRequest"] = requested


def _type_errors(kind: str, where: Path) -> list[FieldError]:
    errors = [invalid(where, kind, problem) for problem in names.qualified_name(kind)]
    if not errors and "/" not in kind and kind not in _TYPES:
        errors.append(invalid(where, kind, "must be a standard limit type or fully qualified"))
    return errors


def _limit_errors(kind: str, limit: JsonObject, where: Path) -> list[FieldError]:
    check = core_resources.validate_container_name if kind in ("Pod", "Container") else core_resources.validate_name
    errors: list[FieldError] = []
    amounts: dict[str, dict[str, Quantity]] = {}
    for name in _LISTS:
        given: Amounts = limit.get(name) or {}
        if name == "maxLimitRequestRatio" and kind == "PersistentVolumeClaim":
            errors += _claim_errors(limit, where)
        if kind == "Pod" and name in ("default", "defaultRequest"):
            if given:
                errors.append(forbidden(where.child(name), "may not be specified when `type` is 'Pod'"))
            continue
        for resource, text in given.items():
            errors += check(resource, where.child(name).key(resource))
            amounts.setdefault(resource, {})[name] = quantity.parse(text)
    for resource, by_list in amounts.items():
        errors += _amount_errors(resource, by_list, where)
    return errors


def _claim_errors(limit: JsonObject, where: Path) -> list[FieldError]:
    storage = core_resources.STORAGE
    if storage in (limit.get("min") or {}) or storage in (limit.get("max") or {}):
        return []
    detail = "either minimum or maximum storage value is required, but neither was provided"
    return [required(where.child("limits"), detail)]


# Which list must not be greater than which: the smaller, the greater, where to say so, whose value to show, the words.
_ORDER: Final = (
    ("min", "max", "min", "min", "min value {} is greater than max value {}"),
    (
        "min",
        "defaultRequest",
        "defaultRequest",
        "defaultRequest",
        "min value {} is greater than default request value {}",
    ),
    (
        "defaultRequest",
        "max",
        "defaultRequest",
        "defaultRequest",
        "default request value {} is greater than max value {}",
    ),
    (
        "defaultRequest",
        "default",
        "defaultRequest",
        "defaultRequest",
        "default request value {} is greater than default limit value {}",
    ),
    ("min", "default", "default", "min", "min value {} is greater than default value {}"),
    ("default", "max", "default", "max", "default value {} is greater than max value {}"),
)


def _amount_errors(resource: str, amounts: Parsed, where: Path) -> list[FieldError]:
    def at(name: str) -> Path:
        return where.child(name).key(resource)

    errors = [
        invalid(at(place), str(amounts[shown]), words.format(amounts[small], amounts[great]))
        for small, great, place, shown, words in _ORDER
        if small in amounts and great in amounts and amounts[small] > amounts[great]
    ]
    errors += _ratio_errors(amounts, at)
    request, limit = amounts.get("defaultRequest"), amounts.get("default")
    if request is None or limit is None or request == limit or core_resources.is_overcommit_allowed(resource):
        return errors
    detail = f"default value {limit} must equal to defaultRequest value {request} in {resource}"
    return [*errors, invalid(at("defaultRequest"), str(request), detail)]


def _ratio_errors(amounts: Parsed, at: Callable[[str], Path]) -> list[FieldError]:
    ratio, least, most = (amounts.get(each) for each in ("maxLimitRequestRatio", "min", "max"))
    if ratio is None:
        return []
    where = at("maxLimitRequestRatio")
    errors = [invalid(where, str(ratio), f"ratio {ratio} is less than 1")] if ratio < _ONE else []
    if least is None or most is None:
        return errors
    value, low, high = float(ratio.value), least.value, most.value
    if ratio.value < _MOST_MILLI and low < _MOST_MILLI and high < _MOST_MILLI:
        value, low, high = ratio.milli_value / 1000, least.milli_value, most.milli_value
    bound = high / low if low else float("inf") if high else float("nan")
    if value > bound:
        errors.append(invalid(where, str(ratio), f"ratio {ratio} is greater than max/min = {bound:f}"))
    return errors
