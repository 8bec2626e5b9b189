"""ClusterRoles that are put together from others: `admin`, `edit` and `view`, and whatever extends them."""

from __future__ import annotations

from collections.abc import Iterable

import orjson

from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.selectors import label_selector
from nagaya.apiserver.selectors.labels import LabelSelector


def selectors(role: JsonObject) -> list[LabelSelector]:
    """What chooses the roles that a ClusterRole is put together from; none if it has no aggregation rule.

    Raises SelectorError if one is malformed, which validation does not let in.
    """
    aggregation = role.get("aggregationRule") or {}
    return [label_selector.compiled(each) for each in aggregation.get("clusterRoleSelectors") or ()]


def aggregated_rules(role: JsonObject, roles: Iterable[JsonObject]) -> list[JsonObject] | None:
    """The rules that a ClusterRole with an aggregation rule should have; None if it has no aggregation rule.

    They are the rules of all roles that its selectors choose, itself excepted: selector by selector, by name, each rule
    once. Raises SelectorError as `selectors` does.
    """
    if role.get("aggregationRule") is None:
        return None
    own = role["metadata"]["name"]
    others = sorted(
        (each for each in roles if each["metadata"]["name"] != own), key=lambda each: each["metadata"]["name"]
    )
    rules: dict[bytes, JsonObject] = {}
    for selector in selectors(role):
        for other in others:
            if selector.matches(other["metadata"].get("labels")):
                for rule in other.get("rules") or ():
                    rules.setdefault(orjson.dumps(rule, option=orjson.OPT_SORT_KEYS), rule)
    return list(rules.values())


def needs_update(role: JsonObject, rules: list[JsonObject]) -> bool:
    """Whether a role's rules have to be replaced by these. No rules and an empty list are the same."""
    return (role.get("rules") or []) != rules
