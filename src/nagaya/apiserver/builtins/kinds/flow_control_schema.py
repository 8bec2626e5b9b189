"""The rules for what a flow schema says: which requests it is about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from nagaya.apiserver.builtins.kinds.core_goshape import invalid_shape, shape
from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import FieldError, Path, forbidden, invalid, not_supported, required
from nagaya.apiserver.meta.status import JsonObject

_SPEC: Final = Path("spec")
_LAST: Final = 10000
_METHODS: Final = ("ByNamespace", "ByUser")
_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
_ANY: Final = "*"
_SUBJECTS: Final = ("Group", "ServiceAccount", "User")
_EVERYTHING: Final[JsonObject] = {
    "resourceRules": [
        {"verbs": [_ANY], "apiGroups": [_ANY], "resources": [_ANY], "clusterScope": True, "namespaces": [_ANY]}
    ],
    "nonResourceRules": [{"verbs": [_ANY], "nonResourceURLs": [_ANY]}],
}


def _group(name: str) -> JsonObject:
    return {"kind": "Group", "group": {"name": name}}


FIXED: Final[Mapping[str, JsonObject]] = {
    "exempt": {
        "priorityLevelConfiguration": {"name": "exempt"},
        "matchingPrecedence": 1,
        "rules": [{"subjects": [_group("system:masters")], **_EVERYTHING}],
    },
    "catch-all": {
        "priorityLevelConfiguration": {"name": "catch-all"},
        "matchingPrecedence": _LAST,
        "distinguisherMethod": {"type": "ByUser"},
        "rules": [{"subjects": [_group("system:unauthenticated"), _group("system:authenticated")], **_EVERYTHING}],
    },
}
"""The schemas that have to be as they are, by name."""

_SHAPE: Final = (
    "PriorityLevelConfiguration=priorityLevelConfiguration:{Name=name:s} MatchingPrecedence=matchingPrecedence:i "
    "DistinguisherMethod=distinguisherMethod:*{Type=type:s} Rules=rules:[Subjects=subjects:["
    "Kind=kind:s User=user:*{Name=name:s} Group=group:*{Name=name:s} "
    "ServiceAccount=serviceAccount:*{Namespace=namespace:s Name=name:s}] "
    "ResourceRules=resourceRules:[Verbs=verbs:p APIGroups=apiGroups:p Resources=resources:p "
    "ClusterScope=clusterScope:b Namespaces=namespaces:p] "
    "NonResourceRules=nonResourceRules:[Verbs=verbs:p NonResourceURLs=nonResourceURLs:p]]"
)


def errors(name: str, spec: JsonObject) -> list[FieldError]:
    """What is wrong with the spec of the schema of this name."""
    found: list[FieldError] = []
    precedence, place = spec["matchingPrecedence"], _SPEC.child("matchingPrecedence")
    if precedence <= 0:
        found.append(invalid(place, precedence, "must be a positive value"))
    if precedence > _LAST:
        found.append(invalid(place, precedence, f"must not be greater than {_LAST}"))
    if precedence == 1 and name != "exempt":
        found.append(invalid(place, precedence, "only the schema named 'exempt' may have matchingPrecedence 1"))
    method = spec.get("distinguisherMethod")
    if method is not None and method.get("type") not in _METHODS:
        shown = {"Type": method.get("type") or ""}
        found.append(not_supported(_SPEC.child("distinguisherMethod", "type"), shown, _METHODS))
    level, where = spec["priorityLevelConfiguration"].get("name"), _SPEC.child("priorityLevelConfiguration", "name")
    if level:
        found += [invalid(where, level, problem) for problem in names.name_is_subdomain(level)]
    else:
        found.append(required(where, "must reference a priority level"))
    for position, rule in enumerate(spec.get("rules") or ()):
        found += _rule(rule, _SPEC.child("rules").index(position))
    if name in FIXED and spec != FIXED[name]:
        found.append(invalid_shape(_SPEC, shape(_SHAPE), spec, f"spec of '{name}' must equal the fixed value"))
    return found


def _rule(rule: JsonObject, where: Path) -> list[FieldError]:
    found: list[FieldError] = []
    subjects = rule.get("subjects") or []
    if not subjects:
        found.append(required(where.child("subjects"), "subjects must contain at least one value"))
    for position, subject in enumerate(subjects):
        found += _subject(subject, where.child("subjects").index(position))
    resources, others = rule.get("resourceRules") or [], rule.get("nonResourceRules") or []
    if not resources and not others:
        found.append(required(where, "at least one of resourceRules and nonResourceRules has to be non-empty"))
    for position, each in enumerate(resources):
        found += _resources(each, where.child("resourceRules").index(position))
    for position, each in enumerate(others):
        found += _others(each, where.child("nonResourceRules").index(position))
    return found


def _subject(subject: JsonObject, where: Path) -> list[FieldError]:
    kind = subject.get("kind") or ""
    if kind not in _KINDS:
        return [not_supported(where.child("kind"), kind, _SUBJECTS)]
    member, check = _KINDS[kind]
    given = subject.get(member)
    place = where.child(member)
    found = [required(place, f"{member} is required when subject kind is '{kind}'")] if given is None else []
    found += check(given, place) if given is not None else []
    return found + [
        forbidden(where.child(other), f"{other} is forbidden when subject kind is not '{its}'")
        for its, (other, _) in _KINDS.items()
        if its != kind and subject.get(other) is not None
    ]


def _named(subject: JsonObject, where: Path) -> list[FieldError]:
    return [] if subject.get("name") else [required(where.child("name"))]


def _account(subject: JsonObject, where: Path) -> list[FieldError]:
    name, namespace = subject.get("name") or "", subject.get("namespace") or ""
    found = _named(subject, where)
    if name and name != _ANY:
        found += [invalid(where.child("name"), name, problem) for problem in names.name_is_subdomain(name)]
    place = where.child("namespace")
    if not namespace:
        return [*found, required(place, "must specify namespace for service account")]
    return found + [invalid(place, namespace, problem) for problem in names.dns_label(namespace)]


# In the order in which the real server names those that should not be there.
_KINDS: Final[Mapping[str, tuple[str, Callable[[JsonObject, Path], list[FieldError]]]]] = {
    "ServiceAccount": ("serviceAccount", _account),
    "User": ("user", _named),
    "Group": ("group", _named),
}


def _verbs(rule: JsonObject, where: Path) -> list[FieldError]:
    verbs: list[str] = rule.get("verbs") or []
    place = where.child("verbs")
    if not verbs:
        return [required(place, "verbs must contain at least one value")]
    if _ANY in verbs:
        return _alone(verbs, place, "verbs")
    return [] if set(verbs) <= set(_VERBS) else [not_supported(place, verbs, _VERBS)]


def _alone(items: list[str], where: Path, what: str) -> list[FieldError]:
    """A star stands for everything, so nothing else may stand beside it."""
    if _ANY in items and len(items) > 1:
        return [invalid(where, items, f"if '*' is present, must not specify other {what}")]
    return []


def _resources(rule: JsonObject, where: Path) -> list[FieldError]:
    found = _verbs(rule, where)
    for member, what in (("apiGroups", "api group"), ("resources", "resource")):
        items: list[str] = rule.get(member) or []
        if not items:
            found.append(required(where.child(member), f"resource rules must supply at least one {what}"))
        found += _alone(items, where.child(member), f"{what}s")
    namespaces: list[str] = rule.get("namespaces") or []
    place = where.child("namespaces")
    if not namespaces and not rule.get("clusterScope"):
        detail = "resource rules that are not cluster scoped must supply at least one namespace"
        return [*found, required(place, detail)]
    if _ANY in namespaces:
        return found + _alone(namespaces, place, "namespaces")
    intro = "each member of this list must be '*' or a DNS-1123 label; "
    return found + [
        invalid(place.index(position), namespace, intro + problem)
        for position, namespace in enumerate(namespaces)
        for problem in names.dns_label(namespace)
    ]


def _others(rule: JsonObject, where: Path) -> list[FieldError]:
    found = _verbs(rule, where)
    urls: list[str] = rule.get("nonResourceURLs") or []
    place = where.child("nonResourceURLs")
    if not urls:
        return [*found, required(place, "nonResourceURLs must contain at least one value")]
    if _ANY in urls:
        return found + _alone(urls, place, "non-resource URLs")
    problems: list[tuple[int, Any, str]] = [(position, url, _url(url)) for position, url in enumerate(urls)]
    return found + [invalid(place.index(position), url, problem) for position, url, problem in problems if problem]


def _url(path: str) -> str:
    if not path:
        return "must not be empty"
    if path == "/":
        return ""
    if not path.startswith("/"):
        return "must start with slash"
    if " " in path:
        return "must not contain white-space"
    if "//" in path:
        return "must not contain double slash"
    stars = path.count(_ANY)
    return "wildcard can only do suffix matching" if stars > 1 or (stars and not path.endswith("/*")) else ""
