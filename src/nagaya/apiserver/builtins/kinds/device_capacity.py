"""How much a device has, and in which portions it can be shared."""

from __future__ import annotations

from typing import Final

from nagaya.apiserver.builtins.kinds.device_checks import unique
from nagaya.apiserver.meta.field_errors import FieldError, Path, forbidden, invalid, required
from nagaya.apiserver.meta.quantity import Quantity, parse
from nagaya.apiserver.meta.status import JsonObject

_MOST_OPTIONS: Final = 10


def capacity_errors(capacity: JsonObject, where: Path, *, shared: bool) -> list[FieldError]:
    """What is wrong with one of a device's capacities. Only devices that are `shared` have portions."""
    policy, place = capacity.get("requestPolicy"), where.child("requestPolicy")
    if policy is None:
        return []
    if not shared:
        return [forbidden(place, "allowMultipleAllocations must be true")]
    values, bounds = policy.get("validValues") or [], policy.get("validRange")
    if values and bounds is not None:
        detail = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'
        return [forbidden(place, detail)]
    default = policy.get("default")
    if not values and bounds is None:
        return []
    if default is None:
        what = "validValues" if values else "validRange"
        return [required(place.child("default"), f"required when {what} is defined")]
    whole = capacity["value"]
    if values:
        return _options(parse(default), parse(whole), values, place.child("validValues"))
    return _range(parse(default), parse(whole), bounds or {}, place.child("validRange"))


def _options(default: Quantity, whole: Quantity, values: list[str], where: Path) -> list[FieldError]:
    amounts = [parse(value) for value in values]
    errors = [
        invalid(where.index(position), values[position], "values must be sorted in ascending order")
        for position in range(1, len(amounts))
        if amounts[position] < amounts[position - 1]
    ]

    def fits(value: str, at: Path) -> list[FieldError]:
        if whole < parse(value):
            return [invalid(at, value, f"option is larger than capacity value: {whole}")]
        return []

    errors += unique(values, _MOST_OPTIONS, fits, lambda value: str(parse(value).value), where)
    if len(values) > _MOST_OPTIONS or default not in amounts:
        errors.append(invalid(where, str(default), "default value is not valid according to the requestPolicy"))
    return errors


def _range(default: Quantity, whole: Quantity, bounds: JsonObject, where: Path) -> list[FieldError]:
    if bounds.get("min") is None:
        return [required(where.child("min"), "required when validRange is defined")]
    low = parse(bounds["min"])
    high = parse(bounds["max"]) if bounds.get("max") is not None else None
    errors: list[FieldError] = []
    place = where.child("min")
    if whole < low:
        errors.append(invalid(place, str(low), f"min is larger than capacity value: {whole}"))
    if default < low:
        errors.append(invalid(place, str(default), f"default is less than min: {low}"))
    if high is not None:
        place = where.child("max")
        if high < low:
            errors.append(invalid(place, str(low), f"min is larger than max: {high}"))
        if whole < high:
            errors.append(invalid(place, str(high), f"max is larger than capacity value: {whole}"))
        if high < default:
            errors.append(invalid(place, str(default), f"default is more than max: {high}"))
    if bounds.get("step") is None:
        return errors
    step, place = parse(bounds["step"]), where.child("step")
    if whole < low + step:
        detail = f"one step {low + step} is larger than capacity value: {whole}"
        errors.append(invalid(place, str(step), detail))
    for value in (default, high):
        if value is not None and step.value and (value.value - low.value) % step.value:
            detail = f"value is not a multiple of a given step ({step}) from ({low})"
            errors.append(invalid(place, str(value), detail))
    return errors
