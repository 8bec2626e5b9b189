"""What roles and bindings may look like, beyond what holds for the metadata of all objects.

Names of roles and bindings only have to fit into a URL (`names.path_segment`): `system:node` is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from nagaya.apiserver.authz.rbac import GROUP
from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import FieldError, Path, invalid, not_supported, required
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.selectors import label_selector
from nagaya.apiserver.selectors.requirement import SelectorError

_SUBJECT_KINDS: Final = ("ServiceAccount", "User", "Group")
_REFERENCE_MEMBERS: Final = {"APIGroup": "apiGroup", "Kind": "kind", "Name": "name"}


def default_binding(binding: JsonObject) -> None:
    """Fill in the API groups of a binding's role and subjects, in place."""
    reference = binding.setdefault("roleRef", {})
    if not reference.get("apiGroup"):
        reference["apiGroup"] = GROUP
    for subject in binding.get("subjects") or ():
        if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
            subject["apiGroup"] = GROUP


def validate_role(role: JsonObject) -> list[FieldError]:
    """What is wrong with a Role."""
    return _validate_rules(role, namespaced=True)


def validate_cluster_role(role: JsonObject, old: JsonObject | None = None) -> list[FieldError]:
    """What is wrong with a ClusterRole. Selectors that were invalid before may keep their values."""
    errors = _validate_rules(role, namespaced=False)
    aggregation = role.get("aggregationRule")
    if aggregation is None:
        return errors
    path = Path("aggregationRule").child("clusterRoleSelectors")
    selectors: list[JsonObject] = aggregation.get("clusterRoleSelectors") or []
    if not selectors:
        errors.append(required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil"))
    lenient = old is not None and _had_invalid_selector(old)
    for position, selector in enumerate(selectors):
        where = path.index(position)
        errors += label_selector.validate(selector, where, invalid_values_allowed=lenient)
        try:
            label_selector.compiled(selector)
        except SelectorError:
            errors.append(invalid(where, None, "invalid label selector."))
    return errors


def _had_invalid_selector(role: JsonObject) -> bool:
    selectors = (role.get("aggregationRule") or {}).get("clusterRoleSelectors") or ()
    return any(label_selector.validate(selector, Path()) for selector in selectors)


def validate_role_binding(binding: JsonObject, old: JsonObject | None = None) -> list[FieldError]:
    """What is wrong with a RoleBinding."""
    return _validate_binding(binding, old, ("Role", "ClusterRole"), namespaced=True)


def validate_cluster_role_binding(binding: JsonObject, old: JsonObject | None = None) -> list[FieldError]:
    """What is wrong with a ClusterRoleBinding."""
    return _validate_binding(binding, old, ("ClusterRole",), namespaced=False)


def _validate_rules(role: JsonObject, *, namespaced: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    for position, rule in enumerate(role.get("rules") or ()):
        errors += _validate_rule(rule, Path("rules").index(position), namespaced=namespaced)
    return errors


def _validate_rule(rule: JsonObject, path: Path, *, namespaced: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    if not rule.get("verbs"):
        errors.append(required(path.child("verbs"), "verbs must contain at least one value"))
    urls = rule.get("nonResourceURLs")
    if urls:
        where = path.child("nonResourceURLs")
        if namespaced:
            errors.append(invalid(where, urls, "namespaced rules cannot apply to non-resource URLs"))
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            problem = "rules cannot apply to both regular resources and non-resource URLs"
            errors.append(invalid(where, urls, problem))
        return errors
    if not rule.get("apiGroups"):
        errors.append(required(path.child("apiGroups"), "resource rules must supply at least one api group"))
    if not rule.get("resources"):
        errors.append(required(path.child("resources"), "resource rules must supply at least one resource"))
    return errors


def _validate_binding(
    binding: JsonObject, old: JsonObject | None, kinds: Sequence[str], *, namespaced: bool
) -> list[FieldError]:
    path = Path("roleRef")
    reference = _reference(binding)
    errors: list[FieldError] = []
    if reference["APIGroup"] != GROUP:
        errors.append(not_supported(path.child("apiGroup"), reference["APIGroup"], [GROUP]))
    if reference["Kind"] not in kinds:
        errors.append(not_supported(path.child("kind"), reference["Kind"], kinds))
    name = reference["Name"]
    if not name:
        errors.append(required(path.child("name")))
    errors += [invalid(path.child("name"), name, problem) for problem in names.path_segment(name)]
    for position, subject in enumerate(binding.get("subjects") or ()):
        errors += _validate_subject(subject, Path("subjects").index(position), namespaced=namespaced)
    if old is not None and _reference(old) != reference:
        errors.append(invalid(path, reference, "cannot change roleRef"))
    return errors


def _reference(binding: JsonObject) -> JsonObject:
    """A binding's roleRef in the form in which the real server shows it in errors."""
    reference = binding.get("roleRef") or {}
    return {title: reference.get(member) or "" for title, member in _REFERENCE_MEMBERS.items()}


def _validate_subject(subject: JsonObject, path: Path, *, namespaced: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    kind, name, group = (subject.get(member) or "" for member in ("kind", "name", "apiGroup"))
    if not name:
        errors.append(required(path.child("name")))
    if kind == "ServiceAccount":
        if name:
            errors += [invalid(path.child("name"), name, problem) for problem in names.dns_subdomain(name)]
        if group:
            errors.append(not_supported(path.child("apiGroup"), group, [""]))
        if not namespaced and not subject.get("namespace"):
            errors.append(required(path.child("namespace")))
    elif kind in ("User", "Group"):
        if group != GROUP:
            errors.append(not_supported(path.child("apiGroup"), group, [GROUP]))
    else:
        errors.append(not_supported(path.child("kind"), kind, _SUBJECT_KINDS))
    return errors
