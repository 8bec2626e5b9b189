"""The selectors that an access review may hold: as text, or as a list of requirements.

Requirements that cannot be understood are left out, and that some were is told; newer clients may send operators that
this server does not know.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from nagaya.apiserver.meta.field_errors import FieldError, Path, forbidden, invalid, required
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.selectors import fields, label_selector, labels
from nagaya.apiserver.selectors.fields import FieldRequirement
from nagaya.apiserver.selectors.requirement import Operator, Requirement, SelectorError, checked

_OPERATORS: Final = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
}


class ReadFields(NamedTuple):
    """A field selector as far as it was understood."""

    requirements: tuple[FieldRequirement, ...] = ()
    failed: bool = False


class ReadLabels(NamedTuple):
    """A label selector as far as it was understood."""

    requirements: tuple[Requirement, ...] = ()
    failed: bool = False


def read_fields(selector: JsonObject | None) -> ReadFields:
    """The requirements of a `fieldSelector`."""
    if selector is None:
        return ReadFields()
    listed = selector.get("requirements")
    if not listed:
        try:
            return ReadFields(fields.parse(selector.get("rawSelector") or "").requirements)
        except SelectorError:
            return ReadFields(failed=True)
    found = []
    for each in listed:
        operator = each.get("operator")
        values: list[str] = each.get("values") or []
        if operator in ("In", "NotIn") and len(values) == 1:
            found.append(FieldRequirement(each.get("key") or "", operator == "In", values[0]))
    return ReadFields(tuple(found), len(found) < len(listed))


def read_labels(selector: JsonObject | None) -> ReadLabels:
    """The requirements of a `labelSelector`."""
    if selector is None:
        return ReadLabels()
    listed = selector.get("requirements")
    if not listed:
        try:
            return ReadLabels(labels.parse(selector.get("rawSelector") or "").requirements)
        except SelectorError:
            return ReadLabels(failed=True)
    found = []
    for each in listed:
        operator = _OPERATORS.get(each.get("operator") or "")
        if operator is None:
            continue
        try:
            found.append(checked(each.get("key") or "", operator, each.get("values") or ()))
        except SelectorError:
            continue
    return ReadLabels(tuple(found), len(found) < len(listed))


def validate_selectors(asked: JsonObject, path: Path) -> list[FieldError]:
    """What is wrong with the selectors of `resourceAttributes`."""
    errors: list[FieldError] = []
    for member, check in (("fieldSelector", _field_errors), ("labelSelector", _label_errors)):
        selector = asked.get(member)
        if selector is None:
            continue
        where = path.child(member)
        raw, listed = selector.get("rawSelector") or "", selector.get("requirements") or []
        if raw and listed:
            problem = "may not specified at the same time as requirements"
            errors.append(invalid(where.child("rawSelector"), raw, problem))
        if not raw and not listed:
            problem = f"when {where} is specified, requirements or rawSelector is required"
            errors.append(required(where.child("requirements"), problem))
        for position, each in enumerate(listed):
            errors += check(each, where.child("requirements").index(position))
    return errors


def _field_errors(requirement: JsonObject, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    if not requirement.get("key"):
        errors.append(required(path.child("key"), "must be specified"))
    operator, values = requirement.get("operator"), requirement.get("values")
    if operator in ("In", "NotIn") and not values:
        errors.append(required(path.child("values"), "must be specified when `operator` is 'In' or 'NotIn'"))
    if operator in ("Exists", "DoesNotExist") and values:
        problem = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        errors.append(forbidden(path.child("values"), problem))
    return errors


def _label_errors(requirement: JsonObject, path: Path) -> list[FieldError]:
    return label_selector.validate_expression(requirement, path, unknown_operators_allowed=True)
