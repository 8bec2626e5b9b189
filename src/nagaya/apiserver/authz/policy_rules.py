"""The rules of roles: whether one allows a request, and whether a set of rules covers another.

Roles are looked at on every request and change seldom, so a role's rules are turned once into a `RuleSet` in which a
request finds the few that can match by the resource's name. Comparing rule sets is for the rare moments when somebody
grants a role.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, Final

from nagaya.apiserver.authn.user import quoted
from nagaya.apiserver.authz.attributes import Attributes
from nagaya.apiserver.meta.status import JsonObject

ALL: Final = "*"
_MEMBERS: Final = ("apiGroups", "resources", "nonResourceURLs", "resourceNames", "verbs")

Places = tuple[tuple[str, str], ...]
Level = list[tuple[Any, int]]


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
        # By resource only: a rule's groups times its resources may be many more than what the rule says.
        self._resources: dict[str, list[tuple[frozenset[str], frozenset[str] | None, frozenset[str] | None]]] = {}
        self._paths: list[tuple[str, bool, frozenset[str] | None]] = []
        for rule in rules:
            verbs = _verbs(rule)
            names = frozenset(rule.get("resourceNames") or ()) or None
            groups = frozenset(rule.get("apiGroups") or ())
            for resource in dict.fromkeys(rule.get("resources") or ()):
                self._resources.setdefault(resource, []).append((groups, verbs, names))
            for path in rule.get("nonResourceURLs") or ():
                self._paths.append((path.rstrip(ALL), path.endswith(ALL), verbs))

    def allows_resource(self, where: Places, verb: str, name: str) -> bool:
        """Whether a rule allows the verb on the object at one of these places."""
        resources = self._resources
        for group, resource in where:
            if resource in resources:
                for groups, verbs, names in resources[resource]:
                    if group in groups and (verbs is None or verb in verbs) and (names is None or name in names):
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


class TooManyRules(ValueError):
    """The wanted rules cannot be compared with the owned ones in bearable time."""


def _holders(rules: Sequence[JsonObject], member: str) -> dict[str, int]:
    """Which of the rules have each value in one of their members, as the bits of a number."""
    found: dict[str, int] = {}
    for position, rule in enumerate(rules):
        for value in rule.get(member) or ():
            found[value] = found.get(value, 0) | 1 << position
    return found


def _having(holders: Mapping[str, int], value: str) -> int:
    """The rules that have the value, or any value."""
    return holders.get(value, 0) | holders.get(ALL, 0)


class _Owned:
    """The rules of the one who grants, ready to be compared with those that are granted."""

    def __init__(self, rules: Sequence[JsonObject], steps: int) -> None:
        self._steps = steps
        self._verbs, self._groups, self._resources, self._names, self._paths = (
            _holders(rules, member)
            for member in ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")
        )
        self._nameless = sum(1 << position for position, rule in enumerate(rules) if not rule.get("resourceNames"))
        self._folders = [(path.rstrip(ALL), holders) for path, holders in self._paths.items() if path.endswith(ALL)]

    def missing(self, rule: JsonObject) -> Iterator[JsonObject]:
        """What a rule allows that these do not, as rules of one verb on one thing each. Raises TooManyRules."""
        verbs = [(verb, _having(self._verbs, verb)) for verb in rule.get("verbs") or ()]
        names = rule.get("resourceNames") or ()
        levels = [
            [(group, _having(self._groups, group)) for group in rule.get("apiGroups") or ()],
            [(resource, self._of_resource(resource)) for resource in rule.get("resources") or ()],
            verbs,
            [(name, self._names.get(name, 0) | self._nameless) for name in names] or [(None, self._nameless)],
        ]
        for group, resource, verb, *name in self._uncovered(levels, 0, -1, {}):
            grant: JsonObject = {"verbs": [verb], "apiGroups": [group], "resources": [resource]}
            yield {**grant, "resourceNames": name} if names else grant
        paths = [(path, self._of_path(path) & self._nameless) for path in rule.get("nonResourceURLs") or ()]
        for path, verb, *_ in self._uncovered([paths, verbs], 0, -1, {}):
            yield {"verbs": [verb], "nonResourceURLs": [path]}

    def _of_resource(self, resource: str) -> int:
        _, slash, part = resource.partition("/")
        return _having(self._resources, resource) | (self._resources.get(f"*/{part}", 0) if slash else 0)

    def _of_path(self, path: str) -> int:
        found = self._paths.get(path, 0)
        self._step(len(self._folders))
        for folder, holders in self._folders:
            if path.startswith(folder):
                found |= holders
        return found

    def _uncovered(
        self, levels: Sequence[Level], depth: int, rules: int, known: dict[tuple[int, int], Level]
    ) -> Iterator[tuple[Any, ...]]:
        """Every choice of one value per level that no rule has all of; `rules` have those chosen so far.

        What follows depends only on these rules, so it is found once for each set of them, and choices that are covered
        whatever follows are never looked into.
        """
        if depth == len(levels):
            yield ()
            return
        for value, left in self._open(levels, depth, rules, known):
            for rest in self._uncovered(levels, depth + 1, left, known):
                yield (value, *rest)

    def _open(self, levels: Sequence[Level], depth: int, rules: int, known: dict[tuple[int, int], Level]) -> Level:
        found = known.get((depth, rules))
        if found is None:
            self._step(len(levels[depth]))
            found = [(value, rules & mask) for value, mask in levels[depth]]
            if depth == len(levels) - 1:
                found = [each for each in found if not each[1]]
            else:
                found = [each for each in found if self._open(levels, depth + 1, each[1], known)]
            known[depth, rules] = found
        return found

    def _step(self, count: int) -> None:
        self._steps -= count
        if self._steps < 0:
            raise TooManyRules


def uncovered(owned: Iterable[JsonObject], wanted: Iterable[JsonObject], most: int = 10_000) -> list[JsonObject]:
    """What the wanted rules allow that the owned ones do not, as rules of one verb on one thing each: the first `most`
    of them. Raises TooManyRules if finding them takes too long.
    """
    held = _Owned(list(owned), 1_000_000)
    return list(islice(chain.from_iterable(map(held.missing, wanted)), most))


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
