"""Where a pod may and would like to run: node selectors, affinity, tolerations and spreading."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from nagaya.apiserver.builtins.kinds.pod_rules import Rules
from nagaya.apiserver.meta import integers, names
from nagaya.apiserver.meta.field_errors import (
    FieldError,
    Path,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    repeated,
    required,
)
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.selectors import label_selector

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_NOT_AN_OPERATOR: Final = "not a valid selector operator"
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_ACTIONS: Final = ("DoNotSchedule", "ScheduleAnyway")
_NODE_POLICIES: Final = ("Honor", "Ignore")


def _label_name(name: str, path: Path) -> Iterator[FieldError]:
    yield from (invalid(path, name, problem) for problem in names.qualified_name(name))


def validate_affinity(affinity: JsonObject, path: Path, rules: Rules) -> Iterator[FieldError]:
    """Everything a pod says about nodes and about other pods."""
    if (nodes := affinity.get("nodeAffinity")) is not None:
        yield from _validate_node_affinity(nodes, path.child("nodeAffinity"), rules)
    for side in ("podAffinity", "podAntiAffinity"):
        if (pods := affinity.get(side)) is not None:
            yield from _validate_pod_affinity(pods, path.child(side), rules)


def _validate_node_affinity(affinity: JsonObject, path: Path, rules: Rules) -> Iterator[FieldError]:
    if (selector := affinity.get(_REQUIRED)) is not None:
        terms = selector.get("nodeSelectorTerms") or ()
        where = path.child(_REQUIRED, "nodeSelectorTerms")
        if not terms:
            yield required(where, "must have at least one node selector term")
        for position, term in enumerate(terms):
            yield from _validate_node_term(term, where.index(position), any_value=rules.any_node_affinity_value)
    for position, weighted in enumerate(affinity.get(_PREFERRED) or ()):
        where = path.child(_PREFERRED).index(position)
        yield from _validate_weight(weighted, where)
        yield from _validate_node_term(weighted.get("preference") or {}, where.child("preference"), any_value=True)


def _validate_weight(weighted: JsonObject, path: Path) -> Iterator[FieldError]:
    weight = weighted.get("weight") or 0
    if not 0 < weight <= 100:
        yield invalid(path.child("weight"), weight, "must be in the range 1-100")


def _validate_node_term(term: JsonObject, path: Path, *, any_value: bool) -> Iterator[FieldError]:
    for position, expression in enumerate(term.get("matchExpressions") or ()):
        yield from _validate_node_expression(expression, path.child("matchExpressions").index(position), any_value)
    for position, expression in enumerate(term.get("matchFields") or ()):
        yield from _validate_node_field(expression, path.child("matchFields").index(position))


def _validate_node_expression(expression: JsonObject, path: Path, any_value: bool) -> Iterator[FieldError]:
    operator, values = expression.get("operator") or "", expression.get("values") or ()
    where = path.child("values")
    if operator in ("In", "NotIn"):
        if not values:
            yield required(where, "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            yield forbidden(where, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            yield required(where, "must be specified single value when `operator` is 'Lt' or 'Gt'")
    else:
        yield invalid(path.child("operator"), operator, _NOT_AN_OPERATOR)
    yield from _label_name(expression.get("key") or "", path.child("key"))
    if not any_value:
        for position, value in enumerate(values):
            yield from (invalid(where.index(position), value, problem) for problem in names.label_value(value))


def _validate_node_field(expression: JsonObject, path: Path) -> Iterator[FieldError]:
    operator, values, key = expression.get("operator") or "", expression.get("values") or (), expression.get("key")
    if operator not in ("In", "NotIn"):
        yield invalid(path.child("operator"), operator, _NOT_AN_OPERATOR)
    elif len(values) != 1:
        detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        yield required(path.child("values"), detail)
    if key != "metadata.name":
        yield invalid(path.child("key"), key or "", "not a valid field selector key")
        return
    for position, value in enumerate(values):
        where = path.child("values").index(position)
        yield from (invalid(where, value, problem) for problem in names.name_is_subdomain(value))


def _validate_pod_affinity(affinity: JsonObject, path: Path, rules: Rules) -> Iterator[FieldError]:
    for position, term in enumerate(affinity.get(_REQUIRED) or ()):
        yield from _validate_pod_term(term, path.child(_REQUIRED).index(position), rules)
    for position, weighted in enumerate(affinity.get(_PREFERRED) or ()):
        where = path.child(_PREFERRED).index(position)
        yield from _validate_weight(weighted, where)
        yield from _validate_pod_term(weighted.get("podAffinityTerm") or {}, where.child("podAffinityTerm"), rules)


def _validate_pod_term(term: JsonObject, path: Path, rules: Rules) -> Iterator[FieldError]:
    for field in ("labelSelector", "namespaceSelector"):
        yield from label_selector.validate(
            term.get(field), path.child(field), invalid_values_allowed=rules.any_affinity_value
        )
    for namespace in term.get("namespaces") or ():
        problems = names.name_is_label(namespace)
        yield from (invalid(path.child("namespace"), namespace, problem) for problem in problems)
    yield from _validate_label_keys(term, term.get("mismatchLabelKeys") or (), path)
    key = term.get("topologyKey") or ""
    if not key:
        yield required(path.child("topologyKey"), "can not be empty")
    yield from _label_name(key, path.child("topologyKey"))


def _validate_label_keys(term: JsonObject, mismatch: Sequence[str], path: Path) -> Iterator[FieldError]:
    """Labels of the pod itself that are merged into a selector, and so must not be in it yet."""
    match: Sequence[str] = term.get("matchLabelKeys") or ()
    selector = term.get("labelSelector")
    for field, keys in (("matchLabelKeys", match), ("mismatchLabelKeys", mismatch)):
        if keys and selector is None:
            yield forbidden(path.child(field), "must not be specified when labelSelector is not set")
        elif keys:
            for position, key in enumerate(keys):
                yield from _label_name(key, path.child(field).index(position))
    if selector is not None:
        positions = {key: position for position, key in enumerate(match)}
        seen = set(selector.get("matchLabels") or ())
        for expression in selector.get("matchExpressions") or ():
            key = expression.get("key") or ""
            if key in positions and key in seen:
                yield invalid(path.index(positions[key]), key, "exists in both matchLabelKeys and labelSelector")
            seen.add(key)
    for position, key in enumerate(match):
        if key in mismatch:
            detail = "exists in both matchLabelKeys and mismatchLabelKeys"
            yield invalid(path.child("matchLabelKeys").index(position), key, detail)


def validate_tolerations(tolerations: Sequence[JsonObject], path: Path, rules: Rules) -> Iterator[FieldError]:
    """Taints of nodes that a pod puts up with."""
    for position, toleration in enumerate(tolerations):
        where = path.index(position)
        key, operator = toleration.get("key") or "", toleration.get("operator") or ""
        value, effect = toleration.get("value") or "", toleration.get("effect") or ""
        if key:
            yield from _label_name(key, where.child("key"))
        elif operator != "Exists":
            detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            yield invalid(where.child("operator"), operator, detail)
        if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
            detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            yield invalid(where.child("effect"), effect, detail)
        yield from _validate_comparison(operator, value, where, rules)
        if effect and effect not in _EFFECTS:
            yield not_supported(where.child("effect"), effect, _EFFECTS)


def _validate_comparison(operator: str, value: str, path: Path, rules: Rules) -> Iterator[FieldError]:
    if operator in ("", "Equal"):
        if problems := names.label_value(value):
            yield invalid(path.child("operator"), value, ";".join(problems))
    elif operator == "Exists":
        if value:
            yield invalid(path.child("operator"), value, "value must be empty when `operator` is 'Exists'")
    elif operator in ("Lt", "Gt"):
        if not rules.comparing_tolerations:
            yield not_supported(path.child("operator"), operator, ("Equal", "Exists", "Lt", "Gt"))
            return
        yield from (invalid(path.child("value"), value, problem) for problem in names.decimal_integer(value))
        if problem := _integer_problem(value):
            yield invalid(path.child("value"), value, problem)
    else:
        yield not_supported(path.child("operator"), operator, ("Equal", "Exists"))


def _integer_problem(text: str) -> str:
    try:
        integers.parse(text, "ParseInt")
    except ValueError as error:
        return str(error)
    return ""


def validate_spread(constraints: Sequence[JsonObject], path: Path, rules: Rules) -> Iterator[FieldError]:
    """How evenly pods are spread over a topology."""
    kinds = [(constraint.get("topologyKey"), constraint.get("whenUnsatisfiable")) for constraint in constraints]
    alike = {len(kinds) - 1 - position for position, _ in repeated(reversed(kinds))}
    for position, constraint in enumerate(constraints):
        where = path.index(position)
        skew, key = constraint.get("maxSkew") or 0, constraint.get("topologyKey") or ""
        action = constraint.get("whenUnsatisfiable") or ""
        if skew <= 0:
            yield invalid(where.child("maxSkew"), skew, "must be greater than zero")
        if not key:
            yield required(where.child("topologyKey"), "can not be empty")
        if action not in _ACTIONS:
            yield not_supported(where.child("whenUnsatisfiable"), action, _ACTIONS)
        if position in alike:
            yield duplicate(where.child("{topologyKey, whenUnsatisfiable}"), f"{{{key}, {action}}}")
        yield from _validate_domains(constraint.get("minDomains"), action, where.child("minDomains"))
        for field in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            policy = constraint.get(field)
            if policy is not None and policy not in _NODE_POLICIES:
                yield not_supported(where.child(field), policy, _NODE_POLICIES)
        if rules.merged_spread_keys:
            yield from _validate_spread_keys(constraint, where.child("matchLabelKeys"))
        else:
            yield from _validate_label_keys(constraint, (), where)
        if not rules.any_spread_selector:
            yield from label_selector.validate(constraint.get("labelSelector"), where.child("labelSelector"))


def _validate_domains(least: Any, action: str, path: Path) -> Iterator[FieldError]:
    if least is None:
        return
    if least <= 0:
        yield invalid(path, least, "must be greater than zero")
    if action != "DoNotSchedule":
        yield invalid(path, least, f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}")


def _validate_spread_keys(constraint: JsonObject, path: Path) -> Iterator[FieldError]:
    """The older rule, for pods from before labels were merged into selectors."""
    keys, selector = constraint.get("matchLabelKeys") or (), constraint.get("labelSelector")
    if keys and selector is None:
        yield forbidden(path, "must not be specified when labelSelector is not set")
    expressions = (selector or {}).get("matchExpressions") or ()
    selected = {*((selector or {}).get("matchLabels") or ()), *(each.get("key") for each in expressions)}
    for position, key in enumerate(keys):
        yield from _label_name(key, path.index(position))
        if key in selected:
            yield invalid(path.index(position), key, "exists in both matchLabelKeys and labelSelector")
