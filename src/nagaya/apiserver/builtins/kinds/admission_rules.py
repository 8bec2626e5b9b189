"""What is wrong with the rules that say which writes a webhook or policy is meant for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import FieldError, Path, duplicate, invalid, not_supported, required
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.selectors import label_selector

FAILURE_POLICIES: Final = ("Fail", "Ignore")
MATCH_POLICIES: Final = ("Equivalent", "Exact")
REINVOCATION_POLICIES: Final = ("IfNeeded", "Never")
_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_MUTABLE: Final = ("*", "CONNECT", "CREATE", "UPDATE")
_SCOPES: Final = ("*", "Cluster", "Namespaced")


def rule_errors(rule: JsonObject, path: Path) -> Iterator[FieldError]:
    """Findings about a rule with its operations."""
    operations = rule.get("operations") or []
    where = path.child("operations")
    if not operations:
        yield required(where)
    if len(operations) > 1 and "*" in operations:
        yield invalid(where, operations, "if '*' is present, must not specify other operations")
    for position, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            yield not_supported(where.index(position), operation, _OPERATIONS)
    yield from _names(rule.get("apiGroups") or [], path.child("apiGroups"), "API groups", empty=True)
    yield from _names(rule.get("apiVersions") or [], path.child("apiVersions"), "API versions", empty=False)
    yield from _resources(rule.get("resources") or [], path.child("resources"))
    scope = rule.get("scope")
    if scope is not None and scope not in _SCOPES:
        yield not_supported(path.child("scope"), scope, _SCOPES)


def _names(items: Sequence[str], path: Path, what: str, *, empty: bool) -> Iterator[FieldError]:
    if not items:
        yield required(path)
    if len(items) > 1 and "*" in items:
        yield invalid(path, list(items), f"if '*' is present, must not specify other {what}")
    for position, item in enumerate(items):
        if not item and not empty:
            yield required(path.index(position))


def _resources(items: Sequence[str], path: Path) -> Iterator[FieldError]:
    if not items:
        yield required(path)
    whole: set[str] = set()  # resources of which all subresources are named
    everywhere: set[str] = set()  # subresources that are named of all resources
    plain = False
    for position, item in enumerate(items):
        if not item:
            yield required(path.index(position))
            continue
        resource, slash, part = item.partition("/")
        if not slash:
            plain = item != "*"
            continue
        if resource in whole:
            yield invalid(path.index(position), item, f"if '{resource}/*' is present, must not specify {item}")
        if part in everywhere:
            yield invalid(path.index(position), item, f"if '*/{part}' is present, must not specify {item}")
        if part == "*":
            whole.add(resource)
        if resource == "*":
            everywhere.add(part)
    if len(items) > 1 and "*/*" in items:
        yield invalid(path, list(items), "if '*/*' is present, must not specify other resources")
    if "*" in items and plain:
        detail = "if '*' is present, must not specify other resources without subresources"
        yield invalid(path, list(items), detail)


def match_resources_errors(match: JsonObject, path: Path) -> Iterator[FieldError]:
    """Findings about the `matchConstraints` of a policy or the `matchResources` of a binding."""
    policy = match.get("matchPolicy")
    if policy is None:
        yield required(path.child("matchPolicy"))
    elif policy not in MATCH_POLICIES:
        yield not_supported(path.child("matchPolicy"), policy, MATCH_POLICIES)
    for member in ("namespaceSelector", "objectSelector"):
        if match.get(member) is None:
            yield required(path.child(member))
        else:
            yield from label_selector.validate(match[member], path.child(member))
    for member in ("resourceRules", "excludeResourceRules"):
        for position, rule in enumerate(match.get(member) or ()):
            yield from _named_rule(rule, path.child(member).index(position))


def _named_rule(rule: JsonObject, path: Path) -> Iterator[FieldError]:
    seen: set[str] = set()
    for position, name in enumerate(rule.get("resourceNames") or ()):
        where = path.child("resourceNames").index(position)
        for problem in names.path_segment(name):
            yield invalid(where, name, problem)
        if name in seen:
            yield duplicate(where, name)
        seen.add(name)
    yield from rule_errors(rule, path)


def mutable_operation_errors(match: JsonObject, path: Path) -> Iterator[FieldError]:
    """Findings about operations that leave nothing to change."""
    for rule in match.get("resourceRules") or ():
        for operation in rule.get("operations") or ():
            if operation not in _MUTABLE:
                yield not_supported(path.child("resourceRules", "operations"), operation, _MUTABLE)


def default_rules(rules: Sequence[JsonObject] | None) -> None:
    """Rules are for objects of any scope unless they say otherwise. Changes them."""
    for rule in rules or ():
        if rule.get("scope") is None:
            rule["scope"] = "*"


def default_matching(match: JsonObject) -> None:
    """What holds if a webhook or policy does not say what it matches. Changes it."""
    if match.get("matchPolicy") is None:
        match["matchPolicy"] = "Equivalent"
    for member in ("namespaceSelector", "objectSelector"):
        if match.get(member) is None:
            match[member] = {}
