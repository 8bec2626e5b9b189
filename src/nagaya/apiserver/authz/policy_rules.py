"""The rules of roles: whether one allows a request, and whether a set of rules covers another.

Roles are looked at on every request and change seldom, so a role's rules are turned once into a `RuleSet` in which a
request finds the few that can match by the resource's name. Comparing rule sets is for the rare moments when somebody
grants a role.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from nagaya.apiserver.authn.user import quoted
from nagaya.apiserver.authz.attributes import Attributes
from nagaya.apiserver.meta.status import JsonObject

ALL: Final = "*"
_MEMBERS: Final = ("apiGroups", "resources", "nonResourceURLs", "resourceNames", "verbs")

Places = tuple[tuple[str, str], ...]


def places(attributes: Attributes) -> Places:
    """Under which groups and resources a rule that allows this request may stand."""
    group, resource, part = attributes.group, attributes.resource, attributes.subresource
    if not part:
        return ((group, resource), (ALL, ALL), (group, ALL), (ALL, resource))
    whole, any_resource = f"{resource}/{part}", f"*/{part}"
    return (
        (group, whole),
        (ALL, ALL),
        (group, ALL),
        (ALL, whole),
        (group, any_resource),
        (ALL, any_resource),
    )


class RuleSet:
    """A role's rules, ready to be asked. None stands for "any" in the sets below."""

    __slots__ = ("_paths", "_resources")

    def __init__(self, rules: Iterable[JsonObject]) -> None:
        self._resources: dict[tuple[str, str], list[tuple[frozenset[str] | None, frozenset[str] | None]]] = {}
        self._paths: list[tuple[str, bool, frozenset[str] | None]] = []
        for rule in rules:
            verbs = _verbs(rule)
            names = frozenset(rule.get("resourceNames") or ()) or None
            for group in rule.get("apiGroups") or ():
                for resource in rule.get("resources") or ():
                    self._resources.setdefault((group, resource), []).append((verbs, names))
            for path in rule.get("nonResourceURLs") or ():
                self._paths.append((path.rstrip(ALL), path.endswith(ALL), verbs))

    def allows_resource(self, where: Places, verb: str, name: str) -> bool:
        """Whether a rule allows the verb on the object at one of these places."""
        resources = self._resources
        for place in where:
            if place in resources:
                for verbs, names in resources[place]:
                    if (verbs is None or verb in verbs) and (names is None or name in names):
                        return True
        return False

    def allows_path(self, path: str, verb: str) -> bool:
        """Whether a rule allows the verb on a path that is not a resource's."""
        for pattern, is_prefix, verbs in self._paths:
            matches = path.startswith(pattern) if is_prefix else path == pattern
            if matches and (verbs is None or verb in verbs):
                return True
        return False

    def allows(self, attributes: Attributes) -> bool:
        """Whether a rule allows the request."""
        if attributes.is_resource:
            return self.allows_resource(places(attributes), attributes.verb, attributes.name)
        return self.allows_path(attributes.path, attributes.verb)


def _verbs(rule: JsonObject) -> frozenset[str] | None:
    verbs = frozenset(rule.get("verbs") or ())
    return None if ALL in verbs else verbs


class _Grant(NamedTuple):
    """One verb on one thing: either a resource, perhaps by name, or a path."""

    group: str
    resource: str
    verb: str
    name: str | None
    path: str | None


class _Owned(NamedTuple):
    """A rule of the one who grants, as sets."""

    verbs: frozenset[str]
    groups: frozenset[str]
    resources: frozenset[str]
    names: frozenset[str]
    paths: tuple[str, ...]

    @classmethod
    def of(cls, rule: JsonObject) -> _Owned:
        return cls(
            frozenset(rule.get("verbs") or ()),
            frozenset(rule.get("apiGroups") or ()),
            frozenset(rule.get("resources") or ()),
            frozenset(rule.get("resourceNames") or ()),
            tuple(rule.get("nonResourceURLs") or ()),
        )

    def covers(self, grant: _Grant) -> bool:
        if ALL not in self.verbs and grant.verb not in self.verbs:
            return False
        if self.names and (grant.name is None or grant.name not in self.names):
            return False
        if grant.path is not None:
            return any(_path_covers(owned, grant.path) for owned in self.paths)
        if ALL not in self.groups and grant.group not in self.groups:
            return False
        if ALL in self.resources or grant.resource in self.resources:
            return True
        _, slash, part = grant.resource.partition("/")
        return bool(slash) and f"*/{part}" in self.resources


def _path_covers(owned: str, wanted: str) -> bool:
    return owned == wanted or (owned.endswith(ALL) and wanted.startswith(owned.rstrip(ALL)))


def _grants(rule: JsonObject) -> Iterator[_Grant]:
    verbs = rule.get("verbs") or ()
    names: Sequence[str | None] = rule.get("resourceNames") or (None,)
    for group in rule.get("apiGroups") or ():
        for resource in rule.get("resources") or ():
            for verb in verbs:
                for name in names:
                    yield _Grant(group, resource, verb, name, None)
    for path in rule.get("nonResourceURLs") or ():
        for verb in verbs:
            yield _Grant("", "", verb, None, path)


def uncovered(owned: Iterable[JsonObject], wanted: Iterable[JsonObject]) -> list[JsonObject]:
    """What the wanted rules allow that the owned ones do not, as rules of one verb on one thing each."""
    rules = [_Owned.of(rule) for rule in owned]
    missing: list[JsonObject] = []
    for grant in (grant for rule in wanted for grant in _grants(rule)):
        if any(rule.covers(grant) for rule in rules):
            continue
        if grant.path is not None:
            missing.append({"verbs": [grant.verb], "nonResourceURLs": [grant.path]})
            continue
        rule: JsonObject = {"verbs": [grant.verb], "apiGroups": [grant.group], "resources": [grant.resource]}
        if grant.name is not None:
            rule["resourceNames"] = [grant.name]
        missing.append(rule)
    return missing


def compacted(rules: Iterable[JsonObject]) -> list[JsonObject]:
    """Rules of one verb each, with the verbs on the same resource put together."""
    others: list[JsonObject] = []
    together: dict[tuple[str, ...], JsonObject] = {}
    for rule in rules:
        if rule.get("nonResourceURLs"):
            others.append(rule)
            continue
        key = (*rule["apiGroups"], *rule["resources"], *(rule.get("resourceNames") or ()))
        known = together.get(key)
        if known is None:
            together[key] = {**rule, "verbs": list(rule["verbs"])}
        else:
            known["verbs"] += rule["verbs"]
    return [*others, *together.values()]


def describe(rule: JsonObject) -> str:
    """A rule in one line, as it stands in refusals."""
    parts = [(member[0].upper() + member[1:], rule.get(member)) for member in _MEMBERS]
    shown = (f"{title.replace('Api', 'API')}:{quoted(values)}" for title, values in parts if values)
    return f"{{{', '.join(shown)}}}"
