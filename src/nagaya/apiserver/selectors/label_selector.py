"""Selectors that are part of an object: `matchLabels` and `matchExpressions`."""

from __future__ import annotations

from typing import Any, Final

from nagaya.apiserver.meta import gostring, names
from nagaya.apiserver.meta.field_errors import FieldError, Path, forbidden, invalid, required
from nagaya.apiserver.meta.object_meta import validate_labels
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.selectors.labels import EVERYTHING, NOTHING, LabelSelector
from nagaya.apiserver.selectors.requirement import Operator, SelectorError, checked

_OPERATORS: Final = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
}


def compiled(selector: JsonObject | None) -> LabelSelector:
    """The selector that an object holds, ready to match. No selector selects nothing, an empty one everything.

    Raises SelectorError.
    """
    if selector is None:
        return NOTHING
    labels: dict[str, str] = selector.get("matchLabels") or {}
    expressions: list[JsonObject] = selector.get("matchExpressions") or []
    if not labels and not expressions:
        return EVERYTHING
    requirements = [checked(key, Operator.EQUALS, [value]) for key, value in labels.items()]
    for expression in expressions:
        name = expression.get("operator") or ""
        operator = _OPERATORS.get(name)
        if operator is None:
            raise SelectorError(f"{gostring.quote(name)} is not a valid label selector operator")
        requirements.append(checked(expression.get("key") or "", operator, expression.get("values") or ()))
    return LabelSelector(requirements)


def validate(
    selector: JsonObject | None,
    path: Path,
    *,
    invalid_values_allowed: bool = False,
    unknown_operators_allowed: bool = False,
) -> list[FieldError]:
    """What is wrong with a selector. Values that were invalid before may be allowed to stay."""
    if selector is None:
        return []
    errors = validate_labels(selector.get("matchLabels") or {}, path.child("matchLabels"))
    for position, expression in enumerate(selector.get("matchExpressions") or ()):
        where = path.child("matchExpressions").index(position)
        errors += validate_expression(
            expression,
            where,
            invalid_values_allowed=invalid_values_allowed,
            unknown_operators_allowed=unknown_operators_allowed,
        )
    return errors


def validate_expression(
    expression: JsonObject,
    path: Path,
    *,
    invalid_values_allowed: bool = False,
    unknown_operators_allowed: bool = False,
) -> list[FieldError]:
    """What is wrong with one of a selector's expressions."""
    errors: list[FieldError] = []
    operator: str = expression.get("operator") or ""
    values: list[Any] = expression.get("values") or []
    if operator in ("In", "NotIn"):
        if not values:
            errors.append(required(path.child("values"), "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            errors.append(forbidden(path.child("values"), detail))
    elif not unknown_operators_allowed:
        errors.append(invalid(path.child("operator"), operator, "not a valid selector operator"))
    key = expression.get("key") or ""
    errors += [invalid(path.child("key"), key, problem) for problem in names.qualified_name(key)]
    if not invalid_values_allowed:
        for position, value in enumerate(values):
            where = path.child("values").index(position)
            errors += [invalid(where, value, problem) for problem in names.label_value(value)]
    return errors


def has_invalid_value(selector: JsonObject | None) -> bool:
    """Whether an expression holds a value that no label can have; objects from before that rule may keep it."""
    return any(
        names.label_value(value)
        for expression in (selector or {}).get("matchExpressions") or ()
        for value in expression.get("values") or ()
    )
