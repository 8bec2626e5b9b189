"""ClusterRoles that are put together from others: `admin`, `edit` and `view`, and whatever extends them."""

from __future__ import annotations

from collections.abc import Iterable

from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.selectors import label_selector


def aggregated_rules(role: JsonObject, roles: Iterable[JsonObject]) -> list[JsonObject] | None:
    """The rules that a ClusterRole with an aggregation rule should have; None if it has no aggregation rule.

    They are the rules of all roles that its selectors choose, itself excepted: selector by selector, by name, each rule
    once. Raises SelectorError if a selector is malformed, which validation does not let in.
    """
    aggregation = role.get("aggregationRule")
    if aggregation is None:
        return None
    own = role["metadata"]["name"]
    others = sorted(
        (each for each in roles if each["metadata"]["name"] != own), key=lambda each: each["metadata"]["name"]
    )
    rules: list[JsonObject] = []
    for selector in aggregation.get("clusterRoleSelectors") or ():
        chosen = label_selector.compiled(selector)
        for other in others:
            if chosen.matches(other["metadata"].get("labels")):
                rules += [rule for rule in other.get("rules") or () if rule not in rules]
    return rules


def needs_update(role: JsonObject, rules: list[JsonObject]) -> bool:
    """Whether a role's rules have to be replaced by these. No rules and an empty list are the same."""
    return (role.get("rules") or []) != rules
