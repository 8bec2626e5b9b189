"""Label selectors as they are written in objects: read, checked, matched and printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from nagaya.api.admission.content import Content, items, mapping, text, texts
from nagaya.api.admission.field_error import FieldError, aggregate, invalid
from nagaya.api.admission.golang import quote
from nagaya.api.admission.names import label_key, label_value
from nagaya.api.cluster.selector import LabelSelector
from nagaya.api.meta import NONE

_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}


class InvalidSelector(ValueError):
    """A selector that selects nothing because it says nothing that could be understood."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label."""

    key: str
    operator: str
    values: tuple[str, ...]

    def matches(self, labels: Mapping[str, object]) -> bool:
        """Whether labels fulfil it."""
        match self.operator:
            case "exists":
                return self.key in labels
            case "!":
                return self.key not in labels
            case "notin":
                return labels.get(self.key) not in self.values
            case _:
                return labels.get(self.key) in self.values

    def __str__(self) -> str:
        values = ",".join(sorted(self.values))
        match self.operator:
            case "exists":
                return self.key
            case "!":
                return f"!{self.key}"
            case "=":
                return f"{self.key}={values}"
            case _:
                return f"{self.key} {self.operator} ({values})"


@dataclass(frozen=True, slots=True)
class Selector:
    """All conditions, by key. One without any selects everything."""

    requirements: tuple[Requirement, ...]

    def matches(self, labels: Mapping[str, object]) -> bool:
        """Whether labels fulfil all conditions."""
        return all(each.matches(labels) for each in self.requirements)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


def parse(content: Content) -> Selector:
    """The selector that an object has. Raises InvalidSelector."""
    found = [_requirement(key, "=", (str(value),)) for key, value in sorted(mapping(content, "matchLabels").items())]
    for expression in items(content, "matchExpressions"):
        operator = text(expression, "operator")
        if operator not in _OPERATORS:
            raise InvalidSelector(f"{quote(operator)} is not a valid label selector operator")
        found.append(_requirement(text(expression, "key"), _OPERATORS[operator], tuple(texts(expression, "values"))))
    return Selector(tuple(sorted(found, key=lambda each: each.key)))


def read(selector: LabelSelector, also: Mapping[str, str] = NONE) -> Selector:
    """What a typed selector selects, of objects that have certain labels besides. Raises InvalidSelector."""
    content = msgspec.to_builtins(selector)
    return parse({**content, "matchLabels": {**selector.match_labels, **also}} if also else content)


def as_printed(content: Content) -> Content:
    """The selector with its fields in the order in which Go prints them."""
    shown: dict[str, object] = {}
    if match_labels := mapping(content, "matchLabels"):
        shown["matchLabels"] = dict(sorted(match_labels.items()))
    if expressions := items(content, "matchExpressions"):
        order = ("key", "operator", "values")
        shown["matchExpressions"] = [{name: each[name] for name in order if each.get(name)} for each in expressions]
    return shown


def is_empty(content: Content) -> bool:
    """Whether a selector has no condition."""
    return not mapping(content, "matchLabels") and not items(content, "matchExpressions")


def _requirement(key: str, operator: str, values: tuple[str, ...]) -> Requirement:
    problems: list[FieldError] = []
    if wrong := label_key(key):
        problems.append(invalid("key", key, "; ".join(wrong)))
    shown = list(values) or None  # no values are null to Go
    if operator in ("in", "notin") and not values:
        problems.append(invalid("values", shown, "for 'in', 'notin' operators, values set can't be empty"))
    if operator in ("exists", "!") and values:
        problems.append(invalid("values", shown, "values set must be empty for exists and does not exist"))
    for index, value in enumerate(values):
        if wrong := label_value(value):
            problems.append(invalid(f"values[{index}][{key}]", value, "; ".join(wrong)))
    if problems:
        raise InvalidSelector(aggregate(problems))
    return Requirement(key, operator, values)
